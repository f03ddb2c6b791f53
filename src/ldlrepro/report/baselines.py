"""Collects numbers that others may cite: what was measured, on which folds, by which code.

Everything is of whole records, and of nothing that changes from one call to the next: the same
records give the same bytes. Folds are drawn again and must have the digest of those that the
records were made with, so a file of folds is right or is not written.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ldlrepro
from ldlrepro import config, plan
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import DataUnavailable, load_ready
from ldlrepro.data.dataset import Dataset
from ldlrepro.folds.given import write_parts
from ldlrepro.folds.making import protocol_folds
from ldlrepro.folds.splits import Fold, folds_digest
from ldlrepro.judge.answer import maintainers_units
from ldlrepro.judge.bands import bands_of
from ldlrepro.judge.chosen import is_by_print
from ldlrepro.judge.reference import chosen_units
from ldlrepro.judge.scores import UnitScores, is_complete, local_units
from ldlrepro.report.citation import entries

LAYOUT = 1
"""Raise it when names or meanings in ``baselines.json`` change."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Baseline:
    """One measure of one method on one data set under one protocol."""

    unit: UnitScores
    measure: str
    mean: float
    std: float | None
    """Standard deviation over folds, divisor n - 1."""
    seeds: tuple[float, float] | None
    """Lowest and highest mean over other fold seeds, where these were varied."""

    def line(self) -> dict[str, Any]:
        low, high = self.seeds or (None, None)
        return {
            "dataset": self.unit.dataset,
            "protocol": self.unit.protocol,
            "method": self.unit.method,
            "measure": self.measure,
            "mean": _rounded(self.mean),
            "std": _rounded(self.std),
            "folds": len(self.unit.values(self.measure)),
            "seeds low": _rounded(low),
            "seeds high": _rounded(high),
            "by print": is_by_print(self.unit.method),
            "source": self.unit.source,
        }


def collect(
    workspace: Workspace, datasets: Sequence[str], protocol: str | None, methods: Sequence[str]
) -> list[Baseline]:
    """Return the numbers of whole records, by data set, protocol, method and measure.

    ``datasets`` and ``methods`` choose, empty ones mean all; a method brings its variants.
    """
    wanted = []
    for paper in config.paper_ids():
        for unit in plan.paper_units(paper):
            right_set = not datasets or unit.data_set.id in datasets
            right_method = not methods or {unit.method.id, unit.method.base} & {*methods}
            if right_set and right_method and protocol in (None, unit.protocol.id):
                wanted.append(unit)
    wanted = list(dict.fromkeys(wanted))
    whole = [
        unit
        for unit in chosen_units(wanted, local_units(workspace, wanted), maintainers_units())
        if is_complete(plan.unit(*unit.key), unit)
    ]
    bands = {
        (where, band.method, band.measure): (band.low, band.high)
        for where, found in bands_of(maintainers_units().values()).items()
        for band in found
    }
    return [
        Baseline(
            unit,
            measure,
            mean,
            statistics.stdev(values) if len(values) > 1 else None,
            bands.get(((unit.protocol, unit.dataset), unit.method, measure)),
        )
        for unit in sorted(whole, key=lambda unit: (unit.dataset, unit.protocol, unit.method))
        for measure in unit.scores
        if (values := unit.values(measure)) and (mean := unit.mean(measure)) is not None
    ]


def document(baselines: Sequence[Baseline]) -> dict[str, Any]:
    """Return everything in one tree; ``docs/baselines.md`` explains each key."""
    units = {baseline.unit.key: baseline.unit for baseline in baselines}
    return {
        "layout": LAYOUT,
        "ldlrepro": ldlrepro.__version__,
        "protocols": {
            name: {
                "paper": plan.protocols()[name][0],
                "text": " ".join(plan.protocol(name)["text"].split()),
            }
            for name in sorted({unit.protocol for unit in units.values()})
        },
        "units": [_unit(unit) for unit in units.values()],
        "baselines": [
            {name.replace(" ", "_"): value for name, value in baseline.line().items()}
            for baseline in baselines
        ],
        "cite": entries(),
    }


def write_folder(
    folder: Path, baselines: Sequence[Baseline], workspace: Workspace, seed: int, say: Say
) -> None:
    """Write means, folds' scores, tested rows and citations; say what could not be written."""
    write_text(folder / "baselines.json", json.dumps(document(baselines), indent=1) + "\n")
    write_text(folder / "by_fold.csv", _by_fold(baselines))
    write_text(folder / "cite.bib", "\n\n".join(entries()) + "\n")
    units = {baseline.unit.key: baseline.unit for baseline in baselines}.values()
    for protocol, dataset in sorted({(unit.protocol, unit.dataset) for unit in units}):
        path = folder / "folds" / protocol / f"{dataset}.csv"
        digests = {
            row.folds_sha256
            for unit in units
            if (unit.protocol, unit.dataset) == (protocol, dataset)
            for row in unit.rows
        }
        try:
            write_parts(path, proven_folds(protocol, dataset, digests, workspace, seed))
        except (UserError, DataUnavailable) as error:
            say(f"{path}: not written: {error}")


def proven_folds(
    protocol: str, dataset: str, digests: set[str], workspace: Workspace, seed: int
) -> list[Fold]:
    """Return the folds of a protocol, whose digest must be the one of all records."""
    try:
        data: Dataset = load_ready(workspace.ready(dataset))
    except FileNotFoundError:
        raise UserError(
            f"the data set is not here; type `ldlrepro fetch {dataset}` and "
            f"`ldlrepro prepare {dataset}`, and again"
        ) from None
    made = protocol_folds(config.current().protocol(protocol), data, seed, workspace)
    if digests - {folds_digest(made)}:
        raise UserError(
            f"the records were made on other folds than those of {protocol} with seed {seed}"
        )
    return made


def _unit(unit: UnitScores) -> dict[str, Any]:
    """Return what a unit's numbers rest on."""
    first = unit.rows[0]
    return {
        "dataset": unit.dataset,
        "protocol": unit.protocol,
        "method": unit.method,
        "title": config.load_method(unit.method)["title"],
        "folds": len(unit.rows),
        "fit_s": _rounded(statistics.median(row.fit_s for row in unit.rows)),
        "git_commit": first.git_commit,
        "data_sha256": first.data_sha256,
        "folds_sha256": first.folds_sha256,
        "spec_sha256": first.spec_sha256,
        "code_sha256": first.code_sha256,
    }


def _by_fold(baselines: Sequence[Baseline]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["dataset", "protocol", "method", "measure", "repeat", "fold", "score"])
    for baseline in baselines:
        scores = baseline.unit.by_fold(baseline.measure)
        for (repeat, fold), score in scores.items():
            writer.writerow([*_place(baseline), repeat, fold, _rounded(score)])
    return text.getvalue()


def _place(baseline: Baseline) -> Iterator[str]:
    unit = baseline.unit
    yield from (unit.dataset, unit.protocol, unit.method, baseline.measure)


def _rounded(value: float | None) -> float | None:
    """Return six significant digits: what another machine's rounding does not touch."""
    return None if value is None else float(f"{value:.6g}")

"""Collects numbers that others may cite: what was measured, on which folds, by which code.

Everything is of whole records, and of nothing that changes from one call to the next: the same
records give the same bytes. Folds are drawn again and must have the digest of those that the
records were made with, so a file of folds is right or is not written.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ldlrepro
from ldlrepro.catalogue import DataSet, Project, Protocol
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import csv_text, write_text
from ldlrepro.data import DataUnavailable, load_ready
from ldlrepro.data.registry import not_prepared
from ldlrepro.folds.given import read_parts, write_parts
from ldlrepro.folds.making import protocol_folds
from ldlrepro.folds.splits import Fold, folds_digest, make_folds
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import UnitScores, is_complete
from ldlrepro.judge.verdicts import listed
from ldlrepro.plan import Unit
from ldlrepro.report.citation import entries

LAYOUT = 2
"""Raise it when names or meanings in ``baselines.json`` change."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Baseline:
    """One measure of one method on one data set under one protocol."""

    unit: Unit
    scored: UnitScores
    measure: str
    mean: float
    std: float | None
    """Standard deviation over folds, divisor n - 1."""
    seeds: tuple[float, float] | None
    """Lowest and highest mean over other seeds, where these were varied."""

    def line(self) -> dict[str, Any]:
        low, high = self.seeds or (None, None)
        return {
            "dataset": self.unit.data_set.id,
            "protocol": self.unit.protocol.id,
            "method": self.unit.method.id,
            "measure": self.measure,
            "mean": _rounded(self.mean),
            "std": _rounded(self.std),
            "folds": len(self.scored.values(self.measure)),
            "seeds low": _rounded(low),
            "seeds high": _rounded(high),
            "by print": self.unit.method.by_print,
            "source": self.scored.source,
        }


def collect(
    judge: Judge, datasets: Sequence[str], protocol: str | None, methods: Sequence[str]
) -> list[Baseline]:
    """Return the numbers of whole records, by data set, protocol, method and measure.

    Nobody cites a method that sees test labels, so those are left out.

    ``datasets`` and ``methods`` choose, empty ones mean all; a method brings its variants.
    """
    planned = {unit for paper in judge.project.papers for unit in judge.plan.units(paper)}
    wanted = [
        unit
        for unit in sorted(planned, key=_place)
        if (not datasets or unit.data_set.id in datasets)
        and (not methods or {unit.method.id, unit.method.base} & {*methods})
        and protocol in (None, unit.protocol.id)
        and not unit.method.sees_test_labels
    ]
    sources = judge.sources(wanted)
    found = ((unit, sources.best(unit)) for unit in wanted)
    whole = [(unit, scored) for unit, scored in found if scored and is_complete(unit, scored)]
    bands = {
        (where, band.method, band.measure): (band.low, band.high)
        for where, found in judge.reference_bands.items()
        for band in found
    }
    return [
        Baseline(
            unit,
            scored,
            measure,
            mean,
            statistics.stdev(values) if len(values) > 1 else None,
            bands.get((unit.ids[:2], unit.method.id, measure)),
        )
        for unit, scored in whole
        for measure in scored.scores
        if (values := scored.values(measure)) and (mean := scored.mean(measure)) is not None
    ]


def _place(unit: Unit) -> tuple[str, str, str]:
    return unit.data_set.id, unit.protocol.id, unit.method.id


def document(project: Project, baselines: Sequence[Baseline]) -> dict[str, Any]:
    """Return everything in one tree; ``docs/baselines.md`` explains each key."""
    units = {baseline.unit: baseline.scored for baseline in baselines}
    apart = _apart(baselines)
    return {
        "layout": LAYOUT,
        "ldlrepro": ldlrepro.__version__,
        "protocols": {
            protocol.id: {
                "paper": protocol.paper,
                "text": " ".join(protocol.text.split()),
                "persons_apart": {
                    data_set.id: found[protocol.id]
                    for data_set, found in apart.items()
                    if protocol.id in found
                },
            }
            for protocol in sorted({unit.protocol for unit in units})
        },
        "units": [_told(unit, scored) for unit, scored in units.items()],
        "baselines": [
            {name.replace(" ", "_"): value for name, value in baseline.line().items()}
            for baseline in baselines
        ],
        "cite": entries(project),
    }


def of_persons(baselines: Sequence[Baseline]) -> str:
    """Say of each data set whose persons are known which protocols keep them apart."""
    mixed, sentences = "the same people are in training and test rows", []
    for data_set, found in _apart(baselines).items():
        apart = [name for name, whole in found.items() if whole]
        if None in found.values():
            continue
        if len(apart) == len(found):
            said = "every protocol shown keeps people apart"
        elif apart:
            said = (
                f"{listed(apart)} keep{'s' * (len(apart) == 1)} people apart; in the others {mixed}"
            )
        else:
            said = f"{mixed} of every protocol shown"
        sentences.append(f"On {data_set.title}, {said}.")
    return " ".join(sentences)


def _apart(baselines: Sequence[Baseline]) -> dict[DataSet, dict[str, bool | None]]:
    """Return, for data sets whose persons are known, by protocol whether it keeps them apart."""
    places = {(baseline.unit.data_set, baseline.unit.protocol) for baseline in baselines}
    found: dict[DataSet, dict[str, bool | None]] = {}
    for data_set, protocol in sorted(places):
        if data_set.names_persons:
            found.setdefault(data_set, {})[protocol.id] = keeps_apart(protocol, data_set)
    return found


def keeps_apart(protocol: Protocol, data_set: DataSet) -> bool | None:
    """Tell whether nobody is in training and test rows; None where only the data can tell.

    Folds in the order of the file do so where they end with a person.
    """
    if protocol.scheme == "leave_one_group_out":
        return True
    if protocol.draws_folds(data_set.id):
        return False
    n, sizes = data_set.shape.n if data_set.shape else None, data_set.persons
    if protocol.scheme != "kfold" or n is None or sizes is None:
        return None
    if isinstance(sizes, int):  # as many rows for each
        sizes = (n // sizes,) * sizes
    persons = np.repeat(np.arange(len(sizes)), sizes)
    given = protocol.published_folds(data_set.id)
    drawn = read_parts(given, n, protocol.count_folds()) if given else None
    folds = make_folds(protocol, n, (), given=drawn)
    return not any(np.intersect1d(persons[one.train], persons[one.test]).size for one in folds)


def write_folder(folder: Path, baselines: Sequence[Baseline], judge: Judge, say: Say) -> None:
    """Write means, folds' scores, tested rows and citations; say what could not be written."""
    told = document(judge.project, baselines)
    write_text(folder / "baselines.json", json.dumps(told, indent=1) + "\n")
    write_text(folder / "by_fold.csv", _by_fold(baselines))
    write_text(folder / "cite.bib", "\n\n".join(told["cite"]) + "\n")
    digests: dict[tuple[Protocol, DataSet], set[str]] = {}
    for baseline in baselines:
        place = baseline.unit.protocol, baseline.unit.data_set
        digests.setdefault(place, set()).update(r.folds_sha256 for r in baseline.scored.rows)
    for (protocol, data_set), known in sorted(digests.items()):
        path = folder / "folds" / protocol.id / f"{data_set.id}.csv"
        try:
            write_parts(path, proven_folds(judge, protocol, data_set, known))
        except (UserError, DataUnavailable) as error:
            say(f"{path}: not written: {error}")


def proven_folds(
    judge: Judge, protocol: Protocol, data_set: DataSet, digests: set[str]
) -> list[Fold]:
    """Return the folds of a protocol, whose digest must be the one of all records."""
    name, seed = data_set.id, judge.project.run.seed
    try:
        data = load_ready(judge.workspace.ready(name))
    except FileNotFoundError:
        raise not_prepared(judge.workspace.ready(name)) from None
    made = protocol_folds(protocol, data_set, data, seed, judge.workspace)
    if digests - {folds_digest(made)}:
        raise UserError(
            f"the records were made on other folds than those of {protocol.id} with seed {seed}"
        )
    return made


def _told(unit: Unit, scored: UnitScores) -> dict[str, Any]:
    """Return what a unit's numbers rest on."""
    first = scored.rows[0]
    return {
        "dataset": unit.data_set.id,
        "protocol": unit.protocol.id,
        "method": unit.method.id,
        "title": unit.method.title,
        "folds": len(scored.rows),
        "fit_s": _rounded(statistics.median(row.fit_s for row in scored.rows)),
        "git_commit": first.git_commit,
        "data_sha256": first.data_sha256,
        "folds_sha256": first.folds_sha256,
        "spec_sha256": first.spec_sha256,
        "code_sha256": first.code_sha256,
    }


def _by_fold(baselines: Sequence[Baseline]) -> str:
    names = ["dataset", "protocol", "method", "measure", "repeat", "fold", "score"]
    lines: list[Sequence[object]] = [names]
    for baseline in baselines:
        place = (*_place(baseline.unit), baseline.measure)
        for (repeat, fold), score in baseline.scored.by_fold(baseline.measure).items():
            lines.append([*place, repeat, fold, _rounded(score)])
    return csv_text(lines)


def _rounded(value: float | None) -> float | None:
    """Return six significant digits: what another machine's rounding does not touch."""
    return None if value is None else float(f"{value:.6g}")

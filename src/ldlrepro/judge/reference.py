"""Records of the maintainers' full runs, kept as text under ``reference/``.

Each protocol and method, variants included, has a CSV with a row per fold and a JSON with the
provenance of each unit. No data and no predictions: only scores, parameters, times and digests. A
fold that failed is a row as well, with the last line of its error.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ldl import metrics
from ldlrepro.catalogue import Project
from ldlrepro.core.files import csv_text, write_json, write_text
from ldlrepro.judge.scores import REFERENCE, UnitScores, is_complete
from ldlrepro.plan import Plan
from ldlrepro.train.records import FAILED, OK, UNAVAILABLE, FoldRow, last_line

DIGITS = 12
"""Significant digits of scores."""
KEY_COLUMNS = ("method", "dataset", "repeat", "fold")
SOME_HAVE = (*metrics.LABEL_BETTER, *metrics.AGE_BETTER)
"""Measures that are a column only where a unit of the table has them."""
COST_COLUMNS = (
    "fit_s",
    "predict_s",
    "cpu_s",
    "peak_mb",
    "overhead_s",
    "n_train",
    "n_test",
    "seed",
    "params",
    "predictions_sha256",
)
AS_THEY_ARE = ("repeat", "fold", "n_train", "n_test", "seed", "predictions_sha256")
ERROR = "error"
"""A column only where a fold of the table failed."""
# The same for all folds of a unit: kept once, in the JSON file.
UNIT_FIELDS = (
    "data_sha256",
    "folds_sha256",
    "spec_sha256",
    "code_sha256",
    "lock_sha256",
    "git_commit",
    "versions",
    "machine",
    "threads",
)


def write_reference(
    plan: Plan, folder: Path, units: Iterable[UnitScores], command: str
) -> list[Path]:
    """Merge local units into the reference tables; other rows stay as they are.

    A unit whose folds failed, or ran in part, is kept where there was none that is complete.
    """
    groups: dict[tuple[str, str], list[UnitScores]] = {}
    there = ReferenceUnits(folder, plan.project)
    for unit in units:
        planned = plan.unit_of(unit.key)
        known = unit.key in there and is_complete(planned, there[unit.key])
        if is_complete(planned, unit) or (_has_run(unit) and not known):
            family = unit.method.partition("@")[0]
            groups.setdefault((unit.protocol, family), []).append(unit)
    written = []
    for (protocol, family), members in sorted(groups.items()):
        table = folder / protocol / f"{family}.csv"
        kept, provenance = _read_table(table)
        renewed = {(unit.method, unit.dataset) for unit in members}
        kept = [row for row in kept if (row["method"], row["dataset"]) not in renewed]
        for unit in members:
            kept += [_fold_to_text(unit, index) for index in range(len(unit.rows))]
            first = unit.rows[0]
            provenance.setdefault(unit.method, {})[unit.dataset] = {
                **{name: getattr(first, name) for name in UNIT_FIELDS},
                "started_at": first.started_at,
                "command": command,
            }
        kept.sort(key=lambda r: (r["method"], r["dataset"], int(r["repeat"]), int(r["fold"])))
        _write_table(table, kept, provenance)
        written += [table, table.with_suffix(".json")]
    return written


def _has_run(unit: UnitScores) -> bool:
    """Tell whether some folds have run to their end or failed, and none lacks its data."""
    return bool(unit.rows) and all(row.status != UNAVAILABLE for row in unit.rows)


def _write_table(
    table: Path, rows: list[dict[str, str]], provenance: dict[str, dict[str, Any]]
) -> None:
    """Write the rows of a table, and beside it what they were made with."""
    some, error = (
        [name for name in names if any(row.get(name) for row in rows)]
        for names in (SOME_HAVE, [ERROR])
    )
    columns = (*KEY_COLUMNS, *metrics.BETTER, *some, *COST_COLUMNS, *error)
    lines = ([row.get(name, "") for name in columns] for row in rows)
    write_text(table, csv_text([columns, *lines]))
    write_json(table.with_suffix(".json"), provenance)


def drop_unplanned(folder: Path, planned: set[str]) -> list[str]:
    """Drop the records of units that no paper asks for any more; return their names."""
    dropped = []
    for table in sorted(folder.glob("*/*.csv")):
        protocol = table.parent.name
        rows, provenance = _read_table(table)
        kept = [row for row in rows if f"{protocol}/{row['dataset']}/{row['method']}" in planned]
        gone = {(row["dataset"], row["method"]) for row in rows} - {
            (row["dataset"], row["method"]) for row in kept
        }
        if not gone:
            continue
        dropped += [f"{protocol}/{dataset}/{method}" for dataset, method in sorted(gone)]
        for dataset, method in gone:
            del provenance[method][dataset]
        if kept:
            _write_table(table, kept, {name: own for name, own in provenance.items() if own})
        else:
            table.unlink()
            table.with_suffix(".json").unlink()
    return dropped


class ReferenceUnits(Mapping[str, UnitScores]):
    """Units of a folder such as ``reference/``, by their keys.

    A protocol is read when one of its units is asked for, since few questions are about all.
    """

    def __init__(self, folder: Path, project: Project):
        self._folder, self._project = folder, project
        self._protocols: dict[str, dict[str, UnitScores]] = {}

    def __getitem__(self, key: str) -> UnitScores:
        return self._protocol(key.partition("/")[0])[key]

    def __iter__(self) -> Iterator[str]:
        for protocol in sorted({table.parent.name for table in self._folder.glob("*/*.csv")}):
            yield from self._protocol(protocol)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, protocols: Iterable[str]) -> list[UnitScores]:
        """Return all units of some protocols."""
        return [unit for name in protocols for unit in self._protocol(name).values()]

    def _protocol(self, name: str) -> dict[str, UnitScores]:
        if name not in self._protocols:
            known = self._project.protocols.get(name)  # none for a protocol that is no more
            over_rows = known is not None and known.average == "rows"
            tables = sorted((self._folder / name).glob("*.csv"))
            units = (unit for table in tables for unit in _units_of(table, over_rows))
            self._protocols[name] = {unit.key: unit for unit in units}
        return self._protocols[name]


def _units_of(table: Path, over_rows: bool) -> Iterator[UnitScores]:
    rows, provenance = _read_table(table)
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["dataset"]), []).append(row)
    for (method, dataset), mine in groups.items():
        yield UnitScores(
            table.parent.name,
            dataset,
            method,
            [_text_to_row(table, row, provenance[method][dataset]) for row in mine],
            {
                name: [float(row[name] or math.nan) for row in mine]
                for name in [*metrics.BETTER, *SOME_HAVE]
                if any(row.get(name) for row in mine)
            },
            REFERENCE,
            [_as_seen_from_here(table)],
            over_rows,
        )


def _as_seen_from_here(path: Path) -> Path:
    """Return a relative path in the checkout, so that answers are alike in every checkout."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def same_bits(local: UnitScores, reference: UnitScores | None) -> str:
    """Say 'yes' or 'no': do the predictions of all folds have the reference's digests?"""
    if reference is None:
        return ""
    return "yes" if _digests(local) == _digests(reference) else "no"


def count_same_bits(units: Iterable[UnitScores], reference: ReferenceUnits) -> tuple[int, int]:
    """Count the folds whose predictions have the reference's digests, and those compared."""
    same = compared = 0
    for unit in units:
        ours = _digests(unit)
        theirs = _digests(reference[unit.key]) if unit.key in reference else {}
        common = ours.keys() & theirs.keys()
        same += sum(ours[fold] == theirs[fold] for fold in common)
        compared += len(common)
    return same, compared


def _digests(unit: UnitScores) -> dict[tuple[int, int], str]:
    """Return (repeat, fold) -> digest of its predictions, where there are any."""
    found = {(row.repeat, row.fold): row.predictions_sha256 for row in unit.rows}
    return {fold: digest for fold, digest in found.items() if digest}


def _read_table(table: Path) -> tuple[list[dict[str, str]], dict[str, dict[str, Any]]]:
    if not table.is_file():
        return [], {}
    with open(table, encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return rows, json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))


def _fold_to_text(unit: UnitScores, index: int) -> dict[str, str]:
    row = unit.rows[index]
    seconds = {name: f"{getattr(row, name):.4g}" for name in ("fit_s", "predict_s", "overhead_s")}
    return {
        "method": unit.method,
        "dataset": unit.dataset,
        **{name: str(getattr(row, name)) for name in AS_THEY_ARE},
        **{
            name: "" if math.isnan(values[index]) else f"{values[index]:.{DIGITS}g}"
            for name, values in unit.scores.items()
        },
        **seconds,
        "cpu_s": f"{row.fit_cpu_s + row.predict_cpu_s:.4g}",
        "peak_mb": f"{row.peak_mb:.0f}",
        "params": json.dumps(row.params, sort_keys=True, default=str),
        ERROR: last_line(row.error),
    }


def _text_to_row(table: Path, text: dict[str, str], provenance: dict[str, Any]) -> FoldRow:
    row: FoldRow = _format().validate_python(
        {
            **text,
            **{name: provenance[name] for name in ("started_at", *UNIT_FIELDS)},
            "protocol": table.parent.name,
            "status": FAILED if text.get(ERROR) else OK,
            "error": text.get(ERROR) or "",
            "params": json.loads(text["params"]),
            "fit_cpu_s": text.get("cpu_s") or 0.0,  # with that of predicting
        }
    )
    return row


@cache
def _format() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(FoldRow)

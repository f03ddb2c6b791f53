"""Gathers what units left behind: rows, scores and where they came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from ldlrepro import metrics, plan
from ldlrepro.data import DataUnavailable, load_ready
from ldlrepro.errors import UserError
from ldlrepro.protocols.folds import folds_digest, read_folds
from ldlrepro.runs.records import (
    OK,
    UNAVAILABLE,
    FoldRow,
    digest,
    predictions_path,
    read_predictions,
    read_rows,
)

LOCAL, REFERENCE = "local", "reference"


@dataclass(frozen=True)
class UnitScores:
    """All folds of one (protocol, dataset, method), scored."""

    protocol: str
    dataset: str
    method: str
    rows: list[FoldRow]
    """Every fold, failed ones too, ordered by (repeat, fold)."""
    scores: dict[str, list[float]]
    """Measure name -> value per row of ``rows``; NaN where the fold has no prediction."""
    source: str
    """'local' (results/) or 'reference' (reference/)."""
    files: list[Path] = field(default_factory=list)
    """The record files, for links and artifacts."""

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.protocol, self.dataset, self.method)

    def values(self, measure: str) -> list[float]:
        """Scores of the folds that have one."""
        return [v for v in self.scores.get(measure, []) if not math.isnan(v)]


Units = dict[tuple[str, str, str], UnitScores]
"""By (protocol, dataset, method)."""


@dataclass(frozen=True)
class Places:
    """The folders of a workspace."""

    results: Path
    data: Path

    def ready(self, dataset: str) -> Path:
        return self.data / "ready" / f"{dataset}.npz"

    def folds(self, protocol: str, dataset: str) -> Path:
        return self.results / "folds" / protocol / f"{dataset}.npz"


def local_units(places: Places, units: Iterable[plan.Unit]) -> Units:
    """Scored local records of ``units``; units without any record are left out.

    So are records of rows or folds that have changed since: scored against the new ones they would
    be wrong, and the next run of Snakemake makes them again.
    """
    found = {}
    for unit in units:
        paths = [plan.record_path(places.results, chunk) for chunk in plan.chunks(unit)]
        present = {path: read_rows(path) for path in paths if path.is_file()}
        present = present or _of_another_cut(paths[0].parent)
        current = {path: rows for path, rows in present.items() if _is_current(places, rows)}
        if current:
            scored = score_unit(places, unit, current)
            found[scored.key] = scored
    return found


def _of_another_cut(folder: Path) -> dict[Path, list[FoldRow]]:
    """Records of a unit that was cut into other chunks when it was run; every fold once."""
    paths = sorted(folder.glob("folds_*.parquet"), key=lambda path: -path.stat().st_mtime)
    found: dict[Path, list[FoldRow]] = {}
    seen: dict[tuple[int, int], FoldRow] = {}
    for path in paths:
        rows = [row for row in read_rows(path) if (row.repeat, row.fold) not in seen]
        newest = next(iter(seen.values()), rows[0] if rows else None)
        if newest and all(_made_alike(row, newest) for row in rows):
            found[path] = rows
            seen |= {(row.repeat, row.fold): row for row in rows}
    return found


def _made_alike(row: FoldRow, other: FoldRow) -> bool:
    return (row.spec_sha256, row.code_sha256) == (other.spec_sha256, other.code_sha256)


def _is_current(places: Places, rows: list[FoldRow]) -> bool:
    return all(
        row.data_sha256 == _labels(places.ready(row.dataset))[1]
        and row.folds_sha256 == _tests(places.folds(row.protocol, row.dataset))[1]
        for row in rows
        if row.status != UNAVAILABLE
    )


def score_unit(
    places: Places, unit: plan.Unit, records: Mapping[Path, list[FoldRow]]
) -> UnitScores:
    """Score stored predictions against the labels; refuses predictions that lost their digest."""
    rows, values = [], []
    for path, found in records.items():
        predictions = read_predictions(path)
        for row in found:
            P = predictions.get((row.repeat, row.fold))
            rows.append(row)
            values.append(_score(places, row, P, path))
    order = sorted(range(len(rows)), key=lambda i: (rows[i].repeat, rows[i].fold))
    return UnitScores(
        unit.protocol,
        unit.dataset,
        unit.method,
        [rows[i] for i in order],
        {name: [values[i].get(name, math.nan) for i in order] for name in metrics.BETTER},
        LOCAL,
        list(records),
    )


def _score(places: Places, row: FoldRow, P: np.ndarray | None, path: Path) -> dict[str, float]:
    if row.status != OK or P is None:
        return {}
    if digest(P) != row.predictions_sha256:
        raise UserError(
            f"{predictions_path(path)}: the predictions of repeat {row.repeat}, fold {row.fold} "
            f"are not those that {path.name} was written with. Remove both files and run "
            "snakemake again."
        )
    D, _ = _labels(places.ready(row.dataset))
    tests, _ = _tests(places.folds(row.protocol, row.dataset))
    return metrics.evaluate(D[tests[row.repeat, row.fold]], P)


@cache
def _labels(ready: Path) -> tuple[np.ndarray, str]:
    """Label distributions and the digest of the rows; nothing where the data are not here."""
    try:
        data = load_ready(ready)
    except (FileNotFoundError, DataUnavailable):
        return np.empty((0, 0)), ""
    return data.D, data.fingerprint["data_sha256"]


@cache
def _tests(folds: Path) -> tuple[dict[tuple[int, int], np.ndarray], str]:
    """Test rows by (repeat, fold) and the digest of the folds; nothing where there are none."""
    made = read_folds(folds)[0] if folds.is_file() else []
    return {(f.repeat, f.fold): f.test for f in made}, folds_digest(made) if made else ""


def best_source(unit: plan.Unit, local: Units, reference: Units) -> UnitScores | None:
    """A complete local record, else the reference, else whatever local folds there are."""
    key = (unit.protocol, unit.dataset, unit.method)
    mine, theirs = local.get(key), reference.get(key)
    if mine is not None and mine.rows and is_complete(unit, mine):
        return mine
    if theirs is not None:
        return theirs
    return mine


def is_complete(unit: plan.Unit, scored: UnitScores) -> bool:
    """Whether every fold of the protocol has a prediction."""
    expected = expected_folds(unit, scored)
    return sum(row.status == OK for row in scored.rows) == expected


def expected_folds(unit: plan.Unit, scored: UnitScores | None = None) -> int:
    """Folds of the protocol; where only the data know their number, those that were recorded."""
    count = plan.count_folds(plan.protocol(unit.protocol))
    return count if count is not None else len(scored.rows if scored else [])


def unavailable_reason(scored: UnitScores) -> str:
    """Why the data of this unit were not there, or ''."""
    reasons = [row.error for row in scored.rows if row.status == UNAVAILABLE]
    return reasons[0] if reasons else ""

"""Gathers what units left behind: rows, scores and where they came from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from ldlrepro import metrics, plan
from ldlrepro.data.registry import load_ready
from ldlrepro.protocols.folds import read_folds
from ldlrepro.runs.records import OK, UNAVAILABLE, FoldRow, digest, read_predictions, read_rows

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
    """Scored local records of ``units``; units without any record are left out."""
    found = {}
    for unit in units:
        paths = [plan.record_path(places.results, chunk) for chunk in plan.chunks(unit)]
        present = [path for path in paths if path.is_file()]
        if present:
            scored = score_unit(places, unit, present)
            found[scored.key] = scored
    return found


def score_unit(places: Places, unit: plan.Unit, paths: list[Path]) -> UnitScores:
    """Score stored predictions against the labels; refuses predictions that lost their digest."""
    rows, values = [], []
    for path in paths:
        predictions = read_predictions(path)
        for row in read_rows(path):
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
        paths,
    )


def _score(places: Places, row: FoldRow, P: np.ndarray | None, path: Path) -> dict[str, float]:
    if row.status != OK or P is None:
        return {}
    if digest(P) != row.predictions_sha256:
        raise ValueError(f"{path}: the predictions of fold {row.fold} do not have their digest")
    D = _labels(places.ready(row.dataset))
    test = _tests(places.folds(row.protocol, row.dataset))[row.repeat, row.fold]
    return metrics.evaluate(D[test], P)


@cache
def _labels(ready: Path) -> np.ndarray:
    return load_ready(ready).D


@cache
def _tests(folds: Path) -> dict[tuple[int, int], np.ndarray]:
    return {(f.repeat, f.fold): f.test for f in read_folds(folds)[0]}


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

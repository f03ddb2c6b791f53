"""Gathers what units left behind: rows, scores and their sources."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from ldl import metrics
from ldlrepro import config, plan
from ldlrepro.core.checksums import array_sha256
from ldlrepro.core.errors import UserError, damage_told
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import DataUnavailable, ages, load_ready
from ldlrepro.folds.splits import folds_digest, read_folds
from ldlrepro.judge import measures
from ldlrepro.train.records import (
    OK,
    UNAVAILABLE,
    FoldRow,
    predictions_path,
    read_predictions,
    read_rows,
)

LOCAL, REFERENCE = "local", "reference"

Key = tuple[str, str, str]
"""Protocol, data set and method of a unit."""


@dataclass(frozen=True)
class UnitScores:
    """All folds of one (protocol, dataset, method), scored."""

    protocol: str
    dataset: str
    method: str
    rows: list[FoldRow]
    """Every fold, failed ones too, ordered by (repeat, fold)."""
    scores: dict[str, list[float]]
    """Measure name -> value per row of ``rows``; NaN where the fold has no prediction. Errors in
    years only where labels are ages."""
    source: str
    """'local' (results/) or 'reference' (reference/)."""
    files: list[Path] = field(default_factory=list)
    """The record files, for links and artifacts."""

    @property
    def key(self) -> Key:
        return (self.protocol, self.dataset, self.method)

    def values(self, measure: str) -> list[float]:
        """Return the scores of the folds that have one."""
        return list(self.by_fold(measure).values())

    def by_fold(self, measure: str) -> dict[tuple[int, int], float]:
        """Return (repeat, fold) -> score, where there is one."""
        scores = zip(self.rows, self.scores.get(measure, []), strict=False)
        return {(row.repeat, row.fold): v for row, v in scores if not math.isnan(v)}

    def mean(self, measure: str) -> float | None:
        """Return the mean over folds, or test rows if the protocol says so; None without scores."""
        scores = zip(self.rows, self.scores.get(measure, []), strict=False)
        scored = [(row.n_test, value) for row, value in scores if not math.isnan(value)]
        if not scored:
            return None
        sizes, values = zip(*scored, strict=True)
        return statistics.fmean(values, sizes if self.over_rows else None)

    @property
    def over_rows(self) -> bool:
        """True if the protocol averages over test rows; false for a protocol that is no more."""
        _, definition = plan.protocols().get(self.protocol, ("", {}))
        return bool(definition.get("average") == "rows")


Units = Mapping[Key, UnitScores]


def local_units(places: Workspace, units: Iterable[plan.Unit]) -> Units:
    """Return scored local records of ``units``; units without any record are left out.

    So are records whose rows or folds have changed since: scored against the new ones they would be
    wrong, and the next run of Snakemake makes them again.
    """
    found = {}
    for unit in units:
        paths = [plan.record_path(places.results, chunk) for chunk in plan.chunks(unit)]
        present = {path: _rows(path) for path in paths if path.is_file()}
        present = present or _of_another_cut(paths[0].parent)
        current = {path: rows for path, rows in present.items() if _is_current(places, rows)}
        if current:
            scored = score_unit(places, unit, current)
            found[scored.key] = scored
    return found


def _rows(path: Path) -> list[FoldRow]:
    with damage_told(path, _again(path)):
        try:
            rows = read_rows(path)
        except (KeyError, TypeError) as error:  # columns that a row lacks or does not know
            raise _other_version(path, str(error)) from None
    for row in rows:
        for name in ("predictions_sha256", "data_sha256", "folds_sha256"):
            if row.status == OK and not getattr(row, name):
                raise _other_version(path, f"it has no '{name}'")
    return rows


def _other_version(path: Path, how_known: str) -> UserError:
    return UserError(
        f"{path}: written by another version of ldlrepro ({how_known}). Go on with that version, "
        f"or compute it again. {_again(path)}"
    )


def _again(path: Path) -> str:
    return (
        "To compute it again, remove it and give the same snakemake command again:\n"
        f"  rm -f {path} {predictions_path(path)}"
    )


def _of_another_cut(folder: Path) -> dict[Path, list[FoldRow]]:
    """Return records of a unit that was cut into other chunks when it was run; every fold once."""
    paths = sorted(folder.glob("folds_*.parquet"), key=lambda path: -path.stat().st_mtime)
    found: dict[Path, list[FoldRow]] = {}
    seen: dict[tuple[int, int], FoldRow] = {}
    for path in paths:
        rows = [row for row in _rows(path) if (row.repeat, row.fold) not in seen]
        newest = next(iter(seen.values()), rows[0] if rows else None)
        if newest and all(_made_alike(row, newest) for row in rows):
            found[path] = rows
            seen |= {(row.repeat, row.fold): row for row in rows}
    return found


def _made_alike(row: FoldRow, other: FoldRow) -> bool:
    return (row.spec_sha256, row.code_sha256) == (other.spec_sha256, other.code_sha256)


def _is_current(places: Workspace, rows: list[FoldRow]) -> bool:
    return all(
        row.data_sha256 == _labels(places.ready(row.dataset)).sha256
        and row.folds_sha256 == _tests(places.folds(row.protocol, row.dataset))[1]
        for row in rows
        if row.status != UNAVAILABLE
    )


def score_unit(
    places: Workspace, unit: plan.Unit, records: Mapping[Path, list[FoldRow]]
) -> UnitScores:
    """Score stored predictions against the labels; refuse predictions that lost their digest."""
    rows, values = [], []
    for path, found in records.items():
        with damage_told(predictions_path(path), _again(path)):
            predictions = read_predictions(path)
        for row in found:
            P = predictions.get((row.repeat, row.fold))
            rows.append(row)
            values.append(_score(places, row, P, path))
    order = sorted(range(len(rows)), key=lambda i: (rows[i].repeat, rows[i].fold))
    some = [*metrics.LABEL_BETTER, *metrics.AGE_BETTER]
    there = [name for name in some if any(name in found for found in values)]
    return UnitScores(
        *unit.ids,
        [rows[i] for i in order],
        {
            name: [values[i].get(name, math.nan) for i in order]
            for name in [*metrics.BETTER, *there, *config.own_ids("metric")]
        },
        LOCAL,
        list(records),
    )


def _score(places: Workspace, row: FoldRow, P: np.ndarray | None, path: Path) -> dict[str, float]:
    if row.status != OK:
        return {}
    if P is None or array_sha256(P) != row.predictions_sha256:
        raise UserError(
            f"{predictions_path(path)}: the predictions of repeat {row.repeat}, fold {row.fold} "
            f"are not those that {path.name} was written with. {_again(path)}"
        )
    true = _labels(places.ready(row.dataset))
    tests, _ = _tests(places.folds(row.protocol, row.dataset))
    test = tests[row.repeat, row.fold]
    scores = measures.evaluate(true.D[test], P, measures.prints_labels(row.protocol))
    if true.ages is not None and true.grid is not None:
        scores |= ages.errors(P, true.grid, true.ages[test], row.method)
    return scores


@dataclass(frozen=True)
class _Labels:
    """The labels that predictions are scored against; nothing where the data are not here."""

    D: np.ndarray
    sha256: str
    ages: np.ndarray | None = None
    """Ages of the rows, where labels are ages."""
    grid: np.ndarray | None = None
    """Ages that the labels stand for."""


@cache
def _labels(ready: Path) -> _Labels:
    try:
        data = load_ready(ready)
    except (FileNotFoundError, DataUnavailable):
        return _Labels(np.empty((0, 0)), "")
    return _Labels(data.D, data.fingerprint["data_sha256"], data.target, ages.grid_of(data.labels))


@cache
def _tests(folds: Path) -> tuple[dict[tuple[int, int], np.ndarray], str]:
    """Return test rows by (repeat, fold) and the digest of the folds; nothing without folds."""
    if not folds.is_file():
        return {}, ""
    with damage_told(folds, f"Remove it and give the same snakemake command again:\n  rm {folds}"):
        made = read_folds(folds)[0]
    return {(f.repeat, f.fold): f.test for f in made}, folds_digest(made) if made else ""


def best_source(unit: plan.Unit, local: Units, reference: Units) -> UnitScores | None:
    """Return a complete local record, else a complete reference, else whatever folds there are."""
    mine, theirs = local.get(unit.ids), reference.get(unit.ids)
    whole = (one for one in (mine, theirs) if one and one.rows and is_complete(unit, one))
    return next(whole, mine or theirs)


def is_complete(unit: plan.Unit, scored: UnitScores) -> bool:
    """Tell whether every fold of the protocol has a prediction."""
    expected = expected_folds(unit, scored)
    return sum(row.status == OK for row in scored.rows) == expected


def expected_folds(unit: plan.Unit, scored: UnitScores | None = None) -> int:
    """Return the number of folds of the protocol, or those recorded if only the data tell it."""
    count = unit.count_folds()
    return count if count is not None else len(scored.rows if scored else [])


def unavailable_reason(scored: UnitScores) -> str:
    """Return why the data of this unit were not there, or ''."""
    reasons = [row.error for row in scored.rows if row.status == UNAVAILABLE]
    return reasons[0] if reasons else ""

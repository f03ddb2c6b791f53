"""Gathers what units left behind: rows, scores and their sources."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ldl import metrics
from ldlrepro.catalogue import Project, digests
from ldlrepro.core.checksums import array_sha256
from ldlrepro.core.errors import UserError, damage_told
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import DataUnavailable, ages, load_ready
from ldlrepro.folds.splits import folds_digest, read_folds
from ldlrepro.judge import measures
from ldlrepro.plan import Plan, Unit
from ldlrepro.train.records import (
    FAILED,
    OK,
    UNAVAILABLE,
    FoldRow,
    last_line,
    predictions_path,
    read_predictions,
    read_rows,
)

LOCAL, REFERENCE = "local", "reference"


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; `statistics` takes ten times as long."""
    mean = statistics.fmean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


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
    over_rows: bool = False
    """Whether the protocol averages over test rows, and not over folds."""

    @property
    def key(self) -> str:
        """Return the key of its ``Unit``."""
        return "/".join(self.ids)

    @property
    def ids(self) -> tuple[str, str, str]:
        """Return the ids of protocol, data set and method, for columns and routes."""
        return self.protocol, self.dataset, self.method

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

    def mean_and_std(self, values: Sequence[float]) -> tuple[float, float | None]:
        """Return mean and standard deviation of values over the folds, or of the mean over rows."""
        if self.over_rows and len(values) == len(self.rows):
            # The deviation over folds of very different sizes says nothing about this mean.
            return statistics.fmean(values, [row.n_test for row in self.rows]), None
        return statistics.fmean(values), deviation(values) if len(values) > 1 else None

    def differences(self, other: UnitScores | None, metric: str) -> list[float]:
        """Return differences to another method on the same folds, fold by fold."""
        metric = metric.removeprefix("delta_")
        mine, theirs = self.values(metric), other.values(metric) if other else []
        if len(mine) != len(theirs):
            return []
        return [a - b for a, b in zip(mine, theirs, strict=True)]

    @property
    def trouble(self) -> str:
        """Return why its data were not there, or why a fold failed; '' where all went well."""
        for row in self.rows:
            if row.status == UNAVAILABLE:
                return row.error
        failed = [row for row in self.rows if row.status == FAILED]
        return f"failed: {last_line(failed[0].error)}" if failed else ""


Units = Mapping[str, UnitScores]
"""Scored units by their keys."""


@dataclass(frozen=True)
class Sources:
    """Scored units of two sources: those that ran here come first, then the maintainers'."""

    local: Units
    reference: Units

    def best(self, unit: Unit) -> UnitScores | None:
        """Return a complete local record, else a complete reference, else what folds there are."""
        mine, theirs = self.local.get(unit.key), self.reference.get(unit.key)
        whole = (one for one in (mine, theirs) if one and one.rows and is_complete(unit, one))
        return next(whole, mine or theirs)

    def chosen(self, units: Iterable[Unit]) -> list[UnitScores]:
        """Return the best of each unit; those that have none are left out."""
        found = (self.best(unit) for unit in units)
        return [unit for unit in found if unit is not None]


@dataclass(frozen=True)
class _Labels:
    """The labels that predictions are scored against; nothing where the data are not here."""

    D: np.ndarray
    sha256: str
    ages: np.ndarray | None = None
    """Ages of the rows, where labels are ages."""
    grid: np.ndarray | None = None
    """Ages that the labels stand for."""


@dataclass(frozen=True)
class _Tests:
    """Test rows by (repeat, fold), and the digest of the folds; nothing without folds."""

    rows: Mapping[tuple[int, int], np.ndarray]
    sha256: str


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores the records of a workspace; labels and folds are read once."""

    plan: Plan
    workspace: Workspace
    _labels: dict[str, _Labels] = field(default_factory=dict, repr=False)
    _tests: dict[tuple[str, str], _Tests] = field(default_factory=dict, repr=False)

    def local_units(self, units: Iterable[Unit]) -> dict[str, UnitScores]:
        """Return scored local records of ``units``; units without any record are left out.

        So are records whose rows or folds have changed since: scored against the new ones they
        would be wrong, and the next run of Snakemake makes them again.
        """
        found = {}
        for unit in units:
            paths = [chunk.record(self.workspace.results) for chunk in self.plan.chunks(unit)]
            if all(path.is_file() for path in paths):
                present = {path: _rows(path) for path in paths}
            else:
                present = _of_any_cut(paths[0].parent)
            current = {path: rows for path, rows in present.items() if self._is_current(rows)}
            if current:
                found[unit.key] = self.score(unit, current)
        return found

    def score(self, unit: Unit, records: Mapping[Path, list[FoldRow]]) -> UnitScores:
        """Score stored predictions against the labels; refuse those that lost their digest."""
        rows, values = [], []
        prints_labels = self._prints_labels(unit)
        for path, found in records.items():
            with damage_told(predictions_path(path), _again(path)):
                predictions = read_predictions(path)
            for row in found:
                P = _checked(row, predictions.get((row.repeat, row.fold)), path)
                rows.append(row)
                values.append({} if P is None else self._scores(unit, row, P, prints_labels))
        order = sorted(range(len(rows)), key=lambda i: (rows[i].repeat, rows[i].fold))
        some = [*metrics.LABEL_BETTER, *metrics.AGE_BETTER]
        there = [name for name in some if any(name in found for found in values)]
        return UnitScores(
            *unit.ids,
            [rows[i] for i in order],
            {
                name: [values[i].get(name, math.nan) for i in order]
                for name in [*metrics.BETTER, *there, *self.plan.project.measure_ids]
            },
            LOCAL,
            list(records),
            unit.protocol.average == "rows",
        )

    def _scores(
        self, unit: Unit, row: FoldRow, P: np.ndarray, prints_labels: bool
    ) -> dict[str, float]:
        true = self._labels_of(row.dataset)
        test = self._tests_of(row.protocol, row.dataset).rows[row.repeat, row.fold]
        scores = measures.evaluate(true.D[test], P, self.plan.project.measures, prints_labels)
        if true.ages is not None and true.grid is not None:
            scores |= ages.errors(P, true.grid, true.ages[test], unit.method.age)
        return scores

    def _prints_labels(self, unit: Unit) -> bool:
        """Tell whether the paper of a protocol prints errors of the label on top."""
        printed = self.plan.published(self.plan.project.paper(unit.protocol.paper))
        return any(row["metric"] in metrics.LABEL_BETTER for row in printed)

    def _is_current(self, rows: list[FoldRow]) -> bool:
        return all(
            row.data_sha256 == self._labels_of(row.dataset).sha256
            and row.folds_sha256 == self._tests_of(row.protocol, row.dataset).sha256
            for row in rows
            if row.status != UNAVAILABLE
        )

    def _labels_of(self, data_set: str) -> _Labels:
        if data_set not in self._labels:
            self._labels[data_set] = _read_labels(self.workspace.ready(data_set))
        return self._labels[data_set]

    def _tests_of(self, protocol: str, data_set: str) -> _Tests:
        where = protocol, data_set
        if where not in self._tests:
            self._tests[where] = _read_tests(self.workspace.folds(*where))
        return self._tests[where]


def _read_labels(ready: Path) -> _Labels:
    try:
        data = load_ready(ready)
    except (FileNotFoundError, DataUnavailable):
        return _Labels(np.empty((0, 0)), "")
    return _Labels(data.D, data.fingerprint["data_sha256"], data.target, ages.grid_of(data.labels))


def _read_tests(folds: Path) -> _Tests:
    if not folds.is_file():
        return _Tests({}, "")
    with damage_told(folds, f"Remove it and give the same snakemake command again:\n  rm {folds}"):
        made = read_folds(folds)[0]
    return _Tests({(f.repeat, f.fold): f.test for f in made}, folds_digest(made) if made else "")


def origins(units: Iterable[UnitScores], project: Project) -> dict[str, int]:
    """Count records by the code that computed them."""
    counts = dict.fromkeys(("present code", "code with the same bits", "other code"), 0)
    changed = 0
    for unit in units:
        codes = {row.code_sha256 for row in unit.rows}
        method = project.method(unit.method) if project.has_method(unit.method) else None
        if method and codes == {digests.method_digest(method)}:
            counts["present code"] += 1
        elif method and codes <= digests.codes_as_good(method):
            counts["code with the same bits"] += 1
        else:
            counts["other code"] += 1
        changed += any(row.git_commit.endswith("+") for row in unit.rows)
    return {**counts, "a tree with uncommitted changes": changed}


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


def _of_any_cut(folder: Path) -> dict[Path, list[FoldRow]]:
    """Return records of a unit, into whatever chunks its folds were cut; every fold once."""
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


def _checked(row: FoldRow, P: np.ndarray | None, path: Path) -> np.ndarray | None:
    """Return the predictions that a record was written with; None of a fold that has none."""
    if row.status != OK:
        return None
    if P is None or array_sha256(P) != row.predictions_sha256:
        raise UserError(
            f"{predictions_path(path)}: the predictions of repeat {row.repeat}, fold {row.fold} "
            f"are not those that {path.name} was written with. {_again(path)}"
        )
    return P


def is_complete(unit: Unit, scored: UnitScores) -> bool:
    """Tell whether every fold of the protocol has a prediction."""
    expected = expected_folds(unit, scored)
    return sum(row.status == OK for row in scored.rows) == expected


def expected_folds(unit: Unit, scored: UnitScores | None = None) -> int:
    """Return the number of folds of the protocol, or those recorded if only the data tell it."""
    count = unit.count_folds()
    return count if count is not None else len(scored.rows if scored else [])

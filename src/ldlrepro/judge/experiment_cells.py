"""Printed numbers that are no scores of a unit: measurements of experiments, and seconds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ldlrepro.catalogue import Paper
from ldlrepro.experiments import MeasuredCell, Measurement
from ldlrepro.judge.scores import LOCAL, Sources, UnitScores
from ldlrepro.plan import Cell, Plan
from ldlrepro.plan.printed import TIMES
from ldlrepro.train.records import OK

Found = Mapping[tuple[str, ...], MeasuredCell]
"""Measured cells by data set, setting, method and measure."""
Experiments = Mapping[str, Measurement]
"""Measurements of experiments, by their id."""

YARDSTICK = "the yardstick of this table, scaled to its printed time: the others are judged by it"


@dataclass(frozen=True)
class Numbers:
    """What was measured for a printed number."""

    mean: float
    std: float | None
    n_folds: int
    expected_folds: int
    source: str
    same_bits: str = ""


@dataclass(frozen=True, eq=False)
class MeasuredBy:
    """Finds a printed number among what experiments measured, or the seconds of units.

    Seconds depend on the machine. What is judged is their ratio to a yardstick, a method of the
    same table or a setting of the same method: our times are scaled so that the yardstick takes as
    long as printed. Those of units are CPU seconds, which neither threads nor other load change.
    """

    plan: Plan
    paper: Paper
    sources: Sources
    experiments: Experiments

    def of(self, cell: Cell) -> Numbers | None:
        """Return what an experiment measured; None where none did."""
        if cell.experiment not in self.experiments:
            return None
        found = self.experiments[cell.experiment]
        values: Found = {(e.dataset, e.setting, e.method, e.metric): e for e in found.cells}
        mine, yardstick = _found(cell, values), self._yardstick(cell)
        if mine is None:
            return None
        scale = 1.0
        if yardstick:
            theirs = _found(yardstick, values)
            if theirs is None:
                return None
            scale = float(yardstick.row["mean"]) / theirs.mean
        std = None if mine.std is None else mine.std * scale
        return Numbers(mine.mean * scale, std, mine.n, mine.n, found.source)

    def seconds(self, cell: Cell, scored: UnitScores) -> list[float]:
        """Return scaled seconds per fold; none where the yardstick was not timed alike."""
        yardstick = self._yardstick(cell)
        if yardstick is None or yardstick.unit is None:
            return []
        records = self.sources.local if scored.source == LOCAL else self.sources.reference
        other = records.get(yardstick.unit.key)
        taken = _seconds(other) if other else []
        if not taken or not other or not self._timed_alike(scored, other):
            return []
        scale = float(yardstick.row["mean"]) / statistics.fmean(taken)
        return [scale * value for value in _seconds(scored)]

    def note(self, cell: Cell) -> str:
        """Return what a reader must know of a number that is not as it was measured."""
        if self._yardstick(cell) is None:
            return ""
        name = self._yardsticks[cell.row["table"]]
        ours = "seconds" if cell.experiment else "CPU seconds"
        return f"our {ours}, scaled so that {name} takes as long as printed"

    def is_yardstick(self, cell: Cell) -> bool:
        """Tell whether a cell is the yardstick, whose scaled time equals the printed one."""
        return self._yardstick(cell) is cell

    def why_not(self, cell: Cell) -> str:
        """Say why an experiment has not measured a number."""
        if cell.experiment not in self.experiments:
            command = f"ldlrepro experiment {self.paper.id} {cell.experiment} --inputs"
            return f"not run yet: {command}"
        return f"data not available to the experiment {cell.experiment}: {cell.row['dataset']}"

    @cached_property
    def _yardsticks(self) -> dict[str, str]:
        """Return table -> the printed method or setting that its times are compared to."""
        return {
            name: table.compared_to
            for name, table in self.paper.tables.items()
            if table.compared_to
        }

    def _yardstick(self, cell: Cell) -> Cell | None:
        """Return the printed number that this time refers to."""
        row = cell.row
        if row["metric"] not in TIMES or row["table"] not in self._yardsticks:
            return None
        name = self._yardsticks[row["table"]]
        for other in self.plan.cells(self.paper):
            by_method = (other.row["table"], other.row["method"]) == (row["table"], name)
            by_setting = (other.row["method"], other.row["setting"]) == (row["method"], name)
            same = all(other.row[key] == row[key] for key in ("dataset", "metric"))
            if same and (by_method or by_setting):
                return other
        return None

    def _timed_alike(self, one: UnitScores, other: UnitScores) -> bool:
        """Tell whether two units were timed alike.

        They are if they ran on the same kind of processor and, where they are settings of one
        method, by the same code of it.
        """
        rows = [[row for row in unit.rows if row.status == OK] for unit in (one, other)]
        processors = [{row.machine.get("cpu", "") for row in of_unit} for of_unit in rows]
        codes = [{row.code_sha256 for row in of_unit} for of_unit in rows]
        project = self.plan.project
        classes = {project.method(unit.method).class_path for unit in (one, other)}
        return processors[0] == processors[1] and (len(classes) > 1 or codes[0] == codes[1])


def _seconds(scored: UnitScores) -> list[float]:
    """Return CPU seconds of fit and prediction per fold; none where a record lacks them."""
    seconds = [row.fit_cpu_s + row.predict_cpu_s for row in scored.rows if row.status == OK]
    return seconds if all(seconds) else []


def _found(cell: Cell, values: Found) -> MeasuredCell | None:
    return values.get(tuple(cell.row[name] for name in ("dataset", "setting", "method", "metric")))

"""Printed numbers that are no scores of a unit: measurements of experiments, and seconds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from ldlrepro import config, plan
from ldlrepro.judge.scores import LOCAL, Units, UnitScores
from ldlrepro.plan.printed import TIMES
from ldlrepro.train.records import OK

Experiments = Mapping[str, Mapping[str, Any]]
"""Measurements of experiments, by their id."""

YARDSTICK = "the yardstick of this table: the other times are judged in relation to it"


class MeasuredBy:
    """Finds a printed number among what experiments measured, or the seconds of units.

    Seconds depend on the machine. What is judged is their ratio to a yardstick, a method of the
    same table or a setting of the same method: our times are scaled so that the yardstick takes as
    long as printed. Those of units are CPU seconds, which neither threads nor other load change.
    """

    def __init__(self, paper: str, experiments: Experiments) -> None:
        self.paper = paper
        self.experiments = experiments
        self.yardsticks = {
            name: table["compared_to"]
            for name, table in config.load_paper(paper)["tables"].items()
            if table.get("kind") != "deltas" and "compared_to" in table
        }
        self.cells = plan.cells(paper)

    def of(self, cell: plan.Cell) -> dict[str, Any]:
        """Return the fields of a verdict row; nothing where it was not measured."""
        found = self.experiments.get(cell.experiment, {"cells": []})
        values = {_place(entry): entry for entry in found["cells"]}
        mine, yardstick = values.get(_place(cell.row)), self._yardstick(cell)
        if mine is None:
            return {}
        scale = 1.0
        if yardstick:
            if _place(yardstick.row) not in values:
                return {}
            scale = float(yardstick.row["mean"]) / values[_place(yardstick.row)]["mean"]
        return {
            "measured": mine["mean"] * scale,
            "measured_std": None if mine["std"] is None else mine["std"] * scale,
            "n_folds": mine["n"],
            "expected_folds": mine["n"],
            "source": found["source"],
        }

    def seconds(
        self, cell: plan.Cell, scored: UnitScores, local: Units, reference: Units
    ) -> list[float]:
        """Return scaled seconds per fold; none where the yardstick was not timed alike."""
        yardstick = self._yardstick(cell)
        if yardstick is None or yardstick.unit is None:
            return []
        unit = yardstick.unit
        records = local if scored.source == LOCAL else reference
        other = records.get((unit.protocol, unit.dataset, unit.method))
        taken = _seconds(other) if other else []
        if not taken or not other or not _timed_alike(scored, other):
            return []
        scale = float(yardstick.row["mean"]) / statistics.fmean(taken)
        return [scale * value for value in _seconds(scored)]

    def note(self, cell: plan.Cell) -> str:
        """Return what a reader must know of a number that is not as it was measured."""
        yardstick = self._yardstick(cell)
        if yardstick is None:
            return ""
        name = self.yardsticks[cell.row["table"]]
        ours = "seconds" if cell.experiment else "CPU seconds"
        return f"our {ours}, scaled so that {name} takes as long as printed"

    def is_yardstick(self, cell: plan.Cell) -> bool:
        """Tell whether a cell is the yardstick, whose scaled time equals the printed one."""
        return self._yardstick(cell) is cell

    def why_not(self, cell: plan.Cell) -> str:
        if cell.experiment not in self.experiments:
            command = f"ldlrepro experiment {self.paper} {cell.experiment} --inputs"
            return f"not run yet: {command}"
        return f"data not available to the experiment {cell.experiment}: {cell.row['dataset']}"

    def _yardstick(self, cell: plan.Cell) -> plan.Cell | None:
        """Return the printed number that this time refers to."""
        row = cell.row
        if row["metric"] not in TIMES or row["table"] not in self.yardsticks:
            return None
        name = self.yardsticks[row["table"]]
        for other in self.cells:
            by_method = (other.row["table"], other.row["method"]) == (row["table"], name)
            by_setting = (other.row["method"], other.row["setting"]) == (row["method"], name)
            same = all(other.row[key] == row[key] for key in ("dataset", "metric"))
            if same and (by_method or by_setting):
                return other
        return None


def _seconds(scored: UnitScores) -> list[float]:
    """Return CPU seconds of fit and prediction per fold; none where a record lacks them."""
    seconds = [row.fit_cpu_s + row.predict_cpu_s for row in scored.rows if row.status == OK]
    return seconds if all(seconds) else []


def _timed_alike(one: UnitScores, other: UnitScores) -> bool:
    """Tell whether two units were timed alike.

    They are if they ran on the same kind of processor and, where they are settings of one method,
    by the same code of it.
    """
    rows = [[row for row in unit.rows if row.status == OK] for unit in (one, other)]
    processors = [{row.machine.get("cpu", "") for row in of_unit} for of_unit in rows]
    codes = [{row.code_sha256 for row in of_unit} for of_unit in rows]
    classes = {config.load_method(unit.method)["class"] for unit in (one, other)}
    return processors[0] == processors[1] and (len(classes) > 1 or codes[0] == codes[1])


def _place(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("dataset", "setting", "method", "metric"))

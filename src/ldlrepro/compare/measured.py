"""Printed numbers that no unit measures but an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldlrepro import config, plan

Experiments = Mapping[str, Mapping[str, Any]]
"""What experiments measured, by their id."""

TIMES = ("train_time_s", "test_time_s", "time_ms")


class MeasuredBy:
    """Finds a printed number among what experiments measured.

    Seconds depend on the machine. What is judged is their ratio to a yardstick, a method of the
    same table: our times are scaled so that the yardstick takes as long as printed.
    """

    def __init__(self, paper: str, experiments: Experiments) -> None:
        self.paper = paper
        self.experiments = experiments
        self.yardsticks = {
            name: table["compared_to"]
            for name, table in config.load_paper(paper)["tables"].items()
            if table.get("kind") == "experiment" and "compared_to" in table
        }
        self.rows = [cell.row for cell in plan.cells(paper)]

    def of(self, cell: plan.Cell) -> dict[str, Any]:
        """The fields of a verdict row; nothing where it was not measured."""
        found = self.experiments.get(cell.experiment, {"cells": []})
        values = {_place(entry): entry for entry in found["cells"]}
        mine, yardstick = values.get(_place(cell.row)), self._yardstick(cell)
        if mine is None:
            return {}
        scale = 1.0
        if yardstick:
            if _place(yardstick) not in values:
                return {}
            scale = float(yardstick["mean"]) / values[_place(yardstick)]["mean"]
        return {
            "measured": mine["mean"] * scale,
            "measured_std": None if mine["std"] is None else mine["std"] * scale,
            "n_folds": mine["n"],
            "expected_folds": mine["n"],
            "source": found["source"],
        }

    def note(self, cell: plan.Cell) -> str:
        """What a reader must know of a number that is not as it was measured."""
        yardstick = self._yardstick(cell)
        if yardstick is None:
            return ""
        return f"our seconds, scaled so that {yardstick['method']} takes as long as printed"

    def is_yardstick(self, cell: plan.Cell) -> bool:
        """Its scaled time is the printed one by definition, which is no judgement."""
        return self._yardstick(cell) is cell.row

    def why_not(self, cell: plan.Cell) -> str:
        if cell.experiment not in self.experiments:
            return f"not run yet: ldlrepro experiment {self.paper} {cell.experiment}"
        if self.is_yardstick(cell):
            return "the yardstick of this table: the other times are judged in relation to it"
        return f"data not available to the experiment {cell.experiment}: {cell.row['dataset']}"

    def _yardstick(self, cell: plan.Cell) -> dict[str, str] | None:
        """The printed row that the times of this table refer to."""
        if cell.row["metric"] not in TIMES or cell.row["table"] not in self.yardsticks:
            return None
        wanted = {**cell.row, "method": self.yardsticks[cell.row["table"]]}
        keys = ("table", "dataset", "method", "metric")
        return next(row for row in self.rows if all(row[key] == wanted[key] for key in keys))


def _place(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("dataset", "setting", "method", "metric"))

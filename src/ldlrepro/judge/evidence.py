"""How much the print itself had a say in the settings behind a verdict: blind, predicted, fitted.

A paper leaves things open, and its YAML lists the readings (``candidates``). A data set is judged
as the text states it. Where that misses, it is judged by the reading that the printed digits of the
paper's other data sets choose: as with folds, what judges has not chosen. The rule is fixed. Each
reading has one number for a data set, the mean surprise of its printed digits
(``experiments.printed_digits``); the reading with the least mean over the other data sets is taken.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ldlrepro.catalogue import Paper
from ldlrepro.plan import Cell, Unit

BLIND, PREDICTED, FITTED = "blind", "predicted", "fitted"
INDEPENDENT = (BLIND, PREDICTED)
"""Evidence of cells that no number of their own data set had a say in."""


@dataclass(frozen=True)
class Choice:
    """The reading that the other data sets choose for one data set."""

    reading: int
    """Its place among the readings, the stated one being the first."""
    runner_up: int
    of: int
    """Data sets that chose."""
    same: int
    """Data sets that, left out in turn, leave the same reading chosen."""


Surprises = Mapping[str, Sequence[float]]
"""Data set -> the surprise of its printed digits under each reading."""


def choose(surprises: Surprises, left_out: str) -> Choice | None:
    """Choose a reading without the numbers of one data set; None where no other one is printed."""
    others = [name for name in surprises if name != left_out]
    if not others:
        return None
    best, runner_up, *_ = _ranked(surprises, others)
    turns = [_ranked(surprises, [n for n in surprises if n != name]) for name in surprises]
    same = sum(turn[0] == best for turn in turns if turn)
    return Choice(best, runner_up, len(others), same)


def _ranked(surprises: Surprises, names: Sequence[str]) -> list[int]:
    """Return the readings by their mean surprise over data sets; the earlier one wins a tie."""
    if not names:
        return []
    columns = zip(*(surprises[name] for name in names), strict=True)
    means = [statistics.fmean(column) for column in columns]
    return sorted(range(len(means)), key=means.__getitem__)


def looks(paper: Paper, cell: Cell, unit: Unit) -> list[str]:
    """Return what a cell's number rests on that the print had chosen, and no reading varies.

    What the paper itself states was chosen by nobody, whatever another paper says of it.
    """
    readings = [cell.unit, *cell.others] if cell.unit is not None else []
    method = unit.method
    found = []
    for name, look in method.origins.print.items():
        if paper.states(method, name):
            continue
        values = {repr(_setting(reading, name)) for reading in readings}
        if len(values) < 2:
            found.append(f"{name} ({look})")
    if unit.protocol.by_print and len({reading.protocol.id for reading in readings}) < 2:
        found.append(f"folds ({unit.protocol.by_print})")
    found += [f"{e.what} ({e.evidence})" for e in paper.chosen_by_print if e.covers(cell.row)]
    return found


def _setting(unit: Unit, name: str) -> object:
    method = unit.method
    if name == "scaling":
        return method.scaling
    return method.grid.get(name, method.parameters.get(name))

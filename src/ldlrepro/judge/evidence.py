"""How much the print itself had a say in the settings behind a verdict: blind, predicted, fitted.

A paper leaves things open, and its YAML lists the readings (``candidates``). One reading judges all
numbers of a method on a data set: the one that the printed digits of the paper's other data sets
choose. So no number chooses its own judge, and none is tried twice. Each reading has one number for
a data set, the mean surprise of its printed means and deviations (``experiments.printed_digits``);
the reading with the least mean over the other families of data sets is taken, for the sets of one
family share their rows. A data set on which a reading was not measured has no say. Where none has,
the first reading judges, the paper as stated. Where the cell's own data set, or one of its family,
suggested a setting of the reading that judges, the number is fitted all the same.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldlrepro.catalogue import Paper
from ldlrepro.experiments.printed_digits import Digits, Printed, Way, as_printed
from ldlrepro.judge.bands import SeedNoise
from ldlrepro.judge.scores import Sources, deviation
from ldlrepro.plan import Cell, Plan, Unit, is_quoted
from ldlrepro.plan.printed import TIMES, cell_key, printed_deviation

FAR = 2
"""Standard errors that two readings are apart where the choice between them is certain."""

Surprises = Mapping[str, Sequence[float]]
"""Family of data sets -> the mean surprise of its digits under each reading."""


@dataclass(frozen=True)
class Choice:
    """The reading that the other data sets choose for one data set."""

    unit: Unit
    runner_up: Unit
    readings: int
    of: int
    """Families of data sets that chose."""
    certain: bool
    """Whether their mean surprises differ by more than ``FAR`` standard errors over families."""

    def words(self, verdict: str) -> str:
        """Say which reading judges, how sure the choice is, and the verdict under the next one."""
        others = "family" if self.of == 1 else f"{self.of} families"
        said = [
            f"Judged by {_named(self.unit)}. Of the {self.readings} readings that the text leaves "
            f"open, it fits the numbers of the other {others} of data sets best.",
            f"Next is {_named(self.runner_up)}; by it this number would be judged {verdict}.",
        ]
        if not self.certain:
            why = "over these families the two differ by less than two standard errors"
            alone = "it rests on one family"
            said.append(f"The choice is not certain: {alone if self.of == 1 else why}.")
        return " ".join(said)


@dataclass(frozen=True)
class ReadingRow:
    """A reading of what a paper leaves open for one of its methods."""

    method: str
    """As printed."""
    reading: str
    """Protocol and method."""
    stated: bool
    surprise: float
    """Mean over the families; the least is chosen."""
    chosen: int
    """Data sets that it is chosen for by the others."""
    of: int


@dataclass(frozen=True, eq=False)
class Readings:
    """The readings of what a paper leaves open, and the digits that choose among them."""

    plan: Plan
    paper: Paper
    sources: Sources
    noise: SeedNoise

    def choose(self, cell: Cell) -> Choice | None:
        """Return the reading that other data sets choose; None where none of them can."""
        readings = readings_of(cell)
        surprises = self._by_family.get(_group(cell), {})
        others = [name for name in surprises if name != self._family(cell.row["dataset"])]
        if not others:
            return None
        best, runner_up, *_ = ranked(surprises, others)
        gaps = [surprises[name][runner_up] - surprises[name][best] for name in others]
        return Choice(
            readings[best],
            readings[runner_up],
            readings=len(readings),
            of=len(others),
            certain=len(others) > 1 and statistics.fmean(gaps) > FAR * standard_error(gaps),
        )

    def table(self) -> list[ReadingRow]:
        """Return every reading with its surprise, and how many data sets are judged by it."""
        rows = []
        for group, surprises in self._by_family.items():
            if len(surprises) < 2:
                continue
            (method, *names) = group
            chosen = [
                ranked(surprises, [name for name in surprises if name != self._family(left_out)])[0]
                for left_out in self._surprises[group]
            ]
            for place, reading in enumerate(names):
                surprise = statistics.fmean(mine[place] for mine in surprises.values())
                rows.append(
                    ReadingRow(
                        method, reading, not place, surprise, chosen.count(place), len(chosen)
                    )
                )
        return rows

    def _family(self, data_set: str) -> str:
        return self.plan.project.families.get(data_set) or data_set

    @cached_property
    def _by_family(self) -> dict[tuple[str, ...], Surprises]:
        """Return the surprises of each group of cells, those of a family of data sets as one."""
        found: dict[tuple[str, ...], Surprises] = {}
        for group, surprises in self._surprises.items():
            together: dict[str, list[list[float]]] = {}
            for name, values in surprises.items():
                together.setdefault(self._family(name), []).append(values)
            found[group] = {
                family: [statistics.fmean(column) for column in zip(*members, strict=True)]
                for family, members in together.items()
            }
        return found

    @cached_property
    def _surprises(self) -> dict[tuple[str, ...], dict[str, list[float]]]:
        """Return the surprises of each group of cells that share their readings."""
        misprints = {cell_key(vars(entry)) for entry in self.paper.misprints}
        groups: dict[tuple[str, ...], dict[str, list[Cell]]] = {}
        for cell in self.plan.cells(self.paper):
            own = not (is_quoted(cell.row) or cell.copied or cell_key(cell.row) in misprints)
            scored = cell.row["metric"] not in TIMES  # seconds say nothing of folds or settings
            if cell.others and own and scored:
                groups.setdefault(_group(cell), {}).setdefault(cell.row["dataset"], []).append(cell)
        return {
            group: {
                name: found
                for name, cells in by_data_set.items()
                if (found := self._of_data_set(cells)) is not None
            }
            for group, by_data_set in groups.items()
        }

    def _of_data_set(self, cells: Sequence[Cell]) -> list[float] | None:
        """Return the surprise of the cells under each reading; None if one is not measured."""
        readings = [self._numbers(cells, place) for place in range(len(readings_of(cells[0])))]
        known = [reading for reading in readings if reading is not None]
        if len(known) < len(readings):
            return None
        rows = [cell.row for cell in cells]
        deviations = [printed_deviation(self.paper, row) for row in rows]
        printed: Printed = as_printed([row["mean"] for row in rows], deviations)
        digits = Digits(printed, np.median([noise for _, noise, _ in known], axis=0))
        return [
            digits.surprise_of_print(Way("", "", "", numbers[None, :], drawn))
            for numbers, _, drawn in known
        ]

    def _numbers(
        self, cells: Sequence[Cell], place: int
    ) -> tuple[np.ndarray, np.ndarray, bool] | None:
        """Return the numbers of a reading, what a seed changes in them, and whether it does."""
        units = [readings_of(cell)[place] for cell in cells]
        unit = units[0]
        scored = self.sources.best(unit)
        if scored is None:
            return None
        means, stds, noise = [], [], []
        for cell in cells:
            values = scored.values(cell.row["metric"])
            if len(values) < 2:
                return None
            means.append(statistics.fmean(values))
            stds.append(deviation(values))
            noise.append(self.noise.std(unit, cell.row["metric"], stds[-1], drawn=True))
        of_stds = np.array(stds) / math.sqrt(2 * (len(values) - 1))
        return np.array(means + stds), np.concatenate([noise, of_stds]), unit.is_drawn


def standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values))


def ranked(surprises: Surprises, names: Sequence[str]) -> list[int]:
    """Return the readings by their mean surprise over families; the earlier one wins a tie."""
    columns = zip(*(surprises[name] for name in names), strict=True)
    means = [statistics.fmean(column) for column in columns]
    return sorted(range(len(means)), key=means.__getitem__)


def looks(paper: Paper, cell: Cell, families: Mapping[str, str]) -> dict[str, bool]:
    """Return every look at the print behind a cell's unit, and whether its own data set was seen.

    The sets of one family count as one. What the paper itself states was chosen by nobody, whatever
    another paper says of it. Folds that the readings vary were left to the other data sets.
    """
    found = {f"{e.what} ({e.proof})": True for e in paper.chosen_by_print if e.covers(cell.row)}
    if cell.unit is None:
        return found
    method, protocol = cell.unit.method, cell.unit.protocol
    mine = families.get(cell.row["dataset"], cell.row["dataset"])
    for name, look in method.origins.print.items():
        if not paper.states(method, name):
            seen = {families.get(data_set, data_set) for data_set in look.at}
            found[f"{name} ({look.what.rstrip('.')})"] = mine in seen or not seen
    if protocol.by_print and len({unit.protocol.id for unit in readings_of(cell)}) < 2:
        found[f"folds ({protocol.by_print})"] = True
    return found


def readings_of(cell: Cell) -> tuple[Unit, ...]:
    """Return all readings of a cell, the stated one first."""
    return (cell.unit, *cell.others) if cell.unit else ()


def _group(cell: Cell) -> tuple[str, ...]:
    """Return the printed method and its readings, which cells of all data sets share."""
    return (cell.row["method"], *map(_named, readings_of(cell)))


def _named(unit: Unit) -> str:
    return f"{unit.protocol.id}/{unit.method.id}"

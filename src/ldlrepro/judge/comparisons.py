"""Comparisons of printed and of measured numbers of methods, on which claims are counted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ldlrepro.catalogue import ClaimTest
from ldlrepro.judge.experiment_cells import Experiments
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import MISPRINT, VerdictRow


@dataclass(frozen=True)
class Comparison:
    """One comparison, and whether it comes out as claimed."""

    dataset: str
    """'' where it is one over all data sets."""
    metric: str
    held: bool


@dataclass(frozen=True)
class Count:
    """The number of comparisons that come out as claimed, and those that do not."""

    held: int
    of: int
    exceptions: tuple[str, ...] = ()
    datasets: frozenset[str] = frozenset()
    """The data sets that the comparisons rest on."""
    refusal: str = ""
    """Reason why nothing could be compared."""
    note: str = ""
    """Note for readers about all the comparisons."""
    comparisons: tuple[Comparison, ...] = ()
    """All of them, where each is of one measure."""
    record: tuple[int, int, int] | None = None
    """Wins, ties and losses, where a claim counts them."""

    def __str__(self) -> str:
        if self.record:
            words = (("win", "wins"), ("tie", "ties"), ("loss", "losses"))
            named = zip(self.record, words, strict=True)
            return ", ".join(
                f"{count} {one if count == 1 else many}" for count, (one, many) in named
            )
        return f"{self.held} of {self.of}" if self.of else ""

    @property
    def share(self) -> float:
        return self.held / self.of


@dataclass(frozen=True)
class Evidence:
    """Evidence for tests: verdict rows and their units, points of figures, facts of experiments."""

    rows: Sequence[VerdictRow]
    curves: Mapping[str, Mapping[tuple[Any, Any], float]]
    """Figure number -> (line, x) -> mean of the measure."""
    experiments: Experiments
    scores: Collection[str]
    """Measures that score distributions or ages."""
    units: Mapping[str, UnitScores] = field(default_factory=dict)
    """Key of a unit -> scores of its folds."""
    figure_datasets: Mapping[str, str] = field(default_factory=dict)
    """Figure number -> the data set that it is about."""
    few_folds: Mapping[str, str] = field(default_factory=dict)
    """Figure number -> '2 of 10 folds', or '' where none is missing."""
    families: Mapping[str, str] = field(default_factory=dict)
    """Data set -> its family, where it has one."""


Value = Callable[[VerdictRow], float | None]
Group = dict[str, VerdictRow]
"""Rows of one data set and measure, by the names that a test compares."""


def printed(statistic: str) -> Value:
    """Return what reads the printed mean or standard deviation of a row."""

    def value(row: VerdictRow) -> float | None:
        text = row.printed if statistic == "mean" else row.printed_std
        return float(text) if text else None

    return value


def measured(statistic: str) -> Value:
    """Return what reads the measured mean or standard deviation of a row."""
    return lambda row: row.measured if statistic == "mean" else row.measured_std


def name_of(test: ClaimTest, row: VerdictRow) -> str:
    """Return the name by which a test knows a row: the printed method or setting."""
    return row.setting if test.by == "setting" else row.method


def speaks_of(test: ClaimTest, row: VerdictRow, evidence: Evidence) -> bool:
    """Tell whether a row is of the measures, tables and data sets of a test."""
    return (
        row.metric in (test.metrics or evidence.scores)
        and (not test.tables or row.table in test.tables)
        and (not test.datasets or row.dataset in test.datasets)
    )


def groups(test: ClaimTest, evidence: Evidence, names: Sequence[str]) -> list[Group]:
    """Group the named rows by data set and measure, where all are measured, none a misprint."""
    found: dict[tuple[str, ...], Group] = {}
    for row in evidence.rows:
        name = name_of(test, row)
        if name not in names or not speaks_of(test, row, evidence) or row.verdict == MISPRINT:
            continue
        # Settings of one method are compared across tables, methods within a table and setting.
        place = (row.method,) if test.by == "setting" else (row.table, row.setting)
        found.setdefault((*place, row.dataset, row.metric), {})[name] = row
    values = (printed(test.statistic), measured(test.statistic))
    return [
        group
        for group in found.values()
        if len(group) == len(set(names))
        and all(value(row) is not None for row in group.values() for value in values)
    ]


def why_none(test: ClaimTest, evidence: Evidence, names: Iterable[str]) -> str:
    """Say what is missing where nothing could be compared."""
    there = {
        name_of(test, row)
        for row in evidence.rows
        if row.measured is not None and speaks_of(test, row, evidence)
    }
    missing = [name for name in dict.fromkeys(names) if name not in there]
    if missing:
        return f"not measured: {', '.join(missing)}"
    return "nothing that it speaks of was measured"


def loss(row: VerdictRow, value: Value, statistic: str = "mean") -> float:
    """Return a number for which lower is better; a standard deviation is always better lower."""
    found = value(row)
    assert found is not None
    return -found if row.better == "higher" and statistic == "mean" else found


Losses = dict[str, dict[str, float]]
"""Data set -> name -> loss in one measure."""


def printed_losses(rows: Iterable[VerdictRow], name: Callable[[VerdictRow], str]) -> Losses:
    """Return the printed losses in one measure, without misprints, which would decide a rank."""
    found: Losses = {}
    for row in rows:
        if row.printed and row.verdict != MISPRINT:
            found.setdefault(row.unit_dataset, {})[name(row)] = loss(row, printed("mean"))
    return found


def measured_losses(
    rows: Iterable[VerdictRow],
    name: Callable[[VerdictRow], str],
    units: Iterable[UnitScores],
    protocol: str | None = None,
) -> Losses:
    """Return losses of the methods behind the rows, on every data set they ran on, printed or not.

    With a ``protocol``, the losses are those of the same methods under this one.
    """
    rows = [row for row in rows if row.method_id]
    of_row = {row.key_under(protocol or row.protocol): name(row) for row in rows}
    printed_on = {(name(row), row.unit_dataset) for row in rows}
    # Where nothing is printed, any setting that runs for the method somewhere stands for it.
    anywhere = {(protocol or row.protocol, row.method_id): name(row) for row in rows}
    found: Losses = {}
    for unit in units:
        own = of_row.get(unit.key)
        if own is None:
            own = anywhere.get((unit.protocol, unit.method))
            own = None if (own, unit.dataset) in printed_on else own
        if own and (mean := unit.mean(rows[0].metric)) is not None:
            sign = -1 if rows[0].better == "higher" else 1
            found.setdefault(unit.dataset, {})[own] = sign * mean
    return found


def datasets_of(found: Iterable[Group]) -> frozenset[str]:
    return frozenset(row.dataset for group in found for row in group.values())


def both(
    test: ClaimTest,
    holds: Callable[[Group, Value], bool],
    found: Sequence[Group],
    what: str = "",
) -> tuple[Count, Count]:
    """Count the same comparisons on the printed and on the measured numbers."""
    counts = []
    for value in (printed(test.statistic), measured(test.statistic)):
        compared = []
        for group in found:
            row = next(iter(group.values()))
            compared.append(Comparison(row.dataset, row.metric, holds(group, value)))
        names = tuple(f"{c.dataset} {c.metric} {what}".rstrip() for c in compared if not c.held)
        counts.append(count_of(compared, names))
    return counts[0], counts[1]


Room = Callable[[VerdictRow, Value], float]
"""Returns how much worse than this rival a number may be."""


def before(
    test: ClaimTest,
    evidence: Evidence,
    asked: Iterable[tuple[str, Sequence[str], str]],
    room: Room | None = None,
) -> tuple[Count, Count]:
    """Count where a name is before all of its rivals; what is asked may have words of its own.

    With ``room`` it may be behind them by so much.
    """
    counts = []
    for name, rivals, what in asked:

        def holds(
            group: Group, value: Value, name: str = name, rivals: Sequence[str] = rivals
        ) -> bool:
            mine = loss(group[name], value, test.statistic)
            theirs = {rival: loss(group[rival], value, test.statistic) for rival in rivals}
            if room is None:
                return all(mine < other for other in theirs.values())
            return all(mine <= theirs[one] + room(group[one], value) for one in rivals)

        counts.append(both(test, holds, groups(test, evidence, [name, *rivals]), what))
    on_paper, here = zip(*counts, strict=True)
    return total(on_paper), total(here)


def count_of(comparisons: Sequence[Comparison], exceptions: Iterable[str]) -> Count:
    """Count comparisons; the exceptions are those that did not hold, in words."""
    return Count(
        sum(one.held for one in comparisons),
        len(comparisons),
        tuple(exceptions),
        frozenset(one.dataset for one in comparisons),
        comparisons=tuple(comparisons),
    )


def total(counts: Sequence[Count]) -> Count:
    """Add counts up."""
    return Count(
        sum(count.held for count in counts),
        sum(count.of for count in counts),
        tuple(name for count in counts for name in count.exceptions),
        frozenset[str]().union(*(count.datasets for count in counts)),
        next((count.refusal for count in counts if count.refusal), ""),
        comparisons=tuple(one for count in counts for one in count.comparisons),
    )

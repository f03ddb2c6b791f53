"""Printed and measured numbers side by side: grids of the HTML report, and the same as files."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ldlrepro.judge import verdicts
from ldlrepro.judge.tallies import Tally, tally
from ldlrepro.plan.printed import DELTA
from ldlrepro.report.content import (
    CONTROLS,
    SEES_LABELS,
    VERDICT_SIGNS,
    PaperPage,
    VerdictSign,
)
from ldlrepro.train.records import OK

if TYPE_CHECKING:
    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.judge.verdicts import VerdictRow

ARROWS = {"lower": "↓", "higher": "↑", "none": ""}
DEFAULT_DECIMALS = 4
LINES_AT_FIRST_SIGHT = 40
"""Lines of printed tables that a paper's page shows unfolded."""

# ---------------------------------------------------------------------- numbers as text


def decimals_of(printed: str) -> int:
    return len(printed.partition(".")[2])


def fixed(value: float | None, decimals: int, significant: int = 3) -> str:
    """Show at least ``decimals`` places, and more (three at most) for the significant digits.

    A number that would still be zero with three more places is rounding noise and shown as zero.
    """
    if value is None or not math.isfinite(value):
        return ""
    if abs(value) < 0.5 * 10.0 ** -(decimals + 3):
        value = 0.0
    if value and abs(value) < 100:
        needed = significant - 1 - math.floor(math.log10(abs(value)))
        decimals = max(decimals, min(needed, decimals + 3))
    return f"{value:.{decimals}f}".replace("-", "−")


def mean_pair(mean: float | None, std: float | None, decimals: int) -> tuple[str, str]:
    """Return both with the decimals of the mean; a small second one still shows its first digit."""
    shown = fixed(mean, decimals)
    return shown, fixed(std, decimals_of(shown), significant=1) if shown else ""


def percent(share: float | None) -> str:
    """Return a relative difference as `ldlrepro` tells it, with a real minus sign."""
    return verdicts.percent(share).replace("-", "−")


def mean_and_std(values: Iterable[float]) -> tuple[float, float | None] | None:
    """Return mean and standard deviation over the folds that have a value; None where none has.

    One fold alone has no standard deviation.
    """
    present = [value for value in values if math.isfinite(value)]
    if not present:
        return None
    mean = statistics.fmean(present)
    if len(present) == 1:
        return mean, None
    # As statistics.stdev to the last digits, without its fractions, which took seconds a report.
    squares = math.fsum((value - mean) ** 2 for value in present)
    return mean, math.sqrt(squares / (len(present) - 1))


# ---------------------------------------------------------------------- grids


@dataclass(frozen=True)
class Cell:
    """One printed number, ready to be shown."""

    row: VerdictRow
    sign: VerdictSign
    measured: str
    measured_std: str
    difference: str
    band: str
    notes: list[int]
    key: str
    """The unit whose record answers this cell, or ''."""
    as_stated: str = ""
    """What the paper as stated gives, where another reading is judged."""
    best_measured: bool = False
    """Whether nothing in the same column of the data set was measured better."""
    best_printed: bool = False

    @property
    def incomplete(self) -> bool:
        return bool(self.measured) and self.row.n_folds < self.row.expected_folds


@dataclass(frozen=True)
class PrintedLine:
    """A line of a printed table: a method in a setting, with a list of cells per measure."""

    method: str
    setting: str
    cells: list[list[Cell]]
    variant: str = ""
    """The method's id, where another line of the data set has the same name."""


@dataclass(frozen=True)
class MeasuredLine:
    """A unit that no printed line stands for: a control or a method of one's own."""

    label: str
    remark: str
    unit: UnitScores
    cells: list[tuple[str, str]]
    """(mean, standard deviation) per measure."""


@dataclass(frozen=True)
class Block:
    """The lines of one data set."""

    dataset: str
    printed: list[PrintedLine]
    measured: list[MeasuredLine]


@dataclass(frozen=True)
class Column:
    """One measure of a printed table."""

    metric: str
    title: str
    arrow: str
    decimals: int


@dataclass(frozen=True)
class Grid:
    """One printed table: measures across, data sets and methods down."""

    id: str
    title: str
    columns: list[Column]
    blocks: list[Block]
    tally: Tally
    open: bool = False
    """Whether it is unfolded at first sight."""


@dataclass(frozen=True)
class Leftover:
    """Units under a protocol and data set that no printed table uses."""

    protocol: str
    dataset: str
    lines: list[MeasuredLine]


@dataclass
class PageTables:
    """All grids of a paper, its numbered notes and what stands in no printed table."""

    grids: list[Grid]
    notes: dict[str, int]
    noted: dict[int, list[VerdictRow]] = field(default_factory=dict)
    """Number of a note -> the cells that it belongs to."""
    leftover_columns: list[Column] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)


def page_tables(page: PaperPage) -> PageTables:
    """Return the grids, notes and leftovers of a paper."""
    notes = numbered_notes(page.rows)
    order = dict.fromkeys([*page.paper.tables, *(row.table for row in page.rows)])
    grids = [
        _grid(page, table, rows, notes)
        for table in order
        if (rows := [row for row in page.rows if row.table == table])
    ]
    noted: dict[int, list[VerdictRow]] = {}
    for row in page.rows:
        for text in row.notes:
            noted.setdefault(notes[text], []).append(row)
    placed = {(row.protocol, row.unit_dataset) for row in page.rows}
    loose = [unit for unit in page.units if (unit.protocol, unit.dataset) not in placed]
    metrics = dict.fromkeys(metric for unit in loose for metric in unit.scores)
    columns = [Column(metric, page.measure(metric), "", DEFAULT_DECIMALS) for metric in metrics]
    groups = dict.fromkeys((unit.protocol, unit.dataset) for unit in loose)
    leftovers = [
        Leftover(protocol, dataset, lines)
        for protocol, dataset in groups
        if (lines := _measured_lines(page, {(protocol, dataset)}, columns))
    ]
    return PageTables(_unfolded(grids), notes, noted, columns, leftovers)


def _unfolded(grids: Sequence[Grid]) -> list[Grid]:
    """Unfold the first table of the most numbers that hold, then are met; more while short."""
    worth = [(grid.tally.holds, grid.tally.met) for grid in grids]
    found, lines = [], 0
    for grid, of in zip(grids, worth, strict=True):
        main = of == max(worth)
        before, lines = lines, lines + main * sum(1 + len(one.printed) for one in grid.blocks)
        found.append(replace(grid, open=main and (not before or lines <= LINES_AT_FIRST_SIGHT)))
    return found


def numbered_notes(rows: Iterable[VerdictRow]) -> dict[str, int]:
    """Return every distinct reason and remark -> its number, in order of appearance."""
    texts = dict.fromkeys(text for row in rows for text in row.notes)
    return {text: number for number, text in enumerate(texts, start=1)}


def _grid(page: PaperPage, table: str, rows: list[VerdictRow], notes: dict[str, int]) -> Grid:
    columns = _columns(page, rows)
    units = {unit.key for unit in page.units}
    blocks = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        lines = [
            PrintedLine(
                method,
                setting,
                [
                    [
                        _cell(row, column, notes, units)
                        for row in own
                        if (row.method, row.setting, row.metric) == (method, setting, column.metric)
                    ]
                    for column in columns
                ],
            )
            for method, setting in dict.fromkeys((row.method, row.setting) for row in own)
        ]
        places = {(row.protocol, row.unit_dataset) for row in own if row.protocol}
        there = [row for row in page.rows if (row.protocol, row.unit_dataset) in places]
        elsewhere = _families(there) - _families(own)
        beside = _measured_lines(page, places, columns, elsewhere)
        blocks.append(_told_apart(Block(dataset, _with_best(lines, columns), beside), own))
    title = page.paper.tables[table].title if table in page.paper.tables else ""
    return Grid(table, title, columns, blocks, tally(rows))


def _with_best(lines: list[PrintedLine], columns: list[Column]) -> list[PrintedLine]:
    """Mark the best cells of each column, on the measured side and on the printed one."""
    for at, column in enumerate(columns):
        if column.arrow and len(lines) > 1:
            cells = [cell for line in lines for cell in line.cells[at]]
            best = max if column.arrow == ARROWS["higher"] else min
            measured = best(filter(math.isfinite, map(_measured, cells)), default=None)
            printed = best(filter(math.isfinite, map(_printed, cells)), default=None)
            for line in lines:
                line.cells[at] = [
                    replace(
                        cell,
                        best_measured=_measured(cell) == measured,
                        best_printed=_printed(cell) == printed,
                    )
                    for cell in line.cells[at]
                ]
    return lines


def _measured(cell: Cell) -> float:
    return math.nan if cell.row.measured is None else cell.row.measured


def _printed(cell: Cell) -> float:
    known = cell.row.printed and cell.row.verdict != verdicts.MISPRINT
    return float(cell.row.printed) if known else math.nan


def _told_apart(block: Block, rows: Iterable[VerdictRow]) -> Block:
    """Add the method's id to lines of one data set that have the same name."""
    names = Counter(line.method for line in block.printed if not line.setting)
    names.update(line.label for line in block.measured)
    ids = {(row.method, row.setting): row.method_id for row in rows if row.method_id}
    twice = {name for name, count in names.items() if count > 1}
    return Block(
        block.dataset,
        [
            replace(line, variant=ids.get((line.method, line.setting), ""))
            if line.method in twice
            else line
            for line in block.printed
        ],
        [
            replace(line, label=f"{line.label}, {line.unit.method}")
            if line.label in twice
            else line
            for line in block.measured
        ],
    )


def _columns(page: PaperPage, rows: list[VerdictRow]) -> list[Column]:
    columns = []
    for metric in dict.fromkeys(row.metric for row in rows):
        own = [row for row in rows if row.metric == metric]
        decimals = max(decimals_of(row.printed) for row in own)
        columns.append(Column(metric, page.measure(metric), ARROWS[own[0].better], decimals))
    return columns


def _cell(row: VerdictRow, column: Column, notes: dict[str, int], units: set[str]) -> Cell:
    decimals = decimals_of(row.printed) if row.printed else column.decimals
    measured, measured_std = mean_pair(row.measured, row.measured_std, decimals)
    stated = row.stated
    return Cell(
        row=row,
        sign=VERDICT_SIGNS[row.verdict],
        measured=measured,
        measured_std=measured_std,
        difference="" if row.metric.startswith(DELTA) else percent(row.difference),
        band="" if row.band is None else f"{row.band:.3g}",
        notes=[notes[text] for text in row.notes],
        key=row.unit_key if row.unit_key in units else "",
        as_stated=f"{fixed(stated.measured, decimals)} {stated.verdict}" if stated else "",
    )


def _families(rows: Iterable[VerdictRow]) -> set[str]:
    """Return the methods without their variants."""
    return {row.method_id.partition("@")[0] for row in rows if row.method_id}


def _measured_lines(
    page: PaperPage,
    places: set[tuple[str, str]],
    columns: list[Column],
    elsewhere: Collection[str] = (),
) -> list[MeasuredLine]:
    """Return units at these (protocol, data set) pairs that no printed cell of the paper names.

    Variants of methods in ``elsewhere`` stand in the other tables that print these methods for the
    same data set.
    """
    named = {row.unit_key for row in page.rows}
    lines = []
    for unit in page.units:
        if (unit.protocol, unit.dataset) not in places or unit.key in named:
            continue
        family, _, variant = unit.method.partition("@")
        if "=" in variant or family in elsewhere:  # a point of a figure, or of another table
            continue
        cells = [_measured_cell(unit, column) for column in columns]
        if any(mean for mean, _ in cells):
            lines.append(_measured_line(page, unit, cells, show_protocol=len(places) > 1))
    last = {method: place for place, method in enumerate(CONTROLS, start=1)}
    return sorted(lines, key=lambda line: last.get(line.unit.method, 0))


def _measured_line(
    page: PaperPage, unit: UnitScores, cells: list[tuple[str, str]], show_protocol: bool
) -> MeasuredLine:
    method = page.methods.get(unit.method)
    remark = "no printed number"
    if method and method.is_own:
        remark = "your own"
    elif method and method.sees_test_labels:
        remark = SEES_LABELS
    label, remark = CONTROLS.get(unit.method, (page.title_of(unit.method), remark))
    done = sum(row.status == OK for row in unit.rows)
    if method and method.by_print:
        remark += "; chosen by the print"
    if done < len(unit.rows):
        remark += f"; {done} of {len(unit.rows)} folds"
    if show_protocol:
        remark += f"; protocol {unit.protocol}"
    return MeasuredLine(label, remark, unit, cells)


def _measured_cell(unit: UnitScores, column: Column) -> tuple[str, str]:
    summary = mean_and_std(unit.scores.get(column.metric, []))
    return mean_pair(*summary, column.decimals) if summary else ("", "")

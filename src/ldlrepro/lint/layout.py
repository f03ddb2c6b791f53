"""What the look of a table tells: ranks, bold marks, digits, gaps, cells typed twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from ldlrepro.lint.findings import SUSPICIOUS, Finding
from ldlrepro.lint.tables import Cell, Rows, grouped, rows_of

MOST, NEARLY = 0.8, 0.9
"""Share of cells, and of a method's data sets, from which on the others are exceptions."""
FEWEST_CELLS = 5
FEWEST_DIGITS = 3
ALIKE = ({"chebyshev", "sorensen"}, {"kl", "squared_chi2"})
"""Measures that are one with three labels, or near each other for predictions near the truth."""


def wrong_ranks(cells: Iterable[Cell]) -> Iterator[Finding]:
    """Find printed ranks, bold marks among them, that do not follow from the printed means."""
    judged = [cell for cell in cells if cell.has_better]
    for group in grouped(judged, "table", "dataset", "setting", "measure").values():
        sign = -1.0 if group[0].better == "higher" else 1.0
        values = {cell: sign * cell.mean.value for cell in group}
        for cell in group:
            before = [other for other in group if values[other] < values[cell]]
            most = sum(value <= values[cell] for value in values.values())
            if cell.rank and not len(before) < cell.rank <= most:
                best = min(group, key=values.__getitem__)
                beside = f"; {best.method} has {best.mean.text}" if before else ""
                why = f"it is printed as {cell.rank}, but is number {len(before) + 1}{beside}"
                yield Finding("rank", SUSPICIOUS, (cell,), why)


def fewer_digits(cells: Iterable[Cell]) -> Iterator[Finding]:
    """Find numbers with two or more decimals fewer than nearly all others of their kind."""
    judged = [cell for cell in cells if cell.better != "none"]
    for group, what in product(grouped(judged, "table", "measure").values(), ("mean", "std")):
        numbers = {cell: number for cell in group if (number := getattr(cell, what))}
        decimals = Counter(number.decimals for number in numbers.values())
        usual, count = max(decimals.items(), key=lambda item: item[1], default=(0, 0))
        for cell, number in numbers.items():
            exceptional = count >= max(FEWEST_CELLS, MOST * len(numbers))
            if exceptional and number.decimals <= usual - 2:
                has = f"{what} {number.text} has {number.decimals} decimals"
                why = f"{has}, {count} of {len(numbers)} have {usual}"
                yield Finding("digits", SUSPICIOUS, (cell,), why, std_alone=what == "std")


def left_out(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Find measures that a row lacks, and rows that a method lacks, where nearly all others are."""
    for table in grouped(cells, "table").values():
        rows = rows_of(table)
        counts = Counter(measure for row in rows.values() for measure in row)
        full = {measure for measure in counts if counts[measure] >= MOST * len(rows)}
        for row in rows.values():
            first = next(iter(row.values()))
            empty = {cell.measure for cell in row.values() if cell.is_gap and not cell.note}
            absent = (full - row.keys() if len(rows) >= FEWEST_CELLS else set()) | empty
            if absent:
                why = f"there is no {', '.join(sorted(absent))}, which nearly all other rows have"
                yield Finding("gap", SUSPICIOUS, (first,), why)
        datasets = {cell.dataset for cell in table}
        for column in grouped(table, "setting", "method").values():
            there = {cell.dataset for cell in column}
            if len(there) >= FEWEST_CELLS and NEARLY * len(datasets) <= len(there) < len(datasets):
                lacking = f"{column[0].method} has no row on {', '.join(sorted(datasets - there))}"
                why = f"{lacking}, but on {len(there)} other data sets"
                yield Finding("gap", SUSPICIOUS, (column[0],), why)


def typed_twice(rows: Rows) -> Iterator[Finding]:
    """Find two measures of a row that have the same digits, but are not the same measure."""
    for row in rows.values():
        for one, other in combinations(row.values(), 2):
            pair = {one.measure, other.measure}
            # The error probability of one label is its Chebyshev distance, if only it is predicted.
            if pair in ALIKE or "error_probability" in pair:
                continue
            stds = [cell.std.text for cell in (one, other) if cell.std]
            twice = one.mean.text == other.mean.text and len(stds) == 2 and stds[0] == stds[1]
            if twice and one.mean.digits >= FEWEST_DIGITS and float(stds[0]) > 0:
                why = f"{one.measure} and {other.measure} are both {one.mean.text} ± {stds[0]}"
                yield Finding("twice", SUSPICIOUS, (one, other), why, (one, other))

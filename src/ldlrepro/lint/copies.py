"""Numbers that stand in two places: in other tables, in other papers, under other names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations, product

from ldlrepro.core.groups import grouped
from ldlrepro.lint.findings import SUSPICIOUS, Finding
from ldlrepro.lint.tables import Cell, Printed

FEWEST = 5
"""Equal numbers of a method, from which on they are called a copy."""
ROW = 4
"""Equal numbers of a row, likewise."""
DIGITS = 15
"""Digits that equal numbers must have together, each counted once, so that they are no chance."""
Column = dict[tuple[str, str], Cell]
"""Data set and measure -> cell, of one method in one table."""
Pairs = list[tuple[Cell, Cell]]
Key = tuple[str, str, str, str]
"""Source, table, setting and method."""


def columns_of(cells: Iterable[Cell], by_table: bool = True) -> dict[Key, Column]:
    found: dict[Key, Column] = {}
    for cell in cells:
        if cell.has_better:
            key = (cell.source, cell.table if by_table else "", cell.setting, cell.method)
            found.setdefault(key, {}).setdefault((cell.dataset, cell.measure), cell)
    return found


def equal(one: Cell, other: Cell, means_alone: bool = False) -> bool:
    """Tell whether means agree in three decimals or more, and deviations where both have one."""
    few = min(one.mean.decimals, other.mean.decimals) < 3
    if few or not one.mean.same_digits(other.mean):
        return False
    return means_alone or not (one.std and other.std) or one.std.same_digits(other.std)


def compared(mine: Column, theirs: Column, means_alone: bool = False) -> tuple[Pairs, Pairs]:
    """Return the pairs of cells of one place that are equal, and those that are not."""
    found: tuple[Pairs, Pairs] = [], []
    for place in [place for place in mine if place in theirs]:
        one, other = mine[place], theirs[place]
        found[not equal(one, other, means_alone)].append((one, other))
    return found


def digits(numbers: Iterable[Printed | None]) -> int:
    """Count the digits of numbers, equal ones once."""
    return sum(number.digits for number in {n.text: n for n in numbers if n}.values())


def _finding(rule: str, one: Cell, other: Cell, why: str, std_alone: bool = False) -> Finding:
    """Return a finding about a cell; the other one is named where it stands in the same file."""
    cells = (one, other) if one.source == other.source else (one,)
    return Finding(rule, SUSPICIOUS, cells, why, cells, std_alone)


def of_other_papers(
    cells: Collection[Cell], others: Mapping[str, Collection[Cell]], declared: Collection[str]
) -> Iterator[Finding]:
    """Find methods whose numbers another paper prints to the digit, and where they then differ.

    ``declared`` are the methods of which it is said that their numbers are taken from elsewhere.
    """
    ours = columns_of(cells, by_table=False)
    theirs = [c for known in others.values() for c in columns_of(known, by_table=False).items()]
    for ((*_, method), mine), ((source, *_, name), column) in product(ours.items(), theirs):
        same, differing = compared(mine, column)
        means_alone = len(same) < FEWEST or len(same) <= len(differing)
        if means_alone:
            same, differing = compared(mine, column, means_alone)
            if len(same) < 2 * FEWEST or len(same) <= 4 * len(differing):
                continue
        count = f"{len(same)} of {len(same) + len(differing)}"
        if method not in declared and not all(one.quoted for one, _ in same):
            why = f"{count} numbers of {method} equal those that {source} prints for {name}"
            yield _finding("copy", *same[0], why)
        if 4 * len(differing) <= len(same):
            yield from _slips(differing, f"{source} prints for {name}", count, means_alone)


def _slips(pairs: Pairs, there: str, count: str, means_alone: bool = False) -> Iterator[Finding]:
    for one, other in pairs:
        for what, mine, theirs in (("", one.mean, other.mean), ("deviation ", one.std, other.std)):
            if mine and theirs and not mine.agrees(theirs) and not (what and means_alone):
                why = f"{there} {what}{theirs.text}, where {count} numbers are the same"
                yield _finding("slip", one, other, why, bool(what))


def in_two_tables(cells: Collection[Cell]) -> Iterator[Finding]:
    """Find a method with other numbers in another table, and methods with the same numbers."""
    for (first, mine), (second, theirs) in combinations(columns_of(cells).items(), 2):
        same, differing = compared(mine, theirs)
        both = len(same) + len(differing)
        (_, table, setting, method), (_, other_table, other_setting, other) = first, second
        where = f"Table {other_table}" + (f" ({other_setting})" if other_setting else "")
        if method == other and table != other_table:
            unlike = [pair for pair in differing if not _agree(*pair)]
            if len(same) >= FEWEST and 4 * len(differing) <= len(same):
                yield from _slips(differing, f"{where} has", f"{len(same)} of {both}")
            elif setting == other_setting and unlike:
                count = f"{len(unlike)} of {both} places, the first {unlike[0][1]}"
                why = f"{where} has other numbers of {method} in {count}"
                yield _finding("two tables", *unlike[0], why)
        elif method != other and len(same) >= FEWEST and not differing and _tells(same):
            why = f"all {both} numbers of {method} are those of {other} in {where}"
            yield _finding("column twice", *same[0], why)


def _tells(same: Pairs) -> bool:
    """Tell whether equal cells have digits enough to be no chance."""
    return digits(number for one, _ in same for number in (one.mean, one.std)) >= DIGITS


def _agree(one: Cell, other: Cell) -> bool:
    """Tell whether neither the means nor the deviations differ by more than rounding."""
    stds_agree = not (one.std and other.std) or one.std.agrees(other.std)
    return stds_agree and one.mean.agrees(other.mean)


def equal_rows(cells: Collection[Cell], others: Collection[Cell]) -> Iterator[Finding]:
    """Find rows of other methods and papers that are the same, or have the same deviations.

    Where most rows of a method are those of another, that is a finding about its column.
    """
    ours = [columns_of(cells, by_table=False), columns_of(others, by_table=False)]
    pairs = [*combinations(columns_of(cells).items(), 2), *product(*(c.items() for c in ours))]
    for ((source, _, *mine), column), ((their_source, _, *theirs), other) in pairs:
        if (source, mine) == (their_source, theirs):
            continue
        same, differing = compared(column, other)
        sets = {one.dataset for one, _ in same}
        if len(same) <= len(differing) or (len(sets) == 1 and mine != theirs):
            by_set = grouped((*same, *differing), lambda pair: pair[0].dataset)
            for of_set in by_set.values():
                yield from _equal_row(of_set)


def _equal_row(pairs: Pairs) -> Iterator[Finding]:
    one, other = first = min(pairs, key=lambda pair: pair[0].line)
    place = f"{other.source}, " * (one.source != other.source) + f"Table {other.table}"
    stds = [one.std for one, other in pairs if one.std and other.std and one.std == other.std]
    if len(pairs) >= ROW and _tells(pairs) and all(equal(*pair) for pair in pairs):
        why = f"all {len(pairs)} numbers of the row are those of {other.method} in {place}"
        yield _finding("row twice", *first, why)
    elif len(stds) == len(pairs) >= ROW and digits(stds) >= DIGITS:
        why = f"all {len(stds)} deviations of the row are those of {other.method} in {place}"
        yield _finding("row twice", *first, f"{why}, but the means are not", True)

"""Numbers that stand in two places: in other tables, in other papers, under other names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations, product

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
Columns = dict[tuple[str, str, str, str], Column]
"""Source, table, setting and method -> column."""


def columns_of(cells: Iterable[Cell], by_table: bool = True) -> Columns:
    found: Columns = {}
    for cell in cells:
        if cell.better in ("lower", "higher"):
            key = (cell.source, cell.table if by_table else "", cell.setting, cell.method)
            found.setdefault(key, {}).setdefault((cell.dataset, cell.measure), cell)
    return found


def equal(one: Cell, other: Cell, means_alone: bool = False) -> bool:
    """Tell whether means agree in three decimals or more, and deviations where both have one."""
    few = min(one.mean.decimals, other.mean.decimals) < 3
    if few or not one.mean.same_digits(other.mean):
        return False
    return means_alone or not (one.std and other.std) or one.std.same_digits(other.std)


def compared(
    mine: Column, theirs: Column, means_alone: bool = False
) -> tuple[list[Cell], list[tuple[Cell, Cell]]]:
    """Return the common cells that are equal, and the pairs of those that are not."""
    same, differing = [], []
    for place in mine.keys() & theirs.keys():
        one, other = mine[place], theirs[place]
        if equal(one, other, means_alone):
            same.append(one)
        else:
            differing.append((one, other))
    return sorted(same, key=lambda cell: cell.line), sorted(differing, key=lambda p: p[0].line)


def digits(cells: Iterable[Cell]) -> int:
    """Count the digits of all that is printed in these cells, equal texts once."""
    return of_texts(printed for cell in cells for printed in (cell.mean, cell.std) if printed)


def of_texts(numbers: Iterable[Printed]) -> int:
    return sum(number.digits for number in {number.text: number for number in numbers}.values())


def of_other_papers(
    cells: Collection[Cell], others: Mapping[str, Collection[Cell]], declared: Collection[str]
) -> Iterator[Finding]:
    """Find methods whose numbers another paper prints to the digit, and where they then differ.

    ``declared`` are the methods of which it is said that their numbers are taken from elsewhere.
    """
    for (*_, method), mine in columns_of(cells, by_table=False).items():
        for source, known in others.items():
            for (*_, theirs), column in columns_of(known, by_table=False).items():
                same, differing = compared(mine, column)
                if len(same) < FEWEST or len(same) <= len(differing):
                    same, differing = compared(mine, column, means_alone=True)
                    if len(same) < 2 * FEWEST or len(same) <= 4 * len(differing):
                        continue
                count = f"{len(same)} of {len(same) + len(differing)}"
                if method not in declared and not all(cell.quoted for cell in same):
                    why = (
                        f"{count} numbers of {method} equal those that {source} prints for {theirs}"
                    )
                    yield Finding("copy", SUSPICIOUS, (same[0],), why)
                if 4 * len(differing) <= len(same):
                    yield from _slips(differing, f"{source} prints for {theirs}", count)


def _slips(pairs: Iterable[tuple[Cell, Cell]], there: str, count: str) -> Iterator[Finding]:
    for one, other in pairs:
        for what, mine, theirs in (
            ("", one.mean, other.mean),
            ("deviation ", one.std, other.std),
        ):
            if mine and theirs and not mine.agrees(theirs):
                why = f"{there} {what}{theirs.text}, where {count} numbers are the same"
                both = (one, other) if one.source == other.source else (one,)
                yield Finding("slip", SUSPICIOUS, both, why, both, bool(what))


def in_two_tables(cells: Collection[Cell]) -> Iterator[Finding]:
    """Find a method with other numbers in another table, and methods with the same numbers."""
    for (first, mine), (second, theirs) in combinations(columns_of(cells).items(), 2):
        same, differing = compared(mine, theirs)
        both = len(same) + len(differing)
        (_, table, setting, method), (_, other_table, other_setting, other) = first, second
        where = f"Table {other_table}" + (f" ({other_setting})" if other_setting else "")
        if method == other and table != other_table:
            if len(same) >= FEWEST and 4 * len(differing) <= len(same):
                yield from _slips(differing, f"{where} has", f"{len(same)} of {both}")
            elif setting == other_setting and (unlike := [p for p in differing if not _agree(*p)]):
                one, two = unlike[0]
                why = (
                    f"{where} has other numbers of {method} in {len(unlike)} of {both} places, "
                    f"the first {two}"
                )
                yield Finding("two tables", SUSPICIOUS, (one, two), why, (one, two))
        elif method != other and not differing and len(same) >= FEWEST and digits(same) >= DIGITS:
            why = f"all {both} numbers of {method} are those of {other} in {where}"
            yield Finding("column twice", SUSPICIOUS, (same[0],), why)


def _agree(one: Cell, other: Cell) -> bool:
    """Tell whether neither the means nor the deviations differ by more than rounding."""
    return all(
        mine is None or theirs is None or mine.agrees(theirs)
        for mine, theirs in ((one.mean, other.mean), (one.std, other.std))
    )


def equal_rows(cells: Collection[Cell], others: Collection[Cell]) -> Iterator[Finding]:
    """Find rows that stand under another method as well, and rows that share all deviations.

    Where most of a method's rows are the other's, the whole column is; that is another finding.
    """
    mine, theirs = columns_of(cells), columns_of(others)
    pairs = [*combinations(mine.items(), 2), *product(mine.items(), theirs.items())]
    for (key, column), (other_key, other) in pairs:
        if key[-1] == other_key[-1]:
            continue
        same, differing = compared(column, other)
        if len(same) <= len(differing) or len({cell.dataset for cell in same}) == 1:
            yield from _equal_rows(column, other, other_key)


def _equal_rows(mine: Column, theirs: Column, key: tuple[str, str, str, str]) -> Iterator[Finding]:
    source, table, _, method = key
    by_set: dict[str, list[tuple[Cell, Cell]]] = {}
    for place in mine.keys() & theirs.keys():
        by_set.setdefault(place[0], []).append((mine[place], theirs[place]))
    for pairs in by_set.values():
        cell = min((one for one, _ in pairs), key=lambda one: one.line)
        where = f"{method} in {source}, Table {table}" if source != cell.source else method
        where += f" in Table {table}" if source == cell.source and table != cell.table else ""
        ones = [one for one, other in pairs if equal(one, other)]
        stds = [(one.std, other.std) for one, other in pairs if one.std and other.std]
        if len(ones) >= ROW and len(ones) == len(pairs) and digits(ones) >= DIGITS:
            why = f"all {len(ones)} numbers of the row are those of {where}"
            yield Finding("row twice", SUSPICIOUS, (cell,), why)
        elif (
            len(stds) >= ROW
            and all(one.text == other.text for one, other in stds)
            and of_texts(one for one, _ in stds) >= DIGITS
        ):
            why = f"all {len(stds)} deviations of the row are those of {where}, the means are not"
            yield Finding("row twice", SUSPICIOUS, (cell,), why, std_alone=True)

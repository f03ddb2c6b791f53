"""Means of whole numbers: what so many rows, folds or data sets can give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from statistics import fmean

from ldlrepro.lint.findings import IMPOSSIBLE, SUSPICIOUS, Finding
from ldlrepro.lint.tables import Cell, Printed, Rows, grouped

UNITS = {"zero_one_loss": 1.0, "accuracy": 1.0, "cs5": 100.0}
"""Measures that count rows -> what all rows together give."""
AVERAGES = ("average", "mean", "avg", "avg.")
OUTCOMES = ("wins", "ties", "losses")


def is_multiple(printed: Printed, step: float) -> bool:
    """Tell whether a whole number of steps rounds to what is printed."""
    return math.floor(printed.high / step) * step >= printed.low


def no_whole_number(cells: Iterable[Cell], even: Mapping[str, int]) -> Iterator[Finding]:
    """Find shares that no number of rows gives, and ranks that no data sets give.

    ``even`` has, by data set, how many rows all folds together hold, where folds are equally large.
    """
    for cell in cells:
        whole = UNITS.get(cell.measure)
        if whole and cell.count:
            if not is_multiple(cell.mean, whole / cell.count):
                why = f"no number of {cell.count} rows is a share of {cell.mean.text}"
                yield Finding("count", IMPOSSIBLE, (cell,), why)
        elif whole and (rows := even.get(cell.dataset)) and not cell.quoted:
            if not is_multiple(cell.mean, whole / rows):
                why = f"no number of {rows} rows in folds of one size gives {cell.mean.text}"
                yield Finding("count", SUSPICIOUS, (cell,), why)
        elif cell.measure == "mean_rank" and cell.count:
            if not is_multiple(cell.mean, 0.5 / cell.count):
                why = f"no ranks on {cell.count} data sets, ties halved, average {cell.mean.text}"
                yield Finding("count", IMPOSSIBLE, (cell,), why)
        elif cell.measure in OUTCOMES and cell.mean.value != int(cell.mean.value):
            why = f"{cell.measure} are counted, and {cell.mean.text} is not a whole number"
            yield Finding("count", IMPOSSIBLE, (cell,), why)


def wrong_sums(rows: Rows) -> Iterator[Finding]:
    """Find wins, ties and losses that are not as many as there are, and ranks with a wrong sum."""
    for row in rows.values():
        counted = [row[name] for name in OUTCOMES if name in row]
        if len(counted) == len(OUTCOMES) and counted[0].count:
            total = sum(cell.mean.value for cell in counted)
            if total != counted[0].count:
                why = f"they add up to {total:g}, but there are {counted[0].count} comparisons"
                yield Finding("sum", IMPOSSIBLE, tuple(counted), why, tuple(counted))
    ranks = [row["mean_rank"] for row in rows.values() if "mean_rank" in row]
    for group in grouped(ranks, "table", "dataset", "setting").values():
        total = sum(cell.mean.value for cell in group)
        slack = sum(cell.mean.half for cell in group)
        right = len(group) * (len(group) + 1) / 2
        if abs(total - right) > slack:
            why = f"the mean ranks of {len(group)} methods add up to {right:g}, not to {total:g}"
            yield Finding("sum", SUSPICIOUS, tuple(group), why, tuple(group))


def wrong_averages(cells: Iterable[Cell]) -> Iterator[Finding]:
    """Find rows called average that are not the average of the data sets above them."""
    for column in grouped(cells, "table", "setting", "method", "measure").values():
        averages = [cell for cell in column if cell.dataset.lower() in AVERAGES]
        others = [cell for cell in column if cell not in averages]
        for average, what in product(averages, ("mean", "std")):
            said, printed = (getattr(average, what), [getattr(cell, what) for cell in others])
            if said is None or len(printed) < 2 or None in printed:
                continue
            found = fmean(number.value for number in printed)
            if abs(found - said.value) > said.half + fmean(number.half for number in printed):
                of = f"the {what}s of the {len(printed)} data sets"
                why = f"{of} average {found:.4g}, but {said.text} is printed"
                involved = (average, *others)
                yield Finding("average", IMPOSSIBLE, involved, why, involved, what == "std")

"""Standard deviations that their means forbid, or that fit none of their neighbours."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median

from ldlrepro.lint.findings import IMPOSSIBLE, SUSPICIOUS, Finding
from ldlrepro.lint.relations import MANY, THROUGH_MASS, highest
from ldlrepro.lint.tables import Cell, Printed, Rows, grouped

FEWEST = 4
"""Other deviations of a row, and of a measure, by which one is judged."""
FEWEST_EQUAL = 12
NEAR, SPREAD, WIDE = 0.15, 0.6, 1.25
"""In powers of ten: how near to a whole one, and how far apart the others of a row may be, more so
where the deviation has fewer decimals than they."""


def widest(mean: Printed, top: float, parts: int | None) -> float:
    """Return the largest sample deviation of values from 0 to ``top`` with this rounded mean.

    Bhatia and Davis: the variance is at most (top - mean) mean. No value of ``parts`` that are not
    negative is above their sum. Without ``parts`` two are taken, for which the factor is largest.
    """
    means = [max(0.0, mean.low), mean.high, min(max(mean.low, top / 2), mean.high)]
    largest = 0.0
    for value in means:
        highest_part = min(top, parts * value) if parts else top
        if math.isinf(highest_part):
            return math.inf
        factor = parts / (parts - 1) if parts and parts > 1 else 2.0
        largest = max(largest, factor * max(0.0, highest_part - value) * value)
    return math.sqrt(largest)


def too_wide(cells: Iterable[Cell], parts: int | None, is_variance: bool) -> Iterator[Finding]:
    """Find deviations that no values between a measure's bounds can have around their mean."""
    for cell in cells:
        top = highest(cell.measure, cell.labels or MANY)
        if cell.std and cell.has_better and cell.mean.value >= 0 and cell.mean.low <= top:
            least = max(0.0, cell.std.low)
            least = math.sqrt(least) if is_variance else least
            most = widest(cell.mean, top, None if cell.quoted else parts)
            if least > most:
                over = f"{parts} values" if parts and not cell.quoted else "values"
                why = (
                    f"{over} from 0 to {top:.4g} with mean {cell.mean.text} deviate by {most:.4g} "
                    f"at most, not by {cell.std.text}"
                )
                reads = with_point_moved(cell.std, most)
                yield Finding("deviation", IMPOSSIBLE, (cell,), why, (), True, reads)


def with_point_moved(std: Printed, most: float) -> str:
    """Return the digits with the point so far to the left that the deviation can be."""
    moves = next(moves for moves in range(1, 20) if std.value / 10**moves <= most)
    return f"{std.value / 10**moves:.{std.decimals + moves}f}"


def unlike_its_twin(rows: Rows) -> Iterator[Finding]:
    """Find deviations of two measures that are one measure, fold by fold."""
    for row in rows.values():
        twins = [row[name] for name in ("intersection", "sorensen") if name in row]
        if "chebyshev" in row and (row["chebyshev"].labels or MANY) <= 3:
            twins.append(row["chebyshev"])
        for one, other in combinations(twins, 2):
            if one.std and other.std and not one.std.agrees(other.std):
                why = (
                    f"{one.measure} and {other.measure} move together on every row, so that their "
                    f"deviations are the same: {one.std.text} and {other.std.text} are not"
                )
                cells = (one, other)
                yield Finding("twins", IMPOSSIBLE, cells, why, cells, True)


def shifted(cells: Iterable[Cell], alike: Collection[str]) -> Iterator[Finding]:
    """Find deviations ten or a hundred times what their row and their measure let one expect.

    Relative to how far the mean is from perfect, the logarithm of a deviation is nearly a term of
    its row plus one of its measure. ``alike`` are methods with one deviation everywhere.
    """
    usable = [
        cell
        for cell in cells
        if cell.measure in THROUGH_MASS and cell.method not in alike and loss(cell) > 0
        if cell.std and cell.std.value > 0
    ]
    for group in grouped(usable, "dataset").values():
        offset = _from_median(group)
        rows = grouped(group, "row")
        if len(rows) < FEWEST:
            continue
        yield from _shifted_rows(rows.values(), offset)
        for cell in group:
            others = [other for other in rows[(cell.row,)] if other != cell]
            mine = [offset[other] for other in others]
            short = all(c.std and cell.std and c.std.decimals > cell.std.decimals for c in others)
            if len(mine) < FEWEST or max(mine) - min(mine) > (WIDE if short else SPREAD):
                continue
            off = offset[cell] - median(mine)
            power = round(abs(off))
            if power in (1, 2) and abs(abs(off) - power) < NEAR and cell.std:
                places = cell.std.decimals + power if off > 0 else cell.std.decimals
                reads = f"{cell.std.value * 10.0 ** (-power if off > 0 else power):.{places}f}"
                times = f"{10**power} times {'larger' if off > 0 else 'smaller'}"
                why = (
                    f"the deviation {cell.std.text} is about {times} than those of its row and of "
                    f"its measure let expect; {reads} would fit"
                )
                yield Finding("shifted", SUSPICIOUS, (cell,), why, (), True, reads)


def _shifted_rows(
    rows: Iterable[Sequence[Cell]], offset: Mapping[Cell, float]
) -> Iterator[Finding]:
    for row in rows:
        times = sorted(10 ** offset[cell] for cell in row)
        if len(row) >= FEWEST and times[0] > 5:
            range_ = f"{times[0]:.0f} to {times[-1]:.0f} times"
            why = f"all {len(row)} deviations of the row are {range_} what other methods have here"
            yield Finding("shifted", SUSPICIOUS, (row[0],), why, std_alone=True)


def loss(cell: Cell) -> float:
    """Return how far a mean is from perfect."""
    return 1 - cell.mean.value if cell.better == "higher" else cell.mean.value


def _from_median(cells: list[Cell]) -> dict[Cell, float]:
    """Return how far the logarithm of each relative deviation is from that of its measure."""
    logs = {cell: math.log10(cell.std.value / loss(cell)) for cell in cells if cell.std}
    usual = {
        measure: median(logs[cell] for cell in group)
        for (measure,), group in grouped(cells, "measure").items()
    }
    return {cell: value - usual[cell.measure] for cell, value in logs.items()}


def all_alike(cells: Iterable[Cell]) -> Iterator[Finding]:
    """Find methods that have one deviation nearly everywhere, whatever the measure."""
    judged = [cell for cell in cells if cell.std and cell.std.value > 0 and cell.better != "none"]
    for group in grouped(judged, "table", "setting", "method").values():
        (std, same) = max(grouped(group, "std").items(), key=lambda item: len(item[1]))
        mostly = 2 * len(same) > len(group) and len(same) >= FEWEST_EQUAL
        if mostly and len({cell.measure for cell in same}) > 2:
            of = f"{len(same)} of {len(group)} deviations of {group[0].method}"
            why = f"{of} are {std[0].text}, whatever the measure"
            yield Finding("alike", SUSPICIOUS, (group[0],), why, std_alone=True)

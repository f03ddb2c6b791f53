"""What the measures of one row owe each other. The proofs stand in docs/lint.md.

Nearly everything goes through the misplaced mass T of a prediction, half the sum of |d - p| over
labels: each measure allows an interval for the mean of T, and the intervals of a row must meet. All
bounds are linear, or convex or concave in the direction that survives means over rows and folds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from ldlrepro.lint.findings import IMPOSSIBLE, Finding
from ldlrepro.lint.tables import Cell, Printed, Rows

MANY = 10**6
"""Stands for a number of labels that nobody knows; with more labels every bound is wider."""
Interval = tuple[float, float]


def added(labels: int) -> float:
    """Return what the conventions for zeros inside KL add to all degrees of a row together."""
    return 1e-5 * min(labels, 100)


def kl_up(value: float, labels: int) -> float:
    """Raise a mean KL by what the conventions for zeros can have taken off."""
    return value * (1 + added(labels)) + added(labels) / 10


def highest(measure: str, labels: int) -> float:
    """Return the highest mean that a measure can have; infinity where there is none."""
    one = ("chebyshev", "cosine", "intersection", "sorensen", "fidelity", "accuracy")
    tops = {
        **dict.fromkeys((*one, "zero_one_loss", "error_probability"), 1.0),
        "clark": math.sqrt(labels),
        "canberra": float(labels),
        "euclidean": math.sqrt(2.0),
        "squared_chi2": 2.0,
        "cs5": 100.0,
    }
    return tops.get(measure, math.inf)


def misplaced_mass(measure: str, low: float, high: float, labels: int) -> Interval:
    """Return the interval of the mean misplaced mass that a mean of a measure allows."""
    half = labels // 2
    others = half * (labels - half)
    slope = (1 + math.sqrt(1 + labels)) / 2  # cosine >= 1 - slope T
    root: Callable[[float], float] = lambda x: math.sqrt(max(0.0, x))  # noqa: E731
    kl = kl_up(high, labels)
    found = {
        "intersection": (1 - high, 1 - low),
        "sorensen": (low, high),
        "chebyshev": (low, half * high),
        "euclidean": (low / math.sqrt(2), high * math.sqrt(others / labels)),
        "clark": (max(0.0, low) ** 2 - (labels - 1), high / math.sqrt(2)),
        "canberra": (low - (labels - 1), high / 2),
        "kl": (0.0, min(root(kl / 2), root(1 - math.exp(-max(0.0, kl)))) + added(labels)),
        "cosine": ((1 - high) / slope, root(others * (1 - max(0.0, low) ** 2))),
        "squared_chi2": (low / 2, root(high / 2)),
        "fidelity": (1 - high, root(1 - max(0.0, low) ** 2)),
    }
    least, most = found[measure]
    return max(0.0, least), min(1.0, most + 1e-12)


THROUGH_MASS = (
    *("intersection", "sorensen", "chebyshev", "euclidean", "clark", "canberra", "kl"),
    *("cosine", "squared_chi2", "fidelity"),
)
Test = Callable[[Printed, Printed, int], bool]
PAIRS: dict[tuple[str, str], list[tuple[str, Test]]] = {
    ("clark", "canberra"): [
        ("clark <= canberra", lambda a, b, c: a.low <= b.high),
        ("clark^2 <= canberra", lambda a, b, c: max(0.0, a.low) ** 2 <= b.high),
        ("canberra <= sqrt(c) clark", lambda a, b, c: b.low <= math.sqrt(c) * a.high),
    ],
    ("squared_chi2", "fidelity"): [
        ("2 (1 - fidelity) <= squared_chi2", lambda a, b, c: 2 * (1 - b.high) <= a.high),
        ("squared_chi2 <= 4 (1 - fidelity)", lambda a, b, c: a.low <= 4 * (1 - b.low)),
    ],
    ("kl", "fidelity"): [
        (
            "kl >= -2 ln(fidelity)",
            lambda a, b, c: (
                kl_up(a.high, c)
                >= -2 * math.log(max(b.high, 0.0) + math.sqrt(2 * added(c)) + added(c))
            ),
        )
    ],
    ("kl", "squared_chi2"): [
        (
            "kl >= -2 ln(1 - squared_chi2 / 4)",
            lambda a, b, c: (
                kl_up(a.high, c) >= -2 * math.log(1 - max(0.0, min(b.low, 2.0) - 4 * added(c)) / 4)
            ),
        )
    ],
    ("chebyshev", "euclidean"): [
        (
            "sqrt(c / (c - 1)) chebyshev <= euclidean",
            lambda a, b, c: math.sqrt(c / (c - 1)) * a.low <= b.high,
        ),
        (
            "euclidean <= sqrt(2 floor(c/2)) chebyshev",
            lambda a, b, c: b.low <= math.sqrt(2 * (c // 2)) * a.high,
        ),
    ],
    ("cosine", "euclidean"): [
        (
            "cosine^2 + euclidean^2 / c <= 1",
            lambda a, b, c: max(0.0, a.low) ** 2 + max(0.0, b.low) ** 2 / c <= 1,
        )
    ],
    ("zero_one_loss", "error_probability"): [
        ("zero_one_loss / 2 <= error_probability", lambda a, b, c: a.low / 2 <= b.high),
        (
            "error_probability <= 1 - (1 - zero_one_loss) / c",
            lambda a, b, c: b.low <= 1 - (1 - a.high) / c,
        ),
    ],
    ("zero_one_loss", "accuracy"): [
        (
            "zero_one_loss = 1 - accuracy",
            lambda a, b, c: a.low <= 1 - b.low and 1 - b.high <= a.high,
        )
    ],
    ("mae", "cs5"): [("mae >= 5 (1 - cs5 / 100)", lambda a, b, c: a.high >= 5 - b.high / 20)],
}
"""Relations that say more than the misplaced mass does, for two printed means and c labels."""


def broken_pair(one: Cell, other: Cell, labels: int) -> str:
    """Return why two means of a row cannot both be; empty where they can."""
    for text, holds in PAIRS.get((one.measure, other.measure), []):
        if not holds(one.mean, other.mean, labels):
            return text
    if {one.measure, other.measure} <= {*THROUGH_MASS}:
        for more, less in ((one, other), (other, one)):
            least, most = mass_of(more, labels)[0], mass_of(less, labels)[1]
            if least > most:
                return (
                    f"{more.measure} needs a misplaced mass (half of sum |d - p|) of {least:.5f} "
                    f"or more, {less.measure} allows {most:.5f}"
                )
    return ""


def mass_of(cell: Cell, labels: int) -> Interval:
    return misplaced_mass(cell.measure, cell.mean.low, cell.mean.high, labels)


def out_of_range(cells: Iterable[Cell]) -> Iterator[Finding]:
    """Find means that no measure of distributions can have."""
    for cell in cells:
        top = highest(cell.measure, cell.labels or MANY)
        if cell.has_better and (cell.mean.value < 0 or cell.mean.low > top):
            named = cell.labels and cell.measure in ("clark", "canberra")
            of = f" with {cell.labels} labels" if named else ""
            limits = "0 or more" if math.isinf(top) else f"between 0 and {top:.4g}{of}"
            why = f"{cell.measure} is {cell.mean.text}, but must be {limits}"
            yield Finding("range", IMPOSSIBLE, (cell,), why)


def contradicting(rows: Rows) -> Iterator[Finding]:
    """Find rows whose means contradict each other; each finding names the cell to doubt first."""
    for row in rows.values():
        broken = _broken_pairs(row)
        cells = exchanged(row) if len(broken) > 1 else ()
        if cells:
            one, other = (cell.measure for cell in cells)
            partners = [cell for pair in broken for cell in pair[:2] if cell not in cells]
            why = f"{broken[0][2]}; with {one} and {other} exchanged nothing is wrong"
            involved = (*cells, *dict.fromkeys(partners))
            yield Finding("relation", IMPOSSIBLE, involved, why, cells)
        else:
            yield from _least_cover(broken)


def exchanged(row: Mapping[str, Cell]) -> tuple[Cell, ...]:
    """Return two cells of one direction that, exchanged, contradict nothing, if only two do."""
    found = []
    for one, other in combinations(row.values(), 2):
        swapped = dict(row)
        swapped[one.measure] = replace(one, mean=other.mean)
        swapped[other.measure] = replace(other, mean=one.mean)
        if one.better == other.better and not _broken_pairs(swapped):
            found.append((one, other))
    return found[0] if len(found) == 1 else ()


def _broken_pairs(row: Mapping[str, Cell]) -> list[tuple[Cell, Cell, str]]:
    sound = [
        cell
        for cell in row.values()
        if cell.mean.value >= 0 and cell.mean.low <= highest(cell.measure, MANY)
    ]
    found = []
    for one, other in combinations(sound, 2):
        pair = (one, other) if (one.measure, other.measure) in PAIRS else (other, one)
        if why := broken_pair(*pair, one.labels or MANY):
            found.append((*pair, why))
    return found


def _least_cover(broken: list[tuple[Cell, Cell, str]]) -> Iterator[Finding]:
    """Explain all broken pairs by as few wrong cells as can be."""
    while broken:
        cells = [cell for one, other, _ in broken for cell in (one, other)]
        worst = max(cells, key=cells.count)
        mine = [pair for pair in broken if worst in pair[:2]]
        partners = [other if one == worst else one for one, other, _ in mine]
        alone = cells.count(worst) == 1
        why = "; ".join(dict.fromkeys(pair[2] for pair in mine))
        doubted = (worst, *partners) if alone else (worst,)
        yield Finding("relation", IMPOSSIBLE, (worst, *partners), why, doubted)
        broken = [pair for pair in broken if pair not in mine]

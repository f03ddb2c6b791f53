"""Compares features from raw images with the published file of the same images."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from ldlrepro.core.errors import UserError
from ldlrepro.data.features.lbp import BINS, POINTS, patterns

SAME_LABELS = 0.005
"""Ratings are printed with two digits, so their shares agree more closely than this."""


VALLEYS, FINEST = 6, 0.003
"""How many valleys of the grid are searched, and the finest step, as a share of the width."""


@dataclass(frozen=True)
class Reading:
    """One order of the bins, and how far matched rows are from the published ones in it."""

    order: str
    distance: float
    """Mean over rows of half the sum of absolute differences: 0 for equal rows, at most 1."""
    nearest: float
    """Share of rows whose own published row is the nearest of all."""


@dataclass(frozen=True)
class Comparison:
    """Features computed from raw images beside the published ones."""

    matched: int
    """Rows whose labels agree with those of a published row."""
    rows: int
    published_rows: int
    any_order: float
    """Distance after sorting both rows. No order of the bins can be closer."""
    readings: list[Reading]
    """Best first."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    X: np.ndarray, D: np.ndarray, published_X: np.ndarray, published_D: np.ndarray
) -> Comparison:
    """Compare features. Rows are matched by their labels.

    ``X`` must have scikit-image's order of bins.
    """
    if X.shape[1] != BINS or published_X.shape[1] != BINS or D.shape[1] != published_D.shape[1]:
        raise UserError(
            f"cannot compare {X.shape[1]} features and {D.shape[1]} labels with "
            f"{published_X.shape[1]} and {published_D.shape[1]}; LBP has {BINS} features."
        )
    ours, theirs = _matched(D, published_D)
    if not len(ours):
        raise UserError("no row has the labels of a published row: are these the same ratings?")
    A, B = X[ours], published_X[theirs]
    readings = [_reading(name, A[:, bins], B) for name, bins in _orders().items()]
    return Comparison(
        matched=len(ours),
        rows=len(X),
        published_rows=len(published_X),
        any_order=_distance(np.sort(A, axis=1), np.sort(B, axis=1)),
        readings=sorted(readings, key=lambda reading: reading.distance),
    )


@dataclass(frozen=True)
class Placement:
    """One place of the eyes in the crop, and how near its features come to the published ones."""

    eye_x: float
    eye_y: float
    distance: float
    order: str
    """The order of the bins that is nearest there."""


def place_eyes(
    features: Callable[[float, float], np.ndarray],
    D: np.ndarray,
    published_X: np.ndarray,
    published_D: np.ndarray,
    tried: Callable[[int], None] = lambda count: None,
) -> list[Placement]:
    """Try places of the eyes on a grid, then closer around its lowest valleys; nearest first.

    ``features(eye_x, eye_y)`` gives the rows of ``D`` in scikit-image's order of bins. The result
    is fitted to the published file and says nothing about what its authors wrote.
    """
    found: dict[tuple[float, float], Placement] = {}

    def look(eye_x: float, eye_y: float) -> Placement:
        place = (round(float(eye_x), 4), round(float(eye_y), 4))
        if place not in found:
            best = compare(features(*place), D, published_X, published_D).readings[0]
            found[place] = Placement(*place, best.distance, best.order)
            tried(len(found))
        return found[place]

    grid = [[look(x, y) for y in np.linspace(0.25, 0.55, 9)] for x in np.linspace(0.2, 0.4, 9)]
    for best in _valleys(grid)[:VALLEYS]:
        step_x, step_y = 0.0125, 0.01875
        while step_x >= FINEST:
            around = itertools.product((-step_x, 0, step_x), (-step_y, 0, step_y))
            nearer = [look(best.eye_x + x, best.eye_y + y) for x, y in around]
            if (lowest := min(nearer, key=_distance_of)).distance < best.distance:
                best = lowest
            else:
                step_x, step_y = step_x / 2, step_y / 2
    return sorted(found.values(), key=_distance_of)


def _distance_of(place: Placement) -> float:
    return place.distance


def _valleys(grid: list[list[Placement]]) -> list[Placement]:
    """Return the grid points without a nearer neighbour, nearest first."""
    distances = np.pad([[p.distance for p in line] for line in grid], 1, constant_values=np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(distances, (3, 3))
    lowest = windows.min(axis=(2, 3)) == distances[1:-1, 1:-1]
    return sorted((grid[i][j] for i, j in np.argwhere(lowest)), key=_distance_of)


def _matched(D: np.ndarray, published: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.optimize import linear_sum_assignment

    gaps = np.abs(D[:, None, :] - published[None, :, :]).max(axis=2)
    ours, theirs = linear_sum_assignment(gaps)
    near = gaps[ours, theirs] <= SAME_LABELS
    return ours[near], theirs[near]


@cache
def _orders() -> dict[str, np.ndarray]:
    """Return scikit-image's order, and ascending codes for each first point and direction."""
    found = {"runs": np.arange(BINS)}
    for clockwise in (False, True):
        for first in range(POINTS):
            numbers = [_renumbered(code, first, clockwise) for code in patterns()]
            direction = "with the clock" if clockwise else "against the clock"
            name = f"codes, point 0 at {360 * first / POINTS:g} degrees, {direction}"
            found[name] = np.append(np.argsort(numbers), BINS - 1)
    return found


def _renumbered(code: int, first: int, clockwise: bool) -> int:
    """Return the number of a pattern if counting began at point ``first``."""
    step = -1 if clockwise else 1
    return sum(1 << k for k in range(POINTS) if code >> ((first + step * k) % POINTS) & 1)


def _reading(order: str, A: np.ndarray, B: np.ndarray) -> Reading:
    gaps = np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2)
    own = np.diag(gaps)
    return Reading(order, float(own.mean() / 2), float((own <= gaps.min(axis=1)).mean()))


def _distance(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.abs(A - B).sum(axis=1).mean() / 2)

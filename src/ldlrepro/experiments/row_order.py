"""Tests whether rows stand in the order of persons, and where one person ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldlrepro.core.seeds import rng_for
from ldlrepro.experiments import Inputs, Outcome

SHUFFLES = 999


def measure(inputs: Inputs, seed: int, persons: dict[str, int], sizes: tuple[int, int]) -> Outcome:
    """Measure how near the nearest neighbours stand, and find the best cut into persons.

    ``persons`` says how many there are; a person has ``sizes[0]`` to ``sizes[1]`` rows.
    """
    facts: dict[str, float] = {}
    rows: list[list[Any]] = []
    for dataset in inputs.available():
        data = inputs.load(dataset)
        X = standardised(data.X)
        neighbour = nearest(X)
        gap, chance = _gaps(neighbour, rng_for(seed, "row_order", dataset))
        count = persons[dataset]
        found = best_cut(X, count, *sizes)
        same = _share_inside(neighbour, found)
        by_chance = float(sum((size / len(X)) ** 2 for size in found))
        assert data.groups is not None  # rows_per_person of the data set's file
        stated = np.bincount(data.groups).tolist()
        facts |= {
            f"{dataset}_median_gap": gap,
            f"{dataset}_p": (1 + int((chance <= gap).sum())) / (1 + SHUFFLES),
            f"{dataset}_same_person": same,
        }
        ends = _common_ends(found, stated)
        facts[f"{dataset}_ends_as_stated"] = ends
        chances = [float(np.median(chance)), same, by_chance, ends]
        rows.append([dataset, gap, *chances, _runs(found)])
        inputs.say(f"{dataset}: {count} persons, {_runs(found)} rows")
    return Outcome(
        facts=facts,
        tables=[
            {
                "title": "Rows and persons",
                "columns": [
                    "data set",
                    "rows to the nearest neighbour (median)",
                    "rows shuffled",
                    "neighbour in the same stretch",
                    "by chance",
                    "ends of persons found",
                    "rows of the stretches",
                ],
                "rows": rows,
            }
        ],
    )


def standardised(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def nearest(X: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist

    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    return distances.argmin(axis=1)


def _gaps(neighbour: np.ndarray, lot: np.random.Generator) -> tuple[float, np.ndarray]:
    """Return the median distance in rows to the nearest neighbour; the same with rows shuffled."""
    n = len(neighbour)
    shuffled = []
    for _ in range(SHUFFLES):
        place = lot.permutation(n)
        shuffled.append(np.median(np.abs(place[neighbour] - place)))
    return float(np.median(np.abs(neighbour - np.arange(n)))), np.array(shuffled)


def best_cut(X: np.ndarray, count: int, least: int, most: int) -> list[int]:
    """Cut rows into ``count`` stretches with the least squares around their means; return lengths.

    Dynamic programming over the ends of stretches does it; only their number and limits are known.
    """
    n = len(X)
    sums = np.vstack([np.zeros(X.shape[1]), X.cumsum(axis=0)])
    squares = np.concatenate([[0.0], (X**2).sum(axis=1).cumsum()])
    best = np.full((count + 1, n + 1), np.inf)
    best[0, 0] = 0.0
    size_of_last = np.zeros((count + 1, n + 1), dtype=int)
    spreads = {}
    for size in range(least, min(most, n) + 1):
        within = squares[size:] - squares[:-size]
        within -= ((sums[size:] - sums[:-size]) ** 2).sum(axis=1) / size
        spreads[size] = within
    for stretch in range(1, count + 1):
        for size, spread in spreads.items():
            cost = best[stretch - 1, :-size] + spread
            better = cost < best[stretch, size:]
            best[stretch, size:][better] = cost[better]
            size_of_last[stretch, size:][better] = size
    sizes, end = [], n
    for stretch in range(count, 0, -1):
        sizes.append(int(size_of_last[stretch, end]))
        end -= sizes[-1]
    return sizes[::-1]


def _share_inside(neighbour: np.ndarray, sizes: list[int]) -> float:
    stretch = np.repeat(np.arange(len(sizes)), sizes)
    return float((stretch[neighbour] == stretch).mean())


def _common_ends(found: list[int], stated: list[int]) -> float:
    """Return the share of the persons' ends that are also ends of the best cut."""
    return float(np.isin(np.cumsum(stated), np.cumsum(found)).mean())


def _runs(sizes: list[int]) -> str:
    """Put lengths in words: '22 23 22', or '100 x 25' where all are the same."""
    return f"{len(sizes)} x {sizes[0]}" if len(set(sizes)) == 1 else " ".join(map(str, sizes))


def draw(series: dict[str, Any]) -> dict[str, Any]:
    return {}

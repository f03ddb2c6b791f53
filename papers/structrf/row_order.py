"""Tests whether rows stand in the order of persons, and where one person ends."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import scale

from ldlrepro.core.seeds import rng_for
from ldlrepro.experiments import Inputs, Outcome

SHUFFLES = 999
COLUMNS = [
    "data set",
    "rows to the nearest neighbour (median)",
    "rows shuffled",
    "neighbour in the same stretch",
    "by chance",
    "ends of persons found",
    "rows of the stretches",
]


def measure(inputs: Inputs, seed: int, persons: dict[str, int], sizes: tuple[int, int]) -> Outcome:
    """Measure how near the nearest neighbours stand, and find the best cut into persons.

    ``persons`` says how many there are; a person has ``sizes[0]`` to ``sizes[1]`` rows.
    """
    rows = []
    for dataset in inputs.available():
        data = inputs.load(dataset)
        X = scale(data.X)
        neighbour = nearest(X)
        found = best_cut(X, persons[dataset], *sizes)
        assert data.groups is not None  # persons of the data set's file
        ends_as_stated = np.isin(np.bincount(data.groups).cumsum(), np.cumsum(found)).mean()
        stretch = np.repeat(np.arange(len(found)), found)
        row = [
            float(np.median(np.abs(neighbour - np.arange(len(X))))),
            _shuffled_gap(neighbour, rng_for(seed, "row_order", dataset)),
            float((stretch[neighbour] == stretch).mean()),
            float(sum((size / len(X)) ** 2 for size in found)),
            float(ends_as_stated),
        ]
        rows.append([dataset, *row, _in_words(found)])
        inputs.say(f"{dataset}: {len(found)} persons, {_in_words(found)} rows")
    outcome = Outcome()
    outcome.add_table("Rows and persons", COLUMNS, rows)
    return outcome


def nearest(X: np.ndarray) -> np.ndarray:
    """Return the row nearest to each row, itself left out."""
    tree = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(X)
    return np.asarray(tree.kneighbors(return_distance=False)[:, 0])


def _shuffled_gap(neighbour: np.ndarray, lot: np.random.Generator) -> float:
    """Return the median distance in rows to the nearest neighbour, had rows been shuffled."""
    places = (lot.permutation(len(neighbour)) for _ in range(SHUFFLES))
    return float(np.median([np.median(np.abs(place[neighbour] - place)) for place in places]))


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


def _in_words(sizes: list[int]) -> str:
    """Put lengths in words: '22 23 22', or '100 x 25' where all are the same."""
    return f"{len(sizes)} x {sizes[0]}" if len(set(sizes)) == 1 else " ".join(map(str, sizes))

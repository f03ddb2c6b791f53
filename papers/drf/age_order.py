"""Tests whether rows stand person by person, from young to old, and where a person ends."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ldlrepro.experiments import Inputs, Outcome

COLUMNS = [
    "data set",
    "ascending stretches",
    "rows of each",
    "neighbour in the same stretch",
    "of the same person as stated",
    "by chance",
]


def measure(inputs: Inputs) -> Outcome:
    """Measure ascending stretches of each data set of ages; compare them with the features."""
    rows = []
    for dataset in inputs.available():
        data = inputs.load(dataset)
        assert data.target is not None  # ages of the data set's file
        assert data.groups is not None  # its persons
        stretch = ascending(data.target)
        tree = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(whitened(data.X))
        near = tree.kneighbors(return_distance=False)[:, 0]
        inside = [float((labels[near] == labels).mean()) for labels in (stretch, data.groups)]
        sizes, n = np.bincount(stretch), len(stretch)
        chance = float(((sizes - 1) * sizes).sum() / (n * (n - 1)))
        ends = f"{sizes.min()} to {sizes.max()}"
        rows.append([dataset, len(sizes), ends, *inside, chance])
        inputs.say(f"{dataset}: {len(sizes)} stretches of {ends} rows")
    outcome = Outcome()
    outcome.add_table("Ages and persons", COLUMNS, rows)
    return outcome


def ascending(ages: np.ndarray) -> np.ndarray:
    """Return the number of each row's stretch, which ends where the next age is lower."""
    return np.concatenate([[0], np.cumsum(np.diff(ages) < 0)])


def whitened(X: np.ndarray) -> np.ndarray:
    """Return rows of length one in the principal directions, which all count the same."""
    left, spread, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    left = left[:, spread > 1e-10 * spread[0]]
    return left / np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-300)

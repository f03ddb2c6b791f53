"""Tests whether rows stand person by person, from young to old, and where a person ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.experiments.row_order import nearest


def measure(inputs: Inputs) -> Outcome:
    """Measure ascending stretches of each data set of ages; compare them with the features."""
    facts: dict[str, float] = {}
    rows: list[list[Any]] = []
    for dataset in inputs.available():
        data = inputs.load(dataset)
        assert data.target is not None  # ages of the data set's file
        assert data.groups is not None  # its rows_per_person
        stretch = ascending(data.target)
        near = nearest(whitened(data.X))
        inside = {
            name: float((labels[near] == labels).mean())
            for name, labels in (("stretches", stretch), ("persons", data.groups))
        }
        sizes = np.bincount(stretch)
        chance = float(((sizes - 1) * sizes).sum() / (len(stretch) * (len(stretch) - 1)))
        facts |= {
            f"{dataset}_stretches": len(sizes),
            f"{dataset}_same_stretch": inside["stretches"],
            f"{dataset}_same_person": inside["persons"],
            f"{dataset}_by_chance": chance,
        }
        ends = f"{sizes.min()} to {sizes.max()}"
        rows.append([dataset, len(sizes), ends, inside["stretches"], inside["persons"], chance])
        inputs.say(f"{dataset}: {len(sizes)} stretches of {ends} rows")
    columns = ["data set", "ascending stretches", "rows of each", "neighbour in the same stretch"]
    columns += ["of the same person as stated", "by chance"]
    return Outcome(
        facts=facts, tables=[{"title": "Ages and persons", "columns": columns, "rows": rows}]
    )


def ascending(ages: np.ndarray) -> np.ndarray:
    """Return the number of each row's stretch, which ends where the next age is lower."""
    return np.concatenate([[0], np.cumsum(np.diff(ages) < 0)])


def whitened(X: np.ndarray) -> np.ndarray:
    """Return rows of length one in the principal directions, which all count the same."""
    left, spread, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    left = left[:, spread > 1e-10 * spread[0]]
    return left / np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-300)


def draw(series: dict[str, Any]) -> dict[str, Any]:
    return {}

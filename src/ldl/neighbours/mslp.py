"""MSLP: embeddings that keep neighbours in features together if their labels agree as well.

Peng, Tao and Geng (IJCAI 2018). How the grid inside the estimator works: see ``_embedded``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.neighbours._embedded import (
    EmbeddedKNN,
    check_choice,
    check_counts,
    check_values,
)
from ldl.neighbours._graphs import degrees, multi_scale_graphs, neighbourhoods
from ldl.neighbours._spectral import Coordinates, Metric, RawFeatures, scaled_directions


@dataclass(eq=False, repr=False)
class MSLP(EmbeddedKNN):
    """Directions v with small (beta attraction - (1 - beta) repulsion + lam) per unit of spread.

    Among the ``alpha * k_plus`` nearest in features, the ``k_plus`` nearest in labels attract each
    other; the ``k_plus`` nearest in features that are among the ``k_plus`` farthest in labels repel
    each other. ``lam`` is added to raw products of features, so it acts on their scale: it is what
    turns away directions along which rows hardly differ.
    """

    searched = ("k_plus", "alpha", "beta", "lam")

    k_plus: Any = 10
    alpha: Any = 5
    beta: Any = 0.5
    lam: Any = 0.01
    u: Any = 0.1
    n_neighbors: Any = 5
    singular: str = "project"
    normalisation: str = "metric"
    validation_share: float = 1 / 9
    validation_rows: int = 200
    select_by: str = "kl"
    random_state: int | None = None

    def _coordinates(self, X: np.ndarray) -> Coordinates:
        return RawFeatures()

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        near = neighbourhoods(Z, D, max(grid["k_plus"]) * max(grid["alpha"]))
        for k_plus in grid["k_plus"]:
            for alpha in grid["alpha"]:
                attract, repel = multi_scale_graphs(near, D, k_plus, alpha)
                metric = Metric(spread(Z, attract), self.singular)
                pull = metric.project(locality(Z, attract))
                push = metric.project(locality(Z, repel))
                for beta in grid["beta"]:
                    for lam in grid["lam"]:
                        A = beta * pull - (1.0 - beta) * push + lam * metric.unit
                        _, V = metric.smallest_first(A)
                        yield scaled_directions(V, self.normalisation)

    def _grid(self) -> dict[str, list[Any]]:
        check_choice("singular", self.singular, ("project", "ridge"))
        check_choice("normalisation", self.normalisation, ("metric", "unit"))
        grid = super()._grid()
        check_counts("k_plus", grid["k_plus"])
        check_counts("alpha", grid["alpha"])
        check_values("beta", grid["beta"], lambda b: 0 <= b <= 1, "lie in [0, 1]")
        check_values("lam", grid["lam"], lambda v: v >= 0, "not be negative")
        return grid


def spread(Z: np.ndarray, weights: Any) -> np.ndarray:
    """Z' diag(degrees) Z."""
    return Z.T @ (degrees(weights)[:, None] * Z)


def locality(Z: np.ndarray, weights: Any) -> np.ndarray:
    """Z' (diag(degrees) - W) Z: half the weighted sum of squared differences, per direction."""
    return Z.T @ (degrees(weights)[:, None] * Z - weights @ Z)

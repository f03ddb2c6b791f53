"""Nearest neighbours in an embedding, with the grid inside the estimator.

Every parameter that names a candidate (the embedding's own, ``u`` and ``n_neighbors``) takes a
value or a list. With a list, ``fit`` holds out ``validation_share`` of its own training rows, tries
every combination, takes the best by ``select_by`` and fits it again on all rows: nested selection,
with no row from outside. Hold-outs are repeated until ``validation_rows`` rows have been scored,
for a ninth of a small data set tells a thousand candidates apart by chance.

It is what a ``grid`` in the YAML does, candidate by candidate, but here the candidates share what
they have in common: one neighbour search for all graphs, one eigenproblem for all dimensions, one
search in the embedding for all numbers of neighbours. MSLP's grid has 1080 candidates, 36
eigenproblems and 360 searches.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldl import metrics
from ldl.base import LDLEstimator
from ldl.neighbours._spectral import Coordinates
from ldl.neighbours.knn import AAKNN

Candidate = dict[str, Any]

_EQUAL = 1e-12


@dataclass(frozen=True)
class Embedding:
    """Directions in coordinates of the features, the first the best."""

    coordinates: Coordinates
    directions: np.ndarray

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.coordinates.transform(X) @ self.directions


class EmbeddedKNN(LDLEstimator):
    """Base class: a subclass gives coordinates and, for each candidate, directions in them.

    ``u`` is the dimension of the embedding as a share of the number of features, capped at the
    number of directions there are; ``n_neighbors`` is capped at the number of training rows.
    """

    searched: ClassVar[tuple[str, ...]] = ()
    """Parameters that decide the directions, the first varying slowest."""

    u: Any
    n_neighbors: Any
    validation_share: float
    validation_rows: int
    select_by: str
    random_state: int | None

    # ------------------------------------------------------------------ to be written by methods

    def _coordinates(self, X: np.ndarray) -> Coordinates:
        raise NotImplementedError

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        """Directions for every combination of ``searched``, in the order of ``combinations``."""
        raise NotImplementedError

    # ------------------------------------------------------------------ fit and predict

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        grid = self._grid()
        tried = combinations(grid)
        self.diagnostics_: dict[str, Any] = {"candidates": len(tried)}
        self.tried_: list[tuple[Candidate, float]] = []
        self.chosen_ = tried[0]
        if len(tried) > 1 and len(X) > 2:  # two rows leave one to fit: the first candidate stands
            self._choose(X, D, tried)
        self._fit_one(X, D, self.chosen_)
        self.diagnostics_ |= {f"chosen_{name}": self.chosen_[name] for name in grid}

    def _choose(self, X: np.ndarray, D: np.ndarray, tried: list[Candidate]) -> None:
        scores = np.zeros(len(tried))
        splits = holdouts(len(X), self.validation_share, self.validation_rows, self.random_state)
        for fitting, held in splits:
            predictions = self.grid_predictions(X[fitting], D[fitting], X[held])
            for index, (_, P) in enumerate(predictions):
                scores[index] += metrics.evaluate(D[held], P)[self.select_by]
        scores /= len(splits)
        best = first_best(scores, metrics.BETTER[self.select_by] == "lower")
        self.chosen_ = tried[best]
        self.tried_ = list(zip(tried, scores.tolist(), strict=True))
        self.diagnostics_ |= {
            f"validation_{self.select_by}": float(scores[best]),
            "validation_splits": len(splits),
        }

    def grid_predictions(
        self, X: np.ndarray, D: np.ndarray, T: np.ndarray
    ) -> Iterator[tuple[Candidate, np.ndarray]]:
        """What every candidate, fitted on X and D, predicts for the rows of T."""
        grid = self._grid()
        own = {name: grid[name] for name in self.searched}
        neighbours = [min(k, len(X)) for k in grid["n_neighbors"]]
        coordinates = self._coordinates(X)
        Z, ZT = coordinates.transform(X), coordinates.transform(T)
        everything = zip(combinations(own), self._directions(X, Z, D, own), strict=True)
        for chosen, directions in everything:
            trained, asked = Z @ directions, ZT @ directions
            done: dict[int, list[np.ndarray]] = {}
            for u in grid["u"]:
                size = dimension(u, X.shape[1], directions.shape[1])
                if size not in done:
                    search = AAKNN(max(neighbours)).fit(_leading(trained, size), D)
                    found = search.kneighbors(_leading(asked, size))
                    done[size] = [D[found[:, :k]].mean(axis=1) for k in neighbours]
                for k, P in zip(grid["n_neighbors"], done[size], strict=True):
                    yield {**chosen, "u": u, "n_neighbors": k}, P

    def _fit_one(self, X: np.ndarray, D: np.ndarray, chosen: Candidate) -> None:
        coordinates = self._coordinates(X)
        Z = coordinates.transform(X)
        own = {name: [chosen[name]] for name in self.searched}
        directions = next(iter(self._directions(X, Z, D, own)))
        size = dimension(chosen["u"], X.shape[1], directions.shape[1])
        self.embedding_ = Embedding(coordinates, _leading(directions, size))
        self.knn_ = AAKNN(min(chosen["n_neighbors"], len(X)))
        self.knn_.fit(Z @ self.embedding_.directions, D)
        self.diagnostics_ |= {"dimension": size, "rank": int(directions.shape[1])}

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self.knn_.predict(self.embedding_.transform(X))

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows of X in the embedding."""
        return self.embedding_.transform(self._checked(X))

    def fit_transform(self, X: Any, D: Any) -> np.ndarray:
        """Fit, then return the rows of X in the embedding."""
        return self.fit(X, D).transform(X)

    # ------------------------------------------------------------------ settings

    def _grid(self) -> dict[str, list[Any]]:
        """Every searched parameter with its values, checked."""
        if self.select_by not in metrics.BETTER:
            raise ValueError(
                f"select_by must be one of {', '.join(metrics.BETTER)}, got '{self.select_by}'"
            )
        if not 0 < self.validation_share < 1:
            raise ValueError(
                f"validation_share must lie between 0 and 1, got {self.validation_share}"
            )
        if self.validation_rows < 1:
            raise ValueError(f"validation_rows must be at least 1, got {self.validation_rows}")
        grid = {name: as_list(name, getattr(self, name)) for name in self.searched}
        grid["u"] = as_list("u", self.u)
        grid["n_neighbors"] = as_list("n_neighbors", self.n_neighbors)
        check_values("u", grid["u"], lambda u: 0 < u <= 1, "lie in (0, 1]")
        check_counts("n_neighbors", grid["n_neighbors"])
        return grid


# ---------------------------------------------------------------------- parts


def combinations(grid: dict[str, list[Any]]) -> list[Candidate]:
    """Every combination, the last key varying fastest."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def first_best(scores: np.ndarray, lower_is_better: bool) -> int:
    """The first of the best; what differs in the last digits only counts as equal."""
    losses = scores if lower_is_better else -scores
    return int(np.argmax(losses <= losses.min() + _EQUAL * np.abs(losses).max()))


def holdouts(
    n: int, share: float, rows: int, random_state: int | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random splits into rows to fit and rows to score: as many as score ``rows`` rows in all."""
    generator = np.random.default_rng(random_state)
    held = min(max(1, round(n * share)), n - 1)
    orders = [generator.permutation(n) for _ in range(math.ceil(rows / held))]
    return [(np.sort(order[held:]), np.sort(order[:held])) for order in orders]


def dimension(u: float, features: int, available: int) -> int:
    """round(u features), at least 1 and at most what is there."""
    return min(max(1, round(u * features)), max(1, available))


def _leading(columns: np.ndarray, size: int) -> np.ndarray:
    """The first columns; a column of zeros, the same place for all, where there are none."""
    if columns.shape[1] == 0:
        return np.zeros((len(columns), 1))
    return columns[:, :size]


def as_list(name: str, value: Any) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if not values:
        raise ValueError(f"{name} is an empty list")
    return values


def check_values(name: str, values: list[Any], accept: Any, rule: str) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            raise ValueError(f"{name} must be a number or a list of numbers, got {value!r}")
        if not accept(value):
            raise ValueError(f"{name} must {rule}, got {value}")


def check_counts(name: str, values: list[Any]) -> None:
    check_values(name, values, lambda k: k == int(k) and k >= 1, "be a whole number from 1")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got '{value}'")

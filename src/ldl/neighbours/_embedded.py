"""Nearest neighbours in an embedding, with the grid search inside the estimator.

``u``, ``n_neighbors`` and every parameter in ``searched`` take a value or a list. With a list,
``fit`` holds out a ninth of its own training rows, tries every combination, takes the best by kl
and fits it again on all rows: nested selection, with no row from outside.
Hold-outs are repeated until ``validation_rows`` rows have been scored, for a ninth of a small data
set tells a thousand candidates apart by chance.

A grid search around the estimator would find the same, candidate by candidate. Here the candidates
share what they have in common: one neighbour search for all graphs, one eigenproblem for all
dimensions, one search in the embedding for all numbers of neighbours. MSLP's grid has 1080
candidates, 36 eigenproblems and 360 searches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ldl import metrics
from ldl._holdouts import first_best, holdouts
from ldl._parameters import Auto, Count, Factor, as_list
from ldl._self_tuned import Candidate, Grid, SelfTuned
from ldl._tempered import AUTO
from ldl.neighbours._spectral import Coordinates
from ldl.neighbours.knn import AAKNN

_HELD_OUT = 1 / 9
"""Share of the rows that a hold-out scores."""


@dataclass(frozen=True)
class Embedding:
    """Directions in coordinates of the features, the best first."""

    coordinates: Coordinates
    directions: np.ndarray

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.coordinates.transform(X) @ self.directions


@dataclass(eq=False, repr=False)
class EmbeddedKNN(SelfTuned):
    """Base of AA-kNN in an embedding.

    A subclass gives coordinates and, for each candidate, directions in them. Its own parameters
    follow ``u`` and ``n_neighbors``; those of the search stand last, by keyword only. Weights of
    rows are heeded by the mean over neighbours, not by the embedding.

    Parameters
    ----------
    u : float, list of float or 'auto', default='auto'
        Dimension of the embedding as a share of the number of features, above 0 and at most 1;
        there are never more dimensions than directions. ``'auto'`` chooses from 0.1 to 1.
    n_neighbors : int, list of int or 'auto', default='auto'
        Number of neighbours in the embedding whose labels are averaged, at most the number of
        training rows. ``'auto'`` chooses from 5 to 80.
    validation_rows : int, default=200
        Hold-outs of a ninth of the training rows are repeated until that many rows have been
        scored; used where there is more than one candidate, of which the best by kl is taken.
    random_state : int or None, default=None
        Seed of the hold-outs.

    Attributes
    ----------
    chosen_ : dict
        Chosen value of each parameter that takes a list.
    tried_ : list of (dict, float)
        Candidates with their mean kl over the hold-outs; empty where there was no choice.
    embedding_ : Embedding
        Coordinates and the ``directions`` in them.
    knn_ : AAKNN
        Nearest neighbours in the embedding.
    diagnostics_ : dict
        Number of candidates, chosen values, dimension, and rank (the number of directions).
    """

    candidates: ClassVar[Grid] = {"u": (0.3, 0.1, 0.6, 1.0), "n_neighbors": (10, 5, 20, 40, 80)}
    searched: ClassVar[tuple[str, ...]] = ()
    """Parameters that decide the directions, the first varying slowest."""

    u: Factor | Sequence[Factor] | Auto = AUTO
    n_neighbors: Count | Sequence[Count] | Auto = AUTO
    _: KW_ONLY
    validation_rows: Count = 200
    random_state: int | None = None

    # ------------------------------------------------------------------ to be written by methods

    def _coordinates(self, X: np.ndarray) -> Coordinates:
        """Fit the coordinates to training rows."""
        raise NotImplementedError

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        """Yield directions for every combination of ``searched``, in the order of ``combinations``.

        ``Z`` holds the training rows X in their coordinates, ``grid`` the values of ``searched``.
        """
        raise NotImplementedError

    # ------------------------------------------------------------------ fit and predict

    def _tried(
        self, X: np.ndarray, D: np.ndarray, T: np.ndarray, grid: Grid
    ) -> Iterator[tuple[Candidate, np.ndarray]]:
        if not grid:
            yield from super()._tried(X, D, T, grid)
            return
        for candidate, P in self._copy(grid).grid_predictions(X, D, T):
            yield {name: candidate[name] for name in grid}, P

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
        """Set ``chosen_`` to the candidate with the best mean score over the hold-outs."""
        scores = np.zeros(len(tried))
        splits = holdouts(len(X), _HELD_OUT, self.validation_rows, self.random_state)
        for fitting, held in splits:
            predictions = self.grid_predictions(X[fitting], D[fitting], X[held])
            for index, (_, P) in enumerate(predictions):
                scores[index] += metrics.evaluate(D[held], P)["kl"]
        scores /= len(splits)
        best = first_best(scores, lower_is_better=True)
        self.chosen_ = tried[best]
        self.tried_ = list(zip(tried, scores.tolist(), strict=True))
        self.diagnostics_ |= {
            "validation_kl": float(scores[best]),
            "validation_splits": len(splits),
        }

    def grid_predictions(
        self, X: np.ndarray, D: np.ndarray, T: np.ndarray
    ) -> Iterator[tuple[Candidate, np.ndarray]]:
        """Yield every candidate with what it predicts for the rows of T, fitted on X and D."""
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
                    search = _plain_knn(max(neighbours)).fit(_leading(trained, size), D)
                    found = search.kneighbors(_leading(asked, size))
                    done[size] = [D[found[:, :k]].mean(axis=1) for k in neighbours]
                for k, P in zip(grid["n_neighbors"], done[size], strict=True):
                    yield {**chosen, "u": u, "n_neighbors": k}, P

    def _fit_one(self, X: np.ndarray, D: np.ndarray, chosen: Candidate) -> None:
        """Fit a single candidate on all rows."""
        coordinates = self._coordinates(X)
        Z = coordinates.transform(X)
        own = {name: [chosen[name]] for name in self.searched}
        directions = next(iter(self._directions(X, Z, D, own)))
        size = dimension(chosen["u"], X.shape[1], directions.shape[1])
        self.embedding_ = Embedding(coordinates, _leading(directions, size))
        self.knn_ = _plain_knn(min(chosen["n_neighbors"], len(X)))
        self.knn_.fit(Z @ self.embedding_.directions, D, self._weight(len(D)))
        self.diagnostics_ |= {"dimension": size, "rank": int(directions.shape[1])}

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self.knn_.predict(self.embedding_.transform(X))

    def transform(self, X: Any) -> np.ndarray:
        """Return rows in the embedding.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of shape (rows, dimensions)
            Coordinates in the embedding, the best direction first.
        """
        return self.embedding_.transform(self._checked(X))

    def fit_transform(self, X: Any, D: Any) -> np.ndarray:
        """Fit, then return the training rows in the embedding.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features.
        D : array-like of shape (rows, labels)
            Label distributions.

        Returns
        -------
        ndarray of shape (rows, dimensions)
            Coordinates in the embedding, the best direction first.
        """
        return self.fit(X, D).transform(X)

    def _grid(self) -> dict[str, list[Any]]:
        """Return the parameters that are searched, with their values."""
        return {name: as_list(getattr(self, name)) for name in (*self.searched, "u", "n_neighbors")}


# ---------------------------------------------------------------------- parts


def _plain_knn(k: int) -> AAKNN:
    """Return nearest neighbours by distances as they are."""
    return AAKNN(k, standardise=False, mean_share=None)


def combinations(grid: dict[str, list[Any]]) -> list[Candidate]:
    """Return every combination of the values, the last key varying fastest."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def dimension(u: float, features: int, available: int) -> int:
    """Return ``u * features``, rounded, at least 1 and at most the directions available."""
    return min(max(1, round(u * features)), max(1, available))


def _leading(columns: np.ndarray, size: int) -> np.ndarray:
    """Return the first columns, or a column of zeros where there are none."""
    if columns.shape[1] == 0:
        return np.zeros((len(columns), 1))
    return columns[:, :size]

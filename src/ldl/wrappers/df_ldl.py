"""DF-LDL: learners for each pair of labels, of which a first guess chooses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ldl._parameters import Count
from ldl._self_tuned import SelfTuned
from ldl._threads import each
from ldl._weighted import weights_for
from ldl.base import LDLEstimator, child_seeds
from ldl.forests.structrf import StructRF
from ldl.neighbours.knn import AAKNN
from ldl.wrappers._base import Wrapper

Learner = LDLEstimator | np.ndarray | None
"""A fitted estimator, the distribution of the single row of its part, or nothing without rows."""


@dataclass(eq=False, repr=False)
class DFLDL(Wrapper, SelfTuned):
    """Decomposition and fusion: learners for all pairs of labels (DF-LDL).

    For each two labels i < j the training rows are cut in two, those with D_i >= D_j and those with
    D_i < D_j, and an estimator learns the whole distributions of either part. A new row is given a
    first guess by AA-kNN. For each pair it asks the learner of the part that the guess belongs to;
    the prediction is the mean of these c (c - 1) / 2 answers for c labels.

    Parameters
    ----------
    estimator : LDLEstimator, str or None, default=None
        Estimator that is fitted to each part, or the dotted path of its class. None is a
        StructTree: a ``StructRF`` of one tree on all rows.
    settings : dict or None, default=None
        Arguments of that class, where ``estimator`` is a path.
    n_neighbors : int, default=4
        Neighbours of the first guess; at most all training rows count.
    ties : {'first', 'both'}, default='first'
        Part of the rows with D_i = D_j: the first, as in the algorithm of the paper, or both, as in
        its worked example.
    random_state : int or None, default=None
        Seed; estimators without a ``random_state`` of their own get seeds that are drawn from it.
    n_jobs : int, default=1
        Number of threads that fit estimators. The result does not depend on it.

    Attributes
    ----------
    learners_ : list of tuple
        For each pair (0, 1), (0, 2), ... the learners of both parts. A part of one row is
        represented by its distribution; of an empty part the other one's learner takes the place.
    guess_ : AAKNN
        Nearest neighbours of the first guess.
    diagnostics_ : dict
        ``learners``, how many were fitted, and ``smallest_part``, the rows of the smallest one.

    References
    ----------
    M. González, G. González-Almagro, I. Triguero, J.-R. Cano and S. García, "Decomposition-fusion
    for label distribution learning", Information Fusion 66, 64-75, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DFLDL, SABFGS
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = DFLDL(SABFGS(max_iter=20)).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, len(model.learners_)
    ((20, 3), 3)
    """

    accepts_sparse = True

    n_neighbors: Count = 4
    ties: Literal["first", "both"] = "first"
    random_state: int | None = None
    n_jobs: Count = 1

    def _default_estimator(self) -> LDLEstimator:
        return StructRF(n_estimators=1, max_samples=1.0, bootstrap=False, mean_share=None)

    def _fit(self, X: Any, D: np.ndarray) -> None:
        parts = [part for pair in parts_of_pairs(D, self.ties) for part in pair]
        seeds = child_seeds(self.random_state, len(parts))
        weight = self._weight(len(D))

        def learn(task: tuple[np.ndarray, int]) -> Learner:
            rows, seed = task
            if len(rows) < 2:
                return D[rows[0]].copy() if len(rows) else None
            estimator = self._new_estimator(seed)
            more = weights_for(estimator, None if weight is None else weight[rows])
            return estimator.fit(X[rows], D[rows], **more)

        learned = each(learn, list(zip(parts, seeds, strict=True)), self.n_jobs)
        self.learners_ = [
            (one if one is not None else other, other if other is not None else one)
            for one, other in zip(learned[::2], learned[1::2], strict=True)
        ]
        guess = AAKNN(min(self.n_neighbors, len(D)), standardise=False, mean_share=None)
        self.guess_ = guess.fit(X, D, weight)
        sizes = [len(rows) for rows in parts if len(rows)]
        self.diagnostics_ = {"learners": len(sizes), "smallest_part": min(sizes)}

    def _predict(self, X: Any) -> np.ndarray:
        return self._fused(X, self.guess_.predict(X))

    def _fused(self, X: Any, guess: np.ndarray) -> np.ndarray:
        """Return the mean answer of the learners that the guess chooses."""
        total = np.zeros_like(guess)
        for (i, j), learners in zip(pairs(self.n_labels_), self.learners_, strict=True):
            first = guess[:, i] >= guess[:, j]
            for rows, learner in zip((first, ~first), learners, strict=True):
                if rows.any():
                    total[rows] += _answer(learner, X, rows)
        return total / len(self.learners_)


def pairs(labels: int) -> Iterator[tuple[int, int]]:
    """Yield all pairs of labels, the first one smaller."""
    return itertools.combinations(range(labels), 2)


def parts_of_pairs(D: np.ndarray, ties: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for each pair of labels, the rows with a higher degree of the first and the others."""
    for i, j in pairs(D.shape[1]):
        first = D[:, i] >= D[:, j]
        second = D[:, i] <= D[:, j] if ties == "both" else ~first
        yield np.flatnonzero(first), np.flatnonzero(second)


def _answer(learner: Learner, X: Any, rows: np.ndarray) -> np.ndarray:
    if isinstance(learner, LDLEstimator):
        return learner.predict(X if rows.all() else X[rows])
    assert learner is not None  # one of both parts has rows
    return learner

"""Core of the softmax models that add terms to the penalised cross entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldl._parameters import Auto, Count, NotNegative
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl._weighted import counted
from ldl.linear._bfgs import Optimum
from ldl.linear._newton import Curvature, Solve, minimise_newton, start_at_mean
from ldl.linear._softmax import (
    SoftmaxObjective,
    slopes_of_scores,
    softmax_columns,
    with_ones,
)
from ldl.linear.maxent import MaximumEntropy

_MOST_ROUNDS = 10


class Term:
    """A part of a loss; the other arguments are label by row or label by feature."""

    def of_predictions(self, P: np.ndarray, slopes: np.ndarray) -> float:
        """Return the value for predictions P (c, n), and add its derivatives to ``slopes``."""
        return 0.0

    def of_weights(self, W: np.ndarray, slopes: np.ndarray) -> float:
        """Return the value for weights W (c, q), and add its derivatives to ``slopes``."""
        return 0.0

    def settle(self, W: np.ndarray) -> bool:
        """Take over what counts as constant from weights W; tell whether it has changed."""
        return False


class TermObjective(SoftmaxObjective):
    """The cross entropy ``-sum_ij D_ij ln P_ij``, a ridge penalty, and terms.

    Rows of D that count otherwise than once have their weight as their sum; terms weigh themselves.
    The predictions of the last weights are kept, for there the next search begins.
    """

    def __init__(
        self, X: np.ndarray, D: np.ndarray, l2: float, unpenalised: int, terms: Sequence[Term]
    ) -> None:
        super().__init__(X, D, l2, unpenalised)
        self.terms = terms
        own = [term for term in terms if type(term).of_predictions is not Term.of_predictions]
        self.of_predictions = own
        self._known = np.full_like(self._weights, np.nan)
        self._predictions = np.empty_like(self.D)
        self._cross_entropy = np.nan

    def _multiply_weights(self) -> None:
        if np.array_equal(self._weights, self._known):
            return
        super()._multiply_weights()
        Z = self._products[: len(self.D)]
        fit = np.vdot(self.D, Z)
        self._cross_entropy = self.summed(softmax_columns(Z)) - fit
        self._predictions[:] = Z
        self._known[:] = self._weights

    def loss(self, Z: np.ndarray) -> float:
        Z[:] = self._predictions
        value = self._cross_entropy
        slopes = None
        if self.of_predictions:
            slopes = np.zeros_like(Z)
            value += sum(term.of_predictions(Z, slopes) for term in self.of_predictions)
            slopes = slopes_of_scores(Z, slopes)
        if self.weight is not None:
            Z *= self.weight
        Z -= self.D
        if slopes is not None:
            Z += slopes
        return float(value)

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = super().__call__(flat)
        labels = len(self.D)
        W = flat.reshape(labels, -1)[:, : self.penalised]
        slopes = gradient.reshape(labels, -1)[:, : self.penalised]
        return value + sum(term.of_weights(W, slopes) for term in self.terms), gradient


@dataclass
class Search:
    """A minimum that is looked for again and again, from where the last search ended."""

    objective: TermObjective
    at: np.ndarray
    solve: Solve

    def run(self, max_iter: int, tol: float) -> Optimum:
        """Minimise the objective as it is now."""
        found = minimise_newton(self.objective, self.at, self.solve, max_iter, tol)
        self.at = found.x
        return found

    def weights(self) -> np.ndarray:
        """Return the weights of the features (c, q)."""
        labels = len(self.objective.D)
        return self.at.reshape(labels, -1)[:, : self.objective.penalised]


@dataclass(eq=False, repr=False, kw_only=True)
class TermModel(MaximumEntropy):
    """Base of the models softmax(X W + b) that minimise a penalised cross entropy and terms.

    Steps of Newton's kind take the curvature of the cross entropy. A subclass writes ``_terms``,
    which are of weights, or sums over rows; or how it fits.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights; the intercept has none. ``'auto'`` chooses from 0.3 to 300 on
        held-out rows.
    fit_intercept : bool, default=True
        Adds an intercept.
    max_iter : int, default=300
        Largest number of iterations.
    tol : float, default=1e-7
        Relative decrease of the loss below which an iteration is the last one.

    Attributes
    ----------
    intercept_ : ndarray of shape (n_labels_,)
        The intercept; zeros without one.
    """

    accepts_sparse = False

    alpha: NotNegative | Auto = AUTO
    fit_intercept: bool = True
    max_iter: Count = 300
    tol: NotNegative = 1e-7

    candidates: ClassVar[Grid] = {"alpha": (30.0, 0.3, 3.0, 300.0)}

    def _begun(
        self,
        X: np.ndarray,
        D: np.ndarray,
        terms: Sequence[Term],
        weight: np.ndarray | None = None,
    ) -> Search:
        """Return the objective, with terms, and where and how to search its minimum."""
        constants = int(self.fit_intercept)
        X = with_ones(X) if constants else X
        labels, features = D.shape[1], X.shape[1]
        curvature = Curvature(X, D, constants, weight)
        D = counted(D, weight)
        start = start_at_mean(D, features) if constants else np.zeros((labels, features))
        objective = TermObjective(X, D, self.alpha, constants, terms)
        objective.weight = weight
        return Search(objective, start.ravel(), curvature.inverse(self.alpha))

    def _terms(self, D: np.ndarray, weight: np.ndarray | float) -> Sequence[Term]:
        """Return the terms beside the cross entropy of these rows, each of which has a weight."""
        raise NotImplementedError

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        weight = self._weight(len(D))
        terms = self._terms(D, 1.0 if weight is None else weight)
        search = self._begun(X, D, terms, weight)
        found = search.run(self.max_iter, self.tol)
        for _ in range(_MOST_ROUNDS):
            changed = [term.settle(search.weights()) for term in terms]
            if not any(changed):
                break
            found = search.run(self.max_iter, self.tol)
        self._keep(found)

"""The maximum entropy model, P = softmax(X W), and SA-BFGS, which fits it by quasi-Newton steps."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Count, NotNegative
from ldl._scale import Scale
from ldl._self_tuned import Candidate, Grid, SelfTuned
from ldl._tempered import AUTO
from ldl._weighted import counted
from ldl.linear._bfgs import Optimum, minimise_bfgs, minimise_lbfgs
from ldl.linear._newton import Curvature, minimise_newton, start_at_mean
from ldl.linear._softmax import (
    SoftmaxObjective,
    softmax_rows,
    standardised,
    with_ones,
)

_DENSE_BELOW = 3000
_GRADIENT_TOLERANCE = 1e-10


class MaximumEntropy(SelfTuned):
    """Base of the models P = softmax(X W + b), however their weights are found.

    A subclass has the parameter ``max_iter``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W of raw features.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept b; zeros without one.
    n_iter_ : int
        Iterations done.
    loss_ : float
        Loss at the end, with its penalty.
    diagnostics_ : dict
        Iterations, evaluations of the loss, the loss, the largest slope, and why it stopped.
    """

    accepts_sparse = True
    spreads_nan = True
    max_iter: Count
    tol: NotNegative
    coef_: np.ndarray
    intercept_: np.ndarray

    def _predict(self, X: Any) -> np.ndarray:
        Z = np.asarray(X @ self.coef_)
        Z += self.intercept_
        return softmax_rows(Z)

    def _keep_scale(self, scale: Scale) -> None:
        self.coef_, self.intercept_ = scale.fold(self.coef_, self.intercept_)
        self._scale = None

    def _keep(self, found: Optimum, scale: Scale | None = None) -> None:
        """Store weights found label by label, after those of the features the intercept's, if any.

        Weights of features that ``scale`` standardised become those of raw ones. The numbers that
        tell how the search went become diagnostics.
        """
        q, c = self.n_features_in_, self.n_labels_
        W = found.x.reshape(c, -1).T
        self.coef_ = np.ascontiguousarray(W[:q])
        self.intercept_ = W[q].copy() if len(W) > q else np.zeros(c)
        if scale is not None:
            self.coef_, self.intercept_ = scale.fold(self.coef_, self.intercept_)
        self.n_iter_ = found.iterations
        self.loss_ = found.value
        self.diagnostics_ = {
            "iterations": found.iterations,
            "evaluations": found.evaluations,
            "loss": found.value,
            "largest_gradient": float(np.abs(found.gradient).max()),
            "stopped": found.stopped,
        }


class CrossEntropy(SoftmaxObjective):
    """Cross entropy ``-sum_ij D_ij ln P_ij``: a sum over rows, not their mean.

    Rows of D that count otherwise than once have their weight as their sum.
    """

    def loss(self, Z: np.ndarray) -> float:
        Z -= Z.max(axis=0)
        fit = np.vdot(self.D, Z)
        P = np.exp(Z, out=Z)
        totals = P.sum(axis=0)
        value = float(self.summed(np.log(totals)) - fit)
        P /= totals if self.weight is None else totals / self.weight
        P -= self.D
        return value

    def _sum_of_squares(self, W: np.ndarray) -> float:
        # Another order of the sum than in the base; the last bits of penalised fits depend on it.
        return float((W**2).sum())


@dataclass(eq=False, repr=False)
class SABFGS(MaximumEntropy):
    """Maximum entropy model fitted by quasi-Newton steps (SA-BFGS, BFGS-LLD, BFGS-LDL).

    The predictions are P = softmax(X W + b). The weights minimise a convex loss, which is the
    summed Kullback-Leibler divergence but for a constant::

        -sum_ij D_ij ln P_ij + alpha / 2 ||W||^2

    The papers run it on raw features, without an intercept or a penalty. The number of iterations
    is then all that regularises, and late stops overfit. ``SABFGS(standardise=False,
    fit_intercept=False, alpha=0.0, init='identity', pairs=20, tol=0.0, mean_share=None)`` does so.

    Parameters
    ----------
    max_iter : int, default=300
        Largest number of iterations. The StructRF paper has 300. Without a penalty, fewer overfit
        less.
    solver : {'auto', 'newton', 'lbfgs', 'dense_bfgs', 'toolbox'}, default='auto'
        ``'newton'`` takes steps by the curvature of all rows, one number for all labels, which the
        last ``pairs`` of steps correct; a handful of passes over dense rows do. ``'lbfgs'`` keeps
        the last ``pairs`` steps. ``'dense_bfgs'`` keeps the whole inverse Hessian, whose memory
        grows with the square of features times labels. ``'toolbox'`` takes the dense one below 3000
        weights and the other above, as the LDL toolbox does. Stopped early, they differ.
        ``'auto'`` takes Newton's steps below 3000 weights where there is a penalty and features are
        dense, and L-BFGS elsewhere.
    fit_intercept : bool, default=True
        Adds an intercept, which is not penalised. The toolbox has none; features that have mean
        zero, as standardised ones do, need it.
    alpha : float or 'auto', default='auto'
        Penalty on squared weights. Errors are summed over rows: where these are many, it weighs
        less. ``'auto'`` chooses from 0.3 to 3000 on held-out rows.
    init : {'zeros', 'identity', 'uniform'}, default='zeros'
        First weights: zeros, ones on the main diagonal (the toolbox), or numbers drawn from
        [-0.1, 0.1]. Matters only for early stops.
    random_state : int or None, default=None
        Seed of the first weights where ``init`` is ``'uniform'``.
    pairs : int, default=10
        Steps that L-BFGS keeps. More get further down in as many iterations, which take longer.
    tol : float, default=1e-7
        Relative decrease of the loss below which an iteration is the last one. With 0 the search
        goes on as long as it goes down.
    standardise : bool, default=True
        Fits to features with mean zero and deviation one, as penalty and first weights then see
        them. Sparse features stay sparse.

    Attributes
    ----------
    intercept_ : ndarray of shape (n_labels_,)
        The intercept; zeros without one.

    References
    ----------
    X. Geng, "Label distribution learning", IEEE Transactions on Knowledge and Data Engineering
    28(7), 1734-1748, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import SABFGS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> D = np.exp(X[:, :3])
    >>> D /= D.sum(axis=1, keepdims=True)
    >>> model = SABFGS(max_iter=50).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    max_iter: int = 300
    solver: Literal["auto", "newton", "lbfgs", "dense_bfgs", "toolbox"] = "auto"
    fit_intercept: bool = True
    alpha: NotNegative | Auto = AUTO
    init: Literal["identity", "zeros", "uniform"] = "zeros"
    random_state: int | None = None
    pairs: Count = field(default=10, kw_only=True)
    tol: float = field(default=1e-7, kw_only=True)
    standardise: bool = field(default=True, kw_only=True)

    candidates: ClassVar[Grid] = {"alpha": (30.0, 0.3, 3.0, 300.0, 3000.0)}
    scales_itself = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._minimise(Problem(self, X, D, self._weight(len(D))), self.alpha)

    def _tried(
        self, X: Any, D: np.ndarray, T: Any, grid: Grid
    ) -> Iterator[tuple[Candidate, np.ndarray]]:
        # All penalties share the features and their products.
        problem = Problem(self, X, D)
        for alpha in grid.get("alpha", (self.alpha,)):
            model = copy(self)
            model._minimise(problem, alpha)
            yield ({"alpha": alpha} if grid else {}), model._predict(T)

    def _minimise(self, problem: Problem, alpha: float) -> None:
        """Keep the weights that minimise a problem under a penalty."""
        objective, start = problem.objective, problem.start
        objective.l2 = alpha
        small = len(start) < _DENSE_BELOW
        solver = self.solver
        if solver == "auto":
            solver = "newton" if small and alpha > 0 and not objective.sparse else "lbfgs"
        if solver == "newton":
            if objective.sparse:
                raise ValueError("solver 'newton' needs dense features; write X.toarray()")
            start, first = problem.newton_start(alpha)
            solve = problem.curvature.inverse(alpha)
            found = minimise_newton(
                objective, start, solve, self.max_iter, self.tol, self.pairs, first
            )
        elif solver == "dense_bfgs" or (solver == "toolbox" and small):
            found = minimise_bfgs(objective, start, self.max_iter, _GRADIENT_TOLERANCE)
        else:
            found = minimise_lbfgs(
                objective, start, self.max_iter, _GRADIENT_TOLERANCE, self.tol or None, self.pairs
            )
        self._keep(found, problem.scale)

    def _start(self, features: int, labels: int) -> np.ndarray:
        """Return the first weights."""
        if self.init == "uniform":
            return drawn_weights((features, labels), self.random_state)
        return np.eye(features, labels) if self.init == "identity" else np.zeros((features, labels))


class Problem:
    """Objective of a fit to some rows, whatever the penalty, and the start of its search."""

    def __init__(
        self, model: SABFGS, X: Any, D: np.ndarray, weight: np.ndarray | None = None
    ) -> None:
        self.constants = int(model.fit_intercept)
        W = model._start(X.shape[1], D.shape[1])
        self.start = np.vstack([W, np.zeros((self.constants, D.shape[1]))]).T.ravel()
        self.scale = Scale(X, weight) if model.standardise else None
        offset = None
        if self.scale and not hasattr(X, "tocsr"):
            X = self._scaled_beside_ones(X, self.scale)
        else:
            X, offset = standardised(X, self.scale) if self.scale else (X, None)
            X = with_ones(X) if self.constants else X
        self.D = D
        self.objective = CrossEntropy(X, counted(D, weight), unpenalised=self.constants)
        self.objective.weight = weight
        self.objective.offset = offset

    def _scaled_beside_ones(self, X: np.ndarray, scale: Scale) -> np.ndarray:
        """Return standardised features and the intercept's ones, if any, without copies between."""
        q = X.shape[1]
        found = np.ones((len(X), q + self.constants))
        np.subtract(X, scale.shift, out=found[:, :q])
        found[:, :q] *= scale.factor
        return found

    def newton_start(self, l2: float) -> tuple[np.ndarray, tuple[float, np.ndarray]]:
        """Return a start for Newton's steps, the loss there with a penalty, and its slopes.

        Its intercept, if there is one, is that of the mean distribution.
        """
        start, value, gradient = self._plain_start
        weights = start.reshape(len(self.objective.D), -1).copy()
        weights[:, self.objective.penalised :] = 0.0
        value += 0.5 * l2 * float(np.vdot(weights, weights))
        return start, (value, gradient + l2 * weights.ravel())

    @cached_property
    def _plain_start(self) -> tuple[np.ndarray, float, np.ndarray]:
        """The start, and the loss and slopes there, without a penalty."""
        D, start = self.objective.D.T, self.start.copy()
        if self.constants:
            start += start_at_mean(D, len(start) // D.shape[1]).ravel()
        penalty, self.objective.l2 = self.objective.l2, 0.0
        value, gradient = self.objective(start)
        self.objective.l2 = penalty
        return start, value, gradient

    @cached_property
    def curvature(self) -> Curvature:
        """That of the cross entropy, without a penalty."""
        objective = self.objective
        return Curvature(objective.X, self.D, self.constants, objective.weight)


def drawn_weights(shape: tuple[int, int], random_state: int | None) -> np.ndarray:
    """Draw first weights from [-0.1, 0.1]."""
    return np.random.default_rng(random_state).uniform(-0.1, 0.1, size=shape)

"""LDLCL, a reading: the final degree of a label is its own and a mixture of the other labels'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Interval, NotNegative
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl._weighted import counted, rooted
from ldl.base import dense, warn_unfinished
from ldl.linear._penalised import PenalisedModel
from ldl.linear._softmax import (
    SoftmaxObjective,
    slopes_of_scores,
    softmax_columns,
    softmax_rows,
    with_ones,
)

_SMALLEST_DEGREE = 1e-9
_MAX_SWEEPS = 10_000
_SMALLEST_CHANGE = 1e-12
_MAX_ALTERNATIONS = 1000
_ALTERNATION_TOLERANCE = 1e-8


class CollaborationObjective(SoftmaxObjective):
    """Cross entropy of max(P A, 1e-9) divided by its row sums; with A = I that of P itself."""

    def __init__(self, X: Any, D: np.ndarray, A: np.ndarray, l2: float = 0.0) -> None:
        super().__init__(X, D, l2)
        self.A = A

    def loss(self, Z: np.ndarray) -> float:
        softmax_columns(Z)
        mixed = self.A.T @ Z
        inside = mixed > _SMALLEST_DEGREE
        np.maximum(mixed, _SMALLEST_DEGREE, out=mixed)
        totals = mixed.sum(axis=0)
        value = self.summed(np.log(totals)) - np.vdot(self.D, np.log(mixed))
        counts = 1.0 if self.weight is None else self.weight
        slopes = inside * (counts / totals - self.D / mixed)
        Z[:] = slopes_of_scores(Z, self.A @ slopes)
        return float(value)


@dataclass(eq=False, repr=False)
class LDLCL(PenalisedModel):
    """Softmax model whose labels are mixed with one another (LDLCL, a reading).

    Column j of S reconstructs label j from few of the others: it is the s with s_j = 0 that
    minimises ``1/2 ||D_j - D s||^2 + penalty ||s||_1``. With a the ``collaboration``, predictions
    are P A divided by their row sums, where A = (1 - a) I + a S and P = softmax(X W + b), in
    training as well.

    Only the paper's abstract was at hand. The objective is ours, by analogy with
    collaboration-based multi-label learning; the similarity of instances that the paper's keywords
    name is not in it.

    Parameters
    ----------
    collaboration : float, default=0.5
        Share a of the other labels, between 0 and 1.
    sparsity : float, default=0.1
        Penalty of the reconstruction, as a share of the smallest penalty that makes all weights of
        a label zero.
    alpha : float or 'auto', default='auto'
        Penalty on squared weights, the intercept's included. ``'auto'`` chooses from 0.1 to 100 on
        held-out rows.
    model : {'softmax', 'regression'}, default='softmax'
        ``'softmax'`` minimises the cross entropy of the mixed predictions. ``'regression'`` fits a
        linear model and pseudo labels by least squares, in turn, and projects predictions onto the
        simplex.
    max_iter : int, default=300
        Largest number of iterations of L-BFGS; like ``tol`` used by ``'softmax'`` only.

    Attributes
    ----------
    mixing_ : ndarray of shape (n_labels_, n_labels_)
        The matrix A.
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept b.
    loss_ : float
        Loss at the end, with its penalty; ``'softmax'`` only.
    diagnostics_ : dict
        Iterations, how the search ended, and the number of weights between labels.

    References
    ----------
    Li, Zhu and Liu, "Label distribution learning with collaboration among labels", Journal of
    Software 33, 539-554, 2022 (in Chinese).

    L. Feng, B. An and S. He, "Collaboration based multi-label learning", AAAI Conference on
    Artificial Intelligence, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLCL
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.random((60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLCL(collaboration=0.2, alpha=1.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.mixing_.shape
    ((20, 3), (3, 3))
    """

    collaboration: Annotated[float, Interval(0, 1)] = 0.5
    sparsity: NotNegative = 0.1
    alpha: NotNegative | Auto = AUTO
    model: Literal["softmax", "regression"] = "softmax"

    candidates: ClassVar[Grid] = {"alpha": (1.0, 0.1, 10.0, 100.0)}

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if self.model == "regression" and self.alpha == 0:
            raise ValueError("alpha must be above 0 for the regression")
        weight = self._weight(len(D))
        S = sparse_reconstruction(rooted(D, weight), self.sparsity)
        self.mixing_ = (1.0 - self.collaboration) * np.eye(len(S)) + self.collaboration * S
        if self.model == "softmax":
            objective = CollaborationObjective(
                with_ones(X), counted(D, weight), self.mixing_, self.alpha
            )
            objective.weight = weight
            self._minimise(objective)
        else:
            self._regress(with_ones(X), D, weight)
        self.diagnostics_["weights_between_labels"] = int(np.count_nonzero(S))

    def _predict(self, X: Any) -> np.ndarray:
        if self.model == "regression":
            return project_to_simplex((X @ self.coef_ + self.intercept_) @ self.mixing_)
        P = softmax_rows(np.asarray(X @ self.coef_) + self.intercept_)
        return np.maximum(P @ self.mixing_, _SMALLEST_DEGREE)

    def _regress(self, X: Any, D: np.ndarray, weight: np.ndarray | None) -> None:
        """Minimise over pseudo labels Z and weights W in turn, both in closed form.

        The loss is ``1/2 ||Z A - D||^2 + 1/2 ||Z - X W||^2 + alpha/2 ||W||^2``.
        """
        from scipy.linalg import cho_factor, cho_solve
        from scipy.sparse import diags_array

        A = self.mixing_
        turned = X.T if weight is None else X.T @ diags_array(weight)
        features = cho_factor(dense(turned @ X) + self.alpha * np.eye(X.shape[1]))
        labels = cho_factor(A @ A.T + np.eye(len(A)))
        Z, change, iterations = D, np.inf, 0
        while change > _ALTERNATION_TOLERANCE and iterations < _MAX_ALTERNATIONS:
            W = cho_solve(features, turned @ Z)
            before, Z = Z, cho_solve(labels, (D @ A.T + X @ W).T).T
            change = float(np.abs(Z - before).max())
            iterations += 1
        if change > _ALTERNATION_TOLERANCE:
            warn_unfinished("LDLCL: weights and pseudo labels", "Raise alpha.")
        self.coef_, self.intercept_ = W[:-1].copy(), W[-1].copy()
        self.n_iter_ = iterations
        self.diagnostics_ = {"iterations": iterations, "largest_change": change}


def sparse_reconstruction(D: np.ndarray, sparsity: float) -> np.ndarray:
    """Return S with zero diagonal; column j minimises ``1/2 ||D_j - D s||^2 + penalty_j ||s||_1``.

    Coordinate descent on the Gram matrix, one row of S (a coordinate of every problem) at a time.
    """
    gram = D.T @ D
    c = len(gram)
    penalties = sparsity * (gram - np.diag(np.diag(gram))).max(axis=0)
    S = np.zeros((c, c))
    coordinates = [(k, gram[k], float(gram[k, k]), S[k]) for k in range(c) if gram[k, k] > 0]
    # Sweeps are many and labels few: what counts is the number of calls.
    for _ in range(_MAX_SWEEPS):
        before = S.copy()
        for k, products, square, own in coordinates:
            pull = products - products.dot(S)
            pull += square * own
            np.maximum(pull - penalties, 0.0, out=own)
            pull += penalties
            own += np.minimum(pull, 0.0, out=pull)
            own /= square
            own[k] = 0.0
        if np.abs(S - before).max() <= _SMALLEST_CHANGE:
            return S
    warn_unfinished("LDLCL: weights between labels", "Raise sparsity.")
    return S


def project_to_simplex(V: np.ndarray) -> np.ndarray:
    """Return the distribution nearest to each row."""
    descending = -np.sort(-V, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    counts = np.arange(1, V.shape[1] + 1)
    kept = (descending * counts > excess).sum(axis=1)
    shift = excess[np.arange(len(V)), kept - 1] / kept
    return np.maximum(V - shift[:, None], 0.0)

"""LDLCL, a reading: every label's final degree is its own and a mixture of the other labels'.

Li, Zhu and Liu (Journal of Software 33, 2022) say that weights between labels come from a sparse
reconstruction in label space and serve in training and in prediction. The objective is ours, by
analogy with collaboration-based multi-label learning (Feng, An and He, AAAI 2019); the similarity
of instances that the paper's keywords name is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.linear._softmax import (
    SoftmaxModel,
    SoftmaxObjective,
    slopes_of_scores,
    softmax_columns,
    with_intercept,
)
from ldl.linear.maxent import softmax_rows

_SMALLEST_DEGREE = 1e-9
_MAX_SWEEPS = 10_000
_SMALLEST_CHANGE = 1e-12
_MAX_ALTERNATIONS = 1000
_ALTERNATION_TOLERANCE = 1e-8
_MODELS = ("softmax", "regression")


class CollaborationObjective(SoftmaxObjective):
    """Cross entropy of rows(max(P A, 1e-9)): with A = I that of P itself."""

    def __init__(self, X: Any, D: np.ndarray, A: np.ndarray, l2: float = 0.0) -> None:
        super().__init__(X, D, l2)
        self.A = A

    def loss(self, Z: np.ndarray) -> float:
        softmax_columns(Z)
        mixed = self.A.T @ Z
        inside = mixed > _SMALLEST_DEGREE
        np.maximum(mixed, _SMALLEST_DEGREE, out=mixed)
        totals = mixed.sum(axis=0)
        value = np.log(totals).sum() - np.vdot(self.D, np.log(mixed))
        slopes = inside * (1.0 / totals - self.D / mixed)
        Z[:] = slopes_of_scores(Z, self.A @ slopes)
        return float(value)


@dataclass(eq=False, repr=False)
class LDLCL(SoftmaxModel):
    """LDLCL with ``collaboration`` a: predictions are rows(P A), A = (1 - a) I + a S.

    ``sparsity`` is the penalty of the reconstruction as a share of the smallest one that makes all
    of a label's weights zero. ``model`` is ``softmax`` (cross entropy, L-BFGS) or ``regression``
    (least squares with pseudo labels, then a projection onto the simplex).
    """

    collaboration: float = 0.5
    sparsity: float = 0.1
    ridge: float = 1e-3
    model: str = "softmax"
    fidelity: float = 1.0
    nonnegative: bool = False
    max_iter: int = 300
    tol: float = 2.22e-9
    init: str = "zeros"

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._check(("sparsity", "ridge"))
        if not 0 <= self.collaboration <= 1:
            raise ValueError(f"collaboration must lie in [0, 1], got {self.collaboration}")
        if self.model not in _MODELS:
            raise ValueError(f"model must be one of {', '.join(_MODELS)}, got '{self.model}'")
        if not self.fidelity > 0:
            raise ValueError(f"fidelity must be positive, got {self.fidelity}")
        if self.model == "regression" and self.ridge == 0:
            raise ValueError("ridge must be positive for the regression")
        S = sparse_reconstruction(D, self.sparsity, self.nonnegative)
        self.mixing_ = (1.0 - self.collaboration) * np.eye(len(S)) + self.collaboration * S
        if self.model == "softmax":
            self._minimise(CollaborationObjective(with_intercept(X), D, self.mixing_, self.ridge))
        else:
            self._regress(with_intercept(X), D)
        self.diagnostics_["weights_between_labels"] = int(np.count_nonzero(S))

    def _predict(self, X: Any) -> np.ndarray:
        if self.model == "regression":
            return project_to_simplex((X @ self.coef_ + self.intercept_) @ self.mixing_)
        P = softmax_rows(np.asarray(X @ self.coef_) + self.intercept_)
        return np.maximum(P @ self.mixing_, _SMALLEST_DEGREE)

    def _regress(self, X: Any, D: np.ndarray) -> None:
        """``1/2 ||Z A - D||^2 + fidelity/2 ||Z - X W||^2 + ridge/2 ||W||^2``, Z and W in turn."""
        from scipy.linalg import cho_factor, cho_solve

        A, fidelity = self.mixing_, self.fidelity
        gram = X.T @ X
        gram = gram.toarray() if hasattr(gram, "toarray") else gram
        features = cho_factor(fidelity * gram + self.ridge * np.eye(X.shape[1]))
        labels = cho_factor(A @ A.T + fidelity * np.eye(len(A)))
        Z, change, iterations = D, np.inf, 0
        while change > _ALTERNATION_TOLERANCE and iterations < _MAX_ALTERNATIONS:
            W = cho_solve(features, fidelity * (X.T @ Z))
            before, Z = Z, cho_solve(labels, (D @ A.T + fidelity * (X @ W)).T).T
            change = float(np.abs(Z - before).max())
            iterations += 1
        self.coef_, self.intercept_ = W[:-1].copy(), W[-1].copy()
        self.n_iter_ = iterations
        self.diagnostics_ = {"iterations": iterations, "largest_change": change}


def sparse_reconstruction(D: np.ndarray, sparsity: float, nonnegative: bool = False) -> np.ndarray:
    """S with zero diagonal; column j minimises ``1/2 ||D_j - D s||^2 + penalty_j ||s||_1``.

    Coordinate descent on the Gram matrix, one row of S (a coordinate of every problem) at a time.
    """
    gram = D.T @ D
    c = len(gram)
    penalties = sparsity * (gram - np.diag(np.diag(gram))).max(axis=0)
    S = np.zeros((c, c))
    present = np.flatnonzero(np.diag(gram) > 0)
    for _ in range(_MAX_SWEEPS):
        largest = 0.0
        for k in present:
            before = S[k].copy()
            pull = gram[k] - gram[k] @ S + gram[k, k] * before
            S[k] = np.maximum(pull - penalties, 0.0)
            if not nonnegative:
                S[k] += np.minimum(pull + penalties, 0.0)
            S[k] /= gram[k, k]
            S[k, k] = 0.0
            largest = max(largest, float(np.abs(S[k] - before).max()))
        if largest <= _SMALLEST_CHANGE:
            break
    return S


def project_to_simplex(V: np.ndarray) -> np.ndarray:
    """The distribution nearest to each row."""
    descending = -np.sort(-V, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    counts = np.arange(1, V.shape[1] + 1)
    kept = (descending * counts > excess).sum(axis=1)
    shift = excess[np.arange(len(V)), kept - 1] / kept
    return np.maximum(V - shift[:, None], 0.0)

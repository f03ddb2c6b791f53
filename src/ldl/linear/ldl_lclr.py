"""LDL-LCLR: a softmax model whose predictions, mixed by a low-rank matrix, are the degrees."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ldl._parameters import Count, NotNegative, Positive
from ldl._weighted import rooted
from ldl.linear._softmax import softmax_columns
from ldl.linear._terms import Term, TermModel
from ldl.linear.ldlsf import shrunk_rows

_ABSOLUTE, _RELATIVE = 1e-5, 1e-4
"""Residuals at which ADMM ends, a number and a share of what they compare."""
_STARTS = 3
"""Runs of k-means, of which the best counts."""


class MixtureTerm(Term):
    """``rho / 2 ||T - P S||^2`` for the targets T (n, c) that a step of ADMM has.

    T comes, and P is taken, times the square roots of the weights of rows.
    """

    def __init__(
        self, targets: np.ndarray, mixing: np.ndarray, rho: float, weight: np.ndarray | None = None
    ) -> None:
        self.targets, self.mixing, self.rho = targets, mixing, rho
        self.roots = 1.0 if weight is None else np.sqrt(weight)

    def of_predictions(self, P: np.ndarray, slopes: np.ndarray) -> float:
        rest = self.targets.T - self.mixing.T @ P * self.roots
        slopes -= self.rho * self.mixing @ rest * self.roots
        return 0.5 * self.rho * float(np.vdot(rest, rest))


@dataclass(eq=False, repr=False)
class LDLLCLR(TermModel):
    """Softmax model with global and local correlations of labels (LDL-LCLR).

    A matrix S of correlations, of low rank, mixes the predictions P = softmax(X W + b), and E is
    what that leaves. The model minimises::

        -sum_ij D_ij ln P_ij + alpha / 2 ||W||^2 + error_weight sum_j ||E_j||
            + rank_weight ||S||_* - local_weight sum_g sum_jk S_jk ||D_gj - D_gk||^2

    where D = P S + E. E_j is a column, ||S||_* the sum of singular values, and D_gj the degrees of
    label j in cluster g; the clusters are k-means of the features, for which all rows count alike.
    ADMM solves it: Newton's steps for W, closed forms for S and E. New rows get P, as in the
    authors' release, whose sign of the last sum and ``rho`` these are. The release computes the
    slopes of P as if its labels did not depend on one another; here they are exact.

    Parameters
    ----------
    error_weight : float, default=0.01
        Weight of what is left, lambda 2.
    rank_weight : float, default=0.01
        Weight of the singular values, lambda 3.
    local_weight : float, default=0.01
        Weight of the clusters, lambda 4.
    n_clusters : int, default=4
        Largest number of clusters; there are never more than different rows.
    rho : float, default=1.0
        Penalty of ADMM on what the constraints miss.
    rounds : int, default=30
        Largest number of rounds of ADMM; the release has 100.
    random_state : int or None, default=None
        Seed of k-means.

    Attributes
    ----------
    mixing_ : ndarray of shape (n_labels_, n_labels_)
        The matrix S.
    rounds_ : int
        Rounds done.

    References
    ----------
    T. Ren, X. Jia, W. Li and S. Zhao, "Label distribution learning with label correlations via
    low-rank approximation", International Joint Conference on Artificial Intelligence, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLLCLR
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLLCLR(alpha=1.0, n_clusters=2, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.mixing_.shape
    ((20, 3), (3, 3))
    """

    error_weight: NotNegative = 0.01
    rank_weight: NotNegative = 0.01
    local_weight: NotNegative = 0.01
    n_clusters: Count = 4
    rho: Positive = 1.0
    rounds: Count = 30
    random_state: int | None = None

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        (n, c), rho = D.shape, self.rho
        weight = self._weight(n)
        plain, D = D, rooted(D, weight)
        pull = self.local_weight / rho * self._distances(X, D)
        S = low_rank = np.eye(c)
        E, of_mixture, of_rank = np.zeros((n, c)), np.zeros((n, c)), np.zeros((c, c))
        term = MixtureTerm(D, S, rho, weight)
        search = self._begun(X, plain, (term,), weight)
        self.rounds_, done = 0, False
        while self.rounds_ < self.rounds and not done:
            self.rounds_ += 1
            term.targets, term.mixing = D - E + of_mixture / rho, S
            found = search.run(self.max_iter, self.tol)
            if found.iterations or self.rounds_ == 1:
                scores = found.x.reshape(c, -1) @ search.objective.X.T
                softmax_columns(scores)
                P = rooted(scores.T, weight)
                products = P.T @ P + np.eye(c)
            S = np.linalg.solve(products, P.T @ term.targets + low_rank - of_rank / rho + pull)
            left = D - P @ S
            E = shrunk_rows((left + of_mixture / rho).T, self.error_weight / rho).T
            low_rank = with_smaller_values(S + of_rank / rho, self.rank_weight / rho)
            of_mixture = of_mixture + rho * (left - E)
            of_rank = of_rank + rho * (S - low_rank)
            done = _near(left, E) and _near(S, low_rank)
        self.mixing_ = S
        self._keep(found)

    def _distances(self, X: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Return the squared distances of labels, added up over clusters of rows."""
        from sklearn.cluster import KMeans

        most = min(self.n_clusters, len(X))
        with warnings.catch_warnings():  # fewer different rows than clusters do no harm
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(most, n_init=_STARTS, random_state=self.random_state)
            cluster = model.fit_predict(X)
        total = np.zeros((D.shape[1], D.shape[1]))
        for g in np.unique(cluster):
            products = D[cluster == g].T @ D[cluster == g]
            squares = np.diag(products)
            total += squares[:, None] + squares - 2.0 * products
        return total


def with_smaller_values(S: np.ndarray, by: float) -> np.ndarray:
    """Return the matrix with singular values nearer to zero, none beyond it."""
    squares, V = np.linalg.eigh(S.T @ S)
    values = np.sqrt(np.maximum(squares, 0.0))
    kept = np.maximum(1.0 - by / np.where(values > 0, values, 1.0), 0.0)
    return S @ ((V * kept) @ V.T)


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two matrices that a constraint makes equal are so by now."""
    largest = max(np.linalg.norm(one), np.linalg.norm(other))
    return bool(np.linalg.norm(one - other) <= _ABSOLUTE + _RELATIVE * largest)

"""PCA, LPP, NPE and CCA, each followed by AA-kNN, linear or in the space of an rbf kernel.

Rows are centred and turned to their principal axes first (for ``kernel='rbf'``, to those of the
kernel's space), which changes no distance; the methods are linear in these coordinates. LPP and
NPE build their neighbour graphs on the features themselves. The search among lists of values is
that of ``_embedded``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ldl._parameters import Count, Factor, NotNegative
from ldl.neighbours._embedded import EmbeddedKNN
from ldl.neighbours._graphs import (
    degrees,
    nearest_others,
    neighbour_graph,
    reconstruction_weights,
)
from ldl.neighbours._spectral import (
    Coordinates,
    KernelAxes,
    Metric,
    PrincipalAxes,
    enough_axes,
)

_LABEL_RIDGE = 1e-8
"""Share of the mean label variance added to Cyy, which is singular: label rows sum to one."""


@dataclass(eq=False, repr=False)
class AxesKNN(EmbeddedKNN):
    """Base of the four methods: coordinates along principal axes.

    Parameters
    ----------
    kernel : {'linear', 'rbf'}, default='linear'
        ``'rbf'`` embeds the space of a Gaussian kernel whose width is the mean distance of the
        training rows, ``'linear'`` that of the features.
    """

    kernel: Literal["linear", "rbf"] = "linear"

    def _coordinates(self, X: np.ndarray) -> Coordinates:
        return KernelAxes(X) if self.kernel == "rbf" else PrincipalAxes(X)


@dataclass(eq=False, repr=False)
class PCAKNN(AxesKNN):
    """AA-kNN on the directions of largest variance (PCA).

    Rows are centred, turned to their principal axes, and the first ``u * features`` axes are kept;
    then the labels of the nearest training rows are averaged. A parameter given as a list is chosen
    on rows held out of the training rows.

    References
    ----------
    I. T. Jolliffe, "Principal component analysis", Springer, 1986.

    C.-L. Peng, A. Tao and X. Geng, "Label embedding based on multi-scale locality preservation",
    IJCAI, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import PCAKNN
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = PCAKNN(u=0.5).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.transform(X[40:]).shape
    ((20, 3), (20, 2))
    """

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        yield np.eye(Z.shape[1])


@dataclass(eq=False, repr=False)
class _GraphKNN(AxesKNN):
    """Base of LPP and NPE: smallest eigenvalues of a problem that a neighbour graph poses.

    Parameters
    ----------
    pca_keep : float or list of float, default=0.98
        Directions are sought on the leading principal axes that hold at least this share of the
        variance, above 0 and at most 1.
    graph_neighbors : int or list of int, default=5
        Number of neighbours of each row in the graph.
    """

    searched = ("pca_keep", "graph_neighbors")

    pca_keep: Factor | Sequence[Factor] = 0.98
    graph_neighbors: Count | Sequence[Count] = 5

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        order = nearest_others(X, max(grid["graph_neighbors"]))
        for keep in grid["pca_keep"]:
            leading = Z[:, : enough_axes(Z, keep)]
            for count in grid["graph_neighbors"]:
                A, B = self._problem(X, leading, order[:, :count])
                metric = Metric(B)
                _, V = metric.smallest_first(metric.project(A))
                directions = np.zeros((Z.shape[1], V.shape[1]))
                directions[: len(V)] = V
                yield directions

    def _problem(
        self, X: np.ndarray, Z: np.ndarray, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return A and B of A v = eta B v; Z holds rows X in coordinates, ``order`` neighbours."""
        raise NotImplementedError


class LPPKNN(_GraphKNN):
    """AA-kNN after locality preserving projections (LPP): neighbours stay neighbours.

    W holds heat weights exp(-distance^2 / width) between rows of which either is among the nearest
    of the other, width being their mean squared distance, and G the sums of its rows on its
    diagonal. The directions solve ``Z' (G - W) Z v = eta Z' G Z v``, smallest eta first, where Z
    holds the rows along their principal axes. A parameter given as a list is chosen on rows held
    out of the training rows.

    References
    ----------
    X. He and P. Niyogi, "Locality preserving projections", NIPS, 153-160, 2003.

    C.-L. Peng, A. Tao and X. Geng, "Label embedding based on multi-scale locality preservation",
    IJCAI, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LPPKNN
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = LPPKNN(u=[0.2, 0.4], random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> model.chosen_["u"]
    0.4
    """

    def _problem(
        self, X: np.ndarray, Z: np.ndarray, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return lpp_problem(Z, neighbour_graph(order, X))


class NPEKNN(_GraphKNN):
    """AA-kNN after neighbourhood preserving embedding (NPE).

    Each row of X is rebuilt from its neighbours with weights that sum to one, a row of W. Rows
    should stay the same combination of their neighbours: the directions solve
    ``Z' (I - W)' (I - W) Z v = eta Z' Z v``, smallest eta first, where Z holds the rows along their
    principal axes. A parameter given as a list is chosen on rows held out of the training rows.

    References
    ----------
    X. He, D. Cai, S. Yan and H.-J. Zhang, "Neighborhood preserving embedding", ICCV, 1208-1213,
    2005.

    C.-L. Peng, A. Tao and X. Geng, "Label embedding based on multi-scale locality preservation",
    IJCAI, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import NPEKNN
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = NPEKNN(u=0.4).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.transform(X[40:]).shape
    ((20, 3), (20, 2))
    """

    def _problem(
        self, X: np.ndarray, Z: np.ndarray, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        residual = Z - reconstruction_weights(X, order) @ Z
        return residual.T @ residual, Z.T @ Z


@dataclass(eq=False, repr=False)
class CCAKNN(AxesKNN):
    """AA-kNN on the directions most correlated with the labels (CCA).

    Directions v solve ``Cxy Cyy^-1 Cyx v = rho^2 (Cxx + r I) v``, largest correlation rho first,
    where C are covariances of features x and labels y. Label rows sum to one, so that there are at
    most ``labels - 1`` directions. A parameter given as a list is chosen on rows held out of the
    training rows.

    Parameters
    ----------
    ridge : float or list of float, default=0.001
        Regularisation r as a share of the trace of Cxx. Scores depend on it strongly: search a list
        such as ``[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]``.

    References
    ----------
    D. R. Hardoon, S. Szedmak and J. Shawe-Taylor, "Canonical correlation analysis: an overview with
    application to learning methods", Neural Computation 16(12), 2639-2664, 2004.

    C.-L. Peng, A. Tao and X. Geng, "Label embedding based on multi-scale locality preservation",
    IJCAI, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import CCAKNN
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = CCAKNN(ridge=[1e-4, 1e-2], random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.transform(X[40:]).shape
    ((20, 3), (20, 2))
    """

    searched = ("ridge",)

    u: float | Sequence[float] = 1.0
    ridge: NotNegative | Sequence[NotNegative] = 1e-3

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        for ridge in grid["ridge"]:
            yield canonical_directions(Z, D, ridge)[0]


def lpp_problem(Z: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return Z' (G - W) Z and Z' G Z, where G holds the sums of the rows of W on its diagonal."""
    scaled = degrees(weights)[:, None] * Z
    return Z.T @ (scaled - weights @ Z), Z.T @ scaled


def canonical_directions(
    Z: np.ndarray, D: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return directions as columns, with V' (Cxx + r I) V = I, and correlations, largest first.

    Z holds centred rows along their principal axes, so that Cxx is diagonal.
    """
    n = len(Z)
    centred = D - D.mean(axis=0)
    variances = np.einsum("ij,ij->j", Z, Z) / n
    whitening = 1.0 / np.sqrt(variances + ridge * variances.sum())
    label_values, label_axes = np.linalg.eigh(centred.T @ centred / n)
    kept = label_values > _LABEL_RIDGE * max(label_values[-1], np.finfo(float).eps)
    label_basis = label_axes[:, kept] / np.sqrt(label_values[kept])
    crossed = whitening[:, None] * (Z.T @ (centred @ label_basis) / n)
    vectors, correlations, _ = np.linalg.svd(crossed, full_matrices=False)
    return whitening[:, None] * vectors, correlations

"""PCA, LPP, NPE and CCA, each followed by AA-kNN, linear or in the space of an rbf kernel.

Rows are centred and turned to their principal axes first (for ``kernel='rbf'``, to those of the
kernel's space), which changes no distance; the methods are linear in these coordinates. LPP and
NPE build their neighbour graphs on the features themselves. How a list of values is searched: see
``_embedded``.
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
    scaled_directions,
)

_LABEL_RIDGE = 1e-8
"""Share of the mean label variance added to Cyy, which is singular: label rows sum to one."""


class AxesKNN(EmbeddedKNN):
    """Coordinates shared by the four methods."""

    kernel: str

    def _coordinates(self, X: np.ndarray) -> Coordinates:
        return KernelAxes(X) if self.kernel == "rbf" else PrincipalAxes(X)

    def _grid(self) -> dict[str, list[Any]]:
        check_choice("kernel", self.kernel, ("linear", "rbf"))
        return super()._grid()


@dataclass(eq=False, repr=False)
class PCAKNN(AxesKNN):
    """The directions of largest variance."""

    u: Any = 0.3
    n_neighbors: Any = 5
    kernel: str = "linear"
    validation_share: float = 1 / 9
    validation_rows: int = 200
    select_by: str = "kl"
    random_state: int | None = None

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        yield np.eye(Z.shape[1])


@dataclass(eq=False, repr=False)
class _GraphKNN(AxesKNN):
    """LPP and NPE: a neighbour graph, and the smallest eigenvalues on leading principal axes.

    ``pca_keep`` is the share of the variance that these axes hold at least.
    """

    searched = ("pca_keep", "graph_neighbors")

    pca_keep: Any = 0.98
    graph_neighbors: Any = 5
    u: Any = 0.3
    n_neighbors: Any = 5
    kernel: str = "linear"
    normalisation: str = "metric"
    validation_share: float = 1 / 9
    validation_rows: int = 200
    select_by: str = "kl"
    random_state: int | None = None

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
                directions[: len(V)] = scaled_directions(V, self.normalisation)
                yield directions

    def _problem(
        self, X: np.ndarray, Z: np.ndarray, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and B of A v = eta B v."""
        raise NotImplementedError

    def _grid(self) -> dict[str, list[Any]]:
        check_choice("normalisation", self.normalisation, ("metric", "unit"))
        grid = super()._grid()
        check_values("pca_keep", grid["pca_keep"], lambda s: 0 < s <= 1, "lie in (0, 1]")
        check_counts("graph_neighbors", grid["graph_neighbors"])
        return grid


class LPPKNN(_GraphKNN):
    """Locality preserving projections: neighbours stay neighbours."""

    def _problem(
        self, X: np.ndarray, Z: np.ndarray, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return lpp_problem(Z, neighbour_graph(order, X))


class NPEKNN(_GraphKNN):
    """Neighbourhood preserving embedding: rows stay the same combination of their neighbours."""

    def _problem(
        self, X: np.ndarray, Z: np.ndarray, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        residual = Z - reconstruction_weights(X, order) @ Z
        return residual.T @ residual, Z.T @ Z


@dataclass(eq=False, repr=False)
class CCAKNN(AxesKNN):
    """Directions most correlated with some combination of the labels: at most labels - 1.

    ``ridge`` is added to the covariance of the features as a share of its trace.
    """

    searched = ("ridge",)

    ridge: Any = 1e-3
    u: Any = 1.0
    n_neighbors: Any = 5
    kernel: str = "linear"
    validation_share: float = 1 / 9
    validation_rows: int = 200
    select_by: str = "kl"
    random_state: int | None = None

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        for ridge in grid["ridge"]:
            yield canonical_directions(Z, D, ridge)[0]

    def _grid(self) -> dict[str, list[Any]]:
        grid = super()._grid()
        check_values("ridge", grid["ridge"], lambda r: r >= 0, "not be negative")
        return grid


def lpp_problem(Z: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Z' L Z and Z' diag(degrees) Z."""
    scaled = degrees(weights)[:, None] * Z
    return Z.T @ (scaled - weights @ Z), Z.T @ scaled


def canonical_directions(
    Z: np.ndarray, D: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Directions as columns, V' (Cxx + r I) V = I, and the correlations, largest first.

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

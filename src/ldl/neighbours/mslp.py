"""MSLP: embeddings that keep neighbours in features together if their labels agree as well.

The search among lists of values is that of ``_embedded``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ldl._parameters import Count, Interval, NotNegative
from ldl.neighbours._embedded import EmbeddedKNN
from ldl.neighbours._graphs import degrees, multi_scale_graphs, neighbourhoods
from ldl.neighbours._spectral import Coordinates, Metric, RawFeatures, scaled_directions


@dataclass(eq=False, repr=False)
class MSLP(EmbeddedKNN):
    """Multi-scale locality preserving label embedding, decoded by AA-kNN (MSLP).

    Among the ``alpha * k_plus`` rows nearest in features the ``k_plus`` nearest in labels attract
    each other, Eq. (5) of the paper: W+ holds heat weights of their label distances, Eq. (2). The
    ``k_plus`` nearest in features that are among the ``k_plus`` farthest in labels, the
    hetero-neighbours of Eq. (6), repel each other: W- is 1 there, Eq. (7). The directions v solve
    ``(X' (beta M+ - (1 - beta) M-) X + lam I) v = eta X' D+ X v``, Eq. (10), smallest eta first;
    D+ holds the sums of the rows of W+ on its diagonal, M+ is D+ - W+, and M- likewise. The labels
    of the rows nearest in this embedding are averaged. A parameter given as a list is chosen on
    rows held out of the training rows.

    Parameters
    ----------
    k_plus : int or list of int, default=10
        Number of rows that attract a row, and of those that may repel it (k+ and k- in the paper).
    alpha : int or list of int, default=5
        Size of the neighbourhood in the features, in multiples of ``k_plus``.
    beta : float or list of float, default=0.5
        Share of attraction against repulsion, from 0 to 1.
    lam : float or list of float, default=0.01
        Regularisation, lambda in the paper. It is added to raw products of features and so acts on
        their scale: it turns away directions along which rows hardly differ.
    normalisation : {'metric', 'unit'}, default='metric'
        ``'metric'`` scales the directions such that v' X' D+ X v = 1, as in Eq. (9); ``'unit'`` to
        length one.

    References
    ----------
    C.-L. Peng, A. Tao and X. Geng, "Label embedding based on multi-scale locality preservation",
    IJCAI, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import MSLP
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = MSLP(u=0.4, k_plus=[3, 5], random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.transform(X[40:]).shape
    ((20, 3), (20, 2))
    """

    searched = ("k_plus", "alpha", "beta", "lam")

    k_plus: Count | Sequence[Count] = 10
    alpha: Count | Sequence[Count] = 5
    beta: Annotated[float, Interval(0, 1)] | Sequence[Annotated[float, Interval(0, 1)]] = 0.5
    lam: NotNegative | Sequence[NotNegative] = 0.01
    normalisation: Literal["metric", "unit"] = "metric"

    def _coordinates(self, X: np.ndarray) -> Coordinates:
        return RawFeatures()

    def _directions(
        self, X: np.ndarray, Z: np.ndarray, D: np.ndarray, grid: dict[str, list[Any]]
    ) -> Iterator[np.ndarray]:
        near = neighbourhoods(Z, D, max(grid["k_plus"]) * max(grid["alpha"]))
        for k_plus in grid["k_plus"]:
            for alpha in grid["alpha"]:
                attract, repel = multi_scale_graphs(near, D, k_plus, alpha)
                metric = Metric(spread(Z, attract))
                pull = metric.project(locality(Z, attract))
                push = metric.project(locality(Z, repel))
                for beta in grid["beta"]:
                    for lam in grid["lam"]:
                        A = beta * pull - (1.0 - beta) * push + lam * metric.unit
                        _, V = metric.smallest_first(A)
                        yield scaled_directions(V, self.normalisation)


def spread(Z: np.ndarray, weights: Any) -> np.ndarray:
    """Return Z' G Z, where G holds the sums of the rows of W on its diagonal."""
    return Z.T @ (degrees(weights)[:, None] * Z)


def locality(Z: np.ndarray, weights: Any) -> np.ndarray:
    """Return Z' (G - W) Z, half the weighted sum of squared differences along each direction."""
    return Z.T @ (degrees(weights)[:, None] * Z - weights @ Z)

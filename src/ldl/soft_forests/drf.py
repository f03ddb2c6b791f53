"""DRF with a linear f: soft trees whose leaves hold a normal density of the age.

Shen, Guo, Wang, Zhao, Wang and Yuille, Deep differentiable random forests for age estimation, 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl._parameters import check_parameters
from ldl.base import LDLEstimator, child_seeds

if TYPE_CHECKING:
    from ldl.soft_forests._leaves import GaussianLeaves
    from ldl.soft_forests._training import Plan

_LLOYD_STEPS = 100


@dataclass(eq=False, repr=False)
class DRF(LDLEstimator):
    """Regression forest on the number of the highest label, such as the age in years.

    Splits are annealed by the ``temperature`` that weighs the entropy of the routing, leaves by the
    power ``tau`` of their responsibilities; both factors apply after each leaf step, ``tau`` up to
    one. ``leaf_init`` draws the leaves' means from the training numbers, or clusters these with the
    lowest on the left of a tree. ``leaf_rule='routing'`` updates leaves without their posterior,
    as neural regression forests do. ``split_loss='l2'`` is what the public code trains splits by.
    ``phi_seed`` draws the outputs that splits ask, where these shall not follow ``random_state``.
    ``predict`` gives the probability of each label's interval, ``predict_number`` the mean.
    """

    accepts_sparse = True

    trees: int = 5
    depth: int = 6
    units: int = 128
    phi_replacement: bool = False
    schedule: str = "joint"
    share_units: bool | None = None
    max_iter: int = 30000
    batch_size: int = 16
    leaf_batches: int = 50
    leaf_repeats: int = 20
    temperature: float = 1.0
    temperature_factor: float = 0.9
    tau: float = 0.5
    tau_factor: float = 0.9
    leaf_init: str = "random"
    leaf_rule: str = "posterior"
    split_loss: str = "nll"
    least_variance: float = 0.01
    optimiser: str = "sgd"
    learning_rate: float = 0.05
    momentum: float = 0.9
    drop_every: int | None = 10000
    drop_factor: float = 0.5
    init: str = "glorot"
    fit_intercept: bool = True
    standardise: bool = True
    dtype: str = "float32"
    phi_seed: int | None = None
    random_state: int | None = None

    # ------------------------------------------------------------------ fitting

    def _fit(self, X: Any, D: np.ndarray) -> None:
        from ldl.soft_forests._linear import one_thread
        from ldl.soft_forests._training import LinearForest, routing_entropy

        plan = self._checked_plan()
        leaf_seed, seed = child_seeds(self.random_state, 2)
        y = D.argmax(axis=1).astype(np.float64)
        self.shift_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        standard = (y - self.shift_) / self.scale_
        with one_thread():
            leaves = self._leaves(standard, np.random.default_rng(leaf_seed))
            forest = LinearForest(plan, X, standard[:, None], leaves, seed)
            entropies: list[float] = []

            def measure(iteration: int) -> bool:
                entropies.append(routing_entropy(forest))
                return False

            iterations = forest.train(measure)
        self.phi_, self.state_ = forest.phi, forest.snapshot(iterations)
        self.entropies_ = np.array(entropies)
        """Mean entropy of the routing of (some) training rows after each leaf step."""
        self.diagnostics_ = {
            "iterations": iterations,
            "leaf_steps": forest.leaf_steps,
            "train_mae": float(np.abs(self.predict_number(X) - y).mean()),
            "first_entropy": entropies[0],
            "last_entropy": entropies[-1],
            "least_leaf_deviation": float(np.sqrt(self.state_.table[..., 1].min()) * self.scale_),
        }

    def _leaves(self, y: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        from ldl.soft_forests._linear import DTYPES

        return first_leaves(
            y,
            (self.trees, 2 ** (self.depth - 1)),
            self.leaf_init,
            generator,
            least_variance=self.least_variance / self.scale_**2,
            tau=self.tau,
            tau_factor=self.tau_factor,
            rule=self.leaf_rule,
            split_loss=self.split_loss,
            dtype=DTYPES[self.dtype],
        )

    # ------------------------------------------------------------------ predicting

    def predict_number(self, X: Any) -> np.ndarray:
        """The mean of the trees' means, in the labels' numbers."""
        found = self._of_leaves(self.state_.table[:, :, :1], X)[:, 0]
        return found * self.scale_ + self.shift_

    def _predict(self, X: Any) -> np.ndarray:
        intervals = interval_shares(self.state_.table, self.shift_, self.scale_, self.n_labels_)
        return self._of_leaves(intervals, X)

    def _of_leaves(self, table: np.ndarray, X: Any) -> np.ndarray:
        from ldl.soft_forests._linear import one_thread
        from ldl.soft_forests._training import predict

        with one_thread():
            return predict(self.phi_, self.state_, table, X)

    # ------------------------------------------------------------------ parameters

    def _checked_plan(self) -> Plan:
        from ldl.soft_forests._linear import Steps
        from ldl.soft_forests._training import Plan

        check_parameters(self.get_params())
        return Plan(
            trees=self.trees,
            depth=self.depth,
            units=self.units,
            phi_replacement=self.phi_replacement,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            batch_replacement=False,
            leaf_batches=self.leaf_batches,
            leaf_repeats=self.leaf_repeats,
            queue="recompute",
            queue_batches=None,
            init=self.init,
            intercept=self.fit_intercept,
            standardise=self.standardise,
            steps=Steps(
                self.optimiser,
                self.learning_rate,
                self.momentum,
                self.drop_every,
                self.drop_factor,
            ),
            dtype=self.dtype,
            schedule=self.schedule,
            share_units=self.schedule == "joint" if self.share_units is None else self.share_units,
            temperature=self.temperature,
            temperature_factor=self.temperature_factor,
            phi_seed=self.phi_seed,
        )


def first_leaves(
    y: np.ndarray,
    shape: tuple[int, int],
    init: str,
    generator: np.random.Generator,
    least_variance: float,
    **how: Any,
) -> GaussianLeaves:
    """Leaves of (trees, leaves): means drawn from the numbers ``y``, or clusters from the left."""
    from ldl.soft_forests._leaves import GaussianLeaves
    from ldl.soft_forests._routing import left_to_right

    if init == "kmeans":
        places = left_to_right(shape[1])
        centres, variances = (found[places] for found in clustered(y, shape[1]))
        mean, variance = np.tile(centres, (shape[0], 1)), np.tile(variances, (shape[0], 1))
    else:
        mean, variance = generator.choice(y, shape), np.full(shape, y.var())
    return GaussianLeaves(mean, np.maximum(variance, least_variance), least_variance, **how)


def interval_shares(table: np.ndarray, shift: float, scale: float, labels: int) -> np.ndarray:
    """What each leaf's normal density gives to each label's interval, (trees, leaves, labels).

    ``table`` holds means and variances of standardised numbers.
    """
    from scipy.special import ndtr

    mean = table[..., :1].astype(np.float64) * scale + shift
    deviation = np.sqrt(table[..., 1:].astype(np.float64)) * scale
    borders = np.arange(labels - 1) + 0.5
    below = ndtr((borders - mean) / deviation)
    ends = np.zeros((*below.shape[:2], 1))
    return np.diff(np.concatenate([ends, below, ends + 1.0], axis=2), axis=2)


def clustered(y: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ascending means and the variances of ``count`` clusters: Lloyd's steps from quantiles.

    A cluster without rows takes the number that is farthest from its centre, until no cluster is
    empty or no number has a distance; such a cluster gets the mean variance of the others.
    """
    y = np.sort(y)
    centres = np.quantile(y, (np.arange(count) + 0.5) / count)
    for _ in range(_LLOYD_STEPS):
        members = np.searchsorted((centres[1:] + centres[:-1]) / 2, y)
        sizes = np.bincount(members, minlength=count)
        sums = np.bincount(members, y, count)
        moved = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres)
        if np.array_equal(moved, centres):
            distances = np.abs(y - centres[members])
            if sizes.all() or not distances.any():
                break
            moved[np.flatnonzero(sizes == 0)[0]] = y[distances.argmax()]
            moved.sort()
        centres = moved
    squares = np.bincount(members, (y - centres[members]) ** 2, count)
    variances = squares / np.maximum(sizes, 1)
    return centres, np.where(sizes > 0, variances, variances[sizes > 0].mean())

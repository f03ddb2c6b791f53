"""Parameters and steps that soft forests share, on a linear map or on a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from ldl._parameters import Count, Factor, Interval, NotNegative, Options, Positive
from ldl._self_tuned import SelfTuned
from ldl.base import LDLEstimator

if TYPE_CHECKING:
    from ldl.soft_forests._leaves import GaussianLeaves


@dataclass(eq=False, repr=False)
class SoftTrees(LDLEstimator):
    """Base of all soft forests: parameters of the trees and of their leaf steps.

    Parameters
    ----------
    n_estimators : int, default=5
        Number of trees; more cost time in proportion.
    depth : int, default=6
        Levels of a tree, leaves included: it has 2**(depth - 1) leaves.
    units : int or None, default=128
        Outputs that the split nodes ask, at least 2**(depth - 1) - 1. None takes as many as a tree
        has leaves.
    schedule : {'joint', 'random', 'round_robin', 'blocks'}, default='joint'
        Trees that a mini-batch moves: all of them, by the mean of their losses, which ask the same
        outputs; or one, which has outputs of its own, drawn at random, in turn, or the same for a
        stretch of the training.
    leaf_batches : int, default=50
        Mini-batches between two leaf steps, which update the leaves on these batches.
    leaf_repeats : int, default=20
        Updates in a leaf step, each from the result of the one before.
    temperature : float, default=0.0
        Weight of the routing's entropy in the loss, at first; it keeps splits soft early on. 0
        switches annealing of the splits off; the DRF paper starts at 1.
    temperature_factor : float, default=0.9
        Factor of the temperature after each leaf step.
    """

    n_estimators: Count = 5
    depth: Annotated[int, Interval(2, whole=True)] = 6
    units: Count | None = 128
    schedule: Literal["joint", "random", "round_robin", "blocks"] = "joint"
    leaf_batches: Count = 50
    leaf_repeats: Count = 20
    temperature: NotNegative = 0.0
    temperature_factor: Factor = 0.9

    def _leaf_count(self) -> int:
        """Return the number of leaves of a tree."""
        return 2 ** (self.depth - 1)

    def _units_are_shared(self) -> bool:
        """Tell whether all trees ask the same outputs."""
        return self.schedule == "joint"


@dataclass(eq=False, repr=False)
class NumberTrees(SoftTrees):
    """Base of soft forests for numbers such as ages: their leaves hold normal densities.

    The numbers are those of the highest labels. Inside they have mean 0 and deviation 1; times
    ``scale_`` plus ``shift_`` they are labels again.

    Parameters
    ----------
    tau : float, default=0.5
        Power of the responsibilities, at first (Eq. 39). Below 1 it evens them out; 1 switches
        annealing of the leaves off.
    tau_factor : float, default=0.9
        Divisor of ``tau`` after each leaf step, until it is 1.
    leaf_init : {'random', 'kmeans'}, default='random'
        First means: drawn from the training numbers, all with their variance, or clusters of the
        numbers with the lowest on the left of each tree.
    leaf_rule : {'posterior', 'routing'}, default='posterior'
        Weights of the rows in a leaf step: their responsibilities, or the probabilities of the leaf
        alone, which is how neural regression forests [2]_ are read here.
    split_loss : {'nll', 'l2'}, default='nll'
        Loss of the splits: negative log likelihood, or half the squared error of a tree's mean, as
        in the public code.
    least_variance : float, default=0.01
        Lower bound on the variance of a leaf, in squared labels.

    Attributes
    ----------
    shift_, scale_ : float
        Mean and deviation of the training numbers; standardised numbers times ``scale_`` plus
        ``shift_`` are labels.
    """

    tau: Factor = 0.5
    tau_factor: Factor = 0.9
    leaf_init: Literal["random", "kmeans"] = "random"
    leaf_rule: Annotated[str, Options("posterior", "routing")] = "posterior"
    split_loss: Literal["nll", "l2"] = "nll"
    least_variance: Positive = 0.01

    def _standardise(self, D: np.ndarray) -> np.ndarray:
        """Return the standardised numbers of the rows; store their mean and deviation."""
        numbers, self.shift_, self.scale_ = standard_numbers(D)
        return numbers

    def _first_leaves(
        self, numbers: np.ndarray, generator: np.random.Generator, **settings: Any
    ) -> GaussianLeaves:
        """Return leaves to start from, for standardised numbers of the training rows."""
        from ldl.soft_forests._leaves import first_leaves

        return first_leaves(
            numbers,
            (self.n_estimators, self._leaf_count()),
            self.leaf_init,
            generator,
            least_variance=self.least_variance / self.scale_**2,
            tau=self.tau,
            tau_factor=self.tau_factor,
            rule=self.leaf_rule,
            split_loss=self.split_loss,
            **settings,
        )

    def _distributions(self, table: np.ndarray) -> np.ndarray:
        """Return the label distribution of each leaf from its mean and variance."""
        from ldl.soft_forests._leaves import interval_shares

        return interval_shares(table, self.shift_, self.scale_, self.n_labels_)


def standard_numbers(D: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the numbers of the highest labels standardised, then their mean and deviation.

    A deviation of 0 is returned as 1.
    """
    numbers = D.argmax(axis=1).astype(np.float64)
    shift, scale = float(numbers.mean()), float(numbers.std()) or 1.0
    return (numbers - shift) / scale, shift, scale


class _Fixed:
    """Choices of a training that only some linear forests leave to their user."""

    batch_replacement: bool = False
    queue: str = "recompute"
    queue_batches: int | None = None
    phi_seed: int | None = None


@dataclass(eq=False, repr=False)
class SoftForest(SelfTuned, SoftTrees, _Fixed):
    """Base of soft forests on a linear map: parameters of the map and of its steps.

    Parameters
    ----------
    max_iter : int, default=30000
        Number of mini-batches.
    batch_size : int, default=16
        Rows of a mini-batch; at most all.
    solver : {'sgd', 'adam'}, default='sgd'
        Gradient descent with momentum, or Adam.
    learning_rate : float, default=0.05
        Learning rate, on the mean loss of a batch. The first parameter to tune.
    momentum : float, default=0.9
        Momentum of ``'sgd'``; Adam ignores it.
    drop_every : int or None, default=10000
        Mini-batches after which the learning rate is multiplied by ``drop_factor``, again and
        again. None keeps it.
    drop_factor : float, default=0.5
        Factor of the learning rate at each drop.
    init : {'glorot', 'xavier_inputs'}, default='glorot'
        First weights of the map: uniform with variance 2 / (features + units), or with variance
        1 / features.
    standardise : bool, default=True
        Give features mean 0 and deviation 1 before the map. Without, the learning rate must suit
        their scale.
    dtype : {'float32', 'float64'}, default='float32'
        Precision of the training; predictions are always in double precision.
    random_state : int or None, default=None
        Seed of everything random; None draws a fresh one.

    Attributes
    ----------
    phi_ : ndarray of shape (trees, 2**(depth - 1) - 1)
        Output of the linear map that each split node asks, nodes in heap order.
    """

    accepts_sparse = True
    scales_itself = True

    max_iter: Count = 30000
    batch_size: Count = 16
    solver: Literal["sgd", "adam"] = "sgd"
    learning_rate: Positive = 0.05
    momentum: Annotated[float, Interval(0, 1, open_high=True)] = 0.9
    drop_every: Count | None = 10000
    drop_factor: Factor = 0.5
    init: Literal["glorot", "xavier_inputs"] = "glorot"
    standardise: bool = field(default=True, kw_only=True)
    dtype: Literal["float32", "float64"] = "float32"
    random_state: int | None = None

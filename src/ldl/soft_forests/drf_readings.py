"""Other readings of what the DRF paper leaves open about its leaves, on a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldl.soft_forests.drf import DRF

if TYPE_CHECKING:
    from ldl.soft_forests._leaves import GaussianLeaves


@dataclass(eq=False, repr=False)
class DRFReading(DRF):
    """Differentiable regression forest with other readings of its leaves' start and updates.

    It is ``DRF`` with two more choices, on which the paper [1]_ is silent. First, which leaf gets
    which cluster: they ascend from the left, or stand in another order in each tree
    (``leaf_order``). Second, how neural regression forests [2]_, which the paper compares with,
    update their leaves: by the probabilities of the leaves alone, or by taking every label as a
    class, updating class distributions (Eq. 48), and giving each leaf the mean and variance of its
    distribution (``leaf_rule``).

    Parameters
    ----------
    trees : int, default=5
        Number of trees; more cost time in proportion.
    depth : int, default=6
        Levels of a tree, leaves included: it has 2**(depth - 1) leaves.
    units : int or None, default=128
        Outputs of the linear map, which the split nodes ask. None takes as many as a tree has
        leaves.
    phi_replacement : bool, default=False
        Draw the outputs of a tree's split nodes with replacement. Without, ``units`` must be at
        least 2**(depth - 1) - 1.
    schedule : {'joint', 'random', 'round_robin', 'blocks'}, default='joint'
        Trees that a mini-batch moves: all of them, by the mean of their losses; or one, drawn at
        random, in turn, or the same for a stretch of the training.
    share_units : bool or None, default=None
        Let all trees ask the same outputs; otherwise each has ``units`` of its own. None shares
        them only if ``schedule='joint'``.
    leaf_batches : int, default=50
        Mini-batches between two leaf steps, which update the leaves on these batches.
    leaf_repeats : int, default=20
        Updates in a leaf step, each from the result of the one before.
    temperature : float, default=1.0
        Weight of the routing's entropy in the loss, at first; it keeps splits soft early on. 0
        switches annealing of the splits off; the DRF paper starts at 1.
    temperature_factor : float, default=0.9
        Factor of the temperature after each leaf step.
    max_iter : int, default=30000
        Number of mini-batches.
    batch_size : int, default=16
        Rows of a mini-batch; at most all.
    optimiser : {'sgd', 'adam'}, default='sgd'
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
    init : {'glorot', 'xavier_inputs', 'normal'}, default='glorot'
        First weights of the map: uniform with variance 2 / (features + units), uniform with
        variance 1 / features, or normal with deviation 0.01.
    fit_intercept : bool, default=True
        Add an intercept b to the linear map.
    standardise : bool, default=True
        Give features mean 0 and deviation 1 before the map. Without, the learning rate must suit
        their scale.
    dtype : {'float32', 'float64'}, default='float32'
        Precision of the training; predictions are always in double precision.
    random_state : int or None, default=None
        Seed of everything random; None draws a fresh one.
    tau : float, default=0.5
        Power of the responsibilities, at first (Eq. 39). Below 1 it evens them out; 1 switches
        annealing of the leaves off.
    tau_factor : float, default=0.9
        Divisor of ``tau`` after each leaf step, until it is 1.
    leaf_init : {'random', 'kmeans'}, default='random'
        First means: drawn from the training numbers, all with their variance, or clusters of the
        numbers with the lowest on the left of each tree.
    leaf_rule : {'posterior', 'routing', 'binned_dndf'}, default='posterior'
        Weights of the rows in a leaf step: their responsibilities, or the probabilities of the leaf
        alone; ``'binned_dndf'`` updates a classification forest instead, in which ``tau`` has no
        part.
    split_loss : {'nll', 'l2'}, default='nll'
        Loss of the splits: negative log likelihood, or half the squared error of a tree's mean, as
        in the public code.
    least_variance : float, default=0.01
        Lower bound on the variance of a leaf, in squared labels.
    phi_seed : int or None, default=None
        Seed of the outputs that split nodes ask; None lets them follow ``random_state``.
    leaf_order : {'ascending', 'random'}, default='ascending'
        Order of the clusters: ascending from left to right, or another one in each tree. Matters
        only if ``leaf_init='kmeans'``.

    Attributes
    ----------
    phi_ : ndarray of shape (trees, 2**(depth - 1) - 1)
        Output of the linear map that each split node asks, nodes in heap order.
    state_ : Snapshot
        State after training: ``W`` (features, outputs), ``b`` (outputs,), means and variances of
        the standardised numbers ``table`` (trees, leaves, 2), and ``iteration``.
    shift_, scale_ : float
        Mean and deviation of the training numbers; standardised numbers times ``scale_`` plus
        ``shift_`` are labels.
    entropies_ : ndarray of shape (leaf steps,)
        Mean entropy of the routing of up to 512 training rows after each leaf step.
    diagnostics_ : dict
        Iterations, leaf steps, mean absolute error on the training rows, first and last entropy of
        the routing and the least deviation of a leaf.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    .. [1] W. Shen, Y. Guo, Y. Wang, K. Zhao, B. Wang and A. Yuille, "Deep differentiable random
       forests for age estimation", preprint 2019, later IEEE Transactions on Pattern Analysis and
       Machine Intelligence.
    .. [2] A. Roy and S. Todorovic, "Monocular depth estimation using neural regression forest",
       CVPR, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DRFReading
    >>> X = np.random.default_rng(0).random((60, 3))
    >>> D = np.eye(10)[(10 * X[:, 0]).astype(int)]
    >>> model = DRFReading(leaf_rule="binned_dndf", trees=2, depth=4, max_iter=300, random_state=0)
    >>> model.fit(X, D).predict(X).shape
    (60, 10)
    """

    leaf_order: str = "ascending"

    def _leaves(self, numbers: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        from ldl.soft_forests._leaves import BinnedLeaves

        leaves = super()._leaves(numbers, generator)
        if self.leaf_order == "random":
            for mean, variance in zip(leaves.mean, leaves.variance, strict=True):
                order = generator.permutation(len(mean))
                mean[:], variance[:] = mean[order], variance[order]
        if self.leaf_rule == "binned_dndf":
            return BinnedLeaves(leaves, self.shift_, self.scale_, self.n_labels_)
        return leaves

    def _own_words(self) -> dict[str, tuple[str, ...]]:
        return {
            "leaf_order": ("ascending", "random"),
            "leaf_rule": ("posterior", "routing", "binned_dndf"),
        }

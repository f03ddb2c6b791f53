"""Estimators on images: forests of distributions and of numbers, and the networks they rival.

Shen, Zhao, Guo and Yuille (NIPS 2017); Shen, Guo, Wang, Zhao, Wang and Yuille (2019); Gao, Xing,
Xie, Wu and Geng (DLDL, 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ldl._parameters import Count
from ldl.base import child_seeds
from ldl.deep._base import ImageEstimator
from ldl.soft_forests._base import NumberTrees, SoftTrees, standard_numbers

if TYPE_CHECKING:
    from torch import Tensor

    from ldl.deep._heads import Head, Outputs
    from ldl.deep._training import Targets, TrainingSettings
    from ldl.soft_forests._leaves import DistributionLeaves, GaussianLeaves, Leaves


@dataclass(eq=False, repr=False)
class DLDL(ImageEstimator):
    """Deep label distribution learning: a softmax over the labels on a network.

    The network's last layer has an output z_j for every label, and the prediction is
    P_j = exp(z_j) / sum_k exp(z_k). Training minimises the Kullback-Leibler divergence of P from
    the true distribution D, whose gradient by z is P - D.

    ``predict_number`` returns the label with the highest degree. With ``hard_labels=True`` it is
    the classification by cross entropy that DLDL is compared with.

    Parameters
    ----------
    hard_labels : bool, default=False
        Teach the highest label alone, as in classification.

    Attributes
    ----------
    head_ : SoftmaxHead
        Loss and predictions of the last layer.

    References
    ----------
    .. [1] B.-B. Gao, C. Xing, C.-W. Xie, J. Wu and X. Geng, "Deep label distribution learning with
       label ambiguity", IEEE Transactions on Image Processing 26(6), 2825-2838, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DLDL
    >>> generator = np.random.default_rng(0)
    >>> X = generator.integers(0, 256, size=(12, 16, 16, 3), dtype=np.uint8)
    >>> D = generator.dirichlet(np.ones(4), size=12)
    >>> model = DLDL(network="tiny", random_weights=True, max_iter=10, batch_size=4, device="cpu")
    >>> model.fit(X, D).predict(X).shape
    (12, 4)
    """

    hard_labels: bool = False

    def _head(self, D: np.ndarray, seed: int) -> Head:
        from ldl.deep._heads import SoftmaxHead

        return SoftmaxHead(D.shape[1])

    def _targets(self, D: np.ndarray) -> Targets:
        return _distributions(D, self.hard_labels)

    def _shares(self, outputs: Outputs) -> Tensor:
        return outputs[0].double().softmax(1)


@dataclass(eq=False, repr=False)
class DeepRegression(ImageEstimator):
    """Deep regression: one output of a network is the number of the highest label.

    The forest of ``DeepDRF`` is replaced by a linear layer with one output, trained by half its
    squared distance from the standardised number (Section 6.3.2 of [1]_).

    ``predict_number`` returns the number. ``predict`` shares one between the two labels next to it,
    so that the mean of the distribution is the number.

    Attributes
    ----------
    head_ : RegressionHead
        Loss and predictions of the last layer.
    shift_, scale_ : float
        Mean and deviation of the training numbers; standardised numbers times ``scale_`` plus
        ``shift_`` are labels.

    References
    ----------
    .. [1] W. Shen, Y. Guo, Y. Wang, K. Zhao, B. Wang and A. Yuille, "Deep differentiable random
       forests for age estimation", preprint 2019, later IEEE Transactions on Pattern Analysis and
       Machine Intelligence.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DeepRegression
    >>> generator = np.random.default_rng(0)
    >>> X = generator.integers(0, 256, size=(12, 16, 16, 3), dtype=np.uint8)
    >>> D = np.eye(5)[generator.integers(0, 5, size=12)]
    >>> model = DeepRegression(
    ...     network="tiny", random_weights=True, max_iter=10, batch_size=4, device="cpu"
    ... ).fit(X, D)
    >>> model.predict(X).shape, model.predict_number(X).shape
    ((12, 5), (12,))
    """

    def _head(self, D: np.ndarray, seed: int) -> Head:
        from ldl.deep._heads import RegressionHead

        return RegressionHead()

    def _targets(self, D: np.ndarray) -> Targets:
        numbers, self.shift_, self.scale_ = standard_numbers(D)
        return _numbers_as_targets(numbers, self.scale_)

    def _numbers(self, outputs: Outputs) -> Tensor:
        return self.head_.numbers(outputs) * self.scale_ + self.shift_

    def _shares(self, outputs: Outputs) -> Tensor:
        from torch import arange

        numbers = self._numbers(outputs).clamp(0, self.n_labels_ - 1)
        return (1.0 - (numbers[:, None] - arange(self.n_labels_)).abs()).clamp(min=0.0)


@dataclass(eq=False, repr=False)
class _DeepForest(SoftTrees, ImageEstimator):
    """Base of soft forests on a network.

    Parameters
    ----------
    units : int, default=128
        Outputs of the network's last layer, which the split nodes ask, at least
        2**(depth - 1) - 1.
    """

    units: Count = 128

    def _head(self, D: np.ndarray, seed: int) -> Head:
        from ldl.deep._heads import ForestHead
        from ldl.soft_forests._routing import draw_phi

        phi_seed, leaf_seed = child_seeds(seed, 2)
        nodes = np.random.default_rng(phi_seed)
        phi = draw_phi(self.n_estimators, self.depth, self.units, nodes)
        return ForestHead(phi, self._leaves(D, np.random.default_rng(leaf_seed)), self)

    def _leaves(self, D: np.ndarray, generator: np.random.Generator) -> Leaves:
        """Return leaves to start from."""
        raise NotImplementedError

    def _table(self) -> np.ndarray:
        """Return the label distribution that each leaf stands for."""
        raise NotImplementedError

    def _shares(self, outputs: Outputs) -> Tensor:
        from torch import from_numpy

        return self.head_.mixture(outputs, from_numpy(self._table()))

    def _settings(self) -> TrainingSettings:
        return replace(super()._settings(), schedule=self.schedule, trees=self.n_estimators)


@dataclass(eq=False, repr=False)
class DeepLDLF(_DeepForest):
    """Label distribution learning forest on a network (dLDLF; DLDLF with ``temperature=1.0``).

    The trees are those of ``SLDLF``, and f is the last layer of the network. Gradient steps train
    the whole network by the mean of the trees' cross entropies (Eqs. 3 and 13 of [1]_), less
    ``temperature`` times the entropy of the routing (Eqs. 6 and 7 of [2]_). After every
    ``leaf_batches`` batches a leaf step updates the leaves in closed form (Eq. 12), on the outputs
    of the batches since, as they were when visited.

    Two more methods are this class: dNDF-LDL, trained as deep neural decision forests [3]_ are, is
    ``schedule='random'``; their classification forest (DNDF) also has ``hard_labels=True``.

    ``predict_number`` returns the label with the highest degree.

    Parameters
    ----------
    hard_labels : bool, default=False
        Teach the highest label alone, as in classification.

    Attributes
    ----------
    head_ : ForestHead
        Routing and leaves of the trees.
    diagnostics_ : dict
        Facts about the weights, iterations, the step at which the training was taken up, loss and
        mean absolute error at the last report, device, precision and number of leaf steps.
    n_features_in_ : int
        Number of pixel values of an image.

    References
    ----------
    .. [1] W. Shen, K. Zhao, Y. Guo and A. Yuille, "Label distribution learning forests", NIPS,
       2017.
    .. [2] W. Shen, Y. Guo, Y. Wang, K. Zhao, B. Wang and A. Yuille, "Deep differentiable random
       forests for age estimation", preprint 2019, later IEEE Transactions on Pattern Analysis and
       Machine Intelligence.
    .. [3] P. Kontschieder, M. Fiterau, A. Criminisi and S. Rota Bulò, "Deep neural decision
       forests", ICCV, 1467-1475, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DeepLDLF
    >>> generator = np.random.default_rng(0)
    >>> X = generator.integers(0, 256, size=(12, 16, 16, 3), dtype=np.uint8)
    >>> D = generator.dirichlet(np.ones(4), size=12)
    >>> model = DeepLDLF(
    ...     network="tiny", random_weights=True, max_iter=10, batch_size=4, device="cpu",
    ...     n_estimators=2, depth=3, units=8, leaf_batches=5,
    ... )
    >>> model.fit(X, D).predict(X).shape
    (12, 4)
    >>> model.diagnostics_["leaf_steps"]
    2
    """

    hard_labels: bool = False

    def _leaves(self, D: np.ndarray, generator: np.random.Generator) -> DistributionLeaves:
        from ldl.soft_forests._leaves import DistributionLeaves

        return DistributionLeaves(self.n_estimators, self._leaf_count(), D.shape[1])

    def _targets(self, D: np.ndarray) -> Targets:
        return _distributions(D, self.hard_labels)

    def _table(self) -> np.ndarray:
        return self.head_.leaves.table()


@dataclass(eq=False, repr=False)
class DeepDRF(NumberTrees, _DeepForest):
    """Differentiable regression forest on a network (DRF), for ordered labels such as ages.

    The trees are those of the linear ``DRF``, whose leaves hold normal densities of the highest
    label's number (Eq. 27 of [1]_), and f is the last layer of the network. Gradient steps train
    the whole network by the mean of the trees' negative log likelihoods (Eq. 23), less
    ``temperature`` times the entropy of the routing (Eqs. 6 and 7). After every ``leaf_batches``
    batches a leaf step updates the leaves in closed form (Eqs. 39 to 41), on the outputs of the
    batches since, as they were when visited.

    ``predict_number`` returns the mean over trees of the densities' means (Eq. 42), ``predict`` the
    probability of each label's interval.

    Attributes
    ----------
    head_ : ForestHead
        Routing and leaves of the trees.
    diagnostics_ : dict
        Facts about the weights, iterations, the step at which the training was taken up, loss and
        mean absolute error at the last report, device, precision and number of leaf steps.
    n_features_in_ : int
        Number of pixel values of an image.

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
    >>> from ldl import DeepDRF
    >>> generator = np.random.default_rng(0)
    >>> X = generator.integers(0, 256, size=(12, 16, 16, 3), dtype=np.uint8)
    >>> D = np.eye(5)[generator.integers(0, 5, size=12)]
    >>> model = DeepDRF(
    ...     network="tiny", random_weights=True, max_iter=10, batch_size=4, device="cpu",
    ...     n_estimators=2, depth=3, units=8, leaf_batches=5,
    ... ).fit(X, D)
    >>> model.predict(X).shape, model.predict_number(X).shape
    ((12, 5), (12,))
    """

    def _leaves(self, D: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        return self._first_leaves(self._standardise(D), generator)

    def _targets(self, D: np.ndarray) -> Targets:
        return _numbers_as_targets(self._standardise(D), self.scale_)

    def _numbers(self, outputs: Outputs) -> Tensor:
        return self.head_.numbers(outputs) * self.scale_ + self.shift_

    def _table(self) -> np.ndarray:
        return self._distributions(self.head_.leaves.table())


def _distributions(D: np.ndarray, hard: bool) -> Targets:
    """Return label distributions, or their highest labels alone, judged by the highest labels."""
    from ldl.deep._training import Targets

    highest = D.argmax(axis=1)
    return Targets(np.eye(D.shape[1])[highest] if hard else D, highest.astype(np.float64))


def _numbers_as_targets(numbers: np.ndarray, scale: float) -> Targets:
    """Return standardised numbers as targets; times ``scale`` they are labels apart."""
    from ldl.deep._training import Targets

    return Targets(numbers[:, None], numbers, scale)

"""Methods that learn from images: forests of distributions and of numbers, and their rivals.

Shen, Zhao, Guo and Yuille (NIPS 2017); Shen, Guo, Wang, Zhao, Wang and Yuille (2019); Gao, Xing,
Xie, Wu and Geng (DLDL, 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldl.base import child_seeds
from ldl.deep._base import ImageEstimator
from ldl.soft_forests.drf import first_leaves, interval_shares

if TYPE_CHECKING:
    from torch import Tensor

    from ldl.deep._heads import Head, Outputs
    from ldl.deep._training import Taught
    from ldl.soft_forests._leaves import DistributionLeaves, GaussianLeaves


@dataclass(eq=False, repr=False)
class DLDL(ImageEstimator):
    """A softmax over the labels, trained by KL."""

    def _head(self, D: np.ndarray, seed: int) -> Head:
        from ldl.deep._heads import SoftmaxHead

        return SoftmaxHead(D.shape[1])

    def _taught(self, D: np.ndarray) -> Taught:
        return _distributions(D)

    def _shares(self, outputs: Outputs) -> Tensor:
        return outputs[0].double().softmax(1)


@dataclass(eq=False, repr=False)
class DeepRegression(ImageEstimator):
    """One linear output, trained by the squared distance from the number of the highest label.

    ``predict`` shares one between the two labels next to the number, so that its mean is the
    number.
    """

    def _head(self, D: np.ndarray, seed: int) -> Head:
        from ldl.deep._heads import RegressionHead

        return RegressionHead()

    def _taught(self, D: np.ndarray) -> Taught:
        taught, self.shift_ = _standardised(D)
        self.scale_ = taught.unit
        return taught

    def _numbers(self, outputs: Outputs) -> Tensor:
        return self.head_.numbers(outputs) * self.scale_ + self.shift_

    def _shares(self, outputs: Outputs) -> Tensor:
        from torch import arange

        numbers = self._numbers(outputs).clamp(0, self.n_labels_ - 1)
        return (1.0 - (numbers[:, None] - arange(self.n_labels_)).abs()).clamp(min=0.0)


@dataclass(eq=False, repr=False)
class _DeepForest(ImageEstimator):
    """``trees`` soft trees of ``depth`` levels, leaves included, on ``units`` outputs of a network.

    Every ``leaf_batches`` batches the leaves take ``leaf_repeats`` steps on the outputs of the
    batches since, as they were when visited. ``schedule='joint'`` moves all trees by the mean of
    their losses; the others move one tree per batch, as in deep neural decision forests, whose
    trees also have units of their own; ``share_units`` says otherwise than that. ``temperature``
    weighs the entropy of the routing in the loss and cools by its factor with every leaf step.
    """

    trees: int = 5
    depth: int = 6
    units: int = 128
    phi_replacement: bool = False
    schedule: str = "joint"
    share_units: bool | None = None
    leaf_batches: int = 50
    leaf_repeats: int = 20
    temperature: float = 0.0
    temperature_factor: float = 0.9

    def _head(self, D: np.ndarray, seed: int) -> Head:
        from ldl.deep._heads import ForestHead
        from ldl.soft_forests._routing import draw_phi

        phi_seed, leaf_seed = child_seeds(seed, 2)
        phi = draw_phi(
            self.trees,
            self.depth,
            self.units,
            self.phi_replacement,
            np.random.default_rng(phi_seed),
        )
        return ForestHead(
            phi,
            self.units,
            self.schedule == "joint" if self.share_units is None else self.share_units,
            self._leaves(D, np.random.default_rng(leaf_seed)),
            self.leaf_batches,
            self.leaf_repeats,
            self.temperature,
            self.temperature_factor,
        )

    def _leaves(
        self, D: np.ndarray, generator: np.random.Generator
    ) -> DistributionLeaves | GaussianLeaves:
        raise NotImplementedError

    def _table(self) -> np.ndarray:
        """The distribution that each leaf stands for."""
        raise NotImplementedError

    def _shares(self, outputs: Outputs) -> Tensor:
        from torch import from_numpy

        return self.head_.mixture(outputs, from_numpy(self._table()))


@dataclass(eq=False, repr=False)
class DeepLDLF(_DeepForest):
    """Label distribution learning forest (dLDLF; DLDLF with ``temperature``): Shen et al.

    ``hard_labels`` teaches the highest label alone, which makes it a classification forest (DNDF).
    """

    hard_labels: bool = False

    def _leaves(self, D: np.ndarray, generator: np.random.Generator) -> DistributionLeaves:
        from ldl.soft_forests._leaves import DistributionLeaves

        return DistributionLeaves(self.trees, 2 ** (self.depth - 1), D.shape[1])

    def _taught(self, D: np.ndarray) -> Taught:
        return _distributions(np.eye(D.shape[1])[D.argmax(axis=1)] if self.hard_labels else D)

    def _table(self) -> np.ndarray:
        return self.head_.leaves.table()


@dataclass(eq=False, repr=False)
class DeepDRF(_DeepForest):
    """Differentiable random forest of numbers, such as the age: leaves are normal densities.

    Parameters are those of the linear ``DRF``. ``predict`` gives the probability of each label's
    interval, ``predict_number`` the mean.
    """

    tau: float = 0.5
    tau_factor: float = 0.9
    leaf_init: str = "random"
    leaf_rule: str = "posterior"
    split_loss: str = "nll"
    least_variance: float = 0.01

    def _leaves(self, D: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        taught, self.shift_ = _standardised(D)
        self.scale_ = taught.unit
        return first_leaves(
            taught.numbers,
            (self.trees, 2 ** (self.depth - 1)),
            self.leaf_init,
            generator,
            least_variance=self.least_variance / self.scale_**2,
            tau=self.tau,
            tau_factor=self.tau_factor,
            rule=self.leaf_rule,
            split_loss=self.split_loss,
        )

    def _taught(self, D: np.ndarray) -> Taught:
        return _standardised(D)[0]

    def _numbers(self, outputs: Outputs) -> Tensor:
        return self.head_.numbers(outputs) * self.scale_ + self.shift_

    def _table(self) -> np.ndarray:
        return interval_shares(self.head_.leaves.table(), self.shift_, self.scale_, self.n_labels_)


def _distributions(D: np.ndarray) -> Taught:
    from ldl.deep._training import Taught

    return Taught(D, D.argmax(axis=1).astype(np.float64))


def _standardised(D: np.ndarray) -> tuple[Taught, float]:
    """Numbers of the highest labels with mean 0 and deviation 1, and the mean they had."""
    from ldl.deep._training import Taught

    y = D.argmax(axis=1).astype(np.float64)
    shift, scale = float(y.mean()), float(y.std()) or 1.0
    standard = (y - shift) / scale
    return Taught(standard[:, None], standard, scale), shift

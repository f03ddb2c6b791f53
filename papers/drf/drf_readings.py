"""Other readings of what the DRF paper leaves open about its leaves, on a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from ldl._parameters import Options
from ldl.soft_forests._leaves import LEAST_MASS, DistributionLeaves, GaussianLeaves
from ldl.soft_forests.drf import DRF


@dataclass(eq=False, repr=False)
class DRFReading(DRF):
    """``ldl.DRF``, with its parameters and two more choices, on which the paper is silent.

    Which leaf gets which cluster: they ascend from the left, or stand in another order in each tree
    (``leaf_order``). How neural regression forests (Roy and Todorovic, CVPR 2016), which the paper
    compares with, update their leaves: by the probabilities of the leaves alone, or by taking every
    label as a class, updating class distributions (Eq. 48), and giving each leaf the mean and
    variance of its distribution (``leaf_rule='binned_dndf'``, in which ``tau`` has no part).
    """

    leaf_order: Literal["ascending", "random"] = "ascending"
    leaf_rule: Annotated[str, Options("posterior", "routing", "binned_dndf")] = "posterior"

    def _leaves(self, numbers: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        leaves = super()._leaves(numbers, generator)
        if self.leaf_order == "random":
            for mean, variance in zip(leaves.mean, leaves.variance, strict=True):
                order = generator.permutation(len(mean))
                mean[:], variance[:] = mean[order], variance[order]
        if self.leaf_rule == "binned_dndf":
            return BinnedLeaves(leaves, self.shift_, self.scale_, self.n_labels_)
        return leaves


class BinnedLeaves(GaussianLeaves):
    """Normal densities that follow the leaves of a classification forest, a class for each label.

    A leaf step updates distributions over the labels as deep neural decision forests do, and takes
    the mean and variance of each. The distributions start uniform and last from one leaf step to
    the next. A leaf that no row reaches keeps its mean and variance, at first those of ``first``.

    Parameters
    ----------
    first : GaussianLeaves
        Leaves to start from.
    shift, scale : float
        Labels are standardised numbers times ``scale`` plus ``shift``.
    labels : int
        Number of labels.
    """

    numbers: Tensor

    def __init__(self, first: GaussianLeaves, shift: float, scale: float, labels: int) -> None:
        trees, leaves, _ = first.mean.shape
        dtype = first.mean.dtype
        super().__init__(
            first.mean[:, :, 0].numpy(),
            first.variance[:, :, 0].numpy(),
            first.least_variance,
            split_loss=first.split_loss,
            dtype=dtype,
        )
        self.shift, self.scale = shift, scale
        self.classes = DistributionLeaves(trees, leaves, labels, dtype)
        numbers = torch.from_numpy((np.arange(labels) - shift) / scale)
        self.register_buffer("numbers", numbers[:, None].to(dtype))

    def update(
        self, trees: int | slice, logs: Tensor, targets: Tensor, counts: Tensor, repeats: int
    ) -> None:
        """Update the distributions, then means and variances; overwrites ``logs``."""
        reached = (logs.exp() * counts).sum(-1, keepdim=True) > LEAST_MASS
        labels = (targets[0] * self.scale + self.shift).round().long()
        one_hot = torch.nn.functional.one_hot(labels, len(self.numbers))
        self.classes.update(trees, logs, one_hot.t().to(targets.dtype), counts, repeats)
        Q = self.classes.Q[trees]
        mean = Q @ self.numbers
        variance = (Q * (self.numbers.t() - mean) ** 2).sum(-1, keepdim=True)
        variance = torch.where(reached, variance, self.variance[trees])
        self.mean[trees] = torch.where(reached, mean, self.mean[trees])
        self.variance[trees] = variance.clamp(min=self.least_variance)

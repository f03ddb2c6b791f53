"""Gaussian leaves by way of classes: a leaf step of a classification forest, then its moments."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ldl.soft_forests._leaves import LEAST_MASS, DistributionLeaves, GaussianLeaves


class BinnedLeaves(GaussianLeaves):
    """Means and variances of leaves that hold a distribution over the labels, each a class.

    Distributions take the leaf step of deep neural decision forests; they are uniform at first and
    stay from one leaf step to the next. Until rows reach a leaf it has what ``first`` holds.
    Numbers times ``scale`` plus ``shift`` are the labels'.
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
        self, tree: int, logs: Tensor, targets: Tensor, counts: Tensor, repeats: int
    ) -> None:
        """Overwrites ``logs``."""
        reached = (logs.exp() * counts).sum(1, keepdim=True) > LEAST_MASS
        labels = (targets[0] * self.scale + self.shift).round().long()
        one_hot = torch.nn.functional.one_hot(labels, len(self.numbers))
        self.classes.update(tree, logs, one_hot.t().to(targets.dtype), counts, repeats)
        Q = self.classes.Q[tree]
        mean = torch.mm(Q, self.numbers)
        variance = (Q * (self.numbers.t() - mean) ** 2).sum(1, keepdim=True)
        variance = torch.where(reached, variance, self.variance[tree])
        self.mean[tree] = torch.where(reached, mean, self.mean[tree])
        self.variance[tree] = variance.clamp(min=self.least_variance)

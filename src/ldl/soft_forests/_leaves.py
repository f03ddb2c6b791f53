"""What the leaves of soft trees hold, and how it is learned by variational bounding.

Leaves get the logarithms of their probabilities, (trees, leaves, rows), and what is to be
predicted, (numbers, rows). ``pull`` gives two factors of minus the slope of the loss by these
logarithms, times the rows; ``update`` moves one tree's leaves on a queue of rows, of which some may
count repeatedly.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

LEAST = 1e-12
"""Least entry of a leaf: an exact zero could never grow again, and outputs are divided by."""
LEAST_MASS = 1e-8
"""A Gaussian leaf that fewer rows than this reach stays as it is."""


class Leaves(Protocol):
    alike: bool
    """All leaves of a tree are the same, so that no split makes a difference."""

    def pull(self, logs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]: ...

    def update(
        self, tree: int, logs: Tensor, targets: Tensor, counts: Tensor, repeats: int
    ) -> None: ...

    def anneal(self) -> None: ...

    def only(self, tree: int) -> Leaves: ...

    def table(self) -> np.ndarray: ...


class DistributionLeaves(torch.nn.Module):
    """A label distribution per leaf, (trees, leaves, labels); uniform at first."""

    Q: Tensor

    def __init__(
        self, trees: int, leaves: int, labels: int, dtype: torch.dtype = torch.float64
    ) -> None:
        super().__init__()
        self.alike = True
        self.register_buffer("Q", torch.full((trees, leaves, labels), 1.0 / labels, dtype=dtype))

    def loss(self, P: Tensor, D: Tensor) -> Tensor:
        """Mean over rows of each tree's cross entropy."""
        return -(D * torch.bmm(self.Q.transpose(1, 2), P).log_()).sum(1).mean(1)

    def pull(self, logs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        P = logs.exp()
        G = torch.bmm(self.Q.transpose(1, 2), P)
        return P, torch.bmm(self.Q, torch.div(targets, G, out=G))

    def update(
        self, tree: int, logs: Tensor, targets: Tensor, counts: Tensor, repeats: int
    ) -> None:
        """``repeats`` steps, none of which can raise the tree's loss; overwrites ``logs``."""
        Q, P, D = self.Q[tree], logs.exp_(), targets * counts
        for _ in range(repeats):
            G = torch.mm(Q.t(), P)
            Q = _normalised(Q * torch.mm(P, torch.div(D, G, out=G).t()), Q)
        self.Q[tree] = Q
        self.alike = False

    def anneal(self) -> None:
        """Distributions need none: their bound has one minimum."""

    def only(self, tree: int) -> DistributionLeaves:
        one = DistributionLeaves(1, 0, 1)
        one.Q = self.Q[tree : tree + 1]
        return one

    def table(self) -> np.ndarray:
        return self.Q.numpy().copy()


def _normalised(Q: Tensor, before: Tensor) -> Tensor:
    """Rows as distributions without zeros; a leaf that no row reaches keeps what it had."""
    total = Q.sum(1, keepdim=True)
    Q = torch.where(total > LEAST**2, Q / total, before).clamp_(min=LEAST)
    return Q.div_(Q.sum(1, keepdim=True))


class GaussianLeaves(torch.nn.Module):
    """A mean and a variance per leaf, (trees, leaves, 1).

    Responsibilities are raised to the power ``tau``, which grows to one leaf step by leaf step.
    ``rule='routing'`` takes the probabilities of the leaves instead, whatever the row's number is.
    ``split_loss`` is the likelihood ('nll') or the squared error of a tree's mean ('l2').
    """

    mean: Tensor
    variance: Tensor

    def __init__(
        self,
        mean: np.ndarray,
        variance: np.ndarray,
        least_variance: float,
        tau: float = 1.0,
        tau_factor: float = 1.0,
        rule: str = "posterior",
        split_loss: str = "nll",
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        self.alike = False
        self.least_variance, self.tau, self.tau_factor = least_variance, tau, tau_factor
        self.rule, self.split_loss = rule, split_loss
        self.register_buffer("mean", torch.from_numpy(mean)[:, :, None].to(dtype))
        self.register_buffer("variance", torch.from_numpy(variance)[:, :, None].to(dtype))

    def log_densities(self, y: Tensor) -> Tensor:
        return _log_normal(y, self.mean, self.variance)

    def loss(self, logs: Tensor, y: Tensor) -> Tensor:
        """Mean over rows of each tree's negative log likelihood."""
        return -torch.logsumexp(logs + self.log_densities(y), 1).mean(1)

    def pull(self, logs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        if self.split_loss == "l2":
            P = logs.exp()
            error = (P * self.mean).sum(1, keepdim=True) - targets
            return P, -error * self.mean
        shares = torch.softmax(logs + self.log_densities(targets), 1)
        return shares, shares.new_ones(())

    def update(
        self, tree: int, logs: Tensor, targets: Tensor, counts: Tensor, repeats: int
    ) -> None:
        mean, variance = self.mean[tree], self.variance[tree]
        for _ in range(1 if self.rule == "routing" else repeats):
            if self.rule == "routing":
                shares = logs.exp()
            else:
                joint = (logs + _log_normal(targets, mean, variance)).mul_(self.tau)
                shares = torch.softmax(joint, 0)
            shares *= counts
            total = shares.sum(1, keepdim=True)
            reached = total > LEAST_MASS
            total = total.clamp(min=LEAST_MASS)
            mean = torch.where(reached, (shares * targets).sum(1, keepdim=True) / total, mean)
            spread = (shares * (targets - mean) ** 2).sum(1, keepdim=True) / total
            variance = torch.where(reached, spread, variance).clamp(min=self.least_variance)
        self.mean[tree], self.variance[tree] = mean, variance

    def anneal(self) -> None:
        self.tau = min(1.0, self.tau / self.tau_factor)

    def only(self, tree: int) -> GaussianLeaves:
        one = GaussianLeaves(
            np.zeros((1, 1)), np.ones((1, 1)), self.least_variance, split_loss=self.split_loss
        )
        one.mean, one.variance = self.mean[tree : tree + 1], self.variance[tree : tree + 1]
        return one

    def table(self) -> np.ndarray:
        """Means and variances, (trees, leaves, 2)."""
        return torch.cat([self.mean, self.variance], 2).numpy().copy()


def _log_normal(y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    return -0.5 * ((y - mean) ** 2 / variance + torch.log(2.0 * math.pi * variance))

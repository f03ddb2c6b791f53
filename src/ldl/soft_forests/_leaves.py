"""Leaves of soft trees: their contents, their start, and their updates by variational bounding.

All leaves are given the logarithms of their probabilities, (trees, leaves, rows), and the targets,
(numbers, rows). ``pull`` returns two factors whose product is minus the gradient of the loss by
these logarithms, times the number of rows. ``update`` moves the leaves of one tree, or of several
at once, on a queue of rows, each of which counts as often as ``counts`` says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ldl.soft_forests._routing import left_to_right

LEAST = 1e-12
"""Least entry of a leaf: an exact zero could never grow again, and outputs are divided by."""
LEAST_MASS = 1e-8
"""A Gaussian leaf that fewer rows than this reach stays as it is."""
_LLOYD_STEPS = 100


# ---------------------------------------------------------------------- label distributions


class DistributionLeaves(torch.nn.Module):
    """Label distributions, (trees, leaves, labels), uniform at first.

    ``alike`` is true while all leaves of a tree are the same, so that no split makes a difference.
    """

    Q: Tensor

    def __init__(
        self, trees: int, leaves: int, labels: int, dtype: torch.dtype = torch.float64
    ) -> None:
        super().__init__()
        self.alike = True
        self.register_buffer("Q", torch.full((trees, leaves, labels), 1.0 / labels, dtype=dtype))

    def loss(self, logs: Tensor, D: Tensor) -> Tensor:
        """Return each tree's cross entropy, averaged over rows (LDLF paper, Eq. 3)."""
        return -(D * torch.bmm(self.Q.transpose(1, 2), logs.exp()).log_()).sum(1).mean(1)

    def pull(self, logs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return two factors of minus the gradient of the loss by ``logs``, times the rows."""
        P = logs.exp()
        G = torch.bmm(self.Q.transpose(1, 2), P)
        return P, torch.bmm(self.Q, torch.div(targets, G, out=G))

    def update(
        self, trees: int | slice, logs: Tensor, targets: Tensor, counts: Tensor, repeats: int
    ) -> None:
        """Repeat Eq. 12 of the LDLF paper, which never raises the loss; overwrites ``logs``."""
        Q, P, D = self.Q[trees], logs.exp_(), targets * counts
        for _ in range(repeats):
            G = Q.mT @ P
            Q = _normalised(Q * (P @ torch.div(D, G, out=G).mT), Q)
        self.Q[trees] = Q
        self.alike = False

    def anneal(self) -> None:
        """Do nothing: the loss is convex in the leaves, so there is no poor minimum to avoid."""

    def only(self, tree: int) -> DistributionLeaves:
        """Return the leaves of one tree, in the same memory."""
        one = DistributionLeaves(1, 0, 1)
        one.Q = self.Q[tree : tree + 1]
        return one

    def table(self) -> np.ndarray:
        """Return a copy of everything that the leaves hold, (trees, leaves, numbers)."""
        return self.Q.numpy().copy()


def _normalised(Q: Tensor, before: Tensor) -> Tensor:
    """Return rows as distributions without zeros; a leaf that no row reaches keeps its own."""
    total = Q.sum(-1, keepdim=True)
    Q = torch.where(total > LEAST**2, Q / total, before).clamp_(min=LEAST)
    return Q.div_(Q.sum(-1, keepdim=True))


# ---------------------------------------------------------------------- normal densities


class GaussianLeaves(torch.nn.Module):
    """Means and variances of normal densities, each (trees, leaves, 1).

    Parameters
    ----------
    mean, variance : ndarray of shape (trees, leaves)
        First means and variances.
    least_variance : float
        Lower bound on the variances.
    tau : float, default=1.0
        Power of the responsibilities in Eq. 39 of the DRF paper.
    tau_factor : float, default=1.0
        Divisor of ``tau`` after each leaf step, until it reaches 1.
    rule : {'posterior', 'routing'}, default='posterior'
        Weights of the rows in a leaf step: their responsibilities (Eqs. 40 and 41 of the DRF
        paper), or the probabilities of the leaves alone.
    split_loss : {'nll', 'l2'}, default='nll'
        Loss of the splits: negative log likelihood (Eq. 23 of the DRF paper), or half the squared
        error of a tree's mean.
    dtype : torch.dtype, default=torch.float64
        Precision.
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
        """Return the logarithm of every leaf's density at the numbers y, (trees, leaves, rows)."""
        return _log_normal(y, self.mean, self.variance)

    def loss(self, logs: Tensor, y: Tensor) -> Tensor:
        """Return each tree's negative log likelihood, averaged over rows."""
        return -torch.logsumexp(logs + self.log_densities(y), 1).mean(1)

    def pull(self, logs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        if self.split_loss == "l2":
            P = logs.exp()
            error = (P * self.mean).sum(1, keepdim=True) - targets
            return P, -error * self.mean
        shares = torch.softmax(logs + self.log_densities(targets), 1)
        return shares, shares.new_ones(())

    def update(
        self, trees: int | slice, logs: Tensor, targets: Tensor, counts: Tensor, repeats: int
    ) -> None:
        mean, variance = self.mean[trees], self.variance[trees]
        for _ in range(1 if self.rule == "routing" else repeats):
            if self.rule == "routing":
                shares = logs.exp()
            else:
                joint = (logs + _log_normal(targets, mean, variance)).mul_(self.tau)
                shares = torch.softmax(joint, -2)
            shares *= counts
            total = shares.sum(-1, keepdim=True)
            reached = total > LEAST_MASS
            total = total.clamp(min=LEAST_MASS)
            mean = torch.where(reached, (shares * targets).sum(-1, keepdim=True) / total, mean)
            spread = (shares * (targets - mean) ** 2).sum(-1, keepdim=True) / total
            variance = torch.where(reached, spread, variance).clamp(min=self.least_variance)
        self.mean[trees], self.variance[trees] = mean, variance

    def anneal(self) -> None:
        self.tau = min(1.0, self.tau / self.tau_factor)

    def only(self, tree: int) -> GaussianLeaves:
        one = GaussianLeaves(
            np.zeros((1, 1)), np.ones((1, 1)), self.least_variance, split_loss=self.split_loss
        )
        one.mean, one.variance = self.mean[tree : tree + 1], self.variance[tree : tree + 1]
        return one

    def table(self) -> np.ndarray:
        """Return means and variances, (trees, leaves, 2)."""
        return torch.cat([self.mean, self.variance], 2).numpy().copy()


def _log_normal(y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Return ln of normal densities at y."""
    return -0.5 * ((y - mean) ** 2 / variance + torch.log(2.0 * math.pi * variance))


# ---------------------------------------------------------------------- where densities start


def first_leaves(
    y: np.ndarray,
    shape: tuple[int, int],
    init: str,
    generator: np.random.Generator,
    least_variance: float,
    **settings: Any,
) -> GaussianLeaves:
    """Return first normal densities for trees of ``shape`` (trees, leaves).

    ``init='random'`` draws the means from the numbers y and gives all leaves their variance.
    ``init='kmeans'`` clusters y and hands the clusters to each tree in ascending order, the lowest
    to the leftmost leaf. ``settings`` go to ``GaussianLeaves``.
    """
    if init == "kmeans":
        places = left_to_right(shape[1])
        centres, variances = (found[places] for found in clustered(y, shape[1]))
        mean, variance = np.tile(centres, (shape[0], 1)), np.tile(variances, (shape[0], 1))
    else:
        mean, variance = generator.choice(y, shape), np.full(shape, y.var())
    return GaussianLeaves(mean, np.maximum(variance, least_variance), least_variance, **settings)


def clustered(y: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending means and the variances of ``count`` clusters: Lloyd's steps from quantiles.

    A cluster without rows takes the number that is farthest from its centre, until no cluster is
    empty or every number lies on its centre. A cluster that stays empty gets the mean variance of
    the others.
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


def interval_shares(table: np.ndarray, shift: float, scale: float, labels: int) -> np.ndarray:
    """Return the share of each leaf's density in each label's interval, (trees, leaves, labels).

    A label's interval reaches half a label to either side; those at the ends take all that lies
    beyond. ``table`` holds means and variances of standardised numbers, which times ``scale`` plus
    ``shift`` are labels.
    """
    from scipy.special import ndtr

    mean = table[..., :1].astype(np.float64) * scale + shift
    deviation = np.sqrt(table[..., 1:].astype(np.float64)) * scale
    borders = np.arange(labels - 1) + 0.5
    below = ndtr((borders - mean) / deviation)
    ends = np.zeros((*below.shape[:2], 1))
    return np.diff(np.concatenate([ends, below, ends + 1.0], axis=2), axis=2)


Leaves = DistributionLeaves | GaussianLeaves

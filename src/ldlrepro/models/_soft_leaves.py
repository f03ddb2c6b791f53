"""What the leaves of soft trees hold: label distributions, learned by variational bounding."""

from __future__ import annotations

import torch
from torch import Tensor

LEAST = 1e-12
"""Least entry of a leaf: an exact zero could never grow again, and outputs are divided by."""


class DistributionLeaves(torch.nn.Module):
    """A label distribution per leaf, (trees, leaves, labels); uniform at first.

    Probabilities P of leaves are (trees, leaves, rows), distributions D are (labels, rows).
    """

    Q: Tensor

    def __init__(
        self, trees: int, leaves: int, labels: int, dtype: torch.dtype = torch.float64
    ) -> None:
        super().__init__()
        self.register_buffer("Q", torch.full((trees, leaves, labels), 1.0 / labels, dtype=dtype))

    def outputs(self, P: Tensor) -> Tensor:
        """What every tree says, (trees, labels, rows)."""
        return torch.bmm(self.Q.transpose(1, 2), P)

    def loss(self, P: Tensor, D: Tensor) -> Tensor:
        """Mean over rows of each tree's cross entropy."""
        return -(D * self.outputs(P).log_()).sum(1).mean(1)

    def gain(self, P: Tensor, D: Tensor) -> Tensor:
        """Minus the slope of each tree's loss by P, times the rows; (trees, leaves, rows).

        P times it is how much of a row's labels each leaf accounts for.
        """
        G = self.outputs(P)
        return torch.bmm(self.Q, torch.div(D, G, out=G))

    def update(self, tree: int, P: Tensor, D: Tensor, repeats: int) -> None:
        """``repeats`` steps of one tree's leaves that cannot raise its loss on these rows.

        P is (leaves, rows). Columns of D may be weighted: a row that was drawn twice counts twice.
        """
        Q = self.Q[tree]
        for _ in range(repeats):
            G = torch.mm(Q.t(), P)
            Q = normalised(Q * torch.mm(P, torch.div(D, G, out=G).t()), Q)
        self.Q[tree] = Q


def normalised(Q: Tensor, before: Tensor) -> Tensor:
    """Rows as distributions without zeros; a leaf that no row reaches keeps what it had."""
    total = Q.sum(1, keepdim=True)
    Q = torch.where(total > LEAST**2, Q / total, before)
    Q = Q.clamp_(min=LEAST)
    return Q.div_(Q.sum(1, keepdim=True))

"""Routing through soft trees: the probability of every leaf, and gradients by the outputs of f.

Imports torch, so it is imported where it is needed. Rows run along the last axis everywhere: the
few hundred nodes then are long, contiguous lines, and a level of all trees is one operation.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ldl.soft_forests import _compiled
from ldl.soft_forests._room import Room


def draw_phi(trees: int, depth: int, units: int, generator: np.random.Generator) -> np.ndarray:
    """Draw the output of f that each split node asks, (trees, nodes), nodes in heap order."""
    nodes = 2 ** (depth - 1) - 1
    if units < nodes:
        raise ValueError(
            f"units must be at least {nodes}, the splits of a tree of depth {depth}, got {units}"
        )
    return np.stack([generator.choice(units, nodes, replace=False) for _ in range(trees)])


def left_to_right(leaves: int) -> np.ndarray:
    """Return each leaf's position, counted from the left in a drawing of the tree."""
    places = np.zeros(1, dtype=np.int64)
    while len(places) < leaves:
        places = np.concatenate([2 * places, 2 * places + 1])
    return places


class Routing(torch.nn.Module):
    """Routes through ``len(phi)`` trees: at each node to the left with probability sigmoid(f).

    Node j of a level of 2^l nodes, column 2^l - 1 + j of phi, has the children j (left) and j + 2^l
    (right) of the next level; so all left children stand together, and a level is one addition of
    two blocks. In memory the trees stand within the nodes; shapes name them first.
    """

    sides: Tensor
    used: Tensor

    def __init__(self, phi: np.ndarray, units: int) -> None:
        super().__init__()
        self.trees, self.nodes = phi.shape
        self.leaves = self.nodes + 1
        self.levels = self.leaves.bit_length() - 1
        self.units = units
        self.register_buffer("sides", torch.from_numpy(_sides(phi, units)), persistent=False)
        self.register_buffer("used", torch.from_numpy(_uses(phi, units)), persistent=False)

    def log_sigmoids(self, F: Tensor) -> Tensor:
        """Return ln of the probabilities of both sides, (2, units, rows), for outputs F of f."""
        both = F.new_empty((2, *F.shape))
        both[0] = torch.nn.functional.logsigmoid(F)
        torch.sub(both[0], F, out=both[1])
        return both

    def log_probabilities(self, both: Tensor) -> Tensor:
        """Return ln of every leaf's probability (Eq. 1 of the papers), (trees, leaves, rows)."""
        rows = both.shape[2]
        steps = both.view(2 * self.units, rows).index_select(0, self.sides)
        reached = both.new_zeros((self.trees, rows))
        start = 0
        for level in range(self.levels):
            nodes = self.trees << level
            step = steps[start : start + 2 * nodes]
            step.view(2, nodes, rows).add_(reached)
            reached = step
            start += 2 * nodes
        return reached.view(self.leaves, self.trees, rows).transpose(0, 1)

    def gradients(self, both: Tensor, mass: Tensor, times: Tensor) -> Tensor:
        """Return the gradient of a loss by the outputs of f, (units, rows), summed over trees.

        ``mass`` times ``times`` is minus its gradient by the logarithm of each leaf's probability,
        (trees, leaves, rows). At node n with probability s_n the gradient is s_n times the mass
        below its right child, less 1 - s_n times that below its left child (Eq. 6 of the LDLF
        paper, Eqs. 9 and 24 of the DRF paper), which is s_n times all mass below n, less that on
        the left.
        """
        rows = mass.shape[2]
        sums = mass.new_empty((self.trees * (2 * self.leaves - 1) + 1, rows))
        sums[-1] = 0.0  # for units that a tree does not use
        start = self.trees * (self.leaves - 1)
        lower = sums[start:-1]
        torch.mul(mass, times, out=lower.view(self.leaves, self.trees, rows).transpose(0, 1))
        while start:
            left, right = lower.view(2, -1, rows)
            start -= len(left)
            lower = torch.add(left, right, out=sums[start : start + len(left)])
        node, left = sums.index_select(0, self.used).view(-1, 2, self.units, rows).sum(0)
        return both[0].exp().mul_(node).sub_(left)


class CompiledRouting:
    """The same routes without torch's calls in between, on the processor alone.

    What a method returns lies in memory that the next call of the method uses again.
    """

    def __init__(self, phi: np.ndarray, units: int) -> None:
        self.trees, nodes = phi.shape
        self.leaves = nodes + 1
        self.units = units
        self._asked = np.concatenate(_levels(phi))
        self._used = _uses(phi, units).reshape(-1, 2, units)
        self._room = Room()

    def log_sigmoids(self, F: Tensor) -> tuple[Tensor, Tensor]:
        """Return ln of the probabilities of the left sides, (units, rows), and outputs F of f."""
        left = self._room("left", tuple(F.shape), F.dtype)
        spare = self._room("spare", tuple(F.shape), F.dtype)
        torch.ops.aten.log_sigmoid_forward.output(F, output=left, buffer=spare)
        return left, F

    def log_probabilities(self, sides: tuple[Tensor, Tensor]) -> Tensor:
        """Return ln of every leaf's probability, (trees, leaves, rows)."""
        F = sides[1]
        reached = self._room("reached", (self.leaves, self.trees, F.shape[1]), F.dtype)
        return self.write_log_probabilities(sides, reached.transpose(0, 1))

    def write_log_probabilities(self, sides: tuple[Tensor, Tensor], reached: Tensor) -> Tensor:
        """Write ln of every leaf's probability into given memory, rows side by side; return it."""
        left, F = sides
        start, (tree_step, leaf_step, _) = reached.storage_offset(), reached.stride()
        end = start + (self.trees - 1) * tree_step + (self.leaves - 1) * leaf_step + F.shape[1]
        _compiled.descend(
            left.numpy(),
            F.numpy(),
            self._asked,
            self.leaves,
            self.trees,
            reached.as_strided((end,), (1,), 0).numpy(),
            start,
            leaf_step,
            tree_step,
        )
        return reached

    def gradients(self, sides: tuple[Tensor, Tensor], mass: Tensor, times: Tensor) -> Tensor:
        """Return the gradient of a loss by the outputs of f, as ``Routing.gradients`` does."""
        left, rows = sides[0], mass.shape[2]
        lines = self.trees * (2 * self.leaves - 1) + 1
        first = torch.exp(left, out=self._room("spare", tuple(left.shape), left.dtype))
        found = self._room("found", tuple(left.shape), left.dtype)
        _compiled.climb(
            mass.transpose(0, 1).contiguous().numpy(),
            times.expand_as(mass).contiguous().numpy(),
            self._room("sums", (lines, rows), left.dtype).numpy(),
            self._room("parts", (4, rows), left.dtype).numpy(),
            self._used,
            first.numpy(),
            found.numpy(),
        )
        return found


def _levels(phi: np.ndarray) -> list[np.ndarray]:
    """Return the units of each level's nodes as they stand in memory, trees within nodes."""
    count = (phi.shape[1] + 1).bit_length() - 1
    return [phi[:, 2**level - 1 : 2 ** (level + 1) - 1].T.ravel() for level in range(count)]


def _sides(phi: np.ndarray, units: int) -> np.ndarray:
    """Return each level's units twice: for the left sides, then for the right sides."""
    return np.concatenate([np.concatenate([u, u + units]) for u in _levels(phi)]).astype(np.int64)


def _uses(phi: np.ndarray, units: int) -> np.ndarray:
    """Return where each unit's nodes and their left children stand among the sums over subtrees.

    The shape is (most uses of one unit, 2, units), flattened. A unit with fewer uses is filled up
    with the line of zeros at the end of the sums.
    """
    trees, nodes = phi.shape
    levels = _levels(phi)
    unit = np.concatenate(levels)
    node = np.arange(len(unit))
    # The children of a level follow it, the left ones first.
    left = node + np.repeat([len(level) for level in levels], [len(level) for level in levels])
    order = np.argsort(unit, kind="stable")
    counts = np.bincount(unit, minlength=units)
    turn = np.arange(len(unit)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = np.full((counts.max(initial=1), 2, units), trees * (2 * nodes + 1), dtype=np.int64)
    found[turn, 0, unit[order]] = node[order]
    found[turn, 1, unit[order]] = left[order]
    return found.ravel()

"""Heads on networks: their loss, what they learn without gradients, and what they predict.

Outputs of the network come as blocks of (rows, width), targets as (rows, numbers). Forests compute
in double precision whatever the network's is: they cost little, and thin leaves need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ldl.soft_forests._base import SoftTrees
from ldl.soft_forests._leaves import DistributionLeaves, GaussianLeaves, Leaves
from ldl.soft_forests._routing import Routing
from ldl.soft_forests._training import COLD

Outputs = Sequence[Tensor]


class Head:
    """The part of a model that stands on the network's outputs; it learns by gradients at least."""

    widths: list[int]
    """Outputs of the network in each block."""

    def loss(self, outputs: Outputs, targets: Tensor, turn: int | None) -> Tensor | None:
        """Return the loss of a batch; None where nothing can be learned from it yet.

        ``turn`` is the tree whose turn it is, None where all move together.
        """
        raise NotImplementedError

    def visited(self, outputs: Outputs, targets: Tensor) -> None:
        """Take note of a batch that was trained on."""

    def after(self, step: int, last: bool) -> None:
        """Learn what is learned without gradients, after a step of the network."""

    def numbers(self, outputs: Outputs) -> Tensor:
        """Return the predicted number of every row, in the units of the targets' numbers."""
        raise NotImplementedError

    def measures(self, outputs: Outputs) -> dict[str, Tensor]:
        """Return what else is worth a curve, measured on one batch."""
        return {}

    def to(self, device: torch.device) -> Any:
        """Move to a device."""

    def state(self) -> dict[str, Any]:
        """Return everything that training changes, but for the network."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state."""


class SoftmaxHead(Head):
    """A distribution by softmax; the loss is the KL divergence from the true one (DLDL)."""

    def __init__(self, labels: int) -> None:
        self.widths = [labels]

    def loss(self, outputs: Outputs, targets: Tensor, turn: int | None) -> Tensor:
        logs = torch.log_softmax(outputs[0].double(), 1)
        return nn.functional.kl_div(logs, targets, reduction="batchmean")

    def numbers(self, outputs: Outputs) -> Tensor:
        return outputs[0].argmax(1).double()


class RegressionHead(Head):
    """One output; the loss is half its squared distance from the number."""

    def __init__(self) -> None:
        self.widths = [1]

    def loss(self, outputs: Outputs, targets: Tensor, turn: int | None) -> Tensor:
        return 0.5 * ((outputs[0].double() - targets) ** 2).mean()

    def numbers(self, outputs: Outputs) -> Tensor:
        return outputs[0].double()[:, 0]


class ForestHead(Head):
    """Soft trees above one block of outputs, or above one for each tree.

    Outputs are kept as they were when a batch was visited, and every ``leaf_batches`` steps the
    leaves learn from them.
    """

    def __init__(self, phi: np.ndarray, leaves: Leaves, model: SoftTrees) -> None:
        trees, units = len(phi), model.units or model._leaf_count()
        share_units = model._units_are_shared()
        self.widths = [units] if share_units else [units] * trees
        own = np.zeros(trees, dtype=np.int64) if share_units else units * np.arange(trees)
        self.routing = Routing(phi + own[:, None], sum(self.widths))
        self.single = nn.ModuleList([Routing(phi[[tree]], units) for tree in range(trees)])
        self.leaves, self.model = leaves, model
        self.temperature = model.temperature
        self.leaf_steps = 0
        self.queue: list[tuple[Tensor, Tensor]] = []

    # ------------------------------------------------------------------ training

    def loss(self, outputs: Outputs, targets: Tensor, turn: int | None) -> Tensor | None:
        """Return the mean over trees, or the loss of the tree whose turn it is.

        While the leaves are alike every gradient is zero, but for that of the entropy.
        """
        if self.leaves.alike and not self.temperature:
            return None
        if turn is None:
            routing, leaves, F = self.routing, self.leaves, torch.cat(list(outputs), 1)
        else:
            one = self.single[turn]
            assert isinstance(one, Routing)
            routing, leaves = one, self.leaves.only(turn)
            F = outputs[turn if len(outputs) > 1 else 0]
        return ForestLoss.apply(F, targets, routing, leaves, self.temperature)

    def visited(self, outputs: Outputs, targets: Tensor) -> None:
        self.queue.append((torch.cat([block.detach() for block in outputs], 1), targets))

    def after(self, step: int, last: bool) -> None:
        """Take a leaf step when it is due, then anneal leaves and splits."""
        if step % self.model.leaf_batches and not last:
            return
        outputs, targets = (torch.cat(parts) for parts in zip(*self.queue, strict=True))
        logs = _log_probabilities(self.routing, outputs)
        targets = targets.t().contiguous()
        counts = targets.new_ones(targets.shape[1])
        self.leaves.update(slice(None), logs, targets, counts, self.model.leaf_repeats)
        self.queue.clear()
        self.leaf_steps += 1
        self.leaves.anneal()
        self.temperature *= self.model.temperature_factor
        if self.temperature < COLD:
            self.temperature = 0.0

    # ------------------------------------------------------------------ predictions

    def mixture(self, outputs: Outputs, table: Tensor) -> Tensor:
        """Return the mean over trees of a table's lines, weighted by leaf probability.

        ``table`` is (trees, leaves, numbers); the result is (rows, numbers).
        """
        P = _log_probabilities(self.routing, torch.cat(list(outputs), 1)).exp_()
        return torch.bmm(table.transpose(1, 2), P).mean(0).t()

    def numbers(self, outputs: Outputs) -> Tensor:
        if isinstance(self.leaves, DistributionLeaves):
            return self.mixture(outputs, self.leaves.Q).argmax(1).double()
        return self.mixture(outputs, self.leaves.mean)[:, 0]

    def measures(self, outputs: Outputs) -> dict[str, Tensor]:
        """Return the mean entropy, over trees and rows, of the leaf that is reached."""
        logs = _log_probabilities(self.routing, torch.cat(list(outputs), 1))
        return {"entropy": -(logs.exp() * logs).sum(1).mean()}

    # ------------------------------------------------------------------ state

    def to(self, device: torch.device) -> ForestHead:
        for part in (self.routing, self.single, self.leaves):
            part.to(device)
        return self

    def state(self) -> dict[str, Any]:
        return {
            "leaves": self.leaves.state_dict(),
            "alike": self.leaves.alike,
            "tau": getattr(self.leaves, "tau", 1.0),
            "temperature": self.temperature,
            "leaf_steps": self.leaf_steps,
            "queue": [list(visit) for visit in self.queue],
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.leaves.load_state_dict(state["leaves"])
        self.leaves.alike = state["alike"]
        if isinstance(self.leaves, GaussianLeaves):
            self.leaves.tau = state["tau"]
        self.temperature, self.leaf_steps = state["temperature"], state["leaf_steps"]
        device = next(self.leaves.buffers()).device
        self.queue = [(F.to(device), targets.to(device)) for F, targets in state["queue"]]


def _log_probabilities(routing: Routing, F: Tensor) -> Tensor:
    """Return ln of the leaf probabilities for a network's outputs F (rows, units)."""
    return routing.log_probabilities(routing.log_sigmoids(F.double().t().contiguous()))


class ForestLoss(torch.autograd.Function):
    """Mean over rows and trees of the loss, less the rewarded entropy of the routing.

    Its gradient has a closed form, so nothing on the way through the trees is kept for it.
    """

    @staticmethod
    def forward(
        context: Any,
        F: Tensor,
        targets: Tensor,
        routing: Routing,
        leaves: Leaves,
        temperature: float,
    ) -> Tensor:
        """Compute the loss and, at the same time, its gradient by the outputs F."""
        targets = targets.t().contiguous()
        both = routing.log_sigmoids(F.detach().double().t().contiguous())
        logs = routing.log_probabilities(both)
        loss = leaves.loss(logs, targets).mean()
        mass, times = leaves.pull(logs, targets)
        if temperature:
            P = logs.exp()
            loss = loss + temperature * (P * logs).sum(1).mean()
            mass = (mass * times).sub_(P * (1.0 + logs), alpha=temperature)
            times = logs.new_ones(())
        gradients = routing.gradients(both, mass, times).div_(routing.trees * len(F))
        context.save_for_backward(gradients.t().to(F.dtype))
        return loss

    @staticmethod
    def backward(context: Any, *by_loss: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient by F; the other arguments have none."""
        (gradients,) = context.saved_tensors
        return gradients * by_loss[0].to(gradients.dtype), None, None, None, None

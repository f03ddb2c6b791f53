"""Trains soft trees on a linear map: steps of the map by mini-batches, leaves from a queue of them.

All trees together (the mean of their losses), or one tree at a time as deep neural decision forests
are trained.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ldl.base import child_seeds
from ldl.metrics import evaluate
from ldl.soft_forests._leaves import Leaves
from ldl.soft_forests._linear import DTYPES, LinearMap, Rows, Scale, Steps, batches
from ldl.soft_forests._routing import Routing, draw_phi

ENTROPY_ROWS = 512
COLD = 1e-4
"""A temperature below this is none."""
PREDICTED_AT_ONCE = 2**24
"""Leaf probabilities held at a time."""
ROUTED_AT_ONCE = 128
"""Rows: few enough that what is computed on the way stays in the processor's cache."""


@dataclass(frozen=True)
class Plan:
    """Everything that decides a fit, but for data and seed."""

    trees: int
    depth: int
    units: int
    phi_replacement: bool
    max_iter: int
    batch_size: int
    batch_replacement: bool
    leaf_batches: int
    leaf_repeats: int
    queue: str
    queue_batches: int | None
    init: str
    intercept: bool
    standardise: bool
    steps: Steps
    dtype: str
    schedule: str = "joint"
    """'joint', or which tree the next batch moves: 'random', 'round_robin', 'blocks'."""
    share_units: bool = True
    temperature: float = 0.0
    """Weight of the routing's entropy in the loss; times the factor after each leaf step."""
    temperature_factor: float = 1.0
    phi_seed: int | None = None
    """Of the outputs that splits ask; None takes it from the fit's seed, like everything else."""


@dataclass
class _Visit:
    """A batch in the queue; with its routing where that is kept."""

    rows: np.ndarray
    logs: Tensor | None = None


@dataclass
class Snapshot:
    """Parameters after a leaf step, as predictions need them; of features as they are."""

    iteration: int
    W: np.ndarray
    b: np.ndarray
    table: np.ndarray
    """What the leaves hold."""
    apart: bool
    """Trees have units of their own, side by side."""

    def phi_of(self, phi: np.ndarray) -> np.ndarray:
        step = self.W.shape[1] // len(phi) if self.apart else 0
        return phi + step * np.arange(len(phi))[:, None]


class LinearForest:
    """Soft trees above linear maps: one for all trees, or one for each.

    ``targets`` has a row for every row of X: label distributions, or a number each.
    """

    def __init__(
        self, plan: Plan, X: Any, targets: np.ndarray, leaves: Leaves, random_state: int | None
    ) -> None:
        phi_seed, map_seed, batch_seed, self._tree_seed = child_seeds(random_state, 4)
        self.plan = plan
        dtype = DTYPES[plan.dtype]
        self.scale = Scale(X) if plan.standardise else None
        self.rows = Rows(X, dtype, self.scale)
        self.targets = torch.from_numpy(np.ascontiguousarray(targets.T)).to(dtype)
        self.phi = draw_phi(
            plan.trees,
            plan.depth,
            plan.units,
            plan.phi_replacement,
            np.random.default_rng(phi_seed if plan.phi_seed is None else plan.phi_seed),
        )
        generator = np.random.default_rng(map_seed)
        self.maps = [
            LinearMap(
                self.rows.width,
                plan.units,
                plan.init,
                plan.intercept,
                dtype,
                plan.steps,
                generator,
            )
            for _ in range(1 if plan.share_units else plan.trees)
        ]
        self.routing = Routing(self.phi, plan.units)
        self.single = [Routing(self.phi[[k]], plan.units) for k in range(plan.trees)]
        self.leaves = leaves
        self._batches = batches(
            self.rows.count,
            plan.batch_size,
            plan.batch_replacement,
            np.random.default_rng(batch_seed),
        )
        self.leaf_steps = 0
        self.temperature = plan.temperature
        # Kept from step to step: fresh memory of this size costs more than what is done with it.
        most = min(self.rows.count, plan.leaf_batches * plan.batch_size)
        self._room = torch.empty((plan.trees, self.routing.leaves, most), dtype=dtype)

    def train(self, after_leaf_step: Callable[[int], bool] = lambda iteration: False) -> int:
        """Iterates until the limit, or until ``after_leaf_step`` says so; returns iterations."""
        plan = self.plan
        queue: deque[_Visit] = deque(maxlen=plan.queue_batches)
        turns = self._turns()
        for iteration in range(1, plan.max_iter + 1):
            queue.append(self._step(next(self._batches), next(turns)))
            if plan.steps.drop_every and iteration % plan.steps.drop_every == 0:
                for f in self.maps:
                    f.slow_down(plan.steps.drop_factor)
            if iteration % plan.leaf_batches == 0 or iteration == plan.max_iter:
                self._update_leaves(queue)
                if plan.queue_batches is None:
                    queue.clear()
                if after_leaf_step(iteration):
                    break
        return iteration

    def snapshot(self, iteration: int) -> Snapshot:
        W = torch.cat([m.W for m in self.maps], 1).numpy().astype(np.float64)
        b = torch.cat([m.b for m in self.maps]).numpy().astype(np.float64)
        W, b = self.scale.fold(W, b) if self.scale else (W, b)
        return Snapshot(
            iteration,
            W,
            b,
            self.leaves.table(),
            apart=not self.plan.share_units,
        )

    def _turns(self) -> Iterator[int | None]:
        """The tree whose turn it is; None where all move together."""
        plan, generator = self.plan, np.random.default_rng(self._tree_seed)
        for iteration in range(plan.max_iter):
            if plan.schedule == "joint":
                yield None
            elif plan.schedule == "random":
                yield int(generator.integers(plan.trees))
            elif plan.schedule == "round_robin":
                yield iteration % plan.trees
            else:
                yield iteration * plan.trees // plan.max_iter

    def _step(self, rows: np.ndarray, turn: int | None) -> _Visit:
        """Moves f by one batch."""
        stale = self.plan.queue == "stale"
        # While the leaves are alike every slope of the loss is zero.
        still = self.leaves.alike and not self.temperature
        if still and not stale:
            return _Visit(rows)
        some = self.rows.take(rows)
        f = self._map(turn or 0)
        routing = self.routing if turn is None else self.single[turn]
        both = routing.log_sigmoids(f(self.rows, some))
        logs = routing.log_probabilities(both)
        visit = _Visit(rows)
        if stale:
            visit.logs = logs if turn is None else self._log_probabilities(some)
        if not still:
            slopes = routing.slopes(both, *self._pull(logs, rows, turn))
            f.move(self.rows, some, slopes.div_(routing.trees * len(rows)))
        return visit

    def _pull(self, logs: Tensor, rows: np.ndarray, turn: int | None) -> tuple[Tensor, Tensor]:
        leaves = self.leaves if turn is None else self.leaves.only(turn)
        mass, times = leaves.pull(logs, self.targets.index_select(1, torch.from_numpy(rows)))
        if not self.temperature:
            return mass, times
        # Of the entropy of the routing, which the temperature rewards.
        hotter = logs.exp() * (1.0 + logs)
        return (mass * times).sub_(hotter, alpha=self.temperature), logs.new_ones(())

    def _map(self, tree: int) -> LinearMap:
        return self.maps[0 if self.plan.share_units else tree]

    def _log_probabilities(self, some: Any) -> Tensor:
        """Of all trees, wherever their units are; (trees, leaves, rows)."""
        if self.plan.share_units:
            both = self.routing.log_sigmoids(self.maps[0](self.rows, some))
            return self.routing.log_probabilities(both)
        parts = []
        for f, routing in zip(self.maps, self.single, strict=True):
            parts.append(routing.log_probabilities(routing.log_sigmoids(f(self.rows, some))))
        return torch.cat(parts)

    def _update_leaves(self, queue: Iterable[_Visit]) -> None:
        drawn = np.concatenate([visit.rows for visit in queue])
        stored = [visit.logs for visit in queue if visit.logs is not None]
        counts = np.ones(len(drawn), dtype=np.int64)
        if stored:
            logs = torch.cat(stored, 2)
        else:
            # Rows drawn again route as before, so they only weigh more.
            drawn, counts = np.unique(drawn, return_counts=True)
            logs = self._room[:, :, : len(drawn)]
            for start in range(0, len(drawn), ROUTED_AT_ONCE):
                block = drawn[start : start + ROUTED_AT_ONCE]
                found = self._log_probabilities(self.rows.take(block))
                logs[:, :, start : start + len(block)] = found
        targets = self.targets.index_select(1, torch.from_numpy(drawn))
        weights = torch.from_numpy(counts).to(targets.dtype)
        for tree in range(self.plan.trees):
            self.leaves.update(tree, logs[tree], targets, weights, self.plan.leaf_repeats)
        self.leaf_steps += 1
        self.leaves.anneal()
        self.temperature *= self.plan.temperature_factor
        if self.temperature < COLD:
            self.temperature = 0.0


def routing_entropy(forest: LinearForest) -> float:
    """Mean entropy, over trees and the first rows, of the leaf that a row goes to."""
    rows = np.arange(min(forest.rows.count, ENTROPY_ROWS))
    logs = forest._log_probabilities(forest.rows.take(rows))
    return float(-(logs.exp() * logs).sum(1).mean())


class BestOn:
    """Judges every leaf step on rows of its own, and keeps the best."""

    def __init__(self, forest: LinearForest, X: Any, D: np.ndarray, patience: float) -> None:
        self.forest, self.X, self.D, self.patience = forest, X, D, patience
        self.least, self.waited = math.inf, 0

    def __call__(self, iteration: int) -> bool:
        state = self.forest.snapshot(iteration)
        found = predict(self.forest.phi, state, state.table, self.X)
        self.latest = evaluate(self.D, found)["kl"]
        self.waited += 1
        if self.latest < self.least:
            self.state, self.least, self.waited = state, self.latest, 0
        return self.waited >= self.patience


def predict(phi: np.ndarray, found: Snapshot, table: np.ndarray, X: Any) -> np.ndarray:
    """Mean over trees of a table's lines by the probability of their leaves, in double precision.

    ``table`` is (trees, leaves, numbers): what is to be predicted where a leaf is reached.
    """
    W = torch.from_numpy(found.W)
    b = torch.from_numpy(found.b)
    Q = torch.from_numpy(table.astype(np.float64))
    routing = Routing(found.phi_of(phi), W.shape[1])
    rows = Rows(X, torch.float64)
    block = max(1, PREDICTED_AT_ONCE // (routing.trees * routing.leaves))
    outputs = []
    for start in range(0, rows.count, block):
        some = rows.take(np.arange(start, min(start + block, rows.count)))
        both = routing.log_sigmoids(rows.times(some, W).add_(b[:, None]))
        P = routing.log_probabilities(both).exp_()
        outputs.append(torch.bmm(Q.transpose(1, 2), P).mean(0))
    return torch.cat(outputs, 1).t().contiguous().numpy()

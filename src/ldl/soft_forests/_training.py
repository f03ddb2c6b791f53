"""Training of soft trees on a linear map: mini-batches move the map, a queue of them the leaves.

All trees move together (by the mean of their losses), or one tree at a time, as deep neural
decision forests are trained. ``predict`` answers for what was trained.
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
from ldl.soft_forests._base import SoftForest
from ldl.soft_forests._leaves import Leaves
from ldl.soft_forests._linear import (
    DTYPES,
    LinearMap,
    Rows,
    Scale,
    Taken,
    batches,
    one_thread,
)
from ldl.soft_forests._room import empty
from ldl.soft_forests._routing import CompiledRouting, draw_phi

ENTROPY_ROWS = 512
"""Training rows whose routing is measured after each leaf step."""
COLD = 1e-4
"""A temperature below this counts as 0."""
PREDICTED_AT_ONCE = 2**24
"""Leaf probabilities held at a time."""
OUTPUTS_AT_ONCE = 2**15
"""Outputs of f in a leaf step."""
ROUTED_AT_ONCE = 128
"""Rows: few enough that intermediate results stay in the processor's cache."""


@dataclass
class _Visit:
    """A batch in the queue, with its routing where that is kept."""

    rows: np.ndarray
    logs: Tensor | None = None


@dataclass
class Snapshot:
    """State of a forest after a leaf step, in the form that predictions need.

    Attributes
    ----------
    iteration : int
        Iterations so far.
    W : ndarray of shape (features, outputs)
        Weights of the linear map, of features as they are given.
    b : ndarray of shape (outputs,)
        Intercepts.
    table : ndarray of shape (trees, leaves, numbers)
        Contents of the leaves: label distributions, or means and variances.
    apart : bool
        True where trees have units of their own, side by side.
    """

    iteration: int
    W: np.ndarray
    b: np.ndarray
    table: np.ndarray
    apart: bool

    def phi_of(self, phi: np.ndarray) -> np.ndarray:
        """Return the columns of W that the nodes ask."""
        step = self.W.shape[1] // len(phi) if self.apart else 0
        return phi + step * np.arange(len(phi))[:, None]

    def predict(self, phi: np.ndarray, table: np.ndarray, X: Any) -> np.ndarray:
        """Return what a table of leaf contents predicts for X, averaged over trees."""
        with one_thread():
            return predict(phi, self, table, X)


class LinearForest:
    """Soft trees above linear maps: one for all trees, or one for each.

    ``targets`` has a row for every row of X: label distributions, or a number each. ``weight`` says
    how much each row counts in the losses of f and leaves; the mean of weights does not matter.
    """

    def __init__(
        self,
        model: SoftForest,
        X: Any,
        targets: np.ndarray,
        leaves: Leaves,
        random_state: int | None,
        weight: np.ndarray | None = None,
    ) -> None:
        phi_seed, map_seed, batch_seed, self._tree_seed = child_seeds(random_state, 4)
        self.model, self.trees = model, model.n_estimators
        self.units = model.units or model._leaf_count()
        self.shares_units = model._units_are_shared()
        dtype = DTYPES[model.dtype]
        self.scale = Scale(X) if model.standardise else None
        self.rows = Rows(X, dtype, self.scale)
        self.targets = torch.from_numpy(np.ascontiguousarray(targets.T)).to(dtype)
        self.weight = None if weight is None else torch.from_numpy(weight / weight.mean()).to(dtype)
        seed = phi_seed if model.phi_seed is None else model.phi_seed
        self.phi = draw_phi(self.trees, model.depth, self.units, np.random.default_rng(seed))
        generator = np.random.default_rng(map_seed)
        maps = 1 if self.shares_units else self.trees
        self.maps = [LinearMap(self.rows, self.units, model, generator) for _ in range(maps)]
        self.routing = CompiledRouting(self.phi, self.units)
        self.single = [CompiledRouting(phi[None], self.units) for phi in self.phi]
        self.leaves = leaves
        self._batches = batches(
            self.rows.count,
            model.batch_size,
            model.batch_replacement,
            np.random.default_rng(batch_seed),
        )
        self.leaf_steps = 0
        self.temperature = model.temperature
        # Kept from step to step: fresh memory of this size costs more than filling it.
        most = min(self.rows.count, model.leaf_batches * model.batch_size)
        self._room = empty((self.trees, self.routing.leaves, most), dtype)

    # ------------------------------------------------------------------ the loop

    def train(self, after_leaf_step: Callable[[int], bool] = lambda iteration: False) -> int:
        """Train until ``max_iter``, or until ``after_leaf_step`` says True; return iterations."""
        model = self.model
        queue: deque[_Visit] = deque(maxlen=model.queue_batches)
        turns = self._turns()
        for iteration in range(1, model.max_iter + 1):
            queue.append(self._step(next(self._batches), next(turns)))
            if model.drop_every and iteration % model.drop_every == 0:
                for f in self.maps:
                    f.slow_down(model.drop_factor)
            if iteration % model.leaf_batches == 0 or iteration == model.max_iter:
                self._update_leaves(queue)
                model._say(f"{iteration} of {model.max_iter} mini-batches")
                if model.queue_batches is None:
                    queue.clear()
                if after_leaf_step(iteration):
                    break
        return iteration

    def _turns(self) -> Iterator[int | None]:
        """Yield the tree whose turn it is; None where all move together."""
        model, generator = self.model, np.random.default_rng(self._tree_seed)
        for iteration in range(model.max_iter):
            if model.schedule == "joint":
                yield None
            elif model.schedule == "random":
                yield int(generator.integers(self.trees))
            elif model.schedule == "round_robin":
                yield iteration % self.trees
            else:
                yield iteration * self.trees // model.max_iter

    def snapshot(self, iteration: int) -> Snapshot:
        """Return the present state, with W and b for features as they are given."""
        for f in self.maps:
            f.settle()
        W = np.concatenate([f.W.numpy() for f in self.maps], 1, dtype=np.float64)
        b = np.concatenate([f.b.numpy() for f in self.maps], dtype=np.float64)
        W, b = self.scale.fold(W, b) if self.scale else (W, b)
        return Snapshot(
            iteration,
            W,
            b,
            self.leaves.table(),
            apart=not self.shares_units,
        )

    def routing_entropy(self) -> float:
        """Return the mean entropy, over trees and the first rows, of the leaf that is reached."""
        rows = np.arange(min(self.rows.count, ENTROPY_ROWS))
        logs = self._log_probabilities(self.rows.take(rows))
        return float(-(logs.exp() * logs).sum(1).mean())

    # ------------------------------------------------------------------ steps of the map

    def _step(self, rows: np.ndarray, turn: int | None) -> _Visit:
        """Move f by one batch."""
        stale = self.model.queue == "stale"
        # While the leaves are alike every gradient of the loss is zero.
        still = self.leaves.alike and not self.temperature
        if still and not stale:
            return _Visit(rows)
        taken = self.rows.take(rows)
        f = self._map(turn or 0)
        routing = self.routing if turn is None else self.single[turn]
        sides = routing.log_sigmoids(f(taken))
        logs = routing.log_probabilities(sides)
        visit = _Visit(rows)
        if stale:
            visit.logs = logs.clone() if turn is None else self._log_probabilities(taken)
        if not still:
            gradients = routing.gradients(sides, *self._pull(logs, rows, turn))
            f.move(taken, gradients.div_(routing.trees * len(rows)))
        return visit

    def _pull(self, logs: Tensor, rows: np.ndarray, turn: int | None) -> tuple[Tensor, Tensor]:
        """Return the leaves' pull on the logarithms of their probabilities, and the entropy's."""
        leaves = self.leaves if turn is None else self.leaves.only(turn)
        drawn = torch.from_numpy(rows)
        mass, times = leaves.pull(logs, self.targets.index_select(1, drawn))
        if self.temperature:
            # Minus the gradient of the routing's entropy, which the temperature rewards.
            hotter = logs.exp() * (1.0 + logs)
            mass = (mass * times).sub_(hotter, alpha=self.temperature)
            times = logs.new_ones(())
        return (mass if self.weight is None else mass * self.weight[drawn]), times

    def _map(self, tree: int) -> LinearMap:
        """Return the map that a tree asks."""
        return self.maps[0 if self.shares_units else tree]

    # ------------------------------------------------------------------ steps of the leaves

    def _update_leaves(self, queue: Iterable[_Visit]) -> None:
        """Take a leaf step on the rows of the queue, then anneal leaves and splits."""
        drawn = np.concatenate([visit.rows for visit in queue])
        stored = [visit.logs for visit in queue if visit.logs is not None]
        counts = np.ones(len(drawn), dtype=np.int64)
        if stored:
            logs = torch.cat(stored, 2)
        else:
            # Rows drawn again route as before, so they only weigh more.
            drawn, counts = np.unique(drawn, return_counts=True)
            logs = self._room[:, :, : len(drawn)]
            at_once = self._routed_at_once()
            for start in range(0, len(drawn), at_once):
                block = drawn[start : start + at_once]
                self._log_probabilities(
                    self.rows.take(block), logs[:, :, start : start + len(block)]
                )
        rows = torch.from_numpy(drawn)
        targets = self.targets.index_select(1, rows)
        weights = torch.from_numpy(counts).to(targets.dtype)
        if self.weight is not None:
            weights *= self.weight[rows]
        for tree in range(self.trees):
            self.leaves.update(tree, logs[tree], targets, weights, self.model.leaf_repeats)
        self.leaf_steps += 1
        self.leaves.anneal()
        self.temperature *= self.model.temperature_factor
        if self.temperature < COLD:
            self.temperature = 0.0

    def _routed_at_once(self) -> int:
        """Return how many rows to route at a time: more where units are few.

        The bits of products of dense rows would depend on it.
        """
        most = OUTPUTS_AT_ONCE // self.units if self.rows.sparse else 0
        return max(ROUTED_AT_ONCE, most)

    def _log_probabilities(self, taken: Taken, found: Tensor | None = None) -> Tensor:
        """Return ln of all trees' leaf probabilities, whichever map they ask, in given memory."""
        if found is None:
            shape = (self.trees, self.routing.leaves, len(taken))
            found = self._room.new_empty(shape)
        routings = [self.routing] if self.shares_units else self.single
        parts = found.split([routing.trees for routing in routings])
        for f, routing, part in zip(self.maps, routings, parts, strict=True):
            routing.write_log_probabilities(routing.log_sigmoids(f(taken)), part)
        return found


class BestLeafStep:
    """Judges every leaf step on rows of its own, and keeps the best.

    Called after a leaf step; says True after ``patience`` steps without improvement.
    """

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


def predict(phi: np.ndarray, state: Snapshot, table: np.ndarray, X: Any) -> np.ndarray:
    """Return the forest's mixture of a table's lines for every row, in double precision.

    ``table`` (trees, leaves, numbers) says what is predicted where a leaf is reached; its lines are
    weighted by the leaf probabilities and averaged over trees.
    """
    W = torch.from_numpy(state.W)
    b = torch.from_numpy(state.b)
    Q = torch.from_numpy(table.astype(np.float64))
    routing = CompiledRouting(state.phi_of(phi), W.shape[1])
    rows = Rows(X, torch.float64)
    block = max(1, PREDICTED_AT_ONCE // (routing.trees * routing.leaves))
    answers = []
    for start in range(0, rows.count, block):
        F = rows.outputs(rows.take(np.arange(start, min(start + block, rows.count))), W, b)
        P = empty((routing.trees, routing.leaves, F.shape[1]), F.dtype)
        for part, reached in zip(
            F.split(ROUTED_AT_ONCE, 1), P.split(ROUTED_AT_ONCE, 2), strict=True
        ):
            routing.write_log_probabilities(routing.log_sigmoids(part.contiguous()), reached)
        answers.append(torch.bmm(Q.transpose(1, 2), P.exp_()).mean(0))
    return torch.cat(answers, 1).t().contiguous().numpy()

"""The linear map below soft trees: rows in batches, weights, and the steps that move them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ldl._scale import Scale
from ldl.soft_forests import _compiled
from ldl.soft_forests._base import SoftForest
from ldl.soft_forests._room import NUMPY, Room

Taken = Tensor | np.ndarray
"""Features of some rows, or the numbers of compressed rows."""
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread and without gradients inside the block.

    More threads would sum in another order; the caller's number of threads is put back afterwards.
    Numbers too small for a full mantissa become zero: nearly certain splits make many of them, and
    processors take a hundred times longer over them.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


# ---------------------------------------------------------------------- rows


class Rows:
    """Features of one precision, dense or in compressed rows, standardised by ``scale``.

    Compressed rows are only divided. Their shift adds the same to every row, so it is subtracted
    from the outputs instead, and nothing becomes dense.
    """

    def __init__(self, X: Any, dtype: torch.dtype, scale: Scale | None = None) -> None:
        self.sparse = hasattr(X, "tocsr")
        self.count, self.width = X.shape
        self.dtype = dtype
        self.offset: Tensor | None = None
        self._room = Room()
        if self.sparse:
            X = X.astype(NUMPY[dtype])
            if scale:
                X.data *= scale.factor[X.indices]
                self.offset = torch.from_numpy(scale.shift * scale.factor).to(dtype)
            self.X: Any = X
            self.entries = X.indptr, X.indices, X.data
        else:
            X = (X - scale.shift) * scale.factor if scale else X
            self.X = torch.from_numpy(X).to(dtype)

    def take(self, rows: np.ndarray) -> Taken:
        """Return the features of these rows; of compressed ones the numbers of the rows will do."""
        if self.sparse:
            return rows
        taken = self._room("taken", (len(rows), self.width), self.dtype)
        return torch.index_select(self.X, 0, torch.from_numpy(rows), out=taken)

    def outputs(self, taken: Taken, W: Tensor, b: Tensor) -> Tensor:
        """Return W'x + b of rows x that were taken, (units, rows), until it is called again."""
        found = self._room("outputs", (len(b), len(taken)), self.dtype)
        if isinstance(taken, Tensor):
            return torch.mm(W.t(), taken.t(), out=found).add_(b[:, None])
        shift = torch.zeros_like(b) if self.offset is None else torch.mv(W.t(), self.offset)
        _compiled.outputs(
            *self.entries,
            taken,
            W.numpy(),
            shift.numpy(),
            b.numpy(),
            self.turned(found),
            found.numpy(),
        )
        return found

    def gradient(self, taken: Taken, by_outputs: Tensor) -> Tensor:
        """Return the gradient by W from that by the outputs, until it is called again."""
        if isinstance(taken, Tensor):
            found = self._room("gradient", (self.width, len(by_outputs)), self.dtype)
            return torch.mm(taken.t(), by_outputs.t(), out=found)
        turned = np.ascontiguousarray(by_outputs.numpy().T)
        found = torch.from_numpy(self.X[taken].T @ turned)
        return (
            found if self.offset is None else found.addr_(self.offset, by_outputs.sum(1), alpha=-1)
        )

    def by_features(self, taken: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the entries of compressed rows feature by feature."""
        indptr = self.entries[0]
        count = int((indptr[taken + 1] - indptr[taken]).sum())
        features, starts, places = (np.empty(count + extra, np.int64) for extra in (0, 1, 0))
        found = features, starts, places, np.empty(count, self.entries[2].dtype)
        present = _compiled.by_features(
            *self.entries, taken, np.zeros(self.width, np.int64), *found
        )
        return features[:present], starts[: present + 1], places, found[-1]

    def turned(self, outputs: Tensor) -> np.ndarray:
        """Return memory for some of these outputs with rows first."""
        units, rows = outputs.shape
        width = min(units, _compiled.WIDTH) + _compiled.APART
        return self._room("turned", (rows, width), self.dtype).numpy()


def batches(
    count: int, size: int, replacement: bool, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield batches of row numbers for ever: epoch after epoch, or each drawn from all rows."""
    size = min(size, count)
    if replacement:
        while True:
            yield generator.integers(0, count, size)
    waiting = np.empty(0, dtype=np.int64)
    while True:
        if len(waiting) < size:
            waiting = np.concatenate([waiting, generator.permutation(count)])
        yield waiting[:size]
        waiting = waiting[size:]


# ---------------------------------------------------------------------- the map


class LinearMap:
    """f(x) = W'x + b and its optimiser."""

    def __init__(
        self, rows: Rows, units: int, model: SoftForest, generator: np.random.Generator
    ) -> None:
        self.rows = rows
        first = _first_weights(rows.width, units, model.init, generator)
        self.W = torch.from_numpy(first.astype(NUMPY[rows.dtype]))
        self.b = torch.zeros(units, dtype=rows.dtype)
        parameters = [self.W, self.b]
        if model.solver == "adam":
            self.optimiser: Any = torch.optim.Adam(parameters, model.learning_rate, fused=True)
        elif rows.sparse:
            self.optimiser = SparseMomentum(parameters, model.learning_rate, model.momentum, rows)
        else:
            self.optimiser = Momentum(parameters, model.learning_rate, model.momentum)
        self.sparse = isinstance(self.optimiser, SparseMomentum)

    def __call__(self, taken: Taken) -> Tensor:
        """Return the outputs for rows that were taken, (units, rows), until it is called again."""
        if self.sparse:
            self.optimiser.catch_up(taken)
        return self.rows.outputs(taken, self.W, self.b)

    def move(self, taken: Taken, by_outputs: Tensor) -> None:
        """Take one step against the gradient of the loss by the outputs for these rows."""
        total = by_outputs.sum(1)
        self.b.grad = total
        if self.sparse:
            self.optimiser.move_weights(taken, by_outputs, total)
        else:
            self.W.grad = self.rows.gradient(taken, by_outputs)
        self.optimiser.step()

    def slow_down(self, factor: float) -> None:
        """Multiply the learning rate by a factor."""
        self.settle()
        for group in self.optimiser.param_groups:
            group["lr"] *= factor

    def settle(self) -> None:
        """Take all steps that are due."""
        if self.sparse:
            self.optimiser.catch_up_all()


def _first_weights(
    features: int, units: int, init: str, generator: np.random.Generator
) -> np.ndarray:
    """Draw the first W."""
    reach = np.sqrt(6.0 / (features + units) if init == "glorot" else 3.0 / features)
    return generator.uniform(-reach, reach, (features, units))


class Momentum:
    """Gradient descent with momentum; torch's own takes longer to be called than to compute."""

    def __init__(self, parameters: list[Tensor], learning_rate: float, momentum: float) -> None:
        self.param_groups = [{"lr": learning_rate}]
        self._momentum = momentum
        self._precise = parameters[0].numpy().dtype.type
        self._moving = [
            (each, each.numpy(), np.zeros(tuple(each.shape), self._precise)) for each in parameters
        ]

    def step(self) -> None:
        """Move every parameter by its velocity."""
        for parameter, weights, velocity in self._moving:
            assert parameter.grad is not None
            slope = parameter.grad.numpy().ravel()
            _compiled.move(weights.ravel(), velocity.ravel(), slope, *self._factors())

    def _factors(self) -> tuple[np.floating, np.floating]:
        """Return momentum and rate in the precision of the parameters."""
        return self._precise(self._momentum), self._precise(self.param_groups[0]["lr"])


class SparseMomentum(Momentum):
    """Gradient descent with momentum for compressed rows, whose weights move apart from the rest.

    Where no offset is subtracted, and no row of a batch has a feature, the velocity of its weights
    only shrinks. So its steps wait until a row comes that has it, and are taken one after the other
    while the weights are in the processor's cache.
    """

    def __init__(
        self, parameters: list[Tensor], learning_rate: float, momentum: float, rows: Rows
    ) -> None:
        super().__init__(parameters, learning_rate, momentum)
        self._weights = self._moving.pop(0)[1:]
        self._rows = rows
        self._waits = rows.offset is None
        self._offset = np.empty(0, self._precise) if rows.offset is None else rows.offset.numpy()
        self._slope = np.empty(_compiled.WIDTH, self._precise)
        self._now = 0
        self._moved = np.zeros(rows.width, dtype=np.int64)

    def catch_up(self, taken: np.ndarray) -> None:
        """Take the steps that are due for the features of these rows."""
        if self._waits:
            indptr, indices, _ = self._rows.entries
            due = self._now, self._moved, *self._weights, *self._factors()
            _compiled.catch_up(indptr, indices, taken, *due)

    def catch_up_all(self) -> None:
        """Take all steps that are due."""
        if self._waits:
            _compiled.catch_up_all(self._now, self._moved, *self._weights, *self._factors())

    def move_weights(self, taken: np.ndarray, by_outputs: Tensor, total: Tensor) -> None:
        """Take a step with the weights; the features of the rows must have caught up."""
        by_feature = self._rows.by_features(taken)
        _compiled.move_weights(
            by_feature,
            by_outputs.numpy(),
            self._rows.turned(by_outputs),
            self._slope,
            self._offset,
            total.numpy(),
            *self._weights,
            *self._factors(),
        )
        self._now += 1
        self._moved[by_feature[0]] = self._now

"""The linear map below soft trees: rows in batches, weights, and the steps that move them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

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


class Scale:
    """Mean and inverse deviation of every feature; a feature without spread gets a factor of 0."""

    def __init__(self, X: Any) -> None:
        n = X.shape[0]
        self.shift = np.asarray(X.mean(axis=0)).ravel()
        if hasattr(X, "tocsr"):
            # The stored entries, then the zeros, each of which lies a mean away.
            squares = (X.data - self.shift[X.indices]) ** 2
            there = np.bincount(X.indices, minlength=X.shape[1])
            sums = np.bincount(X.indices, squares, X.shape[1]) + (n - there) * self.shift**2
            largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
        else:
            sums = ((X - self.shift) ** 2).sum(axis=0)
            largest = np.abs(X).max(axis=0)
        spread = np.sqrt(sums / n)
        flat = spread <= 1e-12 * largest
        self.factor = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, spread))

    def fold(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map that does to raw features what W and b do to standardised ones."""
        W = W * self.factor[:, None]
        return W, b - self.shift @ W


class Rows:
    """Features of one precision, dense or in compressed rows, standardised by ``scale``.

    Compressed rows are only divided. Their shift adds the same to every row, so it is subtracted
    from the outputs instead, and nothing becomes dense.
    """

    def __init__(self, X: Any, dtype: torch.dtype, scale: Scale | None = None) -> None:
        self.sparse = hasattr(X, "tocsr")
        self.count, self.width = X.shape
        self.offset: Tensor | None = None
        if self.sparse:
            X = X.astype(np.float32 if dtype == torch.float32 else np.float64)
            if scale:
                X.data *= scale.factor[X.indices]
                self.offset = torch.from_numpy(scale.shift * scale.factor).to(dtype)
            self.X: Any = X
        else:
            X = (X - scale.shift) * scale.factor if scale else X
            self.X = torch.from_numpy(X).to(dtype)

    def take(self, rows: np.ndarray) -> Any:
        """Return the features of these rows."""
        return self.X[rows] if self.sparse else self.X.index_select(0, torch.from_numpy(rows))

    def times(self, taken: Any, W: Tensor) -> Tensor:
        """Return the products of W (features, units) with rows that were taken, (units, rows)."""
        if not self.sparse:
            return torch.mm(W.t(), taken.t())
        found = torch.from_numpy(np.ascontiguousarray((taken @ W.numpy()).T))
        return found if self.offset is None else found.sub_(torch.mv(W.t(), self.offset)[:, None])

    def gradient(self, taken: Any, by_outputs: Tensor) -> Tensor:
        """Return the gradient by W from the gradient by the products."""
        if not self.sparse:
            return torch.mm(taken.t(), by_outputs.t())
        found = torch.from_numpy(taken.T @ np.ascontiguousarray(by_outputs.numpy().T))
        if self.offset is None:
            return found
        return found.addr_(self.offset, by_outputs.sum(1), alpha=-1)


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


@dataclass(frozen=True)
class OptimiserSettings:
    """Settings of the gradient steps that move the map."""

    optimiser: str = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    drop_every: int | None = None
    """Iterations after which the rate is multiplied by ``drop_factor``, again and again."""
    drop_factor: float = 1.0


class LinearMap:
    """f(x) = W'x + b and its optimiser."""

    def __init__(
        self,
        features: int,
        units: int,
        init: str,
        fit_intercept: bool,
        dtype: torch.dtype,
        steps: OptimiserSettings,
        generator: np.random.Generator,
    ) -> None:
        self.W = torch.from_numpy(_first_weights(features, units, init, generator)).to(dtype)
        self.b = torch.zeros(units, dtype=dtype)
        self.parameters = [self.W, self.b] if fit_intercept else [self.W]
        if steps.optimiser == "adam":
            self.optimiser: Any = torch.optim.Adam(self.parameters, steps.learning_rate, fused=True)
        else:
            self.optimiser = Momentum(self.parameters, steps.learning_rate, steps.momentum)

    def __call__(self, rows: Rows, taken: Any) -> Tensor:
        """Return the outputs for rows that were taken, (units, rows)."""
        return rows.times(taken, self.W).add_(self.b[:, None])

    def move(self, rows: Rows, taken: Any, by_outputs: Tensor) -> None:
        """Take one step against the gradient of the loss by the outputs for these rows."""
        self.W.grad = rows.gradient(taken, by_outputs)
        if len(self.parameters) > 1:
            self.b.grad = by_outputs.sum(1)
        self.optimiser.step()

    def slow_down(self, factor: float) -> None:
        """Multiply the learning rate by a factor."""
        for group in self.optimiser.param_groups:
            group["lr"] *= factor


def _first_weights(
    features: int, units: int, init: str, generator: np.random.Generator
) -> np.ndarray:
    """Draw the first W."""
    if init == "normal":
        return generator.normal(0.0, 0.01, (features, units))
    reach = np.sqrt(6.0 / (features + units) if init == "glorot" else 3.0 / features)
    return generator.uniform(-reach, reach, (features, units))


class Momentum:
    """Gradient descent with momentum; torch's own takes longer to be called than to compute."""

    def __init__(self, parameters: list[Tensor], learning_rate: float, momentum: float) -> None:
        self.parameters, self.momentum = parameters, momentum
        self.param_groups = [{"lr": learning_rate}]
        self.velocities = [torch.zeros_like(parameter) for parameter in parameters]

    def step(self) -> None:
        """Move every parameter by its velocity."""
        for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
            assert parameter.grad is not None
            velocity.mul_(self.momentum).add_(parameter.grad)
            parameter.sub_(velocity, alpha=self.param_groups[0]["lr"])

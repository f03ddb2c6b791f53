"""A linear f below soft trees: rows in batches, the map and its optimiser, the queue of batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

DTYPES = {"float32": torch.float32, "float64": torch.float64}
OPTIMISERS = ("sgd", "adam")
INITS = ("glorot", "xavier_inputs", "normal")


@contextmanager
def one_thread() -> Iterator[None]:
    """More threads would sum in another order; what the caller had set is put back.

    Numbers too small for a full mantissa become zero: certain splits make many, and processors take
    a hundred times longer over them.
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


class Scale:
    """Mean and inverse deviation of every feature; a feature without spread gets a factor of 0."""

    def __init__(self, X: Any) -> None:
        n = X.shape[0]
        self.shift = np.asarray(X.mean(axis=0)).ravel()
        if hasattr(X, "tocsr"):
            # Entries that are there, and those that are not and lie a mean away.
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
        """The map of features as they are that says the same."""
        W = W * self.factor[:, None]
        return W, b - self.shift @ W


class Rows:
    """Features, dense or in compressed rows, of one precision; standardised by ``scale``.

    Compressed rows are divided only. What their shift adds is the same for all rows, so it is taken
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
        return self.X[rows] if self.sparse else self.X.index_select(0, torch.from_numpy(rows))

    def times(self, some: Any, W: Tensor) -> Tensor:
        """Outputs of the map W (features, units) for these rows, (units, rows)."""
        if not self.sparse:
            return torch.mm(W.t(), some.t())
        found = torch.from_numpy(np.ascontiguousarray((some @ W.numpy()).T))
        return found if self.offset is None else found.sub_(torch.mv(W.t(), self.offset)[:, None])

    def slope(self, some: Any, slopes: Tensor) -> Tensor:
        """Slope by W from the slopes by its outputs."""
        if not self.sparse:
            return torch.mm(some.t(), slopes.t())
        found = torch.from_numpy(some.T @ np.ascontiguousarray(slopes.numpy().T))
        return found if self.offset is None else found.addr_(self.offset, slopes.sum(1), alpha=-1)


@dataclass(frozen=True)
class Steps:
    """How the map is moved."""

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
        intercept: bool,
        dtype: torch.dtype,
        steps: Steps,
        generator: np.random.Generator,
    ) -> None:
        self.W = torch.from_numpy(_start(features, units, init, generator)).to(dtype)
        self.b = torch.zeros(units, dtype=dtype)
        self.parameters = [self.W, self.b] if intercept else [self.W]
        if steps.optimiser == "adam":
            self.stepper: Any = torch.optim.Adam(self.parameters, steps.learning_rate, fused=True)
        else:
            self.stepper = Momentum(self.parameters, steps.learning_rate, steps.momentum)

    def __call__(self, rows: Rows, some: Any) -> Tensor:
        return rows.times(some, self.W).add_(self.b[:, None])

    def move(self, rows: Rows, some: Any, slopes: Tensor) -> None:
        """One step against the slopes of the loss by the outputs for these rows."""
        self.W.grad = rows.slope(some, slopes)
        if len(self.parameters) > 1:
            self.b.grad = slopes.sum(1)
        self.stepper.step()

    def slow_down(self, factor: float) -> None:
        for group in self.stepper.param_groups:
            group["lr"] *= factor


def _start(features: int, units: int, init: str, generator: np.random.Generator) -> np.ndarray:
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
        for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
            assert parameter.grad is not None
            velocity.mul_(self.momentum).add_(parameter.grad)
            parameter.sub_(velocity, alpha=self.param_groups[0]["lr"])


def batches(
    count: int, size: int, replacement: bool, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Row numbers without end: epoch after epoch, or each batch drawn from all rows."""
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

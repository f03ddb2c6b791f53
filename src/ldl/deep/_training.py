"""Trains a network with a head on it, step by step, and answers with it.

What happens in a step follows from the seed, the number of the step and the state; so a training
that is taken up from a kept state ends as one that nobody stopped, bit for bit on a processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ldl.deep._heads import Head, Outputs
from ldl.deep._memory import check_memory, too_little
from ldl.deep._networks import ImageNetwork
from ldl.deep._pixels import Images, Order, Window, read_ahead
from ldl.deep._ranks import Ranks, local_device, ranks_of_torchrun
from ldl.errors import UserError
from ldl.soft_forests._linear import one_thread
from ldl.watch import Silent, current_watch

KEEP_SECONDS = 300.0
"""A state is kept this often: a kill costs no more than that."""
REPORT_STEPS = 20
ANSWERED_AT_ONCE = 64


@dataclass(frozen=True)
class Course:
    """How a network is moved."""

    max_iter: int
    batch_size: int
    optimiser: str
    learning_rate: float
    momentum: float
    weight_decay: float
    drop_every: int | None
    """Steps after which the rate is multiplied by ``drop_factor``, again and again."""
    drop_factor: float
    flip: bool
    schedule: str = "joint"
    """'joint', or which tree the next batch moves: 'random', 'round_robin', 'blocks'."""
    trees: int = 1

    def rate(self, step: int) -> float:
        drops = (step - 1) // self.drop_every if self.drop_every else 0
        return self.learning_rate * self.drop_factor**drops

    def turn(self, step: int, draws: np.random.Generator) -> int | None:
        """The tree whose turn it is; None where all move together."""
        if self.schedule == "random":
            return int(draws.integers(self.trees))
        if self.schedule == "round_robin":
            return (step - 1) % self.trees
        if self.schedule == "blocks":
            return (step - 1) * self.trees // self.max_iter
        return None


@dataclass(frozen=True)
class Taught:
    """What the images are to be answered with, a row for each."""

    targets: np.ndarray
    """(rows, numbers), as the head wants them."""
    numbers: np.ndarray
    """The true number of each row, in the head's units."""
    unit: float = 1.0
    """Labels in one of the head's units."""


@dataclass(frozen=True)
class Place:
    """Where it is computed, and how the pixels get there."""

    device: torch.device
    mixed_precision: bool = False
    readers: int = 2
    ranks: Ranks = field(default_factory=Ranks)

    @property
    def cuda(self) -> bool:
        return self.device.type == "cuda"


def place(device: str, mixed_precision: bool, readers: int) -> Place:
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device: cuda, but there is no GPU that PyTorch can use; say auto or cpu.")
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    ranks = ranks_of_torchrun(cuda)
    if not cuda:
        return Place(torch.device("cpu"), False, readers, ranks)
    torch.cuda.set_device(local_device())
    return Place(torch.device("cuda", local_device()), mixed_precision, readers, ranks)


class Training:
    def __init__(
        self,
        network: ImageNetwork,
        head: Head,
        images: Images,
        taught: Taught,
        course: Course,
        window: Window,
        where: Place,
        seed: int,
        name: str = "",
    ) -> None:
        """``name`` says whose states may be taken up."""
        self.network, self.head, self.images = network, head, images
        self.course, self.window, self.where = course, window, where
        self.seed, self.name = seed, name
        self.order = Order(images.shape[0], course.batch_size, seed)
        if self.order.size % where.ranks.count:
            raise ValueError(
                f"batch_size must be a multiple of the {where.ranks.count} processes that share "
                f"it, got {self.order.size}"
            )
        device = where.device
        self.targets = torch.from_numpy(taught.targets).to(device)
        self.numbers = torch.from_numpy(taught.numbers).to(device)
        self.unit = taught.unit
        self.step = self.taken_up_at = 0
        self.latest: dict[str, float] = {}

    # ------------------------------------------------------------------ the loop

    def run(self) -> None:
        course, cuda = self.course, self.where.cuda
        ranks = self.where.ranks
        check_memory(
            self.network, self.window.shape, self.order.size // ranks.count, course, self.where
        )
        watch = current_watch()
        with self._ready():
            self._take_up(watch.restore())
            if ranks.own:  # the first process speaks for all
                watch = Silent()
            kept = time.monotonic()
            meter = _Meter(self)
            batches = (self.order.batch(s) for s in range(self.step + 1, course.max_iter + 1))
            parts = map(ranks.part, batches)
            with read_ahead(self.images, parts, self.where.readers, cuda) as read:
                for pixels in read:
                    self.step += 1
                    loss, outputs, index = self._step(pixels)
                    meter.add(loss, len(index))
                    if self.step % REPORT_STEPS == 0 or self.step == course.max_iter:
                        self.latest = meter.read(outputs, index)
                        watch.report(self.step, self.latest)
                    if time.monotonic() - kept >= KEEP_SECONDS:
                        watch.keep(self.state())
                        kept = time.monotonic()
        self.network.cpu().eval()

    def _step(self, pixels: Tensor) -> tuple[Tensor | None, Outputs, Tensor]:
        """One batch; returns its loss, the network's outputs and which rows they are of."""
        device, ranks = self.where.device, self.where.ranks
        draws = np.random.default_rng([self.seed, self.step])
        turn = self.course.turn(self.step, draws)
        # Decides which units drop out.
        torch.manual_seed(int(draws.integers(2**62)) + ranks.own)
        rows = self.order.batch(self.step)
        index = torch.from_numpy(rows).to(device, non_blocking=True)
        targets = self.targets[index]
        changes = self.window.draw(len(rows), self.course.flip, draws).part(ranks.part)
        pixels = changes.of(pixels.to(device, non_blocking=True))
        with torch.enable_grad():
            with torch.autocast(device.type, torch.bfloat16, self.where.mixed_precision):
                outputs = self.network(pixels)
            loss = self.head.loss(outputs, targets[ranks.own :: ranks.count], turn)
        if loss is not None:
            for group in self.optimiser.param_groups:
                group["lr"] = self.course.rate(self.step)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            ranks.share_slopes(self.network.parameters())
            self.optimiser.step()
        outputs = [ranks.whole(block.detach()) for block in outputs]
        self.head.visited(outputs, targets)
        self.head.after(self.step, self.step == self.course.max_iter)
        return loss, outputs, index

    @contextmanager
    def _ready(self) -> Iterator[None]:
        """Network on its device, random numbers of our own, shortage of memory explained."""
        device, cuda = self.where.device, self.where.cuda
        self.network.to(device).train()
        self.head.to(device)
        if cuda:
            for layer in self.network.modules():
                if isinstance(layer, torch.nn.Conv2d):
                    layer.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimiser = _optimiser(self.network, self.course)
        torch.backends.cudnn.benchmark = cuda
        try:
            with torch.random.fork_rng(devices=[device] if cuda else []), one_thread():
                yield
        except torch.OutOfMemoryError as error:
            raise too_little(
                self.where, self.course.batch_size, str(error).split(". ")[0]
            ) from None
        finally:
            torch.backends.cudnn.benchmark = False

    # ------------------------------------------------------------------ state

    def state(self) -> dict[str, Any]:
        parameters = self.network.parameters()
        return _copied(
            {
                "name": self.name,
                "step": self.step,
                "latest": self.latest,
                "network": self.network.state_dict(),
                "optimiser": [self.optimiser.state.get(p, {}) for p in parameters],
                "head": self.head.state(),
            }
        )

    def _take_up(self, state: dict[str, Any] | None) -> None:
        if state is None or state.get("name") != self.name:
            return
        self.step = self.taken_up_at = state["step"]
        self.latest = dict(state["latest"])
        self.network.load_state_dict(state["network"])
        for parameter, kept in zip(self.network.parameters(), state["optimiser"], strict=True):
            # Adam's count of steps stays on the processor.
            self.optimiser.state[parameter] = {
                key: value.to(parameter.device if value.ndim else "cpu", copy=True)
                for key, value in kept.items()
            }
        self.head.restore(_copied(state["head"]))


def _optimiser(network: ImageNetwork, course: Course) -> torch.optim.Optimizer:
    rate, decay = course.learning_rate, course.weight_decay
    if course.optimiser == "adam":
        return torch.optim.Adam(network.parameters(), rate, weight_decay=decay)
    return torch.optim.SGD(network.parameters(), rate, course.momentum, weight_decay=decay)


def _copied(value: Any) -> Any:
    """The same on the processor, in memory of its own."""
    if isinstance(value, Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_copied(inner) for inner in value]
    return value


class _Meter:
    """Loss and speed since the last reading; a GPU is waited for at readings only."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self._clear()

    def _clear(self) -> None:
        self.loss: Tensor | float = 0.0
        self.losses = self.images = 0
        self.since = time.perf_counter()

    def add(self, loss: Tensor | None, images: int) -> None:
        if loss is not None:
            self.loss = self.loss + loss.detach()
            self.losses += 1
        self.images += images

    def read(self, outputs: Outputs, rows: Tensor) -> dict[str, float]:
        """With the mean absolute error, and what the head measures, on one batch."""
        training = self.training
        errors = (training.head.numbers(outputs) - training.numbers[rows]).abs()
        values = {
            "steps": float(training.course.max_iter),
            "mae": float(errors.mean()) * training.unit,
        }
        if self.losses:
            values["loss"] = float(self.loss) / self.losses
            if not np.isfinite(values["loss"]):
                raise FloatingPointError(
                    f"the loss is no number any more after step {training.step}; lower "
                    f"learning_rate ({training.course.learning_rate})"
                )
        values |= {name: float(value) for name, value in training.head.measures(outputs).items()}
        values["images_per_second"] = self.images / (time.perf_counter() - self.since)
        self._clear()
        return values


def answered(
    network: ImageNetwork,
    images: Images,
    window: Window,
    where: Place,
    answer: Callable[[Outputs], Tensor],
) -> np.ndarray:
    """``answer`` to the outputs, on the processor, for the middle of every image."""
    count = images.shape[0]
    batches = (
        np.arange(start, min(start + ANSWERED_AT_ONCE, count))
        for start in range(0, count, ANSWERED_AT_ONCE)
    )
    network.to(where.device).eval()
    found = []
    with one_thread(), read_ahead(images, batches, where.readers, where.cuda) as read:
        for pixels in read:
            pixels = window.middle(pixels.to(where.device, non_blocking=True))
            found.append(answer([block.cpu() for block in network(pixels)]).numpy())
    network.cpu()
    return np.concatenate(found)

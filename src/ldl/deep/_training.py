"""Training of a network with a head on it, step by step, and predictions by both.

The seed, the number of the step and the state decide what happens in a step; so a training that is
taken up from a kept state ends as one that nobody stopped, bit for bit on a processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ldl.deep._hardware import Hardware
from ldl.deep._heads import Head, Outputs
from ldl.deep._images import Images
from ldl.deep._memory import check_memory, too_little
from ldl.deep._networks import ImageNetwork
from ldl.deep._pixels import Order, Window, read_ahead
from ldl.soft_forests._linear import one_thread
from ldl.watch import Silent, current_watch

KEEP_SECONDS = 300.0
"""Seconds between two states that are kept: a kill costs no more than that."""
REPORT_STEPS = 20
"""Steps between two reports."""
PREDICTED_AT_ONCE = 64
"""Images in a batch of a prediction."""


@dataclass(frozen=True)
class TrainingSettings:
    """Everything that decides how a network is trained: the parameters of the same name."""

    max_iter: int
    batch_size: int
    solver: str
    learning_rate: float
    momentum: float
    weight_decay: float
    drop_every: int | None
    drop_factor: float
    flip: bool
    schedule: str = "joint"
    trees: int = 1
    name: str = ""
    """Name of this very training; only states with it are taken up."""

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        drops = (step - 1) // self.drop_every if self.drop_every else 0
        return self.learning_rate * self.drop_factor**drops

    def turn(self, step: int, draws: np.random.Generator) -> int | None:
        """Return the tree whose turn it is; None where all move together."""
        if self.schedule == "random":
            return int(draws.integers(self.trees))
        if self.schedule == "round_robin":
            return (step - 1) % self.trees
        if self.schedule == "blocks":
            return (step - 1) * self.trees // self.max_iter
        return None


@dataclass(frozen=True)
class Targets:
    """Truth that a head learns, a row for each image."""

    values: np.ndarray
    """Distributions or numbers in the form that the head wants, (rows, numbers)."""
    numbers: np.ndarray
    """The true number of each row, in the head's units."""
    unit: float = 1.0
    """Labels in one of the head's units."""
    weight: np.ndarray | None = None
    """How often each image is drawn, in relation to the others."""


class Training:
    """One training of a network and its head.

    Parameters
    ----------
    network : ImageNetwork
        Network, trained in place.
    head : Head
        Head, trained in place.
    images : Images
        Training images.
    targets : Targets
        Truth for each image.
    settings : TrainingSettings
        Length, steps and turns of the training.
    window : Window
        Part of the images that the network sees.
    hardware : Hardware
        Device, precision, threads and processes.
    seed : int
        Seed of everything random.
    say : callable, optional
        Hears a line after every few steps.
    """

    def __init__(
        self,
        network: ImageNetwork,
        head: Head,
        images: Images,
        targets: Targets,
        settings: TrainingSettings,
        window: Window,
        hardware: Hardware,
        seed: int,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.network, self.head, self.images = network, head, images
        self.settings, self.window, self.hardware = settings, window, hardware
        self.seed, self.say = seed, say
        self.order = Order(images.shape[0], settings.batch_size, seed, targets.weight)
        if self.order.size % hardware.ranks.count:
            raise ValueError(
                f"batch_size must be a multiple of the {hardware.ranks.count} processes that share "
                f"it, got {self.order.size}"
            )
        device = hardware.device
        self.targets = torch.from_numpy(targets.values).to(device)
        self.numbers = torch.from_numpy(targets.numbers).to(device)
        self.unit = targets.unit
        self.step = self.taken_up_at = 0
        self.latest: dict[str, float] = {}

    # ------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Train to the last step, from the state that the watch hands back, if it is ours."""
        settings, hardware = self.settings, self.hardware
        ranks = hardware.ranks
        part = self.order.size // ranks.count
        check_memory(self.network, self.window.shape, part, settings.solver, hardware)
        watch = current_watch()
        with self._ready():
            self._take_up(watch.restore())
            if ranks.own:  # the first process speaks for all
                watch = Silent()
            kept = time.monotonic()
            meter = _Meter(self)
            batches = (self.order.batch(s) for s in range(self.step + 1, settings.max_iter + 1))
            parts = map(ranks.part, batches)
            with read_ahead(self.images, parts, hardware.readers, hardware.cuda) as read:
                for pixels in read:
                    self.step += 1
                    loss, outputs, index = self._step(pixels)
                    meter.add(loss, len(index))
                    if self.step % REPORT_STEPS == 0 or self.step == settings.max_iter:
                        self.latest = meter.read(outputs, index)
                        watch.report(self.step, self.latest)
                        if not ranks.own:
                            self.say(self._told())
                    if time.monotonic() - kept >= KEEP_SECONDS:
                        watch.keep(self.state())
                        kept = time.monotonic()
        self.network.cpu().eval()

    def _told(self) -> str:
        values = (f"{name} {value:.4g}" for name, value in self.latest.items())
        return f"{self.step} of {self.settings.max_iter} mini-batches: {', '.join(values)}"

    def _step(self, pixels: Tensor) -> tuple[Tensor | None, Outputs, Tensor]:
        """Train on one batch; return its loss, the network's outputs and its row numbers."""
        device, ranks = self.hardware.device, self.hardware.ranks
        draws = np.random.default_rng([self.seed, self.step])
        turn = self.settings.turn(self.step, draws)
        # Decides which units drop out.
        torch.manual_seed(int(draws.integers(2**62)) + ranks.own)
        rows = self.order.batch(self.step)
        index = torch.from_numpy(rows).to(device, non_blocking=True)
        targets = self.targets[index]
        crops = self.window.draw(len(rows), self.settings.flip, draws).select(ranks.part)
        pixels = crops.apply(pixels.to(device, non_blocking=True))
        with torch.enable_grad():
            with torch.autocast(device.type, torch.bfloat16, self.hardware.mixed_precision):
                outputs = self.network(pixels)
            loss = self.head.loss(outputs, targets[ranks.own :: ranks.count], turn)
        if loss is not None:
            for group in self.optimiser.param_groups:
                group["lr"] = self.settings.rate(self.step)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            ranks.average_gradients(self.network.parameters())
            self.optimiser.step()
        outputs = [ranks.whole(block.detach()) for block in outputs]
        self.head.visited(outputs, targets)
        self.head.after(self.step, self.step == self.settings.max_iter)
        return loss, outputs, index

    @contextmanager
    def _ready(self) -> Iterator[None]:
        """Put network and head on the device for the block.

        The caller's random numbers stay as they are, and a lack of memory is explained.
        """
        device, cuda = self.hardware.device, self.hardware.cuda
        self.network.to(device).train()
        self.head.to(device)
        if cuda:
            for layer in self.network.modules():
                if isinstance(layer, torch.nn.Conv2d):
                    layer.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimiser = _optimiser(self.network, self.settings)
        torch.backends.cudnn.benchmark = cuda
        try:
            with torch.random.fork_rng(devices=[device] if cuda else []), one_thread():
                yield
        except torch.OutOfMemoryError as error:
            why = str(error).split(". ")[0]
            raise too_little(self.hardware, self.settings.batch_size, why) from None
        finally:
            torch.backends.cudnn.benchmark = False

    # ------------------------------------------------------------------ state

    def state(self) -> dict[str, Any]:
        """Return everything from which this training can go on."""
        parameters = self.network.parameters()
        return _copied(
            {
                "name": self.settings.name,
                "step": self.step,
                "latest": self.latest,
                "network": self.network.state_dict(),
                "optimiser": [self.optimiser.state.get(p, {}) for p in parameters],
                "head": self.head.state(),
            }
        )

    def _take_up(self, state: dict[str, Any] | None) -> None:
        """Go on from a state, if it is this training's."""
        if state is None or state.get("name") != self.settings.name:
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


def _optimiser(network: ImageNetwork, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Return the optimiser that the settings ask for."""
    rate, decay = settings.learning_rate, settings.weight_decay
    if settings.solver == "adam":
        return torch.optim.Adam(network.parameters(), rate, weight_decay=decay)
    return torch.optim.SGD(network.parameters(), rate, settings.momentum, weight_decay=decay)


def _copied(value: Any) -> Any:
    """Return a copy on the processor, in memory of its own, without entries that are None."""
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
        """Count a step."""
        if loss is not None:
            self.loss = self.loss + loss.detach()
            self.losses += 1
        self.images += images

    def read(self, outputs: Outputs, rows: Tensor) -> dict[str, float]:
        """Return loss, speed, the mean absolute error on a batch and the head's measures of it."""
        training = self.training
        errors = (training.head.numbers(outputs) - training.numbers[rows]).abs()
        values = {
            "steps": float(training.settings.max_iter),
            "mae": float(errors.mean()) * training.unit,
        }
        if self.losses:
            values["loss"] = float(self.loss) / self.losses
            if not np.isfinite(values["loss"]):
                raise FloatingPointError(
                    f"the loss is no number any more after step {training.step}; lower "
                    f"learning_rate ({training.settings.learning_rate})"
                )
        values |= {name: float(value) for name, value in training.head.measures(outputs).items()}
        values["images_per_second"] = self.images / (time.perf_counter() - self.since)
        self._clear()
        return values


def predict(
    network: ImageNetwork,
    images: Images,
    window: Window,
    hardware: Hardware,
    answer: Callable[[Outputs], Tensor],
) -> np.ndarray:
    """Return ``answer`` of the outputs for the middle of every image; it runs on the processor."""
    count = images.shape[0]
    batches = (
        np.arange(start, min(start + PREDICTED_AT_ONCE, count))
        for start in range(0, count, PREDICTED_AT_ONCE)
    )
    network.to(hardware.device).eval()
    found = []
    with one_thread(), read_ahead(images, batches, hardware.readers, hardware.cuda) as read:
        for pixels in read:
            pixels = window.middle(pixels.to(hardware.device, non_blocking=True))
            found.append(answer([block.cpu() for block in network(pixels)]).numpy())
    network.cpu()
    return np.concatenate(found)

"""What a forest adds to a training step of the network below it.

    python -m bench.forest_share --network vgg16
    python -m bench.forest_share --network tiny --side 48 --steps 50     without a GPU

Trains a forest and a network with one plain output on the same noise, and compares the time of a
step, leaf steps included. The clock runs from one report of the training to a later one, so
preparation does not count. On a GPU time on the wall counts, on a processor CPU time.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ldl.watch import Silent, watched_by
from ldlrepro.core import numerics
from ldlrepro.models import load

FORESTS = ("drf", "dldlf@annealed")
PLAIN = "deep_regression"
AGES = 62
BAR = 0.05


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.forest_share", description=__doc__)
    parser.add_argument("--network", default="vgg16", choices=["vgg16", "alexnet", "tiny"])
    parser.add_argument("--side", type=int, default=224, help="pixels")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100, help="a leaf step comes every 50 steps")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    given = parser.parse_args(arguments)
    numerics.pin()
    times: dict[str, list[float]] = {name: [] for name in (PLAIN, *FORESTS)}
    X, D = noise(4 * given.batch, given.side)
    for _ in range(given.repeats):
        for name, found in times.items():  # in turn, so that a noisy machine disturbs all alike
            model = untrained(name, given.network, given.batch, given.device)
            found.append(seconds_per_step(model, X, D, given.steps))
    plain = statistics.median(times[PLAIN])
    print(f"{PLAIN}: {1000 * plain:.2f} ms for a step of {given.batch} images")
    for name in FORESTS:
        more = statistics.median(times[name]) / plain - 1
        verdict = "within" if more <= BAR else "above"
        print(f"{name}: {1000 * plain * (1 + more):.2f} ms, {more:+.1%}, {verdict} {BAR:.0%}")


def noise(count: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images of noise and distributions over ages."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    return X, rng.dirichlet(np.ones(AGES), count)


def untrained(name: str, network: str, batch: int, device: str) -> Any:
    """Return a method on a network without weights."""
    return load(
        name,
        network=network,
        random_weights=True,
        learning_rate=0.001,
        batch_size=batch,
        device=device,
        random_state=0,
    )


def seconds_per_step(model: Any, X: Any, D: np.ndarray, steps: int) -> float:
    """Return the time of a step, of ``steps`` steps after the training's first report."""
    stopwatch = Stopwatch(steps, _clock(model.device))
    try:
        with watched_by(stopwatch):
            model.fit(X, D)
    except EnoughError:
        return stopwatch.seconds
    raise ValueError(f"max_iter ({model.max_iter}) is less than {steps} steps and a first report")


class EnoughError(Exception):
    """Ends a training whose time has been taken."""


class Stopwatch(Silent):
    """A watch that takes the time between the first report and one ``steps`` or more later.

    Before a report a training waits for the GPU, so its work is done when the clock is read.
    """

    def __init__(self, steps: int, clock: Callable[[], float]) -> None:
        self.steps, self.clock = steps, clock
        self.first: tuple[int, float] | None = None
        self.seconds = math.nan
        """Time of a step."""

    def report(self, step: int, values: Mapping[str, float]) -> None:
        now = self.clock()
        if self.first is None:
            self.first = step, now
            return
        begun, then = self.first
        if step - begun >= self.steps:
            self.seconds = (now - then) / (step - begun)
            raise EnoughError


def _clock(device: str) -> Callable[[], float]:
    import torch

    cuda = device != "cpu" and torch.cuda.is_available()
    return time.perf_counter if cuda else time.process_time


if __name__ == "__main__":
    main()

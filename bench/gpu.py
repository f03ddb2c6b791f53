"""Time that a forest adds to a training step of the network below it, on an NVIDIA card.

    python -m bench.gpu
    python -m bench.gpu --device cpu --network tiny --side 48     without a card

Trains a forest and a network with one plain output on the same noise, and compares the time of a
step, leaf steps included. The clock runs from one report of the training to a later one, so
preparation does not count. On a card time on the wall counts, on a processor CPU time. Ends with 1
where a forest adds more than a quarter on a card, and where there is none.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ldl.watch import Silent, watched_by
from ldlrepro.catalogue import Project
from ldlrepro.core import numerics
from ldlrepro.doctor.lines import BAD
from ldlrepro.doctor.machine import cuda
from ldlrepro.train import cards

FORESTS = ("drf", "dldlf@annealed")
PLAIN = "deep_regression"
AGES = 62
BAR = 0.25
"""Share of a step from which something is wrong with the machine; three H200s had 0.214 at most."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--network", default="vgg16", choices=["vgg16", "alexnet", "tiny"])
    parser.add_argument("--side", type=int, default=224, help="pixels")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100, help="a leaf step comes every 50 steps")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    given = parser.parse_args(arguments)
    on_card = given.device == "cuda"
    if on_card and not cards.usable():
        hidden = f"{cards.VISIBLE} hides every card" if cards.listed() else "no NVIDIA card here"
        print(f"Not timed: {hidden}, see nvidia-smi -L")
        return 1
    numerics.pin()
    # PyTorch must not look for cards before one is held.
    with cards.held(int(on_card), "bench.gpu", _say) as names:
        if on_card and (finding := cuda()).state == BAD:
            print(f"Not timed: {finding.found}: {finding.do}")
            return 1
        times = taken(given)
    return told(times, f"{given.batch} images on {names[0] if names else 'the processor'}", on_card)


def taken(asked: argparse.Namespace) -> dict[str, list[float]]:
    """Return the seconds of a step, without a forest and with each, repeat by repeat."""
    times: dict[str, list[float]] = {name: [] for name in (PLAIN, *FORESTS)}
    X, D = noise(4 * asked.batch, asked.side)
    for _ in range(asked.repeats):
        for name, found in times.items():  # in turn, so that a noisy machine disturbs all alike
            model = untrained(name, asked.network, asked.batch, asked.device)
            found.append(seconds_per_step(model, X, D, asked.steps))
    return times


def told(times: Mapping[str, Sequence[float]], what: str, judged: bool) -> int:
    """Print the medians; return 1 where a forest adds more than the bar and that is judged."""
    plain = statistics.median(times[PLAIN])
    print(f"{PLAIN}: {1000 * plain:.2f} ms for a step of {what}")
    more = {name: statistics.median(times[name]) / plain - 1 for name in FORESTS}
    for name, share in more.items():
        verdict = "within" if share <= BAR else "above"
        print(f"{name}: {1000 * plain * (1 + share):.2f} ms, {share:+.1%}, {verdict} {BAR:.0%}")
    return int(judged and max(more.values()) > BAR)


def noise(count: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images of noise and distributions over ages."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    return X, rng.dirichlet(np.ones(AGES), count)


def untrained(name: str, network: str, batch: int, device: str) -> Any:
    """Return a method on a network without weights."""
    return (
        Project.open()
        .method(name)
        .estimator(
            network=network,
            random_weights=True,
            learning_rate=0.001,
            batch_size=batch,
            device=device,
            random_state=0,
        )
    )


def seconds_per_step(model: Any, X: Any, D: np.ndarray, steps: int) -> float:
    """Return the time of a step, of ``steps`` steps after the training's first report."""
    # A training waits for the card before it reports, so its work is done when the clock is read.
    clock = time.process_time if model.device == "cpu" else time.perf_counter
    stopwatch = Stopwatch(steps, clock)
    try:
        with watched_by(stopwatch):
            model.fit(X, D)
    except EnoughError:
        return stopwatch.seconds
    raise ValueError(f"max_iter ({model.max_iter}) is less than {steps} steps and a first report")


class EnoughError(Exception):
    """Ends a training whose time has been taken."""


class Stopwatch(Silent):
    """A watch that takes the time between the first report and one ``steps`` or more later."""

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


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

"""What a forest adds to a training step of the network below it.

    python -m bench.forest_share --network vgg16
    python -m bench.forest_share --network tiny --side 48 --steps 50     without a GPU

Trains a forest and a network with one plain output on the same noise, and compares the time of a
step, leaf steps included. A fit of twice the steps less a fit of the steps leaves what a step costs
without preparation. On a GPU time on the wall counts, on a processor CPU time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

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
    for _ in range(given.repeats):
        for name, found in times.items():  # in turn, so that a noisy machine disturbs all alike
            found.append(step_seconds(name, given))
    plain = statistics.median(times[PLAIN])
    print(f"{PLAIN}: {1000 * plain:.2f} ms for a step of {given.batch} images")
    for name in FORESTS:
        more = statistics.median(times[name]) / plain - 1
        verdict = "within" if more <= BAR else "above"
        print(f"{name}: {1000 * plain * (1 + more):.2f} ms, {more:+.1%}, {verdict} {BAR:.0%}")


def step_seconds(name: str, given: argparse.Namespace) -> float:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (4 * given.batch, given.side, given.side, 3), dtype=np.uint8)
    D = rng.dirichlet(np.ones(AGES), len(X))

    def fit(steps: int) -> float:
        model = load(
            name,
            network=given.network,
            random_weights=True,
            learning_rate=0.001,
            batch_size=given.batch,
            max_iter=steps,
            device=given.device,
            random_state=0,
        )
        clock = _clock(given.device)
        start = clock()
        model.fit(X, D)
        return clock() - start

    fit(1)  # imports, and whatever libraries prepare once
    return (fit(2 * given.steps) - fit(given.steps)) / given.steps


def _clock(device: str) -> Callable[[], float]:
    import torch

    cuda = device != "cpu" and torch.cuda.is_available()
    return time.perf_counter if cuda else time.process_time


if __name__ == "__main__":
    main()

"""Measures one comparison: both sides in turn, until the ratio is settled or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .entries import Comparison
from .process import SideFailed, Worker

FEWEST, MOST = 3, 15
SETTLED = 0.1
"""Quartiles of the ratio this far apart, as a share of its median, end the measuring."""
PATIENCE_S = 240.0
"""After this one measurement of each has to do."""
AT_LEAST_S = 0.2
"""Shorter calls are repeated within a measurement."""
START_S = 300.0
"""Longest that imports, compilation and the warm-up may take."""

Score = Callable[[Any], float]
Opener = Callable[[str], Worker]


@dataclass
class Samples:
    """What one side took, measurement by measurement."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    kl: list[float] = field(default_factory=list)
    calls: int = 0
    peak_mb: float = 0.0
    predicted: int = 0
    """Rows of a timed prediction; 0 where fits are timed."""
    versions: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def add(self, answer: Mapping[str, Any], score: Score) -> None:
        self.cpu.append(answer["cpu"])
        self.wall.append(answer["wall"])
        self.kl.append(score(answer["predictions"]))
        self.calls += answer["calls"]
        self.peak_mb = max(self.peak_mb, answer["peak_mb"])
        self.predicted = answer.get("predicted", 0)


def measure(
    comparison: Comparison,
    open_worker: Opener,
    score: Score,
    source: Mapping[str, Any],
    budget_s: float,
    most: int = MOST,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Samples of both sides; a side that fails leaves its error, and the other is still timed."""
    sides = {"ours": comparison.ours} | ({"peer": comparison.peer} if comparison.peer else {})
    samples = {name: Samples() for name in sides}
    with ExitStack() as stack:
        workers = {}
        for name, spec in sides.items():
            try:
                worker = open_worker(spec["library"])
                stack.callback(worker.close)
                worker.ask("load", START_S, **source)
                if comparison.measure != "memory":
                    answer = worker.ask("warm_up", START_S, spec=spec)
                    samples[name].versions = answer["versions"]
                workers[name] = worker
            except SideFailed as error:
                samples[name].error = str(error)
        start = clock()
        for repeat in range(1 if comparison.measure == "memory" else most):
            for name in list(workers):
                question = {
                    "spec": sides[name],
                    "measure": comparison.measure,
                    # The same forest is asked again where only its predictions are timed.
                    "seed": repeat if comparison.measure == "fit" else 0,
                    "at_least": 0.0 if comparison.measure == "memory" else AT_LEAST_S,
                }
                try:
                    answer = workers[name].ask("run", comparison.limit_s, **question)
                    samples[name].add(answer, score)
                except SideFailed as error:
                    samples[name].error = str(error)
                    del workers[name]
            if not workers or enough(samples, clock() - start, budget_s):
                break
    return {name: asdict(side) for name, side in samples.items()}


def enough(samples: Mapping[str, Samples], spent_s: float, budget_s: float) -> bool:
    taken = [side.cpu for side in samples.values() if not side.error]
    count = min(len(cpu) for cpu in taken)
    if count < FEWEST:
        return spent_s >= PATIENCE_S
    return spent_s >= budget_s or (count > FEWEST and _spread(taken) <= SETTLED)


def _spread(taken: Sequence[Sequence[float]]) -> float:
    values = ratios(taken[-1], taken[0]) if len(taken) > 1 else np.asarray(taken[0])
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float((high - low) / middle)


def ratios(peer: Sequence[float], ours: Sequence[float]) -> np.ndarray:
    """How many times longer the peer took, by pairs of measurements next to each other in time."""
    both = min(len(peer), len(ours))
    return np.asarray(peer[:both]) / np.asarray(ours[:both])

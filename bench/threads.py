"""Measure what a second thread gains, and the share of a fit that more would not shorten.

    python -m bench.threads
    python -m bench.threads --methods structrf rf --dataset yeast_alpha

Each method with ``n_jobs`` is fitted with one thread and with two, in turn. The speed-up is one
wall time over the other; other work on the machine lowers it. The serial share is counted in CPU
time with two threads: what the process spent outside the tasks that it gave to its threads, over
all that it spent, so that other work does not disturb it. By Amdahl's law it bounds what 32 threads
would gain. Waiting of tasks for each other, such as for the interpreter's lock, is in the
speed-up only.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

METHODS: dict[str, dict[str, Any]] = {
    "structrf": {"n_estimators": 50},
    "rf": {"n_estimators": 50},
    "rf_reg": {"n_estimators": 50},
    "ldlogitboost": {"max_iter": 20, "n_iter_no_change": None},
    "ldldf": {"max_layers": 1, "judge_on": "out_of_fold", "output_layer": "last"},
    "df_ldl": {},
}
REPEATS = 3


@dataclass
class Threads:
    """A method's fits with one and with two threads."""

    one_s: float
    two_s: float
    serial: float
    """Share of the CPU time outside the tasks of the threads."""

    @property
    def gain(self) -> float:
        return self.one_s / self.two_s

    def bound(self, threads: int) -> float:
        """Return how many times faster so many threads could be, by Amdahl's law."""
        return 1.0 / (self.serial + (1.0 - self.serial) / threads)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.threads", description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--dataset", default="sbu_3dfe")
    given = parser.parse_args(arguments)
    from ldlrepro.core import numerics

    numerics.pin()
    from bench.adapters import fold
    from ldlrepro.models import load

    X, D, _, _ = fold(given.dataset)
    print("| method | one thread, s | two, s | speed-up | serial share | at most with 32 |")
    print("|---|---|---|---|---|---|")
    for method in given.methods:
        model = load(method, **METHODS.get(method, {}))
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        found = measured(model, X, D)
        cells = (f"{found.one_s:.3g}", f"{found.two_s:.3g}", f"{found.gain:.2f}")
        share, most = f"{100 * found.serial:.1f} %", f"{found.bound(32):.0f} times"
        print("| " + " | ".join([method, *cells, share, most]) + " |", flush=True)


def measured(model: Any, X: Any, D: Any) -> Threads:
    """Fit with one and two threads in turn; keep the shortest wall times and the least share."""
    model.set_params(n_jobs=2).fit(X[:150], D[:150])  # loads and compiles
    one: list[float] = []
    two: list[float] = []
    shares: list[float] = []
    for _ in range(REPEATS):
        one.append(_wall(lambda: model.set_params(n_jobs=1).fit(X, D)))
        with counted_tasks() as tasks:
            before = time.process_time()
            two.append(_wall(lambda: model.set_params(n_jobs=2).fit(X, D)))
            spent = time.process_time() - before
        shares.append(max(0.0, 1.0 - tasks.cpu_s / spent))
    return Threads(min(one), min(two), min(shares))


def _wall(step: Callable[[], Any]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


class Tasks:
    """CPU seconds of everything that was given to threads."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self._lock = threading.Lock()

    def run(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call the function and add its thread's CPU time."""
        start = time.thread_time()
        try:
            return function(*arguments, **named)
        finally:
            with self._lock:
                self.cpu_s += time.thread_time() - start


@contextmanager
def counted_tasks() -> Iterator[Tasks]:
    """Count the CPU time of all tasks of thread pools, whoever makes them."""
    tasks, submit = Tasks(), ThreadPoolExecutor.submit

    def counted(
        pool: ThreadPoolExecutor, function: Callable[..., Any], /, *arguments: Any, **named: Any
    ) -> Future[Any]:
        return submit(pool, tasks.run, function, *arguments, **named)

    ThreadPoolExecutor.submit = counted  # type: ignore[method-assign, assignment]
    try:
        yield tasks
    finally:
        ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]


if __name__ == "__main__":
    main()

"""Seconds that several methods take to fit and predict on the same fold, taken in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

from ldlrepro.catalogue import Method
from ldlrepro.experiments import Inputs, MeasuredCell, Outcome
from ldlrepro.train.scaling import Scaler

PARTS = {"train_time_s": "Fit", "test_time_s": "Predict"}


def measure(inputs: Inputs, methods: Mapping[str, str], turns: int) -> Outcome:
    """Time ``methods`` (printed name -> id) in turns, so that a noisy moment hits all of them."""
    outcome = Outcome()
    taken = {name: _take(inputs, name, methods, turns) for name in inputs.available()}
    for number, (metric, part) in enumerate(PARTS.items()):
        rows: list[list[Any]] = []
        for dataset, seconds in taken.items():
            rows.append([dataset])
            for method, pairs in seconds.items():
                values = [pair[number] for pair in pairs]
                mean = statistics.median(values)
                std = statistics.stdev(values) if turns > 1 else None
                cell = MeasuredCell(dataset, "", method, metric, mean, std, turns)
                outcome.cells.append(cell)
                rows[-1].append(mean)
        outcome.add_table(f"{part}, median seconds", ["data set", *methods], rows)
    return outcome


def _take(
    inputs: Inputs, dataset: str, named: Mapping[str, str], turns: int
) -> dict[str, list[tuple[float, float]]]:
    data, fold = inputs.load(dataset), inputs.folds(dataset)[0]
    X, D, T = data.X[fold.train], data.D[fold.train], data.X[fold.test]
    methods = {name: inputs.project.method(method) for name, method in named.items()}
    few = slice(0, min(60, len(D)))
    for method in methods.values():
        _time(method, X[few], D[few], T[:5])  # compiled code and caches are ready after this
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    for turn in range(turns):
        for name, method in methods.items():
            taken[name].append(_time(method, X, D, T))
            inputs.say(f"{dataset}, turn {turn + 1} of {turns}: {name} {taken[name][-1][0]:.3g} s")
    return taken


def _time(method: Method, X: Any, D: Any, T: Any) -> tuple[float, float]:
    estimator = method.estimator()
    scaler = Scaler(method.scaling).fit(X)
    X, T = scaler.transform(X), scaler.transform(T)
    start = time.perf_counter()
    estimator.fit(X, D)
    middle = time.perf_counter()
    estimator.predict(T)
    return middle - start, time.perf_counter() - middle

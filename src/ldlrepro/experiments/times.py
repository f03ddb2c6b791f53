"""Seconds that several methods take to fit and predict on the same fold, taken in turns."""

from __future__ import annotations

import statistics
import time
from typing import Any

from ldlrepro import config, models
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.train.scaling import Scaler

METRICS = ("train_time_s", "test_time_s")


def measure(inputs: Inputs, methods: dict[str, str], turns: int) -> Outcome:
    """Time ``methods`` (printed name -> id) in turns, so that a noisy moment hits all of them."""
    outcome = Outcome()
    for dataset in inputs.available():
        taken = _take(inputs, dataset, methods, turns)
        for name in methods:
            for metric, values in zip(METRICS, zip(*taken[name], strict=True), strict=True):
                outcome.cells.append(_cell(dataset, name, metric, values))
    outcome.tables = [_table(outcome.cells, metric) for metric in METRICS]
    return outcome


def _take(
    inputs: Inputs, dataset: str, methods: dict[str, str], turns: int
) -> dict[str, list[tuple[float, float]]]:
    data, fold = inputs.load(dataset), inputs.folds(dataset)[0]
    X, D, T = data.X[fold.train], data.D[fold.train], data.X[fold.test]
    few = slice(0, min(60, len(D)))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    for method in methods.values():
        _time(method, X[few], D[few], T[:5])  # compiled code and caches are ready after this
    for turn in range(turns):
        for name, method in methods.items():
            taken[name].append(_time(method, X, D, T))
            inputs.say(f"{dataset}, turn {turn + 1} of {turns}: {name} {taken[name][-1][0]:.3g} s")
    return taken


def _time(method: str, X: Any, D: Any, T: Any) -> tuple[float, float]:
    estimator = models.load(method)
    scaler = Scaler(config.load_method(method)["scaling"]).fit(X)
    X, T = scaler.transform(X), scaler.transform(T)
    start = time.perf_counter()
    estimator.fit(X, D)
    middle = time.perf_counter()
    estimator.predict(T)
    return middle - start, time.perf_counter() - middle


def _cell(dataset: str, method: str, metric: str, values: tuple[float, ...]) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "setting": "",
        "method": method,
        "metric": metric,
        "mean": statistics.median(values),
        "std": statistics.stdev(values) if len(values) > 1 else None,
        "n": len(values),
    }


def _table(cells: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    mine = [cell for cell in cells if cell["metric"] == metric]
    methods = list(dict.fromkeys(cell["method"] for cell in mine))
    rows = []
    for dataset in dict.fromkeys(cell["dataset"] for cell in mine):
        seconds = {c["method"]: c["mean"] for c in mine if c["dataset"] == dataset}
        rows.append([dataset, *(seconds[method] for method in methods)])
    part = "Fit" if metric == "train_time_s" else "Predict"
    return {"title": f"{part}, median seconds", "columns": ["data set", *methods], "rows": rows}


def draw(series: dict[str, Any]) -> dict[str, Any]:
    return {}

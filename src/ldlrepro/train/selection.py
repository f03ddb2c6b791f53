"""Fits one run: scaling, choice of parameters on validation rows, final fit, prediction.

This module and what it imports decide every number, so its source is part of each unit's code
digest. Everything else is in ``ldlrepro.train.unit``.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldl import metrics
from ldlrepro.catalogue import Method
from ldlrepro.folds.splits import Fold
from ldlrepro.train.scaling import Scaler


@dataclass
class Fitted:
    """The outcome of one run."""

    predictions: np.ndarray
    params: dict[str, Any]
    selection: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)
    fit_s: float = 0.0
    fit_cpu_s: float = 0.0
    predict_s: float = 0.0
    predict_cpu_s: float = 0.0


def run_fold(
    method: Method,
    X: Any,
    D: np.ndarray,
    fold: Fold,
    *,
    select_by: str,
    seed: int,
    n_jobs: int = 1,
) -> Fitted:
    """Run one method on one fold.

    With a grid, candidates are fitted on training rows without the validation rows and scored on
    the validation rows. The winner is fitted again on all training rows. Nothing here reads test
    labels, except to tell them to methods whose YAML says ``sees_test_labels``.
    """
    start, start_cpu = time.perf_counter(), time.process_time()
    chosen: dict[str, Any] = {}
    selection: dict[str, Any] = {}
    if method.grid:
        chosen, selection = _select(method, X, D, fold, select_by, seed, n_jobs)
    model = _build(method, chosen, seed, n_jobs)
    scaler = Scaler(method.scaling).fit(X[fold.train])
    model.fit(scaler.transform(X[fold.train]), D[fold.train])
    fitted, fitted_cpu = time.perf_counter(), time.process_time()
    rows = scaler.transform(X[fold.test])
    if method.sees_test_labels:
        model.tell(D[fold.test])
    predictions = model.predict(rows)
    done, done_cpu = time.perf_counter(), time.process_time()
    return Fitted(
        predictions=predictions,
        params={k: v for k, v in model.get_params().items() if k != "verbose"},
        selection=selection,
        diagnostics={"renormalised": model.renormalised_, **getattr(model, "diagnostics_", {})},
        fit_s=fitted - start,
        fit_cpu_s=fitted_cpu - start_cpu,
        predict_s=done - fitted,
        predict_cpu_s=done_cpu - fitted_cpu,
    )


def candidates(grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return every combination; the last key varies fastest."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _select(
    method: Method,
    X: Any,
    D: np.ndarray,
    fold: Fold,
    select_by: str,
    seed: int,
    n_jobs: int,
) -> tuple[dict[str, Any], dict[str, Any]]:
    if len(fold.validation) == 0:
        raise ValueError(
            "this method has a grid, but the protocol keeps no validation rows: "
            "give the protocol `validation: holdout` or the method fixed parameters"
        )
    scaler = Scaler(method.scaling).fit(X[fold.fitting])
    fitting, held = scaler.transform(X[fold.fitting]), scaler.transform(X[fold.validation])
    better = {**metrics.BETTER, **metrics.LABEL_BETTER}[select_by]
    direction = 1.0 if better == "lower" else -1.0
    tried = []
    best, best_score = {}, math.inf
    for candidate in candidates(method.grid):
        model = _build(method, candidate, seed, n_jobs)
        predictions = model.fit(fitting, D[fold.fitting]).predict(held)
        score = metrics.measure(select_by, D[fold.validation], predictions)
        tried.append({**candidate, select_by: score})
        if direction * score < best_score:  # the first of equals wins
            best, best_score = candidate, direction * score
    return best, {"by": select_by, "rows": len(fold.validation), "tried": tried}


def _build(method: Method, chosen: Mapping[str, Any], seed: int, n_jobs: int) -> Any:
    model: Any = method.estimator(**chosen)
    names = model.get_params()
    if "random_state" in names and names["random_state"] is None:
        model.set_params(random_state=seed)
    if "n_jobs" in names:
        model.set_params(n_jobs=n_jobs)
    return model

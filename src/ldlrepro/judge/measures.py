"""The ten measures, followed by those that only some papers print and those of the user's own.

Scores are computed from stored predictions, so an own measure needs no training. It has no value
where there are only reference records, which hold no predictions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ldl import metrics
from ldlrepro import config, plan
from ldlrepro.config.digests import stage_digest
from ldlrepro.core.errors import UserError, nearest


def directions() -> dict[str, str]:
    """Return measure -> 'lower' or 'higher', whichever is better."""
    theirs = {name: config.load_metric(name)["better"] for name in config.own_ids("metric")}
    return {**metrics.BETTER, **metrics.LABEL_BETTER, **metrics.AGE_BETTER, **theirs}


def evaluate(D: np.ndarray, P: np.ndarray, label_errors: bool = True) -> dict[str, float]:
    """Return the means over rows of all measures, maybe without those of the label on top."""
    theirs = {name: own_value(name, D, P) for name in config.own_ids("metric")}
    of_labels = metrics.label_errors(D, P) if label_errors else {}
    return {**metrics.evaluate(D, P), **of_labels, **theirs}


@cache
def prints_labels(protocol: str) -> bool:
    """Tell whether the paper of a protocol prints errors of the label on top."""
    paper = plan.protocols()[protocol][0]
    return any(row["metric"] in metrics.LABEL_BETTER for row in plan.published(paper))


def own_value(name: str, D: np.ndarray, P: np.ndarray) -> float:
    """Return an own measure's value, averaged if its function returns a number for every row."""
    call, where = function(name), config.file_of("metric", name)
    try:
        values = np.asarray(call(D, P), dtype=np.float64)
    except Exception as error:  # somebody else's code
        raise UserError(f"{where}: {call.__name__} failed: {_words(error)}") from error
    if values.shape not in ((), (len(D),)):
        raise UserError(
            f"{where}: {call.__name__} returned an array of shape {values.shape} for {len(D)} "
            "rows. It has to return a number for each row, or one for all."
        )
    return float(values.mean())


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@cache
def function(name: str) -> Callable[[Any, Any], Any]:
    """Return the function that an own measure's file names."""
    where = config.file_of("metric", name)
    module_name, _, function_name = str(config.load_metric(name)["function"]).rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # somebody else's code
        raise UserError(
            f"{where}: function: cannot import '{module_name}': {_words(error)}. Write the name of "
            f"the Python file beside {where.name} and the function, such as my_metric.hellinger."
        ) from error
    found = getattr(module, function_name, None)
    if not callable(found):
        functions = [key for key, value in vars(module).items() if callable(value)]
        raise UserError(
            f"{where}: function: {module_name} has no function '{function_name}'."
            f"{nearest(function_name, functions)} It has: {', '.join(functions) or 'none'}"
        )
    return found


def digests() -> dict[str, list[str]]:
    """Return own measure -> what decides its values: function, direction, source."""
    found = {}
    for name in config.own_ids("metric"):
        spec = config.load_metric(name)
        source = stage_digest(spec["function"].rpartition(".")[0])
        found[name] = [spec["function"], spec["better"], source]
    return found

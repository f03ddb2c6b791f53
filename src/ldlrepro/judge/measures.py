"""The ten measures, followed by those that only some papers print and those of the user's own.

Scores are computed from stored predictions, so an own measure needs no training. It has no value
where there are only reference records, which hold no predictions.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ldl import metrics
from ldlrepro.catalogue import Measure, Project
from ldlrepro.catalogue.digests import stage_digest
from ldlrepro.core.errors import UserError


def directions(project: Project) -> dict[str, str]:
    """Return measure -> 'lower' or 'higher', whichever is better."""
    theirs = {measure.id: measure.better for measure in project.measures}
    return {**metrics.BETTER, **metrics.LABEL_BETTER, **metrics.AGE_BETTER, **theirs}


def evaluate(
    D: np.ndarray, P: np.ndarray, own: Iterable[Measure] = (), label_errors: bool = True
) -> dict[str, float]:
    """Return the means over rows of all measures, maybe without those of the label on top."""
    theirs = {measure.id: own_value(measure, D, P) for measure in own}
    of_labels = metrics.label_errors(D, P) if label_errors else {}
    return {**metrics.evaluate(D, P), **of_labels, **theirs}


def own_value(measure: Measure, D: np.ndarray, P: np.ndarray) -> float:
    """Return an own measure's value, averaged if its function returns a number for every row."""
    call = measure.function
    try:
        values = np.asarray(call(D, P), dtype=np.float64)
    except Exception as error:  # somebody else's code
        words = f"{type(error).__name__}: {error}"
        raise UserError(f"{measure.file}: {call.__name__} failed: {words}") from error
    if values.shape not in ((), (len(D),)):
        raise UserError(
            f"{measure.file}: {call.__name__} returned an array of shape {values.shape} for "
            f"{len(D)} rows. It has to return a number for each row, or one for all."
        )
    return float(values.mean())


def digests(project: Project) -> dict[str, list[str]]:
    """Return own measure -> what decides its values: function, direction, source."""
    found = {}
    for measure in project.measures:
        path = measure.function_path
        source = stage_digest(path.rpartition(".")[0], modules=project.modules)
        found[measure.id] = [path, measure.better, source]
    return found

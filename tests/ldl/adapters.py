"""Estimators as scikit-learn's checks want them: plain targets become label distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.base import LDLEstimator, Weighted
from tests.ldl.estimators import NAMES, cheap

MOST_LABELS = 5


def distributions(y: Any) -> Any:
    """Rows of a smoothed one-hot table for classes; numbers go into five bins first."""
    values = None if y is None else np.asarray(y)
    if values is None or values.ndim > 2 or (values.ndim == 2 and values.shape[1] > 1):
        return y
    if not values.size or values.dtype.kind == "c":
        return y
    values = values.ravel()
    places = np.unique(values, return_inverse=True)[1]
    if places.max() >= MOST_LABELS:
        places = places * MOST_LABELS // (places.max() + 1)
    labels = max(2, places.max() + 1)
    return 0.9 * np.eye(labels)[places] + 0.1 / labels


class Adapter:
    """Comes before the estimator in the order of classes; the checks pass y by name."""

    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X, distributions(y))  # type: ignore[misc]

    def score(self, X: Any, y: Any) -> float:
        return super().score(X, distributions(y))  # type: ignore[misc]


class Weighing(Adapter):
    """An estimator whose rows may count differently."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super(Adapter, self).fit(X, distributions(y), sample_weight)  # type: ignore[misc]


class Embedded(Weighing):
    """An estimator that gives coordinates, too."""

    def fit_transform(self, X: Any, y: Any) -> Any:
        return super().fit_transform(X, y)  # type: ignore[misc]


def adapted(name: str, **parameters: Any) -> LDLEstimator:
    plain = cheap(name, **parameters)
    return globals()[name](**plain.get_params())


def _adapter(name: str) -> type:
    if not isinstance(cheap(name), Weighted):
        return Adapter
    return Embedded if hasattr(cheap(name), "transform") else Weighing


for _name in NAMES:
    # As names of this module they can be pickled.
    _bases = (_adapter(_name), type(cheap(_name)))
    globals()[_name] = type(_name, _bases, {"__module__": __name__, "__doc__": _bases[1].__doc__})

"""Estimators with the settings that papers and releases have, where classes have other defaults."""

from __future__ import annotations

import inspect
from typing import Any

from ldl._self_tuned import SelfTuned
from ldl._tempered import Tempered
from ldl.base import LDLEstimator

STATED: dict[str, dict[str, Any]] = {
    "AABP": {"max_iter": 600},
    "AAKNN": {"n_neighbors": 5},
    "ALDL": {"fit_intercept": False},
    "AOSOLDLogitBoost": {
        "max_iter": 500,
        "learning_rate": 0.1,
        "max_leaf_nodes": 20,
        "n_iter_no_change": 50,
        "pair": "auto",
    },
    "CCAKNN": {"n_neighbors": 5},
    "CPNN": {"max_iter": 100},
    "DRF": {"max_iter": 30000},
    "EDLLRL": {"alpha": 0.001, "fit_intercept": False},
    "DirichletRegression": {"alpha": 300.0},
    "LDL4C": {"alpha": 0.001, "max_iter": 1000, "fit_intercept": False},
    "LDLCL": {"alpha": 0.001},
    "LDLHR": {"alpha": 100.0},
    "LDLLDM": {"alpha": 0.001},
    "LDLSCL": {"alpha": 0.001, "max_iter": 100, "learning_rate": 0.001},
    "LDLogitBoost": {
        "max_iter": 500,
        "learning_rate": 0.1,
        "max_leaf_nodes": 20,
        "n_iter_no_change": 50,
    },
    "LDSVR": {"C": 10.0},
    "LPPKNN": {"u": 0.3, "n_neighbors": 5},
    "MSLP": {"u": 0.1, "n_neighbors": 5},
    "NPEKNN": {"u": 0.3, "n_neighbors": 5},
    "PCAKNN": {"u": 0.3, "n_neighbors": 5},
    "PTBayes": {"worth": 3.0},
    "SABFGS": {"alpha": 30.0},
    "SAIIS": {"max_iter": 200, "fit_intercept": False},
    "SLDLF": {"max_iter": 25000, "leaf_batches": 100, "learning_rate": 2.0, "keep": "last"},
}
"""Beside raw features, where scaling is no part of the method, and predictions as they are."""


def as_stated(kind: type[LDLEstimator], *values: Any, **given: Any) -> Any:
    """Make an estimator; what is not given stands as stated."""
    names = (base.__name__ for base in kind.__mro__)
    stated = dict(next((STATED[name] for name in names if name in STATED), {}))
    if issubclass(kind, Tempered):
        stated |= {"mean_share": None}
    if issubclass(kind, SelfTuned):
        stated |= {} if kind.scales_itself else {"standardise": False}
    by_place = list(inspect.signature(kind).parameters)[: len(values)]
    return kind(*values, **{k: v for k, v in stated.items() if k not in by_place} | given)

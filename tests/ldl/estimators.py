"""The public estimators, each with settings that fit in milliseconds."""

from __future__ import annotations

from typing import Any

import numpy as np

import ldl
from ldl._self_tuned import SelfTuned
from ldl._tempered import Tempered
from ldl.base import LDLEstimator

NO_ESTIMATORS = ("LDLEstimator", "RegressorMethod", "compare")
"""Public classes to derive from, which fit nothing by themselves, and functions."""
NAMES = [name for name in ldl.__all__ if name not in NO_ESTIMATORS]
IMAGES = [name for name in NAMES if getattr(ldl, name).accepts_images]
TABLES = [name for name in NAMES if name not in IMAGES]
KINDS = sorted({getattr(ldl, name).__mro__[1]: name for name in TABLES}.values())
"""One estimator of each base class, for what the bases do."""

CHEAP: dict[str, dict[str, Any]] = {
    "AABP": {"hidden_layer_sizes": (4,), "max_iter": 5},
    "ALDL": {"max_iter": 5, "rounds": 2},
    "AOSOLDLogitBoost": {"max_iter": 3},
    "ACPNN": {"hidden_layer_sizes": 4, "max_iter": 3, "copies": 2},
    "BCPNN": {"hidden_layer_sizes": 4, "max_iter": 3},
    "CPNN": {"hidden_layer_sizes": 4, "max_iter": 3},
    "DRF": {"n_estimators": 2, "depth": 3, "units": 6, "max_iter": 8, "leaf_batches": 4},
    "DuoLDL": {"hidden_layer_sizes": 4, "max_iter": 5},
    "EDLLRL": {"max_iter": 5, "n_clusters": 2},
    "LDL4C": {"max_iter": 5},
    "LDLCL": {"max_iter": 5},
    "LDLDF": {
        "learners": "knn+rf",
        "learners_per_layer": 2,
        "max_layers": 1,
        "cv": 2,
        "n_estimators": 2,
        "max_estimators": 2,
    },
    "LDLHR": {"max_iter": 5},
    "LDLLDM": {"max_iter": 5, "n_clusters": 2},
    "LDLSCL": {"max_iter": 5, "n_clusters": 2},
    "LDLogitBoost": {"max_iter": 3},
    # To the last digits, so that weights and copies of rows end at one point.
    **{name: {"tol": 1e-14} for name in ("LDLDPA", "LDLLC", "LDLLCLR", "LDLLRR")},
    "RG4LDL": {"n_components": 4, "max_iter": 2},
    "RFRegression": {"n_estimators": 2},
    "RFStar": {"n_estimators": 2},
    "SABFGS": {"max_iter": 20, "tol": 1e-14},
    "SAIIS": {"max_iter": 5},
    "SLDLF": {"n_estimators": 2, "depth": 3, "units": 6, "max_iter": 8, "leaf_batches": 4},
    "StructRF": {"n_estimators": 2},
}
IMAGE = {
    "network": "tiny",
    "random_weights": True,
    "max_iter": 2,
    "batch_size": 4,
    "device": "cpu",
}
FOREST = {"n_estimators": 2, "depth": 3, "units": 6, "leaf_batches": 1}
CHEAP |= dict.fromkeys(IMAGES, IMAGE)
CHEAP |= dict.fromkeys(("DeepDRF", "DeepLDLF"), IMAGE | FOREST)


def cheap(name: str, **parameters: Any) -> LDLEstimator:
    """Make an estimator that tries nothing; tests/ldl/test_defaults.py has those that do."""
    kind = getattr(ldl, name)
    settled: dict[str, Any] = {}
    if issubclass(kind, Tempered):
        settled["mean_share"] = 0.1
    if issubclass(kind, SelfTuned):
        settled |= {parameter: values[0] for parameter, values in kind.candidates.items()}
    return kind(**{**settled, **CHEAP.get(name, {}), **parameters})


def images(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Drawn images of 8 by 8 pixels, and labels."""
    generator = np.random.default_rng(0)
    X = generator.integers(0, 256, size=(rows, 8, 8, 3), dtype=np.uint8)
    return X, generator.dirichlet(np.ones(3), size=rows)

"""Compile what would else be compiled in the first fits, and keep it for all processes.

    python -m ldl.precompile

As many estimators at a time as there are cores. Where all is compiled already it takes a second or
two: their first fits find what is kept (``ldl._machine_code``).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from importlib.util import find_spec
from typing import Any

COMPILED: dict[str, dict[str, Any]] = {
    "LDLogitBoost": {"max_iter": 1},
    "StructRF": {"n_estimators": 1},
    "LDLDF": {
        "learners": "xgb",
        "learners_per_layer": 1,
        "max_layers": 1,
        "n_estimators": 1,
        "cv": 2,
    },
    "RFStar": {"n_estimators": 1},
    "AOSOLDLogitBoost": {"max_iter": 1},
    "PTSVM": {},
    "SLDLF": {
        "n_estimators": 1,
        "depth": 2,
        "standardise": False,
        "leaf_batches": 1,
        "max_iter": 2,
    },
    "RFRegression": {"n_estimators": 1},
    "CPNN": {"max_iter": 1, "standardise": False},
    "DuoLDL": {"max_iter": 1},
    "LDLLRR": {"max_iter": 1, "alpha": 1.0, "rank_weight": 1.0},
    "LDLM": {"max_iter": 1, "alpha": 1.0},
}
"""Estimators that between them call all compiled code, with the least to do, the longest first."""
COMPRESSED = ("SLDLF",)
"""Those that compute with compressed rows, for which they have more steps."""
NEEDS = {"SLDLF": "torch"}
"""Packages without which an estimator is left out."""


def main() -> None:
    names = [name for name in COMPILED if name not in NEEDS or find_spec(NEEDS[name])]
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(len(names), _cores())) as pool:
        for done, (name, seconds) in enumerate(pool.imap_unordered(fit, names), 1):
            print(f"compiled {name}: {seconds:.1f} s ({done} of {len(names)})", flush=True)


def fit(name: str) -> tuple[str, float]:
    """Fit an estimator to few rows; return its name and the seconds that it took."""
    start = time.perf_counter()
    logging.getLogger("ldl").setLevel(logging.ERROR)  # that it compiles is said here
    import numpy as np
    from scipy.sparse import csr_matrix

    import ldl

    generator = np.random.default_rng(0)
    X, D = generator.random((40, 4)), generator.dirichlet(np.ones(3), size=40)
    rows = csr_matrix(X) if name in COMPRESSED else X
    getattr(ldl, name)(**COMPILED[name]).fit(rows, D).predict(rows)
    return name, time.perf_counter() - start


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


if __name__ == "__main__":
    main()

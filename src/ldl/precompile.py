"""Compile what would else be compiled in the first fits, and keep it beside the source.

    python -m ldl.precompile

It takes a minute or two, and a second where it has been done before.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import ldl

COMPILED: dict[str, dict[str, Any]] = {
    "StructRF": {"n_estimators": 1},
    "RFRegression": {"n_estimators": 1},
    "LDLogitBoost": {"max_iter": 1},
    "AOSOLDLogitBoost": {"max_iter": 1},
    "LDLDF": {
        "learners": "xgb",
        "learners_per_layer": 1,
        "max_layers": 1,
        "n_estimators": 1,
        "cv": 2,
    },
    "MSLP": {},
    "AAKNN": {},
    "PTSVM": {},
    "SLDLF": {"trees": 1, "depth": 2, "standardise": False, "leaf_batches": 1, "max_iter": 2},
}
"""Estimators that between them call all compiled code, with the least to do."""
COMPRESSED = ("AAKNN", "SLDLF")
"""Those that compute with compressed rows, for which SLDLF has more steps, AAKNN others."""
NEEDS = {"SLDLF": "torch"}
"""Packages without which an estimator is left out."""


def main() -> None:
    generator = np.random.default_rng(0)
    X, D = generator.random((40, 4)), generator.dirichlet(np.ones(3), size=40)
    for name, parameters in COMPILED.items():
        if name in NEEDS and find_spec(NEEDS[name]) is None:
            continue
        rows = csr_matrix(X) if name in COMPRESSED else X
        start = time.perf_counter()
        getattr(ldl, name)(**parameters).fit(rows, D).predict(rows)
        print(f"compiled {name}: {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()

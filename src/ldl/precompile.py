"""Compile what would else be compiled in the first fits, and keep it beside the source.

    python -m ldl.precompile

It takes a minute or two, and a second where it has been done before.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import ldl

COMPILED: dict[str, dict[str, Any]] = {
    "StructRF": {"trees": 1},
    "RFRegression": {"trees": 1},
    "LDLogitBoost": {"max_iter": 1},
    "AOSOLDLogitBoost": {"max_iter": 1},
    "LDLDF": {"learners": "xgb", "learners_per_layer": 1, "max_layers": 1, "trees": 1, "folds": 2},
    "PTSVM": {},
}
"""Estimators that between them call all compiled code, with the least to do."""


def main() -> None:
    generator = np.random.default_rng(0)
    X, D = generator.random((40, 4)), generator.dirichlet(np.ones(3), size=40)
    for name, parameters in COMPILED.items():
        start = time.perf_counter()
        getattr(ldl, name)(random_state=0, **parameters).fit(X, D).predict(X)
        print(f"compiled {name}: {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()

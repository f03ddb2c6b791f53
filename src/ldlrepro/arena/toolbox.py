"""Algorithms of python-ldl that the library has not, as methods of the arena.

They run with the defaults of python-ldl, in its own environment. Their seconds are those of its
processes.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ldl.comparison.contenders import Contender
from ldl.comparison.search import Found, Searched, Task, Tried
from ldlrepro.core.errors import UserError
from ldlrepro.peers.python_ldl import PythonLDL, interpreter

FAMILY = "python-ldl"
ALGORITHMS = (
    *("Delta_LDL", "LALOT", "LDL_DPM", "LDL_HVLC", "RKNN_LDL", "SNEFY_LDL", "S_CJS"),
    *("S_KLD", "S_LRR", "S_QFD2", "S_SCL", "Shallow_S_LDL", "TKLRLDL"),
)
SECONDS = 30.0
"""CPU seconds that a fit may take; after one that took longer, the other folds are not tried."""
OPTIONAL = ("CatBoost",)
"""Methods whose packages `make setup` does not install."""


def contenders() -> dict[str, Contender]:
    """Return the algorithms by name; none where python-ldl is not installed."""
    try:
        interpreter()
    except UserError:
        return {}
    return {
        f"{name} ({FAMILY})": Contender(
            f"{name} ({FAMILY})", FAMILY, partial(PythonLDL, name, time_limit=SECONDS), slow=True
        )
        for name in ALGORITHMS
    }


def fitted(contender: Contender, task: Task) -> Searched:
    """Fit an algorithm with its defaults, and predict."""
    model = contender.build({}, task.random_state)
    tried = [Tried({}, float("nan"), np.empty((0, task.D.shape[1])))]
    try:
        P = model.fit(task.X[task.train], task.D[task.train]).predict(task.X[task.test])
    except Exception as fault:  # it counts as the training mean
        return Searched(tried, {}, 0.0, f"{type(fault).__name__}: {fault}".splitlines()[0])
    spent = model.diagnostics_["elsewhere"]
    found = Found(P, [(1.0, {})], spent["fit_cpu_s"], spent["predict_cpu_s"])
    return Searched(tried, {"default": found}, 0.0)

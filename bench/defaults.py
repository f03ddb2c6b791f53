"""The source of the library's defaults: what settings give on rows that no fit has seen.

    python -m bench.defaults
    python -m bench.defaults --classes LDSVR --datasets sjaffe m2b

Only training rows of the first fold of the StructRF protocol take part; a fifth of them, drawn
anew for each cut, judges. Prints a table for each class. A cell holds the KL divergence, in
brackets the share of rows whose highest label is missed, and the CPU seconds of a fit with one
thread, means over cuts. The row in bold is the class's default.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.adapters import fold
from ldlrepro.core import numerics

DATASETS = ("sjaffe", "sbu_3dfe", "yeast_alpha", "natural_scene", "m2b", "yeast_spoem")
_PAPERS_BFGS = {
    "standardise": False,
    "fit_intercept": False,
    "l2": 0.0,
    "init": "identity",
    "pairs": 20,
    "tol": 0.0,
}
_RELEASED_HR = {"standardise": False, "ridge": 1e-4, "margin_weight": 1e4, "max_iter": 1000}
CANDIDATES: dict[str, dict[str, Mapping[str, Any]]] = {
    "SABFGS": {
        "the papers'": _PAPERS_BFGS,
        "10 pairs, tol 2.2e-9": {**_PAPERS_BFGS, "pairs": 10, "tol": 2.2e-9},
        "100 iterations": {**_PAPERS_BFGS, "max_iter": 100},
        "standardised, l2 10": {"l2": 10.0},
        "standardised, l2 30": {"l2": 30.0},
        "standardised, l2 100": {"l2": 100.0},
        "standardised, l2 30, tol 1e-6": {"l2": 30.0, "tol": 1e-6},
    },
    "LDLHR": {
        "the release's": _RELEASED_HR,
        "50 pairs, patience 100": {**_RELEASED_HR, "pairs": 50, "tol": 0.0, "patience": 100},
        "50 iterations": {**_RELEASED_HR, "max_iter": 50},
        "standardised, 50 iterations": {**_RELEASED_HR, "max_iter": 50, "standardise": True},
        "margin 10, ridge 100": {"margin_weight": 10.0, "ridge": 100.0},
        "margin 3, ridge 30": {"margin_weight": 3.0, "ridge": 30.0},
        "margin 3, ridge 100": {"margin_weight": 3.0, "ridge": 100.0},
        "margin 1, ridge 100": {"margin_weight": 1.0, "ridge": 100.0},
    },
    "CPNN": {
        "steps of exp(-6)": {"smallest_step": math.exp(-6.0)},
        "steps of 1e-6": {"smallest_step": 1e-6},
    },
    "LDSVR": {
        "C 1, zone 0.1": {"C": 1.0, "epsilon": 0.1, "width": 1.0},
        "C 10, zone 0.1": {"C": 10.0, "epsilon": 0.1, "width": 1.0},
        "C 100, zone 0.1": {"C": 100.0, "epsilon": 0.1, "width": 1.0},
        "C 10, zone 0.03": {"C": 10.0, "epsilon": 0.03, "width": 1.0},
        "C 10, zone 0.03, width 0.5": {"C": 10.0, "epsilon": 0.03, "width": 0.5},
        "C 30, zone 0.03": {"C": 30.0, "epsilon": 0.03, "width": 1.0},
    },
    "PTBayes": {
        "full": {"covariance": "full", "worth": None},
        "shrunk": {"covariance": "shrunk", "worth": None},
        "diag": {"covariance": "diag", "worth": None},
        "diag, worth 1": {"covariance": "diag", "worth": 1.0},
        "diag, worth 3": {"covariance": "diag", "worth": 3.0},
        "diag, worth 10": {"covariance": "diag", "worth": 10.0},
        "shrunk, worth 3": {"covariance": "shrunk", "worth": 3.0},
    },
    "TrainMean": {"mean label": {}},
}
"""The first settings of a class are those of its paper or release."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.defaults", description=__doc__)
    parser.add_argument("--classes", nargs="+", default=list(CANDIDATES), choices=CANDIDATES)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--cuts", type=int, default=4)
    given = parser.parse_args(arguments)
    numerics.pin()
    rows = {dataset: fold(dataset)[:2] for dataset in given.datasets}
    for name in given.classes:
        print(f"\n| {name} | {' | '.join(rows)} |\n|{'---|' * (len(rows) + 1)}")
        for words, settings in CANDIDATES[name].items():
            cells = [told(name, settings, X, D, given.cuts) for X, D in rows.values()]
            named = f"**{words}**" if is_default(name, settings) else words
            print(f"| {named} | {' | '.join(cells)} |", flush=True)


def is_default(name: str, settings: Mapping[str, Any]) -> bool:
    """Tell whether the class has these settings without being told."""
    import ldl

    kind = getattr(ldl, name)
    return bool(kind(**settings).get_params() == kind().get_params())


def told(name: str, settings: Mapping[str, Any], X: Any, D: Any, cuts: int) -> str:
    """Return a cell: divergence, share of highest labels missed, seconds."""
    import numpy as np

    import ldl

    getattr(ldl, name)(**settings).fit(X[:50], D[:50])  # loads and compiles
    divergence, missed, seconds = np.mean(
        [judged(name, settings, X, D, cut) for cut in range(cuts)], axis=0
    )
    return f"{divergence:.3g} ({missed:.2f}), {seconds:.2g} s"


def judged(
    name: str, settings: Mapping[str, Any], X: Any, D: Any, cut: int
) -> tuple[float, float, float]:
    """Return divergence, share of highest labels missed, and CPU seconds of the fit of a cut."""
    import numpy as np

    import ldl
    from ldl.metrics import kl

    order = np.random.default_rng(cut).permutation(len(D))
    held, rest = np.split(order, [len(D) // 5])
    model = getattr(ldl, name)(**settings)
    if "random_state" in model.get_params():
        model.set_params(random_state=cut)
    start = time.process_time()
    model.fit(X[rest], D[rest])
    seconds = time.process_time() - start
    P = model.predict(X[held])
    missed = P.argmax(axis=1) != D[held].argmax(axis=1)
    return kl(D[held], P), float(missed.mean()), seconds


if __name__ == "__main__":
    main()

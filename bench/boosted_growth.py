"""LDLDF's boosted trees, grown by our compiled code and by xgboost itself.

    python -m bench.boosted_growth --dataset sbu_3dfe --repeats 3

On the training rows of the first fold of the StructRF protocol, with the trees and depths of
LDLDF's layers: CPU seconds of a fit with one thread, in turn, and whether all outputs are the same.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.adapters import fold
from ldl.cascade._learners import BINS, Boosted, Settings
from ldlrepro.core import numerics
from ldlrepro.models import load


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.boosted_growth", description=__doc__)
    parser.add_argument("--dataset", default="sbu_3dfe")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2, 3, 4])
    given = parser.parse_args(arguments)
    numerics.pin()
    X, D, _, _ = fold(given.dataset)
    model: Any = load("ldldf")
    for layer in given.layers:
        asked = model._settings(layer - 1)
        for fit in (ours, theirs):
            fit(asked, X[:50], D[:50])  # loads and compiles
        print(f"layer {layer}: {compared(asked, X, D, given.repeats)}", flush=True)


def compared(asked: Settings, X: Any, D: np.ndarray, repeats: int) -> str:
    pairs = [(ours(asked, X, D), theirs(asked, X, D)) for _ in range(repeats)]
    mine, yours = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    ratio = statistics.median(b[0] / a[0] for a, b in pairs)
    same = all(np.array_equal(a[1], b[1]) for a, b in pairs)
    return (
        f"{asked.n_estimators} trees of depth {asked.max_depth}: {mine:.2f} s, "
        f"xgboost {yours:.2f} s, {ratio:.1f} times, {'same bits' if same else 'OTHER BITS'}"
    )


def ours(asked: Settings, X: Any, D: np.ndarray) -> tuple[float, np.ndarray]:
    start = time.process_time()
    P = Boosted(asked, 0).fit(X, D).predict(X)
    return time.process_time() - start, P


def theirs(asked: Settings, X: Any, D: np.ndarray) -> tuple[float, np.ndarray]:
    import xgboost

    parameters = Boosted(asked, 0).parameters
    start = time.process_time()
    data = xgboost.QuantileDMatrix(X, D, max_bin=BINS, nthread=1)
    P = xgboost.train(parameters, data, asked.n_estimators).inplace_predict(X)
    return time.process_time() - start, P


if __name__ == "__main__":
    main()

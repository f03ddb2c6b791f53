"""Time in which LDLogitBoost grows its trees, and a digest of what they predict.

    python -m bench.logit_growth --datasets sjaffe sbu_3dfe
    PYTHONPATH=/elsewhere/before/src:. python -m bench.logit_growth --datasets sjaffe sbu_3dfe

On the training rows of the first fold of the StructRF protocol, at most 2,000 of them, without a
choice of rounds: the median of CPU seconds with one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.adapters import fold
from ldlrepro.core import numerics
from ldlrepro.models import load

MOST_ROWS = 2000


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.logit_growth", description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=["sjaffe", "sbu_3dfe"])
    parser.add_argument("--method", default="ldlogitboost")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(arguments)
    numerics.pin()
    for dataset in given.datasets:
        X, D, _, _ = fold(dataset)
        told = measured(given.method, X[:MOST_ROWS], D[:MOST_ROWS], given.rounds, given.repeats)
        print(f"{dataset}: {told}", flush=True)


def measured(method: str, X: Any, D: np.ndarray, rounds: int, repeats: int) -> str:
    model: Any = load(method, max_iter=rounds, n_iter_no_change=None)
    model.fit(X[:50], D[:50])  # loads and compiles
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        model.fit(X, D)
        seconds.append(time.process_time() - start)
    digest = hashlib.sha256(model.predict(X).tobytes()).hexdigest()
    return f"{rounds} rounds: {statistics.median(seconds):.3f} s, predictions {digest[:12]}"


if __name__ == "__main__":
    main()

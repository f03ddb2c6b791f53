"""Where the time of a fit of LDLDF goes: forests, boosted trees, predictions, the rest.

    python -m bench.cascade_share --dataset sbu_3dfe --method ldldf

On the training rows of the first fold of the StructRF protocol, CPU seconds with one thread.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from bench.adapters import fold
from ldl.cascade import _learners
from ldlrepro.core import numerics
from ldlrepro.models import load

LEARNERS = {
    "forests": _learners.RFRegression,
    "boosted trees": _learners.Boosted,
    "neighbours": _learners.AAKNN,
    "linear": _learners.Linear,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.cascade_share", description=__doc__)
    parser.add_argument("--dataset", default="sbu_3dfe")
    parser.add_argument("--method", default="ldldf", help="a cascade of config/methods")
    given = parser.parse_args(arguments)
    numerics.pin()
    X, D, _, _ = fold(given.dataset)
    load(given.method, max_layers=1, random_state=0).fit(X[:50], D[:50])  # loads and compiles
    spent: dict[str, float] = defaultdict(float)
    for name, learner in LEARNERS.items():
        for step in ("fit", "predict"):
            setattr(learner, step, _timed(getattr(learner, step), spent, f"{name}, {step}"))
    start = time.process_time()
    load(given.method, random_state=0).fit(X, D)
    whole = time.process_time() - start
    print(f"{given.method} on {given.dataset}: {whole:.1f} CPU s")
    for what, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"{what}: {seconds:.1f} s, {seconds / whole:.0%}")
    rest = whole - sum(spent.values())
    print(f"the rest: {rest:.1f} s, {rest / whole:.0%}")


def _timed(step: Callable[..., Any], spent: dict[str, float], what: str) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        start = time.process_time()
        try:
            return step(*arguments)
        finally:
            spent[what] += time.process_time() - start

    return timed


if __name__ == "__main__":
    main()

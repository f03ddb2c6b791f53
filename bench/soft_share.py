"""Where the time of a fit of sLDLF goes: products, splits, routes, gradients, leaves, the rest.

    python -m bench.soft_share --dataset movie --set max_iter=1000
    python -m bench.soft_share --dataset movie --set depth=13 trees=1 units=null standardise=false

On the training rows of the first fold of the StructRF protocol, CPU seconds with one thread.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from bench.adapters import fold
from ldlrepro.core import numerics

MEANINGS = {
    "take": "rows of a batch",
    "__call__": "products of rows and weights",
    "log_sigmoids": "logarithms of the splits",
    "write_log_probabilities": "routes to the leaves",
    "pull": "pull of the leaves",
    "gradients": "gradients by the outputs",
    "move": "steps of the weights",
    "update": "updates of the leaves",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.soft_share", description=__doc__)
    parser.add_argument("--dataset", default="movie")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="parameters")
    given = parser.parse_args(arguments)
    parameters = {name: yaml.safe_load(value) for name, value in (p.split("=") for p in given.set)}
    numerics.pin()
    from ldl.soft_forests import _leaves, _linear, _routing
    from ldlrepro.models import load

    X, D, _, _ = fold(given.dataset)
    chosen = {"keep": "last", "random_state": 0, **parameters}
    load("sldlf", **chosen | {"max_iter": 3, "leaf_batches": 1}).fit(X, D)  # loads and compiles
    spent: dict[str, float] = defaultdict(float)
    for kind in (
        _linear.Rows,
        _linear.LinearMap,
        _routing.CompiledRouting,
        _leaves.DistributionLeaves,
    ):
        for name, meaning in MEANINGS.items():
            if name in vars(kind):
                setattr(kind, name, _timed(getattr(kind, name), spent, meaning))
    start = time.process_time()
    load("sldlf", **chosen).fit(X, D)
    whole = time.process_time() - start
    print(f"sLDLF on {given.dataset}, {' '.join(given.set)}: {whole:.2f} CPU s")
    for what in MEANINGS.values():
        print(f"{what}: {spent[what]:.2f} s, {spent[what] / whole:.0%}")
    rest = whole - sum(spent.values())
    print(f"the rest: {rest:.2f} s, {rest / whole:.0%}")


def _timed(step: Callable[..., Any], spent: dict[str, float], what: str) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return step(*arguments, **named)
        finally:
            spent[what] += time.process_time() - start

    return timed


if __name__ == "__main__":
    main()

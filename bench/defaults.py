"""Every estimator with the defaults of its class, on public data, beside the training mean.

    python -m bench.defaults                 measures what is missing, then writes docs/defaults.csv
    python -m bench.defaults --only CPNN     estimators with this in their name
    python -m bench.defaults --summary       prints what the results say and measures nothing

Results lie in ``results/defaults``, so that an interrupted run goes on. A result is measured again
when the code of its estimator has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ldl
from ldl.metrics import evaluate
from ldlrepro.catalogue import digests
from ldlrepro.core.files import write_text
from ldlrepro.data.registry import load

from .process import ROOT

RESULTS = ROOT / "results" / "defaults"
TABLE = ROOT / "docs" / "defaults.csv"
FOLDS, MOST_ROWS, SEED = 5, 2000, 2026
MEAN, NO_ESTIMATORS = "TrainMean", ("LDLEstimator", "RegressorMethod", "compare")
YEAST = ("alpha", "cdc", "cold", "diau", "dtt", "elu", "heat", "spo", "spo5", "spoem")
OF_PROJECT = (
    *("sjaffe", "sbu_3dfe", "movie", "natural_scene", "scut_fbp", "m2b", "m2b_lngoo", "jura", "wq"),
    *("fgnet_features", *(f"yeast_{name}" for name in YEAST)),
)
Table = tuple[np.ndarray, np.ndarray]


# ---------------------------------------------------------------------- data


def of_project(name: str) -> Table:
    data = load(name)
    return data.X.toarray() if hasattr(data.X, "tocsr") else data.X, data.D


def columns(name: str, targets: list[int]) -> Table:
    """Return a table of scikit-learn's whose ``targets``, as shares of their means, are labels."""
    import sklearn.datasets

    X = getattr(sklearn.datasets, f"load_{name}")().data
    return np.delete(X, targets, axis=1), X[:, targets] / X[:, targets].mean(axis=0)


def diabetes() -> Table:
    """Return normal densities about the progress of a disease, at seven degrees of it."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, np.exp(-((y[:, None] - np.linspace(50, 320, 7)) ** 2) / (2 * 45.0**2))


def digits() -> Table:
    """Return the left halves of digits; labels are the shares of ink in lines of the right."""
    from sklearn.datasets import load_digits

    images = load_digits().images
    return images[:, :, :4].reshape(len(images), -1), images[:, :, 4:].sum(axis=2)


def drawn(n: int, q: int, c: int, noise: float, zeros: bool) -> Table:
    """Draw features of all scales, and labels that depend on a few of them."""
    generator = np.random.default_rng([n, q, c])
    Z = generator.normal(size=(n, q))
    scores = np.tanh(Z[:, :5]) @ generator.normal(size=(5, c)) + Z[:, :1] * Z[:, 1:2]
    scores += noise * generator.normal(size=(n, c))
    D = np.exp(scores) - 0.3 * zeros
    return np.exp(0.5 * Z) * 10.0 ** generator.uniform(-3, 3, q), np.maximum(D, 1e-3 * (not zeros))


SETS: dict[str, Callable[[], Table]] = {
    "wine": lambda: columns("wine", [1, 5, 6, 9]),
    "breast_cancer": lambda: columns("breast_cancer", [5, 6, 7, 25, 26]),
    "diabetes": diabetes,
    "digits": digits,
    "drawn_280": lambda: drawn(280, 168, 3, 1.0, zeros=False),
    "drawn_500": lambda: drawn(500, 15, 6, 0.5, zeros=True),
    "drawn_1980": lambda: drawn(1980, 40, 14, 1.0, zeros=True),
    **{name: partial(of_project, name) for name in OF_PROJECT},
}


def read(name: str) -> Table:
    """Return features and distributions of rows whose labels are not all zero, at most 2,000."""
    X, D = SETS[name]()
    rows = np.flatnonzero(D.sum(axis=1) > 0)
    rows = np.sort(np.random.default_rng(SEED).permutation(rows)[:MOST_ROWS])
    X, D = np.asarray(X[rows], dtype=np.float64), np.asarray(D[rows], dtype=np.float64)
    return X, D / D.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------------- measurement


def measure(estimator: str, X: np.ndarray, D: np.ndarray, folds: int) -> dict[str, Any]:
    """Return mean KL and Chebyshev distance over the folds, and the CPU seconds of a fit."""
    parts = np.array_split(np.random.default_rng(SEED).permutation(len(X)), FOLDS)
    scores, seconds = [], []
    for test in parts[:folds]:
        train = np.setdiff1d(np.arange(len(X)), test)
        model = getattr(ldl, estimator)()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        started = time.process_time()
        model.fit(X[train], D[train])
        seconds.append(time.process_time() - started)
        found = evaluate(D[test], model.predict(X[test]))
        scores.append((found["kl"], found["chebyshev"]))
    kl, chebyshev = np.mean(scores, axis=0)
    return {"kl": kl, "chebyshev": chebyshev, "cpu_s": float(np.median(seconds)), "folds": folds}


def stored(estimator: str, name: str) -> Path:
    return RESULTS / f"{estimator}.{name}.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.defaults", description=__doc__)
    parser.add_argument("--only", default="", help="estimators with one of these in their names")
    parser.add_argument("--sets", default=",".join(SETS), help="data sets, with commas")
    parser.add_argument("--folds", type=int, default=FOLDS, help="folds of each data set")
    parser.add_argument("--summary", action="store_true", help="measure nothing")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    estimators = [n for n in ldl.__all__ if n not in NO_ESTIMATORS]
    names = [n for n in estimators if not getattr(ldl, n).accepts_images]
    wanted = [n for n in names if any(part in n for part in args.only.split(","))]
    codes = {estimator: digests.class_digest(f"ldl.{estimator}") for estimator in wanted}
    for name in () if args.summary else args.sets.split(","):
        X, D = read(name)
        for estimator in wanted:
            path = stored(estimator, name)
            known = json.loads(path.read_text()) if path.is_file() else {}
            if known.get("code") == codes[estimator] and known["folds"] >= args.folds:
                continue
            found = measure(estimator, X, D, args.folds) | {"code": codes[estimator]}
            write_text(path, json.dumps(found) + "\n")
            print(
                f"{name} {estimator} kl {found['kl']:.4g} {found['cpu_s']:.2f} s", file=sys.stderr
            )
    summarise(names)


def summarise(names: list[str]) -> None:
    """Print how often each estimator is worse than the training mean; write the table."""
    places = {(e, s): stored(e, s) for e in names for s in SETS}
    results = {key: json.loads(path.read_text()) for key, path in places.items() if path.is_file()}
    lines = ["estimator,data set,kl,kl of the training mean,chebyshev,cpu_s,folds"]
    for estimator in names:
        sets = [s for s in SETS if (estimator, s) in results and (MEAN, s) in results]
        ratios = {s: results[estimator, s]["kl"] / results[MEAN, s]["kl"] for s in sets}
        worse = {s: f"{r:.2f}" for s, r in ratios.items() if r > 1.0}
        mean = float(np.exp(np.mean(np.log(list(ratios.values()))))) if sets else np.nan
        slowest = max((results[estimator, s]["cpu_s"] for s in sets), default=np.nan)
        print(f"{estimator:22} {mean:.3f} {len(worse)}/{len(sets)} {slowest:6.2f} s", worse)
        for s in sets:
            r = results[estimator, s]
            lines.append(
                f"{estimator},{s},{r['kl']:.5g},{results[MEAN, s]['kl']:.5g},"
                f"{r['chebyshev']:.4g},{r['cpu_s']:.3g},{r['folds']}"
            )
    write_text(TABLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

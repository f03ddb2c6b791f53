"""Time and memory of fits by the number of rows, on drawn data.

    python -m bench.scale --rows 1000 10000 100000 --features 100 --labels 10
    python -m bench.scale --methods structrf --rows 1000000

Each fit runs in a process of its own, with one thread; 1,000 new rows are predicted. A method goes
on to more rows until a fit takes longer than the limit. Answers go into docs/scale.csv, line by
line, and those that stand there are not measured again. Picture and exponents are made from it.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.process import ROOT

TABLE = ROOT / "docs" / "scale.csv"
PICTURE = ROOT / "docs" / "pictures" / "scale.svg"
METHODS = {
    "structrf": "StructRF",
    "rf": "RF of the StructRF paper",
    "rf_reg": "regression forest",
    "sa_bfgs": "SA-BFGS",
    "aa_knn": "AA-kNN",
    "sldlf@max_iter=200": "sLDLF, 200 iterations",
    "ldldf@max_layers=1,judge_on=out_of_fold,output_layer=last": "LDLDF, one layer",
}
NEW_ROWS = 1000
COLUMNS = ("method", "rows", "features", "labels", "fit_s", "predict_s", "mb", "data_mb")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.scale", description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 3000, 10_000, 30_000])
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a fit")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        (method,), (rows,) = given.methods, given.rows
        print(json.dumps(measured(method, rows, given.features, given.labels)))
        return
    known = stored()
    for method in given.methods:
        for rows in sorted(given.rows):
            key = (method, rows, given.features, given.labels)
            if key not in known:
                known[key] = asked(*key, given.limit)
                store(known)
            fit_s = known[key]["fit_s"]
            print(f"{method}, {rows} rows: {fit_s or 'over the limit'}", flush=True)
            if not fit_s or fit_s > given.limit:
                break
    for method, (by_time, by_memory) in exponents(known).items():
        print(f"{method}: time grows as rows^{by_time:.2f}, memory as rows^{by_memory:.2f}")
    draw(known)


def measured(method: str, rows: int, features: int, labels: int) -> dict[str, Any]:
    """Fit once in this process; return CPU seconds, and the memory beyond that of the data."""
    from ldlrepro.core import numerics
    from ldlrepro.models import load

    numerics.pin()
    X, D = drawn(rows + NEW_ROWS, features, labels)
    model = load(method)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(X[:300], D[:300]).predict(X[:10])  # loads and compiles
    before = _peak_mb()
    fit_s = _cpu(lambda: model.fit(X[:rows], D[:rows]))
    predict_s = _cpu(lambda: model.predict(X[rows:]))
    data_mb = (X.nbytes + D.nbytes) * rows / len(X) / 2**20
    return {"fit_s": fit_s, "predict_s": predict_s, "mb": _peak_mb() - before, "data_mb": data_mb}


def drawn(rows: int, features: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal features, and labels that depend on at most ten of them."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((rows, features))
    used = X[:, :10]
    weights = generator.standard_normal((used.shape[1], labels))
    scores = 0.5 * np.tanh(used) @ weights + 0.3 * generator.standard_normal((rows, labels))
    D = np.exp(scores)
    return X, D / D.sum(axis=1, keepdims=True)


def _cpu(step: Any) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def asked(method: str, rows: int, features: int, labels: int, limit: float) -> dict[str, Any]:
    """Measure in a process of its own; empty answers where that takes too long."""
    sizes = ["--rows", str(rows), "--features", str(features), "--labels", str(labels)]
    command = [sys.executable, "-m", "bench.scale", "--one", "--methods", method, *sizes]
    try:
        done = subprocess.run(
            command, cwd=ROOT, timeout=limit + 60, check=True, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return dict.fromkeys(COLUMNS[4:], "")
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{method} on {rows} rows: {error.stderr.strip()}") from error
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {name: float(f"{value:.3g}") for name, value in found.items()}


# ---------------------------------------------------------------------- table and picture

Known = dict[tuple[str, int, int, int], dict[str, Any]]


def stored(path: Path = TABLE) -> Known:
    """Read the table; none where there is none yet."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return {
        (line["method"], int(line["rows"]), int(line["features"]), int(line["labels"])): {
            name: float(line[name]) if line[name] else "" for name in COLUMNS[4:]
        }
        for line in lines
    }


def store(known: Known, path: Path = TABLE) -> None:
    """Write the table in a fixed order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for key in sorted(known):
            out.writerow([*key, *(known[key][name] for name in COLUMNS[4:])])


def exponents(known: Known) -> dict[str, tuple[float, float]]:
    """Return the powers of the number of rows by which time and memory grow, from 3,000 rows on."""
    found = {}
    for method in dict.fromkeys(key[0] for key in sorted(known)):
        line = _line(known, method, 3000)
        if len(line) < 2:
            continue
        rows, time_s, memory = np.log(np.array(line, float).T)
        found[method] = (np.polyfit(rows, time_s, 1)[0], np.polyfit(rows, memory, 1)[0])
    return found


def _line(known: Known, method: str, least: int = 0) -> list[tuple[int, float, float]]:
    """Return rows, seconds of fit and prediction, and megabytes of a method on 100 features."""
    return [
        (rows, answer["fit_s"] + answer["predict_s"], answer["mb"] + answer["data_mb"])
        for (name, rows, features, _), answer in sorted(known.items())
        if name == method and features == 100 and rows >= least and answer["fit_s"]
    ]


def draw(known: Known, path: Path = PICTURE) -> None:
    """Draw time and memory by rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    for method, title in METHODS.items():
        line = _line(known, method)
        if line:
            rows, seconds, megabytes = zip(*line, strict=True)
            axes[0].loglog(rows, seconds, "o-", label=title, markersize=4)
            axes[1].loglog(rows, megabytes, "o-", label=title, markersize=4)
    axes[0].set(xlabel="rows", ylabel="CPU seconds, fit and 1,000 predictions")
    axes[1].set(xlabel="rows", ylabel="MB with the data")
    axes[1].legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()

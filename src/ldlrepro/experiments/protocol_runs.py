"""Ways to make folds that a paper may have used, and the scores that a method gets under them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl import AAKNN, metrics
from ldlrepro.catalogue import Method, Project, Protocol, digests
from ldlrepro.core.errors import UserError
from ldlrepro.core.kept_lines import KeptLines
from ldlrepro.core.seeds import rng_for, seed_for
from ldlrepro.data import Dataset
from ldlrepro.folds.making import bundled
from ldlrepro.folds.splits import Fold, make_folds
from ldlrepro.train import selection

MEASURES = tuple(metrics.BETTER)
IN_ORDER, SHUFFLED, PERSONS = (
    "10 folds, file order",
    "10 folds, shuffled",
    "10 folds, persons apart",
)
_IN_ORDER = {"scheme": "kfold", "folds": 10, "shuffle": False}
FOLDS: dict[str, dict[str, Any]] = {
    IN_ORDER: _IN_ORDER,
    f"{IN_ORDER}, size rounded": _IN_ORDER | {"fold_size": "nearest"},
    f"{IN_ORDER}, rest in the last": _IN_ORDER | {"fold_size": "down"},
    f"{IN_ORDER}, size rounded up": _IN_ORDER | {"fold_size": "up"},
    f"{IN_ORDER}, every tenth row": {"scheme": "strides", "folds": 10},
    "5 folds, file order": {"scheme": "kfold", "folds": 5, "shuffle": False},
    PERSONS: {"scheme": "leave_one_group_out", "folds": 10},
    SHUFFLED: {"scheme": "kfold", "folds": 10},
    "10 folds, stratified": {"scheme": "stratified", "folds": 10, "kind": SHUFFLED},
    "5 folds, shuffled": {"scheme": "kfold", "folds": 5},
    "10 times 10 folds": {"scheme": "kfold", "folds": 10, "repeats": 10},
    "10 splits, 80 %": {"scheme": "shuffle_split", "repeats": 10, "train_share": 0.8},
    "10 splits, 90 %": {"scheme": "shuffle_split", "repeats": 10, "train_share": 0.9},
}
"""Folds that are tried. Those of one kind are told apart among themselves only.

Folds in the order of the file differ in what becomes of the rows that ten does not divide: one more
row in each of the first folds, or folds of a size and the rest in the last.
"""
NEIGHBOURS = 100
"""Nearest rows that are kept of each row; where too few of them train, the method looks itself."""


def kind_of(folds: str) -> str:
    if "fold_size" in FOLDS[folds]:
        return IN_ORDER
    return str(FOLDS[folds].get("kind", folds))


def are_drawn(folds: str) -> bool:
    """Tell whether another seed gives other folds."""
    definition = FOLDS[folds]
    by_order = definition["scheme"] in ("leave_one_group_out", "strides")
    return not by_order and definition.get("shuffle", True)


def repeats_folds(folds: str) -> bool:
    return FOLDS[folds]["scheme"] == "kfold" and FOLDS[folds].get("repeats", 1) > 1


def number_of_folds(folds: str) -> int:
    definition = FOLDS[folds]
    return int(definition.get("folds", 1)) * int(definition.get("repeats", 1))


def folds_for(data: Dataset) -> list[str]:
    """Return the folds to try on a data set: each once, persons apart where they are known."""
    found: dict[str, list[Fold]] = {}
    for name in FOLDS:
        if name == PERSONS and data.groups is None:
            continue
        try:
            made = [] if are_drawn(name) else make(name, data, ())
        except UserError:  # too few rows for these folds
            continue
        if not (made and any(_are_same(made, other) for other in found.values())):
            found[name] = made
    return list(found)


def _are_same(one: list[Fold], other: list[Fold]) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(mine.test, theirs.test) for mine, theirs in zip(one, other, strict=True)
    )


def make(folds: str, data: Dataset, seed: tuple[object, ...]) -> list[Fold]:
    """Make folds by their name. Data sets with as many rows get the same ones from a seed."""
    definition = FOLDS[folds]
    if definition["scheme"] == "stratified":
        return _stratified(data.D.argmax(axis=1), definition["folds"], seed)
    if definition["scheme"] == "strides":
        count = int(definition["folds"])
        return _as_folds(np.arange(len(data.D)) % count, count)
    groups = data.groups
    if groups is not None and definition["scheme"] == "leave_one_group_out":
        groups = bundled(groups, definition["folds"])
    protocol = Protocol.model_validate({**definition, "text": folds})
    return make_folds(protocol, len(data.D), seed, groups)


def _as_folds(fold_of: np.ndarray, count: int) -> list[Fold]:
    nothing = np.array([], dtype=np.int64)
    return [
        Fold(0, fold, np.flatnonzero(fold_of != fold), nothing, np.flatnonzero(fold_of == fold))
        for fold in range(count)
    ]


def _stratified(label: np.ndarray, count: int, seed: tuple[object, ...]) -> list[Fold]:
    """Deal the shuffled rows of each strongest label out over the folds in turn."""
    shuffled = rng_for(*seed, "stratified").permutation(len(label))
    dealt = shuffled[np.argsort(label[shuffled], kind="stable")]
    fold_of = np.empty(len(label), dtype=np.int64)
    fold_of[dealt] = np.arange(len(label)) % count
    return _as_folds(fold_of, count)


class Runs:
    """Scores of settings on one data set under all folds, each computed once."""

    def __init__(self, project: Project, data: Dataset, seed: int, kept: KeptLines) -> None:
        self.project, self.data, self.seed, self.kept = project, data, seed, kept
        self._by_row: tuple[AAKNN, np.ndarray] | None = None

    def scores(self, setting: str, folds: str, number: int) -> np.ndarray:
        """Return means and deviations, measure by measure, for the seed of this number."""
        method = self.project.method(setting)
        deciding = [
            self.data.fingerprint["data_sha256"],
            digests.spec_digest(method, "kl"),
            digests.method_digest(method),
            FOLDS[folds],
            self.seed,
            MEASURES,
        ]
        name = f"{self.data.id}/{setting}/{folds}/{number}/{digests.tree_digest(deciding)[:16]}"
        if kept := self.kept.load(name):
            return np.array(kept["numbers"])
        made = make(folds, self.data, (self.seed, "protocols", folds, number))
        scores = np.array([self._score(method, fold, number) for fold in made])
        found = np.concatenate([scores.mean(axis=0), scores.std(axis=0, ddof=1)])
        self.kept.save(name, numbers=found.tolist())
        return found

    def _score(self, method: Method, fold: Fold, number: int) -> list[float]:
        X, D = self.data.X, self.data.D
        P = None
        if method.class_path == "ldl.AAKNN" and method.scaling == "none" and not method.grid:
            P = self._mean_of_neighbours(method.estimator().get_params()["n_neighbors"], fold)
        if P is None:
            place = (self.data.id, method.id, number, fold.repeat, fold.fold)
            seed = seed_for(self.seed, "protocols", *place)
            fitted = selection.run_fold(method, X, D, fold, select_by="kl", seed=seed)
            P = fitted.predictions
        scores = metrics.evaluate(D[fold.test], P)
        return [scores[name] for name in MEASURES]

    def _mean_of_neighbours(self, k: int, fold: Fold) -> np.ndarray | None:
        """Predict as AA-kNN does, with distances that all folds share; None where they end."""
        if self._by_row is None:
            model = AAKNN(min(NEIGHBOURS, len(self.data.D))).fit(self.data.X, self.data.D)
            self._by_row = model, model.kneighbors(self.data.X)
        model, by_row = self._by_row
        trains = np.zeros(len(self.data.D), dtype=bool)
        trains[fold.train] = True
        rows = by_row[fold.test]
        places = trains[rows].cumsum(axis=1)
        if places[:, -1].min() < k:
            return None
        chosen = rows[trains[rows] & (places <= k)].reshape(len(rows), k)
        return np.asarray(model.D_[chosen].mean(axis=1))

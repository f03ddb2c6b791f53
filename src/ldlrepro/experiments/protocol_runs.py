"""Ways to make folds that a paper may have used, and the scores that a method gets under them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldl import AAKNN, metrics
from ldlrepro.catalogue import Method, Project, Protocol, digests
from ldlrepro.core.checksums import sha256_of
from ldlrepro.core.errors import UserError
from ldlrepro.core.kept_lines import KeptLines
from ldlrepro.core.seeds import rng_for, seed_for
from ldlrepro.data import Dataset
from ldlrepro.folds.given import read_parts
from ldlrepro.folds.splits import Fold, make_folds
from ldlrepro.train import selection

MEASURES = (*metrics.BETTER, *metrics.LABEL_BETTER)
IN_ORDER, SHUFFLED, PERSONS = (
    "10 folds, file order",
    "10 folds, shuffled",
    "10 folds, persons apart",
)
CUTS = {"nearest": "size rounded", "down": "rest in the last", "up": "size rounded up"}
OVER_REPEATS = "deviation over repeats"
NEIGHBOURS = 100
"""Nearest rows that are kept of each row; where too few of them train, the method looks itself."""


@dataclass(frozen=True)
class Folds:
    """A way to make folds, and what its printed deviations are over."""

    name: str
    definition: Mapping[str, Any]
    """Scheme of folds, as a protocol's file would name it; some ways have one of their own."""
    over_repeats: bool = False
    """Whether deviations are those of the means of repeats, not of single folds."""
    given: Path | None = None
    """The table of folds that the authors published."""

    @property
    def kind(self) -> str:
        """Return what it is told apart by."""
        return (
            IN_ORDER if "fold_size" in self.definition else self.definition.get("kind", self.name)
        )

    @property
    def run_as(self) -> str:
        """Return the name of the same folds whatever deviations are over: one run gives both."""
        return self.name.removesuffix(f", {OVER_REPEATS}")

    @property
    def drawn(self) -> bool:
        """Tell whether another seed gives other folds."""
        by_order = self.definition["scheme"] in ("leave_one_group_out", "strides")
        return not (by_order or self.given) and self.definition.get("shuffle", True)

    @property
    def repeats(self) -> int:
        """Return how often all rows are tested; 1 for splits that are drawn one by one."""
        repeated = self.definition["scheme"] == "kfold"
        return int(self.definition.get("repeats", 1)) if repeated else 1

    @property
    def count(self) -> int:
        """Return the number of scores that a printed deviation is over."""
        repeats = int(self.definition.get("repeats", 1))
        return repeats if self.over_repeats else int(self.definition.get("folds") or 1) * repeats

    def make(self, data: Dataset, seed: tuple[object, ...]) -> list[Fold]:
        """Make the folds. Data sets with as many rows get the same ones from a seed."""
        definition, n = self.definition, len(data.D)
        if definition["scheme"] == "stratified":
            return _stratified(data.D.argmax(axis=1), definition["folds"], seed)
        if definition["scheme"] == "strides":
            return _as_folds(np.arange(n) % definition["folds"], definition["folds"])
        protocol = Protocol.model_validate({**definition, "text": self.name})
        if self.given:
            parts = read_parts(self.given, n, protocol.count_folds())
            return make_folds(protocol, n, seed, given=parts)
        return make_folds(protocol, n, seed, data.groups)


def _ways() -> Iterator[Folds]:
    in_order = {"scheme": "kfold", "folds": 10, "shuffle": False}
    yield Folds(IN_ORDER, in_order)
    for cut, words in CUTS.items():
        yield Folds(f"{IN_ORDER}, {words}", in_order | {"fold_size": cut})
    yield Folds(f"{IN_ORDER}, every tenth row", {"scheme": "strides", "folds": 10})
    yield Folds("5 folds, file order", {"scheme": "kfold", "folds": 5, "shuffle": False})
    yield Folds(PERSONS, {"scheme": "leave_one_group_out", "folds": 10})
    yield Folds(SHUFFLED, {"scheme": "kfold", "folds": 10})
    yield Folds("10 folds, stratified", {"scheme": "stratified", "folds": 10, "kind": SHUFFLED})
    yield Folds("5 folds, shuffled", {"scheme": "kfold", "folds": 5})
    for count in (10, 5):
        yield from repeated({"scheme": "kfold", "folds": count, "repeats": 10})
    for percent in (80, 90):
        share = {"scheme": "shuffle_split", "repeats": 10, "train_share": percent / 100}
        yield Folds(f"10 splits, {percent} %", share)


def repeated(definition: Mapping[str, Any]) -> list[Folds]:
    """Return repeated folds with both deviations that a paper may print."""
    name = f"{definition['repeats']} times {definition['folds']} folds"
    return [Folds(name, definition), Folds(f"{name}, {OVER_REPEATS}", definition, True)]


FOLDS = {folds.name: folds for folds in _ways()}
"""Folds that are tried. Those of one kind are told apart among themselves only.

Folds in the order of the file differ in what becomes of the rows that ten does not divide: one more
row in each of the first folds, or folds of a size and the rest in the last.
"""


def stated_by(protocol: Protocol, data: Dataset) -> list[Folds]:
    """Return the folds that a protocol states; where it repeats them, with either deviation."""
    if protocol.scheme == "parts" or protocol.by_print:
        return []
    keys = ("scheme", "folds", "repeats", "shuffle", "fold_size", "train_share")
    definition = {key: getattr(protocol, key) for key in keys if key in protocol.model_fields_set}
    if protocol.scheme == "leave_one_group_out" and data.groups is not None:
        definition.setdefault("folds", len(np.unique(data.groups)))
    if given := protocol.published_folds(data.id):
        return [Folds("published folds", definition, given=given)]
    if protocol.scheme == "kfold" and protocol.repeats > 1:
        ways = repeated(definition)
    else:
        ways = [Folds(_in_words(protocol, definition), definition)]
    return [FOLDS.get(way.name, way) for way in ways]


def _in_words(protocol: Protocol, definition: Mapping[str, Any]) -> str:
    if protocol.scheme == "shuffle_split":
        return f"{protocol.repeats} splits, {100 * (protocol.train_share or 0):g} %"
    folds = f"{definition.get('folds')} folds"
    if protocol.scheme == "leave_one_group_out":
        return f"{folds}, persons apart"
    order = "shuffled" if protocol.shuffle else "file order"
    cut = CUTS.get(protocol.fold_size)
    return f"{folds}, {order}" + (f", {cut}" if cut else "")


def folds_for(data: Dataset, stated: Sequence[Folds] = ()) -> list[Folds]:
    """Return the folds to try on a data set: each once, persons apart where they are known.

    The stated ones are always among them, if they can be made here.
    """
    found: dict[str, tuple[Folds, list[Fold]]] = {}
    for folds in {folds.name: folds for folds in (*stated, *FOLDS.values())}.values():
        if folds.definition["scheme"] == "leave_one_group_out" and data.groups is None:
            continue
        try:
            made = [] if folds.drawn else folds.make(data, ())
        except UserError:  # too few rows for these folds
            continue
        if not (made and any(_are_same(made, other) for _, other in found.values())):
            found[folds.name] = folds, made
    return [folds for folds, _ in found.values()]


def _are_same(one: list[Fold], other: list[Fold]) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(mine.test, theirs.test) for mine, theirs in zip(one, other, strict=True)
    )


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


def _mean_and_deviation(scores: np.ndarray) -> list[float]:
    both = np.concatenate([scores.mean(axis=0), scores.std(axis=0, ddof=1)])
    return [float(number) for number in both]


class Runs:
    """Scores of settings on one data set under all folds, each computed once."""

    def __init__(self, project: Project, data: Dataset, seed: int, kept: KeptLines) -> None:
        self.project, self.data, self.seed, self.kept = project, data, seed, kept
        self._by_row: tuple[AAKNN, np.ndarray] | None = None

    def scores(self, setting: str, folds: Folds, number: int) -> np.ndarray:
        """Return means and deviations, measure by measure, for the seed of this number."""
        method = self.project.method(setting)
        published = [sha256_of(folds.given)] if folds.given else []
        deciding = [
            self.data.fingerprint["data_sha256"],
            digests.spec_digest(method, "kl"),
            digests.method_digest(method),
            folds.definition,
            self.seed,
            MEASURES,
            *published,
        ]
        name = f"{self.data.id}/{setting}/{folds.run_as}/{number}"
        name += f"/{digests.tree_digest(deciding)[:16]}"
        kept = self.kept.load(name)
        if kept is None or (folds.over_repeats and "over_repeats" not in kept):
            kept = self._computed(method, folds, number)
            self.kept.save(name, **kept)
        return np.array(kept["over_repeats" if folds.over_repeats else "numbers"])

    def _computed(self, method: Method, folds: Folds, number: int) -> dict[str, list[float]]:
        """Return means and deviations over the folds and, where they are repeated, over repeats."""
        made = folds.make(self.data, (self.seed, "protocols", folds.run_as, number))
        scores = np.array([self._score(method, fold, number) for fold in made])
        found = {"numbers": _mean_and_deviation(scores)}
        if folds.repeats > 1:
            means = scores.reshape(folds.repeats, -1, len(MEASURES)).mean(axis=1)
            found["over_repeats"] = _mean_and_deviation(means)
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
        scores = metrics.evaluate(D[fold.test], P) | metrics.label_errors(D[fold.test], P)
        return [scores[name] for name in MEASURES]

    def _mean_of_neighbours(self, k: int, fold: Fold) -> np.ndarray | None:
        """Predict as AA-kNN does, with distances that all folds share; None where they end."""
        if self._by_row is None:
            model = AAKNN(
                min(NEIGHBOURS, len(self.data.D)), standardise=False, mean_share=None
            ).fit(self.data.X, self.data.D)
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

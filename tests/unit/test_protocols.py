"""Tests of the search for protocols: folds that made a print are recognised from its digits."""

from __future__ import annotations

import numpy as np
import pytest

from ldl import AAKNN
from ldlrepro.core.kept_lines import KeptLines
from ldlrepro.data import Dataset
from ldlrepro.experiments import protocols
from ldlrepro.experiments.printed_digits import Printed, as_printed
from ldlrepro.experiments.protocol_runs import (
    FOLDS,
    IN_ORDER,
    MEASURES,
    OVER_REPEATS,
    SHUFFLED,
    Runs,
    folds_for,
)
from tests.unit.judged import PROJECT

SPLITS = "10 splits, 80 %"
SEEDS = 20
COUNTS = ("aa_knn", "aa_knn@n_neighbors=8")
ASKED = {"settings": COUNTS, "seeds": SEEDS}
UNSEEN = 1000
"""Number of a seed that the search does not try."""


def rows_in(order: str, n: int = 300) -> Dataset:
    """Draw rows that drift, so that neighbours in the file are alike; or mix them.

    Rows that are ``uneven`` are not alike, but some stretches are noisier than others.
    """
    rng = np.random.default_rng(5)
    if order == "uneven":
        X = rng.normal(size=(n, 3))
        noise = np.repeat(rng.permutation(np.linspace(0.05, 1.5, n // 30)), 30)
        strength = np.exp(X + noise[:, None] * rng.normal(size=(n, 3)))
        return _dataset(order, X, strength / strength.sum(axis=1, keepdims=True))
    drift = np.repeat(rng.normal(size=(n // 15, 3)), 15, axis=0)
    X = drift + rng.normal(scale=0.7, size=(n, 3))
    strength = np.exp(drift + rng.normal(scale=0.4, size=(n, 3)))
    D = strength / strength.sum(axis=1, keepdims=True)
    if order == "mixed":
        mixed = rng.permutation(n)
        X, D = X[mixed], D[mixed]
    return _dataset(order, X, D)


def _dataset(order: str, X: np.ndarray, D: np.ndarray) -> Dataset:
    fingerprint = {"data_sha256": order}
    return Dataset(id="drawn", X=X, D=D, labels=["a", "b", "c"], fingerprint=fingerprint)


class Drawn:
    """Scores on drawn rows, and prints of them."""

    def __init__(self, order: str, folder) -> None:
        self.folder, self.data = folder, rows_in(order)
        self.scores = Runs(PROJECT, self.data, 2026, KeptLines(folder / f"{order}.jsonl")).scores

    def print_of(self, setting: str, folds: str, seed: int) -> Printed:
        """Print the scores as a paper would: six measures, four decimals."""
        texts = [f"{number:.4f}" for number in self.scores(setting, FOLDS[folds], seed)]
        for place in range(len(MEASURES)):
            if place >= 6:
                texts[place] = texts[len(MEASURES) + place] = ""
        return as_printed(texts[: len(MEASURES)], texts[len(MEASURES) :])

    def conclude(self, printed: Printed, **more):
        asked = {**ASKED, **more}
        return protocols.Ways(self.scores, folds_for(self.data), asked, printed).conclude()


@pytest.fixture(scope="module")
def drifting(tmp_path_factory):
    return Drawn("drifting", tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return Drawn("mixed", tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("setting", COUNTS)
def test_folds_in_the_order_of_the_file_are_told_with_their_count(setting, drifting):
    found = drifting.conclude(drifting.print_of(setting, IN_ORDER, 0))
    assert (found.best.folds, found.best.setting) == (IN_ORDER, setting)
    assert (found.verdict, found.setting_verdict) == ("told", "told")
    assert found.runner_up.as_strong == 0
    assert found.inside == 12


@pytest.mark.parametrize("setting", COUNTS)
def test_shuffled_folds_and_their_count_are_told_from_the_order_and_from_splits(setting, drifting):
    printed = drifting.print_of(setting, SHUFFLED, UNSEEN)
    found = drifting.conclude(printed)
    assert (found.best.kind, found.best.setting) == (SHUFFLED, setting)
    assert found.setting_verdict == "told"
    assert found.against[IN_ORDER].chance <= 0.05
    assert found.against[SPLITS].chance <= 0.2


def test_shuffled_folds_of_mixed_rows_are_not_taken_for_the_order_of_the_file(mixed):
    for seed in range(UNSEEN, UNSEEN + 10):
        found = mixed.conclude(mixed.print_of("aa_knn", SHUFFLED, seed))
        assert (found.best.folds, found.verdict) != (IN_ORDER, "told")


def test_neighbours_of_shared_distances_are_those_of_the_method(mixed, tmp_path):
    runs = Runs(PROJECT, mixed.data, 1, KeptLines(tmp_path / "x"))
    for folds in (SHUFFLED, IN_ORDER, SPLITS):
        for fold in FOLDS[folds].make(mixed.data, ("seed",)):
            model = AAKNN(4, standardise=False, mean_share=None).fit(
                mixed.data.X[fold.train], mixed.data.D[fold.train]
            )
            theirs = model.predict(mixed.data.X[fold.test])
            np.testing.assert_allclose(runs._mean_of_neighbours(4, fold), theirs, rtol=1e-12)


def test_scores_are_computed_once_and_survive_half_a_line(tmp_path):
    data = rows_in("mixed")
    place = tmp_path / "kept.jsonl"
    first = Runs(PROJECT, data, 2026, KeptLines(place)).scores("aa_knn", FOLDS[SHUFFLED], 0)
    with open(place, "a", encoding="utf-8") as handle:
        handle.write('\n{"key": "half')
    again = KeptLines(place)
    (line,) = again.lines.values()
    assert line["numbers"] == first.tolist()
    again.lines[line["key"]] = {**line, "numbers": [0.0] * len(first)}
    assert not Runs(PROJECT, data, 2026, again).scores("aa_knn", FOLDS[SHUFFLED], 0).any()
    assert Runs(PROJECT, data, 2027, again).scores("aa_knn", FOLDS[SHUFFLED], 0).any()


# ---------------------------------------------------------------------- repeats, stated folds

TEN_TIMES_FIVE = "10 times 5 folds"


def test_a_planted_deviation_over_repeats_is_recognised(mixed):
    planted = f"{TEN_TIMES_FIVE}, {OVER_REPEATS}"
    found = mixed.conclude(mixed.print_of("aa_knn", planted, UNSEEN), repeats=True)
    assert found.best.folds == planted
    assert found.verdict == "told"
    assert found.against[SHUFFLED].as_strong == found.against[TEN_TIMES_FIVE].as_strong == 0

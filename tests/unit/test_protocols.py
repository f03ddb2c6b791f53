"""Tests of the search for protocols: folds that made a print are recognised from its digits."""

from __future__ import annotations

import numpy as np
import pytest

from ldlrepro.data import Dataset
from ldlrepro.experiments import protocols
from ldlrepro.experiments.protocols import (
    CANDIDATES,
    MEASURES,
    Printed,
    Scores,
    as_printed,
    conclude,
    distance,
    try_all,
)

IN_ORDER, SHUFFLED, SPLITS = "10 folds, file order", protocols.SHUFFLED, "10 splits, 80 %"
SEEDS = 20
COUNTS = ("aa_knn", "aa_knn@n_neighbors=8")
ASKED = {"settings": COUNTS}


def rows_in(order: str, n: int = 300) -> Dataset:
    """Draw a data set whose rows drift, so that neighbours in the file are alike; or mix them."""
    rng = np.random.default_rng(5)
    drift = np.repeat(rng.normal(size=(n // 15, 3)), 15, axis=0)
    X = drift + rng.normal(scale=0.7, size=(n, 3))
    strength = np.exp(drift + rng.normal(scale=0.4, size=(n, 3)))
    D = strength / strength.sum(axis=1, keepdims=True)
    if order == "mixed":
        mixed = rng.permutation(n)
        X, D = X[mixed], D[mixed]
    return Dataset(
        id="drawn",
        X=X,
        D=D,
        labels=["a", "b", "c"],
        fingerprint={"data_sha256": order},
    )


class Runs:
    """Scores on drawn rows, as the experiment computes them."""

    def __init__(self, order: str, tmp_path) -> None:
        kept = protocols._Kept(tmp_path / "kept.jsonl")
        self.data = rows_in(order)
        self.scores = protocols._Runs(self.data, 2026, kept).scores

    def print_of(self, setting: str, candidate: str, seed: int) -> Printed:
        """Print the scores of a candidate as a paper would: four decimals."""
        scores = self.scores(setting, candidate, seed)
        texts = [
            (f"{mean:.4f}", f"{deviation:.4f}")
            for mean, deviation in zip(scores.means, scores.deviations, strict=True)
        ]
        return as_printed(texts)

    def conclude(self, printed: Printed):
        candidates = protocols.candidates_for(self.data)
        return conclude(try_all(self.scores, candidates, ASKED, SEEDS, printed))


@pytest.mark.parametrize("setting", COUNTS)
def test_folds_in_the_order_of_the_file_are_told_with_their_count(setting, tmp_path):
    runs = Runs("drifting", tmp_path)
    found = runs.conclude(runs.print_of(setting, IN_ORDER, 0))
    assert (found.best.candidate, found.best.setting) == (IN_ORDER, setting)
    assert (found.verdict, found.as_near) == ("told", 0)
    assert found.best.typical < 0.01


@pytest.mark.parametrize("setting", COUNTS)
def test_shuffled_folds_of_a_seed_that_is_not_tried_are_told_from_splits(setting, tmp_path):
    runs = Runs("drifting", tmp_path)
    found = runs.conclude(runs.print_of(setting, SHUFFLED, 1000))
    assert protocols._kind(found.best.candidate) == SHUFFLED
    assert found.best.setting == setting
    splits = [
        one for one in all_tried(runs, runs.print_of(setting, SHUFFLED, 1000)) if SPLITS in one
    ]
    assert splits[0][1] > found.best.typical


def all_tried(runs: Runs, printed: Printed) -> list[tuple[str, float]]:
    tried = try_all(runs.scores, protocols.candidates_for(runs.data), ASKED, SEEDS, printed)
    return sorted(((one.candidate, one.typical) for one in tried), key=lambda pair: pair[1])


def test_order_of_mixed_rows_cannot_be_told_from_a_shuffle(tmp_path):
    runs = Runs("mixed", tmp_path)
    found = runs.conclude(runs.print_of("aa_knn", SHUFFLED, 1000))
    assert found.best.candidate != IN_ORDER or found.verdict == protocols.CANNOT


def test_deviations_tell_what_means_do_not(tmp_path):
    """Keep the means of shuffled folds and print the deviations of stretches of the file."""
    runs = Runs("drifting", tmp_path)
    in_order = runs.print_of("aa_knn", IN_ORDER, 0)
    without = Printed(
        in_order.means,
        in_order.means_round,
        tuple(float("nan") for _ in MEASURES),
        in_order.deviations_round,
    )
    unit = protocols.spread([runs.scores("aa_knn", SHUFFLED, seed) for seed in range(SEEDS)])
    shuffled = runs.scores("aa_knn", SHUFFLED, 3)
    mixed = Scores(runs.scores("aa_knn", IN_ORDER, 0).means, shuffled.deviations)
    assert distance(mixed, without, unit) == 0
    assert distance(mixed, in_order, unit) > 0.5


def test_one_misprint_does_not_decide(tmp_path):
    runs = Runs("drifting", tmp_path)
    printed = runs.print_of("aa_knn", IN_ORDER, 0)
    wrong = Printed((9.0, *printed.means[1:]), *vars_of(printed)[1:])
    found = runs.conclude(wrong)
    assert (found.best.candidate, found.verdict) == (IN_ORDER, "told")
    assert printed.agree(found.best.nearest) - wrong.agree(found.best.nearest) == 1


def vars_of(printed: Printed) -> list[tuple[float, ...]]:
    return [
        printed.means,
        printed.means_round,
        printed.deviations,
        printed.deviations_round,
    ]


def test_print_that_no_folds_make_fits_none(tmp_path):
    runs = Runs("drifting", tmp_path)
    printed = runs.print_of("aa_knn", IN_ORDER, 0)
    means, room, deviations, room_too = vars_of(printed)
    doubled = Printed(
        tuple(2 * mean for mean in means), room, tuple(3 * one for one in deviations), room_too
    )
    assert runs.conclude(doubled).verdict == "none fits"


def test_neighbours_of_shared_distances_are_those_of_the_method(tmp_path):
    from ldl import AAKNN

    data = rows_in("mixed")
    fold = protocols.candidate_folds(SHUFFLED, data, ("seed",))[0]
    shared = protocols._Runs(data, 1, protocols._Kept(tmp_path / "x"))._mean_of_neighbours(4, fold)
    theirs = AAKNN(4).fit(data.X[fold.train], data.D[fold.train]).predict(data.X[fold.test])
    np.testing.assert_allclose(shared, theirs, atol=1e-12)


def test_every_candidate_tests_each_row_once_or_is_a_split():
    data = rows_in("mixed")
    for candidate in protocols.candidates_for(data):
        folds = protocols.candidate_folds(candidate, data, ("seed",))
        tested = np.sort(np.concatenate([fold.test for fold in folds]))
        if CANDIDATES[candidate]["scheme"] != "shuffle_split":
            assert tested.tolist() == list(range(len(data.D)))
        assert all(set(fold.train).isdisjoint(fold.test) for fold in folds)


def test_stratified_folds_hold_as_many_of_each_label():
    data = rows_in("mixed")
    label = data.D.argmax(axis=1)
    for fold in protocols.candidate_folds("10 folds, stratified", data, ("seed",)):
        counts, everywhere = np.bincount(label[fold.test]), np.bincount(label) / 10
        assert np.abs(counts - everywhere).max() <= 1


def test_scores_are_computed_once(tmp_path):
    runs = Runs("mixed", tmp_path)
    first = runs.scores("aa_knn", SHUFFLED, 0)
    again = protocols._Kept(tmp_path / "kept.jsonl")
    assert list(again.lines.values()) == [first]

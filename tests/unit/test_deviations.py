"""What printed deviations are over: folds, repeats, or neither of ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ldlrepro.judge.bands import Band, SeedNoise
from ldlrepro.judge.deviations import over_repeats, printed_over
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.judge.verdicts import FOLDS, NEITHER, REPEATS
from ldlrepro.train.records import FoldRow
from tests.unit.protocols import protocol

SEEDS = 20
MEASURE = "kl"


def unit_under(**definition: Any) -> Any:
    made = protocol({"scheme": "kfold", "folds": 10, **definition}, "p")
    data_set, method = SimpleNamespace(id="faces"), SimpleNamespace(id="knn", draws=False)
    return SimpleNamespace(protocol=made, data_set=data_set, method=method)


def repeated(seed: int = 0) -> Band:
    """Ten folds repeated with other seeds: the means differ far less than the folds do."""
    rng = np.random.default_rng(seed)
    return Band("knn", MEASURE, tuple(0.05 + 0.0004 * rng.standard_normal(SEEDS)), 0.004)


def scored(repeats: int = 1) -> UnitScores:
    """Scores of ten folds, the means of whose repeats differ by .001."""
    places = [(repeat, fold) for repeat in range(repeats) for fold in range(10)]
    rows = [FoldRow("p", "faces", "knn", repeat, fold, "ok") for repeat, fold in places]
    values = [0.05 + 0.001 * repeat + 0.004 * (-1) ** fold for repeat, fold in places]
    return UnitScores("p", "faces", "knn", rows, {MEASURE: values}, LOCAL)


def noise_of(*bands: Band) -> SeedNoise:
    return SeedNoise({("p", "faces"): list(bands)} if bands else {}, {})


def test_planted_deviations_are_recognised_for_what_they_are_over() -> None:
    rng = np.random.default_rng(1)
    noise = noise_of(repeated())
    found = {FOLDS: [], REPEATS: [], NEITHER: []}
    for _ in range(50):
        over_folds = 0.004 * np.std(rng.standard_normal(10), ddof=1)
        repeats = over_repeats(unit_under(), scored(), MEASURE, over_folds, noise)
        for what, size in ((FOLDS, 0.004), (REPEATS, 0.0004), (NEITHER, 0.04)):
            printed = size * np.std(rng.standard_normal(10), ddof=1)
            found[what].append(printed_over(f"{printed:.6f}", over_folds, 10, repeats))
    for what, told in found.items():
        assert told.count(what) >= 45, what
    assert NEITHER not in found[FOLDS]


def test_repeats_are_measured_where_the_unit_was_repeated_else_estimated() -> None:
    measured = over_repeats(unit_under(), scored(), MEASURE, 0.004, noise_of(repeated()))
    assert measured.value == pytest.approx(repeated().std)
    assert (measured.freedom, measured.printed_freedom) == (SEEDS - 1, 9)
    elsewhere = SeedNoise({}, {("other", "faces"): [repeated()]})
    estimated = over_repeats(unit_under(), scored(), MEASURE, 0.008, elsewhere)
    assert estimated.value == pytest.approx(2 * repeated().std)
    assert estimated.freedom < measured.freedom


def test_splits_are_no_repeats_and_then_nothing_is_told_of_other_folds() -> None:
    splits = unit_under(scheme="shuffle_split", repeats=10, train_share=0.8)
    assert over_repeats(splits, scored(), MEASURE, 0.004, noise_of(repeated())) is None
    assert printed_over("0.0004", 0.004, 10, None) == ""
    assert printed_over("0.0038", 0.004, 10, None) == FOLDS
    assert printed_over("", 0.004, 10, None) == ""

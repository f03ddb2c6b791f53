"""Persons kept apart: told from the order of rows, bundled into folds, compared with shuffling."""

from __future__ import annotations

import numpy as np
import pytest

from ldl import metrics
from ldlrepro.folds.splits import make_folds
from ldlrepro.judge.persons import persons_apart
from ldlrepro.judge.scores import UnitScores
from papers.structrf.row_order import best_cut
from tests.report_pages import measured
from tests.unit.judged import with_protocols
from tests.unit.protocols import protocol

PROTOCOLS = with_protocols(
    paper={}, paper_persons={"scheme": "leave_one_group_out", "repeats_of": "paper"}
)
BY_PERSON = {"scheme": "leave_one_group_out", "folds": 5}


def test_the_best_cut_is_the_best_of_all_cuts() -> None:
    X = np.random.default_rng(5).normal(size=(12, 3))

    def spread(sizes: list[int]) -> float:
        parts = np.split(X, np.cumsum(sizes)[:-1])
        return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)

    every = [[a, b, 12 - a - b] for a in range(2, 8) for b in range(2, 8) if 2 <= 12 - a - b <= 7]
    assert spread(best_cut(X, 3, 2, 7)) == pytest.approx(min(map(spread, every)))


def test_bundles_hold_whole_persons_as_many_each_and_others_in_each_repeat() -> None:
    groups = np.repeat(np.arange(10), [1, 5, 2, 2, 9, 1, 1, 3, 4, 2])
    made = make_folds(protocol({**BY_PERSON, "repeats": 3}), 30, (1,), groups)
    persons = [frozenset(groups[fold.test]) for fold in made]
    assert [len(some) for some in persons] == [2] * 15
    for repeat in range(3):
        assert set.union(*map(set, persons[5 * repeat : 5 * repeat + 5])) == set(range(10))
    assert persons[0] == {0, 1}
    assert len(set(persons)) > 10


@pytest.fixture
def units():
    def make(protocol: str, method: str, kl: float) -> UnitScores:
        scores = {measure: [kl - 0.01, kl + 0.01] for measure in metrics.BETTER}
        return measured((protocol, "faces", method), scores)

    values = {
        "train_mean": (0.10, 0.11),
        "aa_knn": (0.04, 0.08),
        "sa_bfgs": (0.05, 0.06),
        "rf": (0.06, 0.09),
        "true_labels": (0.0, 0.0),
    }
    return [
        make(protocol, method, value)
        for method, both in values.items()
        for protocol, value in zip(("paper", "paper_persons"), both, strict=True)
    ]


def test_what_is_lost_is_measured_against_the_training_mean(units) -> None:
    (found,) = persons_apart(units, PROTOCOLS)
    lost = {line.method: line.lost for line in found.lines}
    assert lost == {
        "aa_knn": pytest.approx(0.5),  # gained .06, gains .03
        "sa_bfgs": pytest.approx(0.0),
        "rf": pytest.approx(0.5),
    }


def test_places_change_and_controls_have_none(units) -> None:
    (found,) = persons_apart(units, PROTOCOLS)
    places = [(line.method, line.rank_mixed, line.rank_apart) for line in found.lines]
    assert places == [("aa_knn", 1, 2), ("sa_bfgs", 2, 1), ("rf", 3, 3)]
    assert found.agreement["kl"] == pytest.approx(1 / 3)  # one of three pairs turned round

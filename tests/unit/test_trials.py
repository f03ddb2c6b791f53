"""`ldlrepro try`: methods compared on rows cut from training rows; no test row is looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldlrepro.catalogue import Protocol
from ldlrepro.judge.trials import cuts

TRIALS = Path("results/trials/tiny/toy.jsonl")
SHUFFLED = Protocol(scheme="kfold", folds=4, validation="next_fold", text="four folds")
APART = Protocol(scheme="leave_one_group_out", text="each person once")


# ---------------------------------------------------------------------- cuts


def test_all_rows_of_a_cut_are_training_rows_and_none_is_on_both_sides():
    train = np.arange(5, 105)
    made = cuts(SHUFFLED, train, None, 6, ("seed",))
    assert len(made) == 6
    for cut in made:
        assert sorted([*cut.train, *cut.test]) == train.tolist()
        assert len(cut.test) == 20
        assert set(cut.validation) <= set(cut.train)
        assert len(cut.validation) == 8
    assert len({tuple(cut.test) for cut in made}) == 6


def test_persons_stay_whole_where_the_protocol_keeps_them_apart():
    groups = np.repeat(np.arange(30), 5)
    train = np.flatnonzero(groups >= 10)
    for cut in cuts(APART, train, groups, 5, ("seed",)):
        held = set(groups[cut.test])
        assert len(held) == 4
        assert not held & set(groups[cut.train])
        assert len(cut.validation) == 0
    mixed = cuts(SHUFFLED, train, groups, 1, ("seed",))[0]
    assert set(groups[mixed.test]) & set(groups[mixed.train])


# ---------------------------------------------------------------------- the answer


def test_a_line_for_each_method_and_the_first_is_what_the_others_stand_to(ready, ask):
    status, out, err = ask("try", "tiny", "toy", "near", "near@n_neighbors=30", "train_mean")
    assert status == 0
    _, _, head, *lines = out.partition("\n...")[0].splitlines()
    assert head.split()[:2] == ["method", "kl"]
    assert [line.split()[0] for line in filter(None, lines)] == [
        "near",
        "near@n_neighbors=30",
        "train_mean",
    ]
    assert " of 5" not in lines[0]
    assert "0 of 5" in lines[2]
    assert "15 of 15: train_mean, cut 4, kl" in err


# ---------------------------------------------------------------------- kept


def test_a_trial_goes_on_with_what_an_earlier_one_has_done(ready, ask):
    _, out, _ = ask("try", "tiny", "toy", "near", "--cuts", "2")
    lines = TRIALS.read_text(encoding="utf-8").split("\n")
    TRIALS.write_text("\n".join([*lines[:-1], lines[-1][:30]]), encoding="utf-8")  # killed in it
    _, again, err = ask("try", "tiny", "toy", "near", "--cuts", "2")
    assert [line.endswith("from an earlier trial") for line in err.splitlines()] == [True, False]
    assert again.split()[:20] == out.split()[:20]
    _, _, err = ask("try", "tiny", "toy", "near", "--cuts", "2")
    assert err.count("from an earlier trial") == 2


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["near", "--fold", "4"], "tiny has folds 0-3 on toy, not 4"),
        (["near", "true_labels"], "true_labels is given the labels that judge it"),
        (["near", "--cuts", "0"], "'0'"),
    ],
    ids=str,
)
def test_a_mistake_is_told_before_anything_is_fitted(ready, ask, arguments, words):
    status, _, err = ask("try", "tiny", "toy", *arguments)
    assert (status, "Traceback" in err) == (2, False)
    assert words in err
    assert not TRIALS.exists()

"""Folds: who is in which part, and what they depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldlrepro.core.errors import UserError
from ldlrepro.folds.splits import folds_digest, folds_seed, read_folds, write_folds
from tests.unit.protocols import count_folds, make_folds

SEED = folds_seed(2026, "mslp", "sjaffe")
KFOLD = {"scheme": "kfold", "folds": 10}


@given(n=st.integers(2, 200), folds=st.integers(2, 12), repeats=st.integers(1, 3))
@settings(max_examples=60)
def test_kfold_tests_every_row_once_per_repeat_in_parts_of_nearly_equal_size(n, folds, repeats):
    if n < folds:
        n = folds
    protocol = {"scheme": "kfold", "folds": folds, "repeats": repeats}
    made = make_folds(protocol, n, SEED)
    assert len(made) == count_folds(protocol) == folds * repeats
    assert [(f.repeat, f.fold) for f in made] == [
        (r, f) for r in range(repeats) for f in range(folds)
    ]
    for repeat in range(repeats):
        parts = [f.test for f in made if f.repeat == repeat]
        assert sorted(np.concatenate(parts)) == list(range(n))
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1
    for fold in made:
        assert sorted([*fold.train, *fold.test]) == list(range(n))
        assert len(fold.validation) == 0
        assert fold.fitting.tolist() == fold.train.tolist()


def test_folds_in_the_order_of_the_file_are_stretches_of_it():
    made = make_folds({**KFOLD, "shuffle": False, "validation": "next_fold"}, 213, SEED)
    assert np.concatenate([fold.test for fold in made]).tolist() == list(range(213))
    assert [len(fold.test) for fold in made] == [22] * 3 + [21] * 7
    assert made[9].validation.tolist() == made[0].test.tolist()


@pytest.mark.parametrize(
    ("fold_size", "rows", "size", "last"),
    [
        ("nearest", 2465, 247, 242),
        ("nearest", 213, 21, 24),
        ("down", 2465, 246, 251),
        ("up", 213, 22, 15),
    ],
)
def test_folds_of_one_size_leave_the_rest_to_the_last(fold_size, rows, size, last):
    made = make_folds({**KFOLD, "shuffle": False, "fold_size": fold_size}, rows, SEED)
    assert np.concatenate([fold.test for fold in made]).tolist() == list(range(rows))
    assert [len(fold.test) for fold in made] == [size] * 9 + [last]


@given(n=st.integers(6, 120), folds=st.integers(3, 6), repeats=st.integers(1, 2))
@settings(max_examples=40)
def test_next_fold_validates_on_the_rows_that_the_next_fold_tests(n, folds, repeats):
    protocol = {
        "scheme": "kfold",
        "folds": folds,
        "repeats": repeats,
        "validation": "next_fold",
    }
    made = {(f.repeat, f.fold): f for f in make_folds(protocol, n, SEED)}
    for (repeat, number), fold in made.items():
        following = made[repeat, (number + 1) % folds]
        assert fold.validation.tolist() == following.test.tolist()
        assert set(fold.validation) <= set(fold.train)
        assert sorted([*fold.fitting, *fold.validation, *fold.test]) == list(range(n))


@given(
    n=st.integers(20, 150),
    share=st.floats(0.05, 0.6),
    scheme=st.sampled_from(["kfold", "shuffle_split"]),
)
@settings(max_examples=40)
def test_holdout_keeps_its_share_of_training_rows(n, share, scheme):
    protocol = {
        "scheme": scheme,
        "folds": 5,
        "repeats": 2,
        "train_share": 0.8,
        "validation": "holdout",
        "validation_share": share,
    }
    for fold in make_folds(protocol, n, SEED):
        assert len(fold.validation) == max(1, round(len(fold.train) * share))
        assert len(set(fold.validation)) == len(fold.validation)
        assert set(fold.validation) <= set(fold.train)
        assert not set(fold.fitting) & set(fold.validation)
        assert len(fold.fitting) == len(fold.train) - len(fold.validation) > 0


@given(n=st.integers(10, 300), share=st.floats(0.1, 0.9), repeats=st.integers(1, 4))
@settings(max_examples=40)
def test_shuffle_split_trains_on_its_share_of_rows(n, share, repeats):
    protocol = {"scheme": "shuffle_split", "train_share": share, "repeats": repeats}
    made = make_folds(protocol, n, SEED)
    assert [(f.repeat, f.fold) for f in made] == [(r, 0) for r in range(repeats)]
    assert len(made) == count_folds(protocol)
    for fold in made:
        assert len(fold.train) == round(n * share)
        assert sorted([*fold.train, *fold.test]) == list(range(n))
    if n >= 100 and 0.2 < share < 0.8:
        assert len({tuple(f.test) for f in made}) == repeats


@given(st.lists(st.sampled_from(["ann", "bob", "cid", "dee"]), min_size=2, max_size=60))
@settings(max_examples=40)
def test_leave_one_group_out_tests_one_person_at_a_time(names):
    groups = np.array(names)
    if len(set(names)) < 2:
        groups[0] = "eve"
        groups[1] = "fay"
    protocol = {"scheme": "leave_one_group_out"}
    made = make_folds(protocol, len(groups), SEED, groups)
    assert count_folds(protocol) is None
    assert len(made) == len(set(groups))
    assert sorted(np.concatenate([f.test for f in made])) == list(range(len(groups)))
    for fold in made:
        assert len(set(groups[fold.test])) == 1
        assert not set(groups[fold.test]) & set(groups[fold.train])


# ---------------------------------------------------------------------- what they depend on


@pytest.mark.parametrize(
    "protocol",
    [
        {**KFOLD, "validation": "holdout"},
        {"scheme": "shuffle_split", "train_share": 0.5, "repeats": 3, "validation": "holdout"},
    ],
)
def test_folds_depend_on_their_seed_parts_and_on_nothing_else(protocol):
    first = folds_digest(make_folds(protocol, 100, SEED))
    np.random.seed(7)
    assert folds_digest(make_folds(protocol, 100, SEED)) == first
    others = [
        folds_seed(2027, "mslp", "sjaffe"),
        folds_seed(2026, "ldlf", "sjaffe"),
        folds_seed(2026, "mslp", "sbu_3dfe"),
    ]
    digests = {folds_digest(make_folds(protocol, 100, seed)) for seed in others}
    assert len(digests | {first}) == 4


def test_folds_are_the_ones_of_the_published_records():
    made = make_folds({**KFOLD, "validation": "next_fold"}, 213, SEED)
    assert made[0].test[:5].tolist() == [5, 12, 23, 26, 44]
    assert folds_digest(made) == (
        "608e52098dd07dc0c3ba8f2a1f6fe2dd7bfc6c19526a0b263650f89bad7aec20"
    )


# ---------------------------------------------------------------------- files


def test_folds_read_back_as_they_were_written(tmp_path):
    made = make_folds({**KFOLD, "repeats": 2, "validation": "holdout"}, 60, SEED)
    path = tmp_path / "deep" / "folds.npz"
    write_folds(path, made, {"data_sha256": "d" * 64})
    read, meta = read_folds(path)
    assert meta == {"data_sha256": "d" * 64, "folds_sha256": folds_digest(made)}
    assert [(f.repeat, f.fold) for f in read] == [(f.repeat, f.fold) for f in made]
    for one, other in zip(made, read, strict=True):
        for part in ("train", "validation", "test"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    assert folds_digest(read) == folds_digest(made)


def test_more_than_999_folds_read_back_in_their_order(tmp_path):
    groups = np.arange(1203)
    made = make_folds({"scheme": "leave_one_group_out"}, 1203, SEED, groups)
    write_folds(tmp_path / "many.npz", made[998:1003], {"data_sha256": "d"})
    read, _ = read_folds(tmp_path / "many.npz")
    assert [(f.fold, f.test.tolist()) for f in read] == [(i, [i]) for i in range(998, 1003)]


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_the_digest_sees_every_index(part):
    made = make_folds({**KFOLD, "validation": "next_fold"}, 40, SEED)
    first = folds_digest(made)
    for position in (0, -1):
        rows = getattr(made[3], part).copy()
        rows[position] += 1
        changed = [*made[:3], replace(made[3], **{part: rows}), *made[4:]]
        assert folds_digest(changed) != first


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("protocol", "n", "groups", "words"),
    [
        (KFOLD, 9, None, "10 folds need at least 10 rows, there are 9"),
        ({**KFOLD, "fold_size": "up"}, 18, None, "fold_size: up leaves no row of 18"),
        ({**KFOLD, "shuffle": False, "repeats": 2}, 213, None, "the same folds each time"),
        ({"scheme": "shuffle_split", "train_share": 0.1, "repeats": 1}, 4, None, "empty part"),
        ({"scheme": "leave_one_group_out"}, 9, None, "who each row belongs to"),
        ({"scheme": "leave_one_group_out"}, 3, np.array(["ann"] * 3), "belong to one person"),
        ({**KFOLD, "folds": 2, "validation": "next_fold"}, 9, None, "leaves none to fit"),
    ],
)
def test_a_protocol_that_does_not_fit_the_data_says_why(protocol, n, groups, words):
    with pytest.raises(UserError, match=words):
        make_folds(protocol, n, SEED, groups)

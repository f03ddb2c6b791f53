"""Leak checks: rows and persons on both sides of a split, counted by hand."""

from __future__ import annotations

import numpy as np

from ldlrepro.folds.leaks import check_leaks, row_classes
from ldlrepro.folds.splits import Fold

NOBODY = np.array([], dtype=np.int64)


def fold(train: list[int], test: list[int], validation: list[int] | None = None) -> Fold:
    held = NOBODY if validation is None else np.array(validation)
    return Fold(0, 0, np.array(train), held, np.array(test))


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which no two are equal."""
    X = np.arange(2.0 * n).reshape(n, 2)
    first = np.linspace(0.1, 0.9, n)
    return X, np.column_stack([first, 1 - first])


def test_a_clean_split_has_nothing_to_report():
    X, D = rows(6)
    report = check_leaks(X, D, [fold([0, 1, 2, 3], [4, 5], [3])], None)
    assert report.to_dict() == {
        "folds": 1,
        "shared_rows": 0,
        "validation_outside_train": 0,
        "twin_features": 0,
        "twin_rows": 0,
        "shared_groups": -1,
        "broken": False,
        "text": "none found",
    }


def test_a_row_in_train_and_test_is_a_broken_split():
    X, D = rows(6)
    report = check_leaks(X, D, [fold([0, 1, 2, 4], [4, 5]), fold([4, 5], [0, 4, 5])], None)
    assert report.shared_rows == 3
    assert report.broken
    assert report.text().startswith("BROKEN")
    # Such a row is no twin of itself.
    assert report.twin_features == 0


def test_validation_rows_outside_the_training_part_are_a_broken_split():
    X, D = rows(6)
    report = check_leaks(X, D, [fold([0, 1, 2], [4, 5], [2, 3, 4])], None)
    assert report.validation_outside_train == 2
    assert report.broken


def test_twins_are_test_rows_with_the_features_of_a_training_row():
    X, D = rows(8)
    X[6] = X[0]  # features only
    X[7], D[7] = X[1], D[1]  # labels too
    X[5] = X[4]  # both in the test part: no leak
    report = check_leaks(X, D, [fold([0, 1, 2, 3], [4, 5, 6, 7])], None)
    assert (report.twin_features, report.twin_rows) == (2, 1)
    assert not report.broken
    assert report.text() == (
        "2 test rows have a training row with the same features (1 with the same labels too)"
    )


def test_persons_on_both_sides_are_counted_fold_by_fold():
    X, D = rows(6)
    persons = np.array(["ann", "ann", "bob", "bob", "cid", "cid"])
    folds = [fold([0, 2, 4], [1, 3, 5]), fold([0, 1, 2], [3, 4, 5]), fold([0, 1], [2, 3])]
    report = check_leaks(X, D, folds, persons)
    assert report.shared_groups == 3 + 1 + 0
    assert report.text() == "persons on both sides in 4 cases"
    assert not report.broken


def test_minus_zero_equals_zero():
    classes = row_classes(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0]]))
    assert classes[0] == classes[1] != classes[2]
    X, D = rows(4)
    X[0, 0], X[3] = 0.0, X[0]
    X[3, 0] = -0.0
    assert check_leaks(X, D, [fold([0, 1], [2, 3])], None).twin_features == 1

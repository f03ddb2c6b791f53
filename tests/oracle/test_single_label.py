"""Classifiers of single labels: scikit-learn's own answers, drawn labels, degenerate answers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from ldl.baselines.single_label import SingleLabelClassifier, drawn_labels
from ldl.checks import sample
from tests.oracle.settings import as_stated

THEIRS = {
    "lr": LogisticRegression(),
    "svm": LinearSVC(random_state=3),
    "bayes": GaussianNB(),
    "rbf_svm": SVC(),
}


@pytest.mark.parametrize("name", THEIRS)
def test_predicts_what_scikit_learn_predicts_for_the_highest_label(name):
    X, D = sample(n=80)
    expected = THEIRS[name].fit(X[:60], D[:60].argmax(axis=1)).predict(X[60:])
    P = as_stated(SingleLabelClassifier, name).fit(X[:60], D[:60]).predict(X[60:])
    np.testing.assert_array_equal(P, np.eye(D.shape[1])[expected])


def test_labels_are_drawn_as_often_as_their_degrees_say():
    D = np.tile([0.5, 0.0, 0.3, 0.2], (20000, 1))
    shares = np.bincount(drawn_labels(D, 1), minlength=4) / 20000
    np.testing.assert_allclose(shares, D[0], atol=0.015)
    assert shares[1] == 0


def test_a_threshold_above_the_rounded_sum_takes_the_last_label_with_a_degree(monkeypatch):
    class Highest:
        def random(self, shape):
            return np.full(shape, np.nextafter(1.0, 0.0))

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Highest())
    D = np.array([[0.1] * 10 + [0.0]])  # the running sum ends at 0.9999999999999999
    assert drawn_labels(D, 0)[0] == 9


def test_one_label_for_all_rows_is_predicted_everywhere():
    X = sample()[0]
    D = np.tile([0.2, 0.7, 0.1], (len(X), 1))
    for name in THEIRS:
        model = as_stated(SingleLabelClassifier, name).fit(X, D)
        np.testing.assert_array_equal(model.predict(X), np.tile([0.0, 1.0, 0.0], (len(X), 1)))


def test_constant_features_leave_the_most_frequent_label(recwarn):
    D = np.repeat([[0.2, 0.7, 0.1], [0.5, 0.3, 0.2]], [5, 3], axis=0)
    for name in THEIRS:
        P = as_stated(SingleLabelClassifier, name).fit(np.ones((8, 2)), D).predict(np.ones((2, 2)))
        np.testing.assert_array_equal(P, [[0.0, 1.0, 0.0]] * 2)
    assert not recwarn.list

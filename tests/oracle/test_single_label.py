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


def test_support_vector_machines_are_one_against_the_rest():
    X, D = sample(n=60)
    model = as_stated(SingleLabelClassifier, "svm", random_state=0).fit(X, D)
    assert model.classifier_.coef_.shape == (len(model.labels_), X.shape[1])


def test_labels_are_drawn_as_often_as_their_degrees_say():
    D = np.tile([0.5, 0.0, 0.3, 0.2], (20000, 1))
    shares = np.bincount(drawn_labels(D, 1), minlength=4) / 20000
    np.testing.assert_allclose(shares, D[0], atol=0.015)
    assert shares[1] == 0


def test_certain_rows_draw_their_label_whatever_the_seed():
    D = np.eye(4)[[0, 3, 1, 2, 3]]
    for seed in range(20):
        np.testing.assert_array_equal(drawn_labels(D, seed), [0, 3, 1, 2, 3])


def test_a_threshold_above_the_rounded_sum_takes_the_last_label_with_a_degree(monkeypatch):
    class Highest:
        def random(self, shape):
            return np.full(shape, np.nextafter(1.0, 0.0))

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Highest())
    D = np.array([[0.1] * 10 + [0.0]])  # the running sum ends at 0.9999999999999999
    assert drawn_labels(D, 0)[0] == 9


def test_drawn_labels_come_from_the_seed():
    X, D = sample(n=60)
    one, same, other = (
        as_stated(SingleLabelClassifier, "bayes", "drawn", random_state=seed)
        .fit(X, D)
        .classifier_.theta_
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_drawn_labels_of_certain_rows_are_the_highest_labels():
    X, D = sample(n=60)
    hot = np.eye(D.shape[1])[D.argmax(axis=1)]
    highest = as_stated(SingleLabelClassifier, "lr").fit(X, D).predict(X)
    drawn = as_stated(SingleLabelClassifier, "lr", "drawn", random_state=0).fit(X, hot).predict(X)
    np.testing.assert_array_equal(drawn, highest)


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


def test_labels_that_are_never_highest_stay_without_degree():
    X, D = sample(n=60)
    D = np.column_stack([np.zeros(60), D])
    P = as_stated(SingleLabelClassifier).fit(X, D).predict(X)
    assert not P[:, 0].any()
    np.testing.assert_array_equal(P.sum(axis=1), 1.0)


def test_of_equally_high_labels_the_first_counts():
    X = np.arange(8.0)[:, None]
    D = np.array([[0.4, 0.4, 0.2]] * 4 + [[0.1, 0.1, 0.8]] * 4)
    P = as_stated(SingleLabelClassifier).fit(X, D).predict(X)
    np.testing.assert_array_equal(P.argmax(axis=1), [0] * 4 + [2] * 4)


def test_iterations_reach_the_classifier_without_a_warning(recwarn):
    X, D = sample(n=60)
    for name in ("lr", "svm"):
        model = as_stated(SingleLabelClassifier, name, max_iter=2, random_state=0).fit(X, D)
        assert model.diagnostics_["iterations"] <= 2
    assert not recwarn.list

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

"""Controls: floors and the ceiling."""

import numpy as np
import pytest

from ldl import metrics
from ldl.baselines.controls import TrainMean, Uniform
from ldlrepro.train.told import TrueLabels


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    return generator.normal(size=(30, 4)), generator.dirichlet([1.0, 2.0, 3.0], size=30)


def test_uniform_gives_every_label_the_same_degree(data):
    X, D = data
    np.testing.assert_array_equal(Uniform().fit(X, D).predict(X), np.full((30, 3), 1 / 3))


def test_training_mean_is_the_mean_of_training_rows_only(data):
    X, D = data
    P = TrainMean().fit(X[:20], D[:20]).predict(X[20:])
    np.testing.assert_allclose(P, np.tile(D[:20].mean(axis=0), (10, 1)), atol=1e-15)


def test_true_labels_reach_the_best_value_of_every_measure(data):
    X, D = data
    P = TrueLabels().fit(X[:20], D[:20]).tell(D[20:]).predict(X[20:])
    for name, value in metrics.evaluate(D[20:], P).items():
        best = 0.0 if metrics.BETTER[name] == "lower" else 1.0
        assert value == pytest.approx(best, abs=1e-12), name


def test_true_labels_without_them_are_refused(data):
    X, D = data
    model = TrueLabels().fit(X, D)
    with pytest.raises(ValueError, match=r"needs the true labels: call tell\(D_true\)"):
        model.predict(X)
    model.tell(D).predict(X)
    with pytest.raises(ValueError, match="needs the true labels"):  # those of other rows
        model.predict(X)

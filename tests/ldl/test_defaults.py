"""Defaults of classes suit data that nobody has tuned them to, in whatever units."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

import ldl
from ldl import (
    AAKNN,
    CPNN,
    LDLDF,
    SABFGS,
    AOSOLDLogitBoost,
    LDLogitBoost,
    RFRegression,
    RFStar,
    SingleLabelClassifier,
    StructRF,
    TrainMean,
)
from ldl._tempered import settled_share
from ldl.checks import sample
from ldl.metrics import kl
from tests.ldl.estimators import KINDS, TABLES

EXEMPT = ("LDLDF", "TrainMean", "Uniform")
"""A cascade of minutes, the bar itself, and what is worse by its nature."""


def wine() -> tuple[np.ndarray, np.ndarray]:
    """Four properties of wines as shares of their means, and the others as features."""
    X = load_wine().data
    targets = [1, 5, 6, 9]
    return np.delete(X, targets, axis=1), X[:, targets] / X[:, targets].mean(axis=0)


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Draw features of all scales, and labels that depend on a few of them and may be zero."""
    generator = np.random.default_rng([160, 30, 4])
    Z = generator.normal(size=(160, 30))
    scores = np.tanh(Z[:, :5]) @ generator.normal(size=(5, 4)) + Z[:, :1] * Z[:, 1:2]
    scores += 0.7 * generator.normal(size=(160, 4))
    X = np.exp(0.5 * Z) * 10.0 ** generator.uniform(-3, 3, 30)
    return X, np.maximum(np.exp(scores) - 0.3, 0.0)


@pytest.mark.parametrize(
    ("name", "data"),
    [(name, wine) for name in TABLES if name not in EXEMPT]
    + [(name, drawn) for name in KINDS if name not in EXEMPT],
)
@pytest.mark.filterwarnings("ignore")
def test_defaults_are_no_worse_than_the_training_mean(name, data):
    X, D = data()
    some = D.sum(axis=1) > 0
    X, D = X[some], D[some] / D[some].sum(axis=1, keepdims=True)
    held = np.arange(len(X)) % 4 == 0
    model = getattr(ldl, name)()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    bar = kl(D[held], TrainMean().fit(X[~held], D[~held]).predict(X[held]))
    assert kl(D[held], model.fit(X[~held], D[~held]).predict(X[held])) < 1.01 * bar


@pytest.mark.parametrize("kind", [AAKNN, SABFGS, CPNN, SingleLabelClassifier])
def test_units_of_features_do_not_matter(kind):
    X, D = sample(n=60)
    units = np.array([1e-3, 1.0, 1e3, 7.0, 1e2, 0.1])
    seed = {"random_state": 0} if "random_state" in kind._get_param_names() else {}
    one, other = (kind(**seed).fit(X * u, D).predict(X * u) for u in (1.0, units))
    np.testing.assert_allclose(other, one, atol=1e-6)


@pytest.mark.parametrize(("noise", "expected"), [(0.0, 0.2), (0.25, 0.4), (0.5, 1.0), (1.0, 1.0)])
def test_the_share_of_the_mean_grows_with_the_noise_of_the_gain(noise, expected):
    """Two of four rows gain as much more than the others as makes this standard error."""
    D = np.array([[1.0, 0.0]] * 4)
    gains = 0.1 + 0.2 * noise * np.array([-1, -1, 1, 1])
    mean = np.array([0.5, 0.5])
    first = 0.5 * np.exp(gains)  # -ln 0.5 + ln first is the gain
    P = (np.column_stack([first, 1.0 - first]) - 0.2 * mean) / 0.8  # with a fifth of the mean
    assert settled_share([(D, P, mean)], 0.2) == pytest.approx(expected)


def test_the_mean_is_mixed_in_and_its_share_chosen_on_held_out_rows():
    X, D = sample(n=60)
    plain = AAKNN(5, mean_share=None).fit(X, D)
    mixed = AAKNN(5, mean_share=0.25).fit(X, D)
    expected = 0.75 * plain.predict(X) + 0.25 * D.mean(axis=0)
    np.testing.assert_allclose(mixed.predict(X), expected)
    assert AAKNN(5).fit(X, D).auto_["mean_share"] < 0.5


@pytest.mark.parametrize("name", [name for name in KINDS if name not in EXEMPT])
@pytest.mark.filterwarnings("ignore")
def test_a_label_that_no_training_row_has_gets_some_of_the_mean(name):
    X, D = sample(n=60)
    D[:, 1] = 0.0
    D /= D.sum(axis=1, keepdims=True)
    model = getattr(ldl, name)().fit(X, D)
    assert model.mean_[1] == pytest.approx(0.5 / 60.5)
    assert model.predict(X).min() > 0


@pytest.mark.parametrize(
    "model",
    [
        AAKNN(),
        StructRF(random_state=0),
        LDLDF("rf+knn", n_estimators=5, max_layers=2, random_state=0),
        LDLogitBoost(random_state=0),
        AOSOLDLogitBoost(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_where_features_tell_nothing_predictions_are_the_mean(model):
    _, D = sample(n=60)
    noise = np.random.default_rng(0).normal(size=(60, 4))
    assert model.fit(noise, D).auto_["mean_share"] == 1.0
    np.testing.assert_allclose(model.predict(noise), np.tile(D.mean(axis=0), (60, 1)))


@pytest.mark.parametrize("kind", [LDLogitBoost, AOSOLDLogitBoost])
def test_boosting_chooses_the_share_of_the_mean_with_the_number_of_rounds(kind):
    X, D = sample(n=60)
    found = kind(random_state=0).fit(X, D)
    share = found.auto_["mean_share"]
    assert 0.0 < share < 1.0
    fixed = {"max_iter": found.n_iter_, "n_iter_no_change": None}
    plain = kind(**fixed, mean_share=None).fit(X, D).predict(X)
    np.testing.assert_allclose(found.predict(X), (1 - share) * plain + share * D.mean(axis=0))
    np.testing.assert_allclose(
        found.predict(X), kind(**fixed, mean_share=share).fit(X, D).predict(X)
    )


def test_what_is_chosen_is_the_best_of_the_candidates_and_fitted_to_all_rows():
    X, D = sample(n=60)
    model = SABFGS().fit(X, D)
    again = SABFGS(**model.auto_).fit(X, D)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert model.get_params()["alpha"] == "auto"
    assert model.auto_["alpha"] in SABFGS.candidates["alpha"]


def test_candidates_for_the_number_of_steps_come_from_one_fit():
    X, D = sample(n=60)
    model = CPNN(hidden_layer_sizes=4, random_state=0)
    tried = model._tried(X[:40], D[:40], X[40:], {"max_iter": (20, 10)})
    for candidate, P in tried:
        fresh = CPNN(4, **candidate, random_state=0, standardise=False, mean_share=None)
        np.testing.assert_array_equal(P, fresh.fit(X[:40], D[:40]).predict(X[40:]))


@pytest.mark.parametrize("kind", [RFStar, RFRegression])
def test_forests_leave_no_label_that_occurs_without_a_degree(kind):
    X, D = sample(n=60)
    D = np.where(D.max(axis=1, keepdims=True) == D, 1.0, 0.0)
    P = kind(random_state=0).fit(X, D).predict(X)
    assert P[:, D.any(axis=0)].min() > 0

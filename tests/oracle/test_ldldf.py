"""LDLDF: the cascade rebuilt by hand, the index audit, and the learners."""

import numpy as np
import pytest

from ldl import metrics
from ldl.cascade._learners import Linear, Settings, build
from ldl.cascade.ldldf import LDLDF
from ldl.neighbours.knn import AAKNN
from tests.oracle.cascades import NEVER_STOPS, SMALL, problem
from tests.oracle.settings import as_stated

PLAIN = {"learners": "knn+lr", "learners_per_layer": 2, "reuse": "off", "output_layer": "last"}


def settings(**changes) -> Settings:
    values = {
        "n_estimators": 5,
        "max_depth": 3,
        "max_features": None,
        "learning_rate": 0.3,
        "base_score": None,
        "n_neighbors": 3,
    }
    return Settings(**{**values, **changes})


# ---------------------------------------------------------------------- layers by hand


def by_hand(X, D, X_new, fold_of, pairs):
    """Fit one layer; return held-out outputs of training rows, and mean outputs of new rows."""
    inside, new = [], []
    for folds, make in pairs:
        held = np.zeros_like(D)
        answers = []
        for number in range(folds.max() + 1):
            model = make().fit(X[folds != number], D[folds != number])
            held[folds == number] = clipped(model.predict(X[folds == number]))
            answers.append(clipped(model.predict(X_new)))
        inside.append(held)
        new.append(np.mean(answers, axis=0))
    return np.array(inside), np.array(new)


def clipped(P):
    P = np.maximum(P, 1e-6)
    return P / P.sum(axis=1, keepdims=True)


def test_two_layers_without_reuse_are_those_of_a_plain_cascade_by_hand():
    X, D = problem()
    given = {"max_layers": 2, "judge_on": "out_of_fold", "measure": "kl"}
    model = as_stated(LDLDF, **SMALL | PLAIN | given)
    model.fit(X[:50], D[:50])
    F, F_new = X[:50], X[50:]
    for layer in model.layers_:
        pairs = zip(layer.fold_of, (lambda: as_stated(AAKNN, 3), Linear), strict=True)
        inside, new = by_hand(F, D[:50], F_new, layer.fold_of, list(pairs))
        F, F_new = np.hstack([X[:50], *inside]), np.hstack([X[50:], *new])
    assert len(model.layers_) == 2
    np.testing.assert_allclose(model.predict(X[50:]), new.mean(axis=0), atol=1e-12)
    assert -model.performance_[1] == pytest.approx(
        metrics.evaluate(D[:50], inside.mean(axis=0))["kl"]
    )


# ---------------------------------------------------------------------- index audit


def test_no_row_gets_a_layer_feature_from_a_model_that_has_seen_it(spies):
    X, D = problem()
    X[:, 0] = np.arange(60)  # names the row
    as_stated(LDLDF, **SMALL | {"judge_on": "out_of_fold"} | NEVER_STOPS).fit(X, D)
    assert len(spies) == 4 * 6 * 5
    for learner in range(0, len(spies), 5):
        asked = []
        for spy in spies[learner : learner + 5]:
            (rows,) = spy.asked
            assert not set(rows[:, 0]) & set(spy.F[:, 0])
            assert len(rows) + len(spy.F) == 60
            asked += list(rows[:, 0])
        assert sorted(asked) == list(range(60))


def test_rows_that_judge_the_cascade_are_not_in_it(spies):
    X, D = problem()
    X[:, 0] = np.arange(60)
    as_stated(LDLDF, **SMALL | NEVER_STOPS).fit(X, D)
    fitted = {row for spy in spies for row in spy.F[:, 0]}
    judged = set(spies[0].asked[1][:, 0])
    assert (len(fitted), len(judged)) == (48, 12)
    assert not fitted & judged


def test_trees_and_depth_grow_from_layer_to_layer(spies):
    X, D = problem()
    as_stated(LDLDF, **NEVER_STOPS, random_state=0).fit(X, D)
    grown = [(spy.given.n_estimators, spy.given.max_depth) for spy in spies[::30]]
    assert grown == [(40, 3), (60, 6), (80, 9), (100, 12)]
    sixth = LDLDF()._settings(5)
    assert (sixth.n_estimators, sixth.max_depth) == (100, 18)
    assert [spy.kind for spy in spies[:30:5]] == ["rf"] * 3 + ["xgb"] * 3


def test_every_learner_gets_the_weights_of_its_rows(spies):
    X, D = problem()
    X[:, 0] = np.arange(60)
    weight = 1.0 + np.arange(60)
    as_stated(LDLDF, **SMALL | NEVER_STOPS).fit(X, D, sample_weight=weight)
    assert all((spy.weight == 1.0 + spy.F[:, 0]).all() for spy in spies)


@pytest.mark.parametrize("kind", ["lr", "xgb"])
def test_to_boosting_and_lines_weights_are_copies(kind):
    if kind == "xgb":
        pytest.importorskip("xgboost")
    X, D = problem()
    X = X.round()  # few values: every one has a bin
    weight = np.arange(60) % 4
    weighted = build(kind, settings(), 0).fit(X, D, weight).predict(X)
    copies = build(kind, settings(), 0).fit(X.repeat(weight, axis=0), D.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted, copies.predict(X), atol=1e-5)


# ---------------------------------------------------------------------- what was printed


@pytest.mark.realdata
def test_the_printed_kl_and_the_printed_cosine_of_sjaffe_can_occur_together(real_data):
    D = real_data("sjaffe").D
    first, second = np.argsort(-D, axis=1)[:, :2].T
    P = D.copy()
    P[np.arange(len(P)), first] -= 0.1018
    P[np.arange(len(P)), second] += 0.1018
    found = metrics.evaluate(D, 0.739 * P + 0.261 / D.shape[1])
    assert (round(found["kl"], 4), round(found["cosine"], 4)) == (0.0399, 0.9572)

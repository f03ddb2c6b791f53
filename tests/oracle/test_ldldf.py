"""LDLDF: the cascade rebuilt by hand, the index audit, and the learners."""

import numpy as np
import pytest

from ldl import metrics
from ldl.cascade._learners import (
    LOWEST_DEGREE,
    Boosted,
    Linear,
    Settings,
    as_distributions,
    build,
)
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
    model = LDLDF(**SMALL | PLAIN | {"max_layers": 2, "judge_on": "out_of_fold", "measure": "kl"})
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


def test_one_layer_of_neighbours_is_the_mean_of_its_five_fold_models():
    X, D = problem()
    model = LDLDF(learners="knn", max_layers=1, judge_on="out_of_fold", random_state=1)
    P = model.fit(X, D).predict(X)
    (layer,) = model.layers_
    assert layer.fold_of.shape == (6, 60)
    answers = [
        as_stated(AAKNN, 3).fit(X[folds != number], D[folds != number]).predict(X)
        for folds in layer.fold_of
        for number in range(5)
    ]
    np.testing.assert_allclose(P, np.mean([clipped(A) for A in answers], axis=0), atol=1e-12)


@pytest.mark.parametrize(("layer_features", "own_label"), [("fold_mean", True), ("heldout", False)])
def test_nearest_neighbour_finds_a_rows_own_label_only_if_it_has_seen_it(layer_features, own_label):
    X, D = problem()
    model = LDLDF(
        learners="knn",
        n_neighbors=1,
        max_layers=1,
        layer_features=layer_features,
        judge_on="out_of_fold",
        random_state=1,
    ).fit(X, D)
    assert (model.distance_[0].max() < 1e-9) == own_label
    assert (model.distance_[0].min() < 1e-9) == own_label


# ---------------------------------------------------------------------- index audit


def test_no_row_gets_a_layer_feature_from_a_model_that_has_seen_it(spies):
    X, D = problem()
    X[:, 0] = np.arange(60)  # names the row
    LDLDF(**SMALL | {"judge_on": "out_of_fold"} | NEVER_STOPS).fit(X, D)
    assert len(spies) == 4 * 6 * 5
    for learner in range(0, len(spies), 5):
        asked = []
        for spy in spies[learner : learner + 5]:
            (rows,) = spy.asked
            assert not set(rows[:, 0]) & set(spy.F[:, 0])
            assert len(rows) + len(spy.F) == 60
            asked += list(rows[:, 0])
        assert sorted(asked) == list(range(60))


def test_in_sample_features_come_from_the_four_models_that_have_seen_the_row(spies):
    X, D = problem()
    X[:, 0] = np.arange(60)
    LDLDF(**SMALL | {"layer_features": "fold_mean", "judge_on": "out_of_fold"}).fit(X, D)
    for spy in spies:
        np.testing.assert_array_equal(spy.asked[0], spy.F)


def test_rows_that_judge_the_cascade_are_not_in_it(spies):
    X, D = problem()
    X[:, 0] = np.arange(60)
    LDLDF(**SMALL | NEVER_STOPS).fit(X, D)
    fitted = {row for spy in spies for row in spy.F[:, 0]}
    judged = set(spies[0].asked[1][:, 0])
    assert (len(fitted), len(judged)) == (48, 12)
    assert not fitted & judged


def test_trees_and_depth_grow_from_layer_to_layer(spies):
    X, D = problem()
    LDLDF(**NEVER_STOPS, random_state=0).fit(X, D)
    grown = [(spy.given.n_estimators, spy.given.max_depth) for spy in spies[::30]]
    assert grown == [(40, 3), (60, 6), (80, 9), (100, 12)]
    sixth = LDLDF()._settings(5)
    assert (sixth.n_estimators, sixth.max_depth) == (100, 18)
    assert [spy.kind for spy in spies[:30:5]] == ["rf"] * 3 + ["xgb"] * 3


# ---------------------------------------------------------------------- learners


def test_labels_boosted_together_get_the_trees_they_get_alone():
    X, D = problem()
    together = Boosted(settings(), 0).fit(X, D).predict(X)
    alone = [Boosted(settings(), 0).fit(X, D[:, [j]]).predict(X) for j in range(3)]
    np.testing.assert_allclose(together, np.column_stack(alone), atol=1e-6)


def test_linear_learner_takes_the_shortest_of_many_solutions():
    X, D = problem(n=4, q=9)
    centred = X - X.mean(axis=0)
    W = np.linalg.pinv(centred) @ (D - D.mean(axis=0))
    np.testing.assert_allclose(Linear().fit(X, D).predict(X), centred @ W + D.mean(axis=0))


@pytest.mark.parametrize("kind", ["rf", "xgb", "knn", "lr"])
def test_every_kind_learns_something(kind):
    X, D = problem(n=200)
    model = build(kind, settings(n_estimators=40), 0)
    model.fit(X[:150], D[:150])
    kl = metrics.evaluate(D[150:], clipped(model.predict(X[150:])))["kl"]
    mean = metrics.evaluate(D[150:], np.tile(D[:150].mean(axis=0), (50, 1)))["kl"]
    assert kl < 0.6 * mean


def test_outputs_become_distributions():
    P = as_distributions(np.array([[-0.2, 0.4, 0.6], [0.5, 0.6, 0.7], [-1.0, -2.0, -3.0]]), "clip")
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() >= LOWEST_DEGREE / 2


# ---------------------------------------------------------------------- the rest

"""LDLDF: the cascade rebuilt by hand, the index audit, and the learners."""

import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldl import metrics
from ldl._threads import each
from ldl.cascade._layers import join
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


def test_refitted_learners_answer_with_one_model_of_all_rows():
    X, D = problem()
    model = LDLDF(
        learners="knn", max_layers=1, judge_on="out_of_fold", test_features="refit", random_state=1
    )
    P = model.fit(X, D).predict(X[:7])
    np.testing.assert_allclose(P, clipped(as_stated(AAKNN, 3).fit(X, D).predict(X[:7])), atol=1e-12)


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


def test_every_learner_has_folds_of_its_own(spies):
    X, D = problem()
    model = LDLDF(**SMALL | {"max_layers": 1}).fit(X, D)
    assert len(np.unique(model.layers_[0].fold_of, axis=0)) == 6


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


def test_compressed_features_stay_compressed_in_every_layer(spies):
    X, D = problem()
    LDLDF(**SMALL | NEVER_STOPS).fit(csr_matrix(X), D).predict(csr_matrix(X))
    assert {type(F) for spy in spies for F in [spy.F, *spy.asked]} == {csr_matrix}
    assert {spy.F.shape[1] for spy in spies} == {5, 5 + 6 * 3}


def test_new_columns_stand_behind_the_features_in_blocks_by_learner():
    X, _ = problem(n=4)
    C = np.arange(2 * 4 * 3, dtype=float).reshape(2, 4, 3)
    F = join(X, C)
    np.testing.assert_array_equal(F, np.hstack([X, C[0], C[1]]))
    np.testing.assert_array_equal(join(csr_matrix(X), C).toarray(), F)


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


def test_outputs_may_be_left_alone():
    P = np.array([[-0.2, 0.4, 0.6]])
    np.testing.assert_array_equal(as_distributions(P, "none"), P)


# ---------------------------------------------------------------------- the rest


def test_threads_run_parts_side_by_side_and_keep_their_order():
    met = threading.Barrier(3, timeout=60)

    def double(number: int) -> int:
        if number < 3:
            met.wait()  # nobody passes before three threads are here
        return number * 2

    assert each(double, range(20), 3) == [2 * number for number in range(20)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"learners": "rf+svm"}, "no learner 'svm' in 'rf\\+svm'; join any of rf, xgb, knn, lr"),
        ({"learners_per_layer": 5}, "multiple of the 2 kinds in 'rf\\+xgb', got 5"),
    ],
)
def test_wrong_parameters_are_refused_by_name(wrong, message):
    with pytest.raises(ValueError, match=message):
        LDLDF(**wrong).fit(*problem())


def test_too_few_rows_are_refused_with_the_numbers():
    X, D = problem(n=5)
    with pytest.raises(ValueError, match="4 rows are too few for 5 folds"):
        LDLDF().fit(X, D)
    with pytest.raises(ValueError, match="each needs a row of its own and 9 rows besides"):
        LDLDF(learners="knn", n_neighbors=9).fit(*problem(n=12))

"""LDLDF: the cascade rebuilt by hand, the index audit, reuse, the stopping rule, leaks."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldlrepro import config, metrics
from ldlrepro.models import _cascade
from ldlrepro.models._cascade import Reuse, StopRule, Workers, join
from ldlrepro.models._cascade_learners import (
    LOWEST_DEGREE,
    Boosted,
    Linear,
    Settings,
    as_distributions,
    build,
)
from ldlrepro.models.knn import AAKNN
from ldlrepro.models.ldldf import LDLDF, LDLDFOracle
from ldlrepro.protocols.folds import Fold
from ldlrepro.protocols.selection import run_fold

SMALL = {
    "trees": 4,
    "trees_step": 2,
    "max_trees": 6,
    "depth": 2,
    "depth_step": 1,
    "max_layers": 4,
    "random_state": 5,
}
PLAIN = {"learners": "knn+lr", "learners_per_layer": 2, "reuse": "off", "output_layer": "last"}
NEVER_STOPS = {"patience": 99, "output_layer": "last"}


def problem(seed: int = 0, n: int = 60, q: int = 5, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    D = np.exp(X @ generator.normal(size=(q, c)) + 0.5 * generator.normal(size=(n, c)))
    return X, D / D.sum(axis=1, keepdims=True)


def settings(**changes) -> Settings:
    values = {
        "trees": 5,
        "depth": 3,
        "max_features": None,
        "learning_rate": 0.3,
        "max_bin": 256,
        "tree_method": "hist",
        "multi_strategy": "one_output_per_tree",
        "n_neighbors": 3,
    }
    return Settings(**{**values, **changes})


class Spy:
    """A learner that answers with a fixed row and writes down what it was given."""

    log: list["Spy"]

    def __init__(self, kind: str, given: Settings) -> None:
        self.kind, self.given = kind, given
        self.asked: list[np.ndarray] = []
        type(self).log.append(self)

    def fit(self, F, D):
        self.F, self.labels = F, D.shape[1]
        return self

    def predict(self, F):
        self.asked.append(F)
        return np.full((F.shape[0], self.labels), 1 / self.labels)


@pytest.fixture
def spies(monkeypatch):
    Spy.log = []
    monkeypatch.setattr(_cascade, "build", lambda kind, given, seed: Spy(kind, given))
    return Spy.log


# ---------------------------------------------------------------------- layers by hand


def by_hand(X, D, X_new, fold_of, pairs):
    """One layer: held-out outputs of training rows, mean outputs of new ones."""
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
    model = LDLDF(**SMALL | PLAIN | {"max_layers": 2, "judge_on": "out_of_fold"})
    model.fit(X[:50], D[:50])
    F, F_new = X[:50], X[50:]
    for layer in model.layers_:
        pairs = zip(layer.fold_of, (lambda: AAKNN(3), Linear), strict=True)
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
        AAKNN(3).fit(X[folds != number], D[folds != number]).predict(X)
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
    np.testing.assert_allclose(P, clipped(AAKNN(3).fit(X, D).predict(X[:7])), atol=1e-12)


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


@pytest.mark.parametrize(("partition", "different"), [("per_layer", 1), ("per_learner", 6)])
def test_learners_share_their_folds_or_have_their_own(spies, partition, different):
    X, D = problem()
    model = LDLDF(**SMALL | {"partition": partition, "max_layers": 1}).fit(X, D)
    assert len(np.unique(model.layers_[0].fold_of, axis=0)) == different


def test_rows_that_judge_the_cascade_are_not_in_it(spies):
    X, D = problem()
    X[:, 0] = np.arange(60)
    LDLDF(**SMALL | NEVER_STOPS).fit(X, D)
    fitted = {row for spy in spies for row in spy.F[:, 0]}
    judged = set(spies[0].asked[1][:, 0])
    assert (len(fitted), len(judged)) == (54, 6)
    assert not fitted & judged


def test_trees_and_depth_grow_from_layer_to_layer(spies):
    X, D = problem()
    LDLDF(max_layers=6, **NEVER_STOPS, random_state=0).fit(X, D)
    grown = [(spy.given.trees, spy.given.depth) for spy in spies[::30]]
    assert grown == [(40, 3), (60, 6), (80, 9), (100, 12), (100, 15), (100, 18)]
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


# ---------------------------------------------------------------------- reuse


@pytest.mark.parametrize("reuse", ["per_learner", "joint"])
@pytest.mark.parametrize("kl_order", ["prediction_first", "truth_first"])
def test_no_training_row_gets_farther_from_its_labels_with_reuse(reuse, kl_order):
    X, D = problem()
    model = LDLDF(**SMALL | NEVER_STOPS, reuse=reuse, kl_order=kl_order).fit(X, D)
    assert len(model.distance_) == 4
    for before, after in pairwise(model.distance_):
        assert (after <= before).all()
        assert (after < before).any()


def test_without_reuse_some_training_rows_get_farther_from_their_labels():
    X, D = problem()
    model = LDLDF(**SMALL | NEVER_STOPS, reuse="off").fit(X, D)
    assert all((after > before).any() for before, after in pairwise(model.distance_))


@pytest.mark.parametrize(("layers", "same"), [(1, True), (2, True), (3, False)])
def test_reuse_first_shows_in_what_the_third_layer_sees(layers, same):
    X, D = problem()
    P = {
        reuse: LDLDF(**SMALL | NEVER_STOPS | {"max_layers": layers}, reuse=reuse)
        .fit(X, D)
        .predict(X)
        for reuse in ("per_learner", "off")
    }
    assert np.array_equal(P["per_learner"], P["off"]) == same


def test_joint_reuse_swaps_all_learners_of_a_row_and_the_other_each_alone():
    D = np.array([[0.5, 0.5]])
    Z = np.array([[[0.4, 0.6]], [[0.1, 0.9]]])
    L = np.array([[[0.2, 0.8]], [[0.5, 0.5]]])
    alone = Reuse("per_learner", "truth_first").keep_better(L, Z, D)
    np.testing.assert_array_equal(alone, [Z[0], L[1]])
    joint = Reuse("joint", "truth_first").keep_better(L, Z, D)
    np.testing.assert_array_equal(joint, L)
    np.testing.assert_array_equal(Reuse("off", "truth_first").keep_better(L, Z, D), L)


def test_equal_divergences_keep_the_earlier_output():
    D = np.array([[0.5, 0.5]])
    Z, L = np.array([[[0.4, 0.6]]]), np.array([[[0.6, 0.4]]])
    np.testing.assert_array_equal(Reuse("per_learner", "truth_first").keep_better(L, Z, D), Z)


def test_divergence_takes_the_prediction_first_or_the_truth():
    L, D = np.array([[[0.9, 0.1]]]), np.array([[0.5, 0.5]])
    prediction_first = 0.9 * np.log(1.8) + 0.1 * np.log(0.2)
    truth_first = 0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1)
    assert Reuse("joint", "prediction_first").distance(L, D) == pytest.approx(prediction_first)
    assert Reuse("joint", "truth_first").distance(L, D) == pytest.approx(truth_first)


# ---------------------------------------------------------------------- stopping


def followed(rule: StopRule, values: list[float]) -> tuple[int, int]:
    """Layers built and the best of them."""
    for value in values:
        if rule.stops_after(value):
            break
    return rule.seen, rule.best_layer


@pytest.mark.parametrize(
    ("theta", "mode", "counter", "expected"),
    [
        (0.1, "absolute", "consecutive", (7, 4)),
        (0.1, "absolute", "cumulative", (5, 4)),
        (0.0, "absolute", "consecutive", (8, 7)),
        (0.05, "relative", "consecutive", (8, 7)),
        (np.inf, "absolute", "consecutive", (4, 1)),
    ],
)
def test_rule_counts_layers_that_do_not_improve_enough(theta, mode, counter, expected):
    values = [-1.0, -0.99, -0.98, -0.8, -0.85, -0.8, -0.75, -0.76]
    assert followed(StopRule(theta, mode, counter, 3), values) == expected


@pytest.mark.parametrize("theta", [0.0, np.inf])
def test_cascade_that_never_improves_stops_after_three_more_layers(spies, theta):
    X, D = problem()
    model = LDLDF(theta=theta, random_state=0).fit(X, D)
    assert model.diagnostics_["layers_built"] == 4
    assert model.diagnostics_["layers_kept"] == 1
    assert model.diagnostics_["stopped_by"] == "rule"


def test_printed_algorithm_judges_by_what_reuse_kept():
    X, D = problem()
    model = LDLDF(**SMALL | NEVER_STOPS, judge_on="reused", learners="knn").fit(X, D)
    assert model.layers_[0].fold_of.shape[1] == 60  # no row is held out of the cascade
    assert list(model.performance_) == sorted(model.performance_)


def test_last_layer_answers_if_asked_for():
    X, D = problem()
    counts = {
        which: len(LDLDF(**SMALL, theta=np.inf, output_layer=which).fit(X, D).layers_)
        for which in ("best", "last")
    }
    assert counts == {"best": 1, "last": 4}


def test_measure_that_grows_with_quality_is_not_turned_round():
    X, D = problem()
    model = LDLDF(**SMALL | NEVER_STOPS, measure="cosine", judge_on="out_of_fold").fit(X, D)
    assert all(0 < value <= 1 for value in model.performance_)


# ---------------------------------------------------------------------- leaks


def predictions(method: str, D_test_order: np.ndarray) -> np.ndarray:
    X, D = problem()
    D = D.copy()
    D[45:] = D[45:][D_test_order]
    fold = Fold(0, 0, np.arange(45), np.arange(0), np.arange(45, 60))
    spec = config.load_method(method)
    return run_fold(method, spec, X, D, fold, select_by="kl", seed=3).predictions


def test_test_labels_reach_the_oracle_and_nothing_else():
    straight, turned = np.arange(15), np.arange(15)[::-1]
    honest = [predictions(cheap("ldldf"), order) for order in (straight, turned)]
    np.testing.assert_array_equal(*honest)
    oracle = [predictions(cheap("ldldf_oracle"), order) for order in (straight, turned)]
    assert not np.allclose(*oracle)


def cheap(method: str) -> str:
    return config.with_settings(
        method, {"trees": 4, "max_trees": 4, "max_layers": 3, "patience": 9}
    )


def test_oracle_answers_with_the_best_output_so_far():
    X, D = problem()
    parameters = SMALL | NEVER_STOPS
    oracle = LDLDFOracle(**parameters).fit(X[:45], D[:45])
    honest = LDLDF(**parameters).fit(X[:45], D[:45])
    kl = [
        metrics.evaluate(D[45:], P)["kl"]
        for P in (oracle.predict(X[45:], D[45:]), honest.predict(X[45:]))
    ]
    assert kl[0] < kl[1]


def test_oracle_without_labels_or_with_others_is_refused():
    X, D = problem()
    model = LDLDFOracle(**SMALL).fit(X, D)
    with pytest.raises(ValueError, match=r"needs the true labels: call predict\(X, D_true\)"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"D_true has shape \(60, 2\), expected \(60, 3\)"):
        model.predict(X, D[:, :2])


# ---------------------------------------------------------------------- learners


def test_labels_boosted_together_get_the_trees_they_get_alone():
    X, D = problem()
    together = Boosted(settings(), 0).fit(X, D).predict(X)
    alone = [Boosted(settings(), 0).fit(X, D[:, [j]]).predict(X) for j in range(3)]
    np.testing.assert_allclose(together, np.column_stack(alone), atol=1e-6)


def test_histograms_with_a_bin_per_value_find_the_splits_of_the_exact_search():
    X, D = problem()
    fitted = [
        Boosted(settings(tree_method=method), 0).fit(X, D).predict(X)
        for method in ("hist", "exact")
    ]
    np.testing.assert_allclose(*fitted, atol=1e-5)


def test_linear_learner_takes_the_shortest_of_many_solutions():
    X, D = problem(n=4, q=9)
    centred = X - X.mean(axis=0)
    W = np.linalg.pinv(centred) @ (D - D.mean(axis=0))
    np.testing.assert_allclose(Linear().fit(X, D).predict(X), centred @ W + D.mean(axis=0))


@pytest.mark.parametrize("kind", ["rf", "xgb", "knn", "lr"])
def test_every_kind_learns_something(kind):
    X, D = problem(n=200)
    model = build(kind, settings(trees=40), 0)
    model.fit(X[:150], D[:150])
    kl = metrics.evaluate(D[150:], clipped(model.predict(X[150:])))["kl"]
    mean = metrics.evaluate(D[150:], np.tile(D[:150].mean(axis=0), (50, 1)))["kl"]
    assert kl < 0.6 * mean


@pytest.mark.parametrize("normalise", ["clip", "simplex"])
def test_outputs_become_distributions(normalise):
    P = as_distributions(
        np.array([[-0.2, 0.4, 0.6], [0.5, 0.6, 0.7], [-1.0, -2.0, -3.0]]), normalise
    )
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() >= LOWEST_DEGREE / 2


def test_projection_is_nearer_than_any_of_many_distributions():
    generator = np.random.default_rng(0)
    P = generator.normal(size=(20, 4))
    projected = as_distributions(P, "simplex")
    rivals = generator.dirichlet(np.ones(4) / 3, size=4000)
    nearest = np.linalg.norm(P[:, None, :] - rivals, axis=2).min(axis=1)
    assert (np.linalg.norm(P - projected, axis=1) <= nearest + 1e-5).all()


def test_outputs_may_be_left_alone():
    P = np.array([[-0.2, 0.4, 0.6]])
    np.testing.assert_array_equal(as_distributions(P, "none"), P)


# ---------------------------------------------------------------------- the rest


def test_threads_run_parts_side_by_side_and_keep_their_order():
    parts = [(number,) for number in range(20)]
    assert Workers(3).map(lambda number: number * 2, parts) == [2 * n for (n,) in parts]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"learners": "rf+svm"}, "no learner 'svm' in 'rf\\+svm'; join any of rf, xgb, knn, lr"),
        ({"learners_per_layer": 5}, "multiple of the 2 kinds in 'rf\\+xgb', got 5"),
        ({"reuse": "always"}, "reuse must be one of per_learner, joint, off, got 'always'"),
        ({"measure": "mae"}, "measure must be one of chebyshev"),
        ({"folds": 1}, "folds must be at least 2, got 1"),
        ({"max_layers": 0}, "max_layers must be at least 1, got 0"),
        ({"holdout_share": 1.0}, "holdout_share must lie between 0 and 1, got 1.0"),
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

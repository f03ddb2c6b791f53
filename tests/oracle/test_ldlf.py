"""sLDLF and sNDF-LDL: training against a plain loop, the queue, schedules, and what is kept."""

import numpy as np
import pytest
from sklearn.base import clone

from ldl.base import child_seeds
from ldl.metrics import evaluate
from ldl.soft_forests._leaves import DistributionLeaves
from ldl.soft_forests._linear import batches, one_thread
from ldl.soft_forests._training import LinearForest, predict
from ldl.soft_forests.ldlf import SLDLF
from papers.ldlf.sldlf_released import SLDLFReleased
from tests.oracle.settings import as_stated

SMALL = {"standardise": False, "depth": 3, "units": 4, "dtype": "float64", "random_state": 3}


def data(seed: int = 0, n: int = 40, q: int = 4, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    D = np.exp(2.0 * np.tanh(X @ generator.normal(size=(q, c))))
    return X, D / D.sum(axis=1, keepdims=True)


def built(X: np.ndarray, D: np.ndarray, seed: int = 5, **parameters: object) -> LinearForest:
    with one_thread():
        settings = as_stated(SLDLF, **{**SMALL, **parameters})
        leaves = DistributionLeaves(settings.n_estimators, 2 ** (settings.depth - 1), D.shape[1])
        return LinearForest(settings, X, D, leaves, seed)


def trained(forest: LinearForest) -> LinearForest:
    with one_thread():
        forest.train()
    return forest


# ---------------------------------------------------------------------- against a plain loop


def plain_tree(phi: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leaf probabilities of one row, and minus nothing: their derivatives by each output of f."""
    leaves = len(phi) + 1
    P, slope = np.ones(leaves), np.zeros((leaves, len(f)))
    s = 1 / (1 + np.exp(-f))
    for leaf in range(leaves):
        for level in range(leaves.bit_length() - 1):
            unit = phi[2**level - 1 + leaf % 2**level]
            right = leaf >> level & 1
            P[leaf] *= 1 - s[unit] if right else s[unit]
            slope[leaf, unit] += -s[unit] if right else 1 - s[unit]
    return P, P[:, None] * slope


@pytest.mark.parametrize("trees", [1, 2])
def test_training_equals_the_algorithm_row_by_row(trees):
    X, D = data(n=12)
    settings = {"n_estimators": trees, "max_iter": 7, "batch_size": 5, "leaf_batches": 2}
    forest = built(X, D, leaf_repeats=3, learning_rate=0.7, **settings)
    phi, W, b = forest.phi, forest.maps[0].W.numpy().copy(), np.zeros(4)
    trained(forest)

    Q = np.full((trees, 4, 3), 1 / 3)
    velocity_W, velocity_b = np.zeros_like(W), np.zeros_like(b)
    stream = batches(12, 5, False, np.random.default_rng(child_seeds(5, 4)[2]))
    queue: list[int] = []
    for iteration in range(1, 8):
        rows = next(stream)
        gradient_W, gradient_b = np.zeros_like(W), np.zeros_like(b)
        for i in rows:
            for tree in range(trees):
                P, slope = plain_tree(phi[tree], X[i] @ W + b)
                by_f = -(D[i] / (P @ Q[tree])) @ Q[tree].T @ slope / (trees * len(rows))
                gradient_W += np.outer(X[i], by_f)
                gradient_b += by_f
        velocity_W = 0.9 * velocity_W + gradient_W
        velocity_b = 0.9 * velocity_b + gradient_b
        W, b = W - 0.7 * velocity_W, b - 0.7 * velocity_b
        queue += rows.tolist()
        if iteration % 2 == 0 or iteration == 7:
            for _ in range(3):
                for tree in range(trees):
                    new = np.zeros((4, 3))
                    for i in queue:
                        P, _ = plain_tree(phi[tree], X[i] @ W + b)
                        new += P[:, None] * Q[tree] * D[i] / (P @ Q[tree])
                    Q[tree] = new / new.sum(1, keepdims=True)
            queue = []
    np.testing.assert_allclose(forest.maps[0].W.numpy(), W, rtol=1e-9)
    np.testing.assert_allclose(forest.maps[0].b.numpy(), b, rtol=1e-9)
    np.testing.assert_allclose(forest.leaves.Q.numpy(), Q, rtol=1e-9)


def test_prediction_is_the_mean_of_the_trees():
    X, D = data()
    model = as_stated(
        SLDLF, n_estimators=3, max_iter=20, leaf_batches=5, batch_size=8, **SMALL
    ).fit(X, D)
    state = model.state_
    expected = np.zeros((len(X), 3))
    for i, x in enumerate(X):
        for tree in range(3):
            P, _ = plain_tree(model.phi_[tree], x @ state.W + state.b)
            expected[i] += P @ state.table[tree] / 3
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)


def test_weights_are_copies_of_rows_where_a_batch_holds_all():
    X, D = data()
    weight = 1 + np.arange(40) % 3
    given = {**SMALL, "n_estimators": 2, "max_iter": 12, "batch_size": 200, "leaf_batches": 4}
    model = as_stated(SLDLF, **given, keep="last")
    weighted = clone(model).fit(X, D, sample_weight=weight).predict(X)
    copies = model.fit(X.repeat(weight, axis=0), D.repeat(weight, axis=0)).predict(X)
    np.testing.assert_allclose(weighted, copies, atol=1e-9)


# ---------------------------------------------------------------------- one tree at a time


def after_one_leaf_step(**parameters: object) -> LinearForest:
    X, D = data()
    forest = built(X, D, n_estimators=3, max_iter=4, leaf_batches=4, **parameters)
    return trained(forest)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("round_robin", [0, 1, 2, 0, 1, 2, 0]), ("blocks", [0, 0, 0, 1, 1, 2, 2])],
)
def test_turns_of_the_schedules(schedule, expected):
    X, D = data()
    assert list(built(X, D, n_estimators=3, max_iter=7, schedule=schedule)._turns()) == expected


def test_single_tree_is_the_same_under_every_schedule():
    X, D = data()
    settings = {"n_estimators": 1, "max_iter": 30, "leaf_batches": 5, **SMALL}
    joint = as_stated(SLDLF, **settings).fit(X, D).predict(X)
    for schedule in ("random", "round_robin", "blocks"):
        other = as_stated(SLDLF, **settings, schedule=schedule).fit(X, D)
        np.testing.assert_allclose(other.predict(X), joint, rtol=1e-12)


def test_trees_with_units_of_their_own_predict_what_each_predicts_alone():
    forest = after_one_leaf_step(schedule="round_robin")
    X, _ = data()
    state = forest.snapshot(4)
    outputs = [
        np.stack([plain_tree(forest.phi[k], x @ f.W.numpy() + f.b.numpy())[0] for x in X])
        @ state.table[k]
        for k, f in enumerate(forest.maps)
    ]
    np.testing.assert_allclose(
        predict(forest.phi, state, state.table, X), np.mean(outputs, 0), rtol=1e-12
    )


# ---------------------------------------------------------------------- bits and precision


@pytest.mark.parametrize("sparse", [False, True])
def test_standardising_inside_equals_standardised_features(sparse):
    from scipy.sparse import csr_matrix

    X, D = data(n=60)
    X = np.column_stack([np.where(X > 0, 50.0 * X, 0.0), np.full(60, 7.0)])
    standard = (X - X.mean(0)) / np.where(X.std(0) > 1e-9, X.std(0), 1.0)
    settings = {**SMALL, "max_iter": 40, "leaf_batches": 10, "learning_rate": 0.5}
    outside = as_stated(SLDLF, **settings).fit(standard, D).predict(standard)
    given = csr_matrix(X) if sparse else X
    inside = as_stated(SLDLF, **{**settings, "standardise": True}).fit(given, D).predict(given)
    np.testing.assert_allclose(inside, outside, rtol=1e-9)


# ---------------------------------------------------------------------- what is kept


def test_best_leaf_step_on_rows_held_out_answers():
    X, D = data(n=120)
    settings = {
        "n_estimators": 2,
        "leaf_batches": 10,
        "learning_rate": 3.0,
        "keep": "holdout",
        **SMALL,
    }
    model = as_stated(SLDLF, max_iter=400, **settings).fit(X, D)
    found = model.diagnostics_
    assert found["answers_with_iteration"] < found["iterations"]
    assert found["judged_kl"] < found["judged_kl_at_the_end"]
    again = as_stated(SLDLF, max_iter=found["answers_with_iteration"], **settings).fit(X, D)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


# ---------------------------------------------------------------------- the script's leaks

SCRIPT = {"max_iter": 60, "batch_size": 20, "units": 16, "random_state": 0}


def test_without_its_leaks_the_script_is_the_method_with_its_settings():
    X, D = data(n=80)
    diagnostic = SLDLFReleased(draw_rows=False, best_iteration=False, **SCRIPT)
    released = diagnostic.fit(X[:60], D[:60]).tell(D[60:]).predict(X[60:])
    plain = as_stated(SLDLF,
        n_estimators=10, depth=5, leaf_batches=50, batch_replacement=True, queue="stale",
        queue_batches=3, init="xavier_inputs", standardise=False, learning_rate=1000.0, **SCRIPT,
    ).fit(X[:60], D[:60])  # fmt: skip
    np.testing.assert_array_equal(plain.predict(X[60:]), released)
    np.testing.assert_array_equal(diagnostic.tell(D[60:][::-1]).predict(X[60:]), released)


def test_best_iteration_looks_at_the_test_labels():
    X, D = data(n=80)
    X_test, D_test = X[60:], D[60:]
    settings = {"draw_rows": False, "learning_rate": 500.0, **SCRIPT, "max_iter": 500}
    kl = [
        evaluate(
            D_test,
            SLDLFReleased(best_iteration=best, **settings)
            .fit(X[:60], D[:60])
            .tell(D_test)
            .predict(X_test),
        )["kl"]
        for best in (False, True)
    ]
    assert kl[1] < kl[0]

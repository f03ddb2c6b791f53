"""SA-BFGS: the gradient, the optimum, and what must hold there."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from scipy.sparse import csr_matrix

from ldl.linear._bfgs import minimise_bfgs, wolfe_search
from ldl.linear.maxent import SABFGS, CrossEntropy
from tests.oracle.examples import check_gradient, means_of_ten_folds, softmax_problem
from tests.oracle.formulas import sa_bfgs
from tests.oracle.settings import as_stated

SOLVERS = ["lbfgs", "dense_bfgs"]


# Signed features and noisy labels; more rows than features, so the optimum is finite.
problem = partial(softmax_problem, n=120, q=5, c=4)


def sparse_problem() -> tuple[csr_matrix, np.ndarray]:
    X, D = problem(1)
    return csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0)), D


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("data", [problem(), sparse_problem()], ids=["signed", "sparse"])
def test_gradient_equals_central_differences(data, l2):
    X, D = data
    objective = CrossEntropy(X, D, l2=l2, unpenalised=1)
    check_gradient(objective, np.random.default_rng(2).normal(size=20))


def test_loss_is_the_summed_cross_entropy():
    X, D = problem()
    W = np.random.default_rng(3).normal(size=(5, 4))
    Z = X @ W
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    loss = CrossEntropy(X, D)(W.T.ravel())[0]
    assert loss == pytest.approx(-(D * np.log(P)).sum(), rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_five_starts_reach_the_same_loss_and_the_same_predictions(solver):
    X, D = problem()
    models = [sa_bfgs(2000, solver, init=init).fit(X, D) for init in ("identity", "zeros")]
    models += [
        sa_bfgs(2000, solver, init="uniform", random_state=seed).fit(X, D) for seed in range(3)
    ]
    for model in models[1:]:
        assert model.loss_ == pytest.approx(models[0].loss_, rel=1e-6)
        np.testing.assert_allclose(model.predict(X), models[0].predict(X), atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_two_labels_are_logistic_regression_with_soft_labels(solver):
    from sklearn.linear_model import LogisticRegression

    X, D = problem(c=2)
    logistic = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=2000)
    logistic.fit(
        np.vstack([X, X]),
        np.repeat([0, 1], len(X)),
        sample_weight=np.concatenate([D[:, 0], D[:, 1]]),
    )
    P = sa_bfgs(2000, solver).fit(X, D).predict(X)
    np.testing.assert_allclose(P, logistic.predict_proba(X), atol=1e-5)


def test_with_an_intercept_the_mean_prediction_is_the_mean_label():
    X, D = problem()
    with_intercept = sa_bfgs(2000, fit_intercept=True, alpha=0.7).fit(X, D)
    np.testing.assert_allclose(with_intercept.predict(X).mean(0), D.mean(0), atol=1e-6)
    without = sa_bfgs(2000, alpha=0.7).fit(X, D)
    assert np.abs(without.predict(X).mean(0) - D.mean(0)).max() > 1e-3


def test_penalty_adds_half_the_squared_weights_without_the_intercept():
    X, D = problem()
    model = sa_bfgs(2000, fit_intercept=True, alpha=2.5).fit(X, D)
    cross_entropy = -(D * np.log(model.predict(X))).sum()
    assert model.loss_ == pytest.approx(cross_entropy + 1.25 * (model.coef_**2).sum(), rel=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_standardised_fit_is_that_of_scaled_features_in_weights_of_raw_ones(fit_intercept):
    X, D = problem()
    X = X * [1.0, 10.0, 0.1, 5.0, 2.0] + 3.0
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = as_stated(SABFGS, fit_intercept=fit_intercept, alpha=0.7).fit(X, D)
    by_hand = as_stated(SABFGS, standardise=False, fit_intercept=fit_intercept, alpha=0.7).fit(
        scaled, D
    )
    assert model.loss_ == pytest.approx(by_hand.loss_, rel=1e-9)
    np.testing.assert_allclose(model.coef_, by_hand.coef_ / X.std(axis=0)[:, None], rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(scaled), atol=1e-9)


def test_dense_bfgs_follows_the_textbook_update():
    """The same steps as with H <- V'HV + ss'/s'y written out, V = I - ys'/s'y."""

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(rosen(x)), rosen_der(x)

    x = np.array([-1.2, 1.0, 0.5])
    value, gradient = objective(x)
    H = np.eye(3)
    for iteration in range(8):
        direction = -H @ gradient
        first = 1.0 if iteration else min(1.0, 1.0 / np.abs(gradient).sum())
        point, _ = wolfe_search(objective, x, value, gradient, direction, first)
        s, y = point.step * direction, point.gradient - gradient
        V = np.eye(3) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
        x, value, gradient = x + s, point.value, point.gradient
        found = minimise_bfgs(objective, np.array([-1.2, 1.0, 0.5]), iteration + 1)
        np.testing.assert_allclose(found.x, x, rtol=1e-7)


@pytest.mark.parametrize("first", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    "curve",
    [
        lambda t: (np.cos(t) - 0.1 * t, -np.sin(t) - 0.1),  # many valleys
        lambda t: ((t - 2.0) ** 4, 4.0 * (t - 2.0) ** 3),
        lambda t: (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0) ** 2),  # flat far away
    ],
    ids=["valleys", "quartic", "flat"],
)
def test_line_search_ends_where_the_strong_wolfe_conditions_hold(curve, first):
    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = curve(float(x[0]))
        return float(value), np.array([slope])

    start = np.array([0.2])
    value, gradient = objective(start)
    point, trials = wolfe_search(objective, start, value, gradient, np.array([1.0]), first)
    assert point.value <= value + 1e-2 * point.step * gradient[0]
    assert abs(point.slope) <= 0.9 * abs(gradient[0])
    assert trials <= 20


@pytest.mark.realdata
def test_sjaffe_passes_through_the_region_of_the_printed_values(real_data):
    """One fit stopped late overfits: kl near .040 at 100 iterations and past .06 at 1000."""
    means = {
        max_iter: means_of_ten_folds(real_data("sjaffe"), sa_bfgs(max_iter=max_iter).fit)["kl"]
        for max_iter in (100, 300, 1000)
    }
    assert 0.036 < means[100] < 0.046
    assert 0.038 < means[300] < 0.050
    assert 0.058 < means[1000] < 0.075

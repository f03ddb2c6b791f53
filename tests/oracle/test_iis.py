"""SA-IIS: every step of a sweep against its equation, and the likelihood it must raise."""

import numpy as np
import pytest
from scipy.optimize import brentq

from ldl.linear._softmax import softmax_rows
from ldl.linear.iis import SAIIS, Sweep, _sums_over_labels, _terms_needed
from tests.oracle.examples import means_of_ten_folds
from tests.oracle.formulas import sa_bfgs
from tests.oracle.settings import as_stated


def problem(kind: str, seed: int = 0, n: int = 60, q: int = 5, c: int = 3):
    generator = np.random.default_rng(seed)
    X = {
        "positive": lambda: generator.gamma(2.0, size=(n, q)),
        "signed": lambda: generator.normal(size=(n, q)),
        "unit rows": lambda: generator.dirichlet(np.ones(q), size=n),
        "signed unit rows": lambda: (
            generator.dirichlet(np.ones(q), size=n) * generator.choice([-1, 1], size=(n, q))
        ),
        "heavy tail": lambda: generator.pareto(1.0, size=(n, q)),
        "signed heavy tail": lambda: generator.standard_cauchy(size=(n, q)),
        "sparse": lambda: generator.gamma(2.0, size=(n, q)) * (generator.random((n, q)) < 0.3),
    }[kind]()
    D = softmax_rows(0.5 * X[:, :c] + generator.normal(size=(n, c)))
    return X, D


KINDS = [
    "positive",
    "signed",
    "unit rows",
    "signed unit rows",
    "heavy tail",
    "signed heavy tail",
    "sparse",
]


def root(x: np.ndarray, s: np.ndarray, d: np.ndarray, p: np.ndarray, limit: float) -> float:
    """One scalar equation of the sweep, solved by bracketing."""

    def missing(delta: float) -> float:
        with np.errstate(over="ignore"):
            return float((d * x).sum() - (p * x * np.exp(delta * np.sign(x) * s)).sum())

    if missing(-limit) <= 0:
        return -limit
    if missing(limit) >= 0:
        return limit
    return float(brentq(missing, -limit, limit, xtol=1e-13))


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_is_the_root_of_its_equation(kind):
    X, D = problem(kind)
    s = np.abs(X).sum(axis=1)
    limit = 20.0 / s[s > 0].mean()
    W = 0.3 * np.random.default_rng(9).normal(size=(5, 3))
    P = softmax_rows(X @ W / s.mean())
    delta = Sweep(X, D).step(P.T)
    expected = [[root(X[:, k], s, D[:, j], P[:, j], limit) for j in range(3)] for k in range(5)]
    np.testing.assert_allclose(delta, expected, atol=1e-8 * limit)


def test_rows_of_equal_sums_take_the_closed_form():
    X, D = problem("unit rows")
    P = softmax_rows(np.random.default_rng(1).normal(size=D.shape))
    closed = np.log((X.T @ D) / (X.T @ P))
    np.testing.assert_allclose(Sweep(X, D).step(P.T), closed, atol=1e-12)
    # A row that hardly counts makes the sums unequal, so that Newton's method has to find it.
    X = np.vstack([X, np.full((1, 5), 1e-13)])
    D, P = (np.vstack([A, np.full((1, 3), 1 / 3)]) for A in (D, P))
    np.testing.assert_allclose(Sweep(X, D).step(P.T), closed, atol=1e-9)


@pytest.mark.parametrize("kind", ["signed", "heavy tail", "sparse"])
def test_loss_never_rises(kind):
    X, D = problem(kind)
    losses = [as_stated(SAIIS, max_iter=sweeps, tol=0.0).fit(X, D).loss_ for sweeps in range(1, 25)]
    assert (np.diff(losses) <= 1e-9 * np.abs(losses[:-1])).all()
    assert losses[-1] < losses[0]


def test_loss_is_the_summed_cross_entropy_of_the_prediction():
    X, D = problem("positive")
    model = as_stated(SAIIS, max_iter=7).fit(X, D)
    assert model.loss_ == pytest.approx(-(D * np.log(model.predict(X))).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", ["positive", "signed", "unit rows"])
def test_many_sweeps_reach_the_loss_of_sa_bfgs(kind):
    X, D = problem(kind, n=80, q=3)
    many = as_stated(SAIIS, max_iter=20000, tol=0.0).fit(X, D)
    assert many.loss_ == pytest.approx(sa_bfgs(max_iter=3000).fit(X, D).loss_, rel=1e-6)


@pytest.mark.parametrize("labels", [1, 7, 8, 9, 16, 68, 128, 129])
def test_sums_over_labels_have_the_bits_of_sums_of_rows(labels):
    P = np.exp(3.0 * np.random.default_rng(labels).normal(size=(40, labels)))
    transposed = np.ascontiguousarray(P.T)
    np.testing.assert_array_equal(_sums_over_labels(transposed), P.sum(axis=1))
    np.testing.assert_array_equal(transposed, P.T)


def test_root_at_infinity_stays_within_the_limit():
    X, D = problem("positive")
    D = np.column_stack([D, np.zeros(60)])
    delta = Sweep(X, D).step(np.full((4, 60), 0.25))
    limit = 20.0 / X.sum(axis=1).mean()
    np.testing.assert_allclose(delta[:, 3], -limit)
    assert (np.abs(delta[:, :3]) < limit).all()


@pytest.mark.parametrize("reach", [1e-6, 0.03, 0.5, 2.0, 4.0])
def test_series_has_as_many_terms_as_its_error_bound_asks_for(reach):
    from math import exp, factorial

    def error(terms: int) -> float:
        return abs(sum((-reach) ** m / factorial(m) for m in range(terms)) / exp(-reach) - 1)

    assert error(_terms_needed(reach)) < 1e-12
    assert _terms_needed(reach) == 2 or error(_terms_needed(reach) // 2) > 1e-12


@pytest.mark.realdata
@pytest.mark.parametrize(("sweeps", "low", "high"), [(10, 0.070, 0.075), (200, 0.057, 0.065)])
def test_sjaffe_raw_features_pass_through_the_printed_region(real_data, sweeps, low, high):
    kl = means_of_ten_folds(real_data("sjaffe"), as_stated(SAIIS, max_iter=sweeps).fit)["kl"]
    assert low < kl < high

"""SA-IIS: every step of a sweep against its equation, and the likelihood it must raise."""

import numpy as np
import pytest
from scipy.optimize import brentq

from ldl.linear._softmax import softmax_rows
from ldl.linear.iis import SAIIS, Sweep
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


def test_loss_is_the_summed_cross_entropy_of_the_prediction():
    X, D = problem("positive")
    model = as_stated(SAIIS, max_iter=7).fit(X, D)
    assert model.loss_ == pytest.approx(-(D * np.log(model.predict(X))).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", ["positive", "signed", "unit rows"])
def test_many_sweeps_reach_the_loss_of_sa_bfgs(kind):
    X, D = problem(kind, n=80, q=3)
    many = as_stated(SAIIS, max_iter=20000, tol=0.0).fit(X, D)
    assert many.loss_ == pytest.approx(sa_bfgs(max_iter=3000).fit(X, D).loss_, rel=1e-6)


@pytest.mark.realdata
@pytest.mark.parametrize(("sweeps", "low", "high"), [(10, 0.070, 0.075), (200, 0.057, 0.065)])
def test_sjaffe_raw_features_pass_through_the_printed_region(real_data, sweeps, low, high):
    kl = means_of_ten_folds(real_data("sjaffe"), as_stated(SAIIS, max_iter=sweeps).fit)["kl"]
    assert low < kl < high

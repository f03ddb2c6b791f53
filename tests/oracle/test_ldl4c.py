"""LDL4C: its loss by hand, its subgradient, and what each part asks for."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldl.linear._softmax import softmax_rows
from ldl.linear.ldl4c import LDL4C, WeightedErrors, entropies
from tests.oracle.examples import check_gradient, softmax_problem
from tests.oracle.formulas import sa_bfgs
from tests.oracle.settings import as_stated

problem = partial(softmax_problem, n=30)


def loss_in_words(
    P: np.ndarray, D: np.ndarray, margin: float, rho: float, weighted: bool, kl: bool
) -> float:
    """The sum over rows, written out one term at a time."""
    total = 0.0
    for p, d in zip(P, D, strict=True):
        entropy = -sum(x * np.log(x) for x in d if x > 0)
        if kl:
            error = sum(x * np.log(x / y) for x, y in zip(d, p, strict=True) if x > 0)
        else:
            error = sum(abs(y - x) for x, y in zip(d, p, strict=True))
        total += (entropy if weighted else 1.0) * error
        top = list(d).index(max(d))
        runner_up = max(y for j, y in enumerate(p) if j != top)
        total += margin * max(0.0, 1.0 - (p[top] - runner_up) / rho)
    return total


def objective(
    X, D, margin: float, rho: float, weighted: bool, kl: bool, l2: float = 0.0
) -> WeightedErrors:
    weights, error = "entropy" if weighted else "equal", "kl" if kl else "absolute"
    return WeightedErrors(X, D, as_stated(LDL4C, margin, l2, rho, weights, error))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kl", [False, True])
@pytest.mark.parametrize(("margin", "rho"), [(0, 0.1), (7, 0.3), (0.5, 0.01)])
def test_loss_is_the_sum_of_its_terms(margin, rho, weighted, kl):
    X, D = problem()
    D[:3] = np.eye(5)[:3]  # degrees of zero, and no entropy
    W = np.random.default_rng(1).normal(size=(4, 5))
    expected = loss_in_words(softmax_rows(X @ W), D, margin, rho, weighted, kl)
    value = objective(X, D, margin, rho, weighted, kl, l2=0.4)(W.T.ravel())[0]
    assert value == pytest.approx(expected + 0.2 * (W**2).sum(), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kl", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_subgradient_equals_central_differences_away_from_kinks(weighted, kl, sparse):
    X, D = problem()
    X = csr_matrix(X) if sparse else X
    at = np.random.default_rng(2).normal(size=20)
    check_gradient(objective(X, D, 5.0, 0.4, weighted, kl, l2=0.3), at, step=1e-6)


def test_divergence_without_weights_and_margin_is_maximum_entropy():
    X, D = problem(n=60)
    ours = as_stated(
        LDL4C, margin_weight=0.0, alpha=0.5, weights="equal", error="kl", tol=0.0, random_state=0
    ).fit(X, D)
    known = sa_bfgs(alpha=0.5, init="zeros", max_iter=1000).fit(X, D)
    np.testing.assert_allclose(ours.coef_, known.coef_, atol=1e-5)
    assert ours.loss_ == pytest.approx(known.loss_ - entropies(D).sum(), abs=1e-8)

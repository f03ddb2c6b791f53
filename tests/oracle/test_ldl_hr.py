"""LDL-HR: its loss by hand, its subgradient, and what each term asks for."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldl.linear._softmax import softmax_rows
from ldl.linear.ldl_hr import LDLHR, HighestAndRest
from tests.oracle.examples import check_gradient, softmax_problem
from tests.oracle.formulas import ldl_hr
from tests.oracle.settings import as_stated

problem = partial(softmax_problem, n=30)


def objective_of(X, D, margin=0.0, rest=0.0, rho=0.01, l2=0.0, form="released") -> HighestAndRest:
    return HighestAndRest(X, D, as_stated(LDLHR, l2, margin, rest, rho, form=form))


def printed_loss(P: np.ndarray, D: np.ndarray, margin: float, rest: float, rho: float) -> float:
    """The paper's form: the top label is left out of the rest, and the margin divided by rho."""
    total = 0.0
    for p, d in zip(P, D, strict=True):
        top = int(np.argmax(d))
        for j in range(len(d)):
            total += abs(p[j] - (1.0 if j == top else 0.0))
            if j != top:
                total += rest * abs(p[j] - d[j])
                total += margin * max(0.0, 1.0 - (p[top] - p[j]) / rho)
    return total


def loss_in_words(P: np.ndarray, D: np.ndarray, margin: float, rest: float, rho: float) -> float:
    """The sum over rows and labels, written out one term at a time."""
    total = 0.0
    for p, d in zip(P, D, strict=True):
        top = int(np.argmax(d))
        for j in range(len(d)):
            total += abs(p[j] - (1.0 if j == top else 0.0))
            total += rest * abs(p[j] - (0.0 if j == top else d[j]))
            if j != top:
                total += margin * max(0.0, rho - (p[top] - p[j]))
    return total


@pytest.mark.parametrize(
    ("margin", "rest", "rho"), [(0, 0, 0.1), (7, 0, 0.3), (0, 3, 0.1), (5, 2, 0)]
)
def test_loss_is_the_sum_of_its_terms(margin, rest, rho):
    X, D = problem()
    W = np.random.default_rng(1).normal(size=(4, 5))
    objective = objective_of(X, D, margin, rest, rho, l2=0.4)
    expected = loss_in_words(softmax_rows(X @ W), D, margin, rest, rho) + 0.2 * (W**2).sum()
    assert objective(W.T.ravel())[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_subgradient_equals_central_differences_away_from_kinks(sparse):
    X, D = problem()
    objective = objective_of(
        csr_matrix(X) if sparse else X, D, margin=5.0, rest=2.0, rho=0.2, l2=0.3
    )
    check_gradient(objective, np.random.default_rng(2).normal(size=20), step=1e-6)


@pytest.mark.parametrize(("margin", "rest"), [(0.0, 3.0), (2.0, 0.0), (2.0, 3.0)])
def test_the_printed_form_ends_at_the_loss_that_the_paper_prints(margin, rest):
    X, D = problem()
    model = ldl_hr(
        alpha=0.2, margin_weight=margin, rest_weight=rest, rho=0.05, form="printed", max_iter=20
    ).fit(X, D)
    squares = (model.coef_**2).sum() + (model.intercept_**2).sum()
    expected = printed_loss(model.predict(X), D, margin, rest, 0.05) + 0.1 * squares
    assert model.loss_ == pytest.approx(expected, rel=1e-10)


def test_subgradient_without_the_top_label_in_the_rest():
    X, D = problem()
    objective = objective_of(X, D, margin=1.0, rest=2.0, rho=0.2, l2=0.3, form="printed")
    check_gradient(objective, np.random.default_rng(2).normal(size=20), step=1e-6)


@pytest.mark.realdata
def test_released_settings_reproduce_the_printed_region_on_sjaffe(real_data):
    """Printed: kl .0648, chebyshev .1095."""
    from ldl.metrics import evaluate

    data = real_data("sjaffe")
    scores = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(data.D))
        test, train = order[:43], order[43:]
        P = ldl_hr().fit(data.X[train], data.D[train]).predict(data.X[test])
        scores.append(evaluate(data.D[test], P))
    assert 0.055 < np.mean([s["kl"] for s in scores]) < 0.070
    assert 0.100 < np.mean([s["chebyshev"] for s in scores]) < 0.120

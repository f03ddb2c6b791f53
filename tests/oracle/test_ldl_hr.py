"""LDL-HR: its loss by hand, its subgradient, and what each term asks for."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.sparse import csr_matrix

from ldl.linear._bfgs import Patience
from ldl.linear._softmax import softmax_rows
from ldl.linear.ldl_hr import LDLHR, HighestAndRest
from tests.oracle.examples import check_gradient, softmax_problem
from tests.oracle.papers import ldl_hr

problem = partial(softmax_problem, n=30)


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
    objective = HighestAndRest(X, D, D.argmax(axis=1), margin, rest, rho, l2=0.4)
    expected = loss_in_words(softmax_rows(X @ W), D, margin, rest, rho) + 0.2 * (W**2).sum()
    assert objective(W.T.ravel())[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_subgradient_equals_central_differences_away_from_kinks(sparse):
    X, D = problem()
    objective = HighestAndRest(
        csr_matrix(X) if sparse else X, D, D.argmax(axis=1), margin=5.0, rest=2.0, rho=0.2, l2=0.3
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
    objective = HighestAndRest(
        X, D, D.argmax(axis=1), margin=5.0, rest=2.0, rho=0.2, l2=0.3, top_rests=False
    )
    check_gradient(objective, np.random.default_rng(2).normal(size=20), step=1e-6)


def test_without_a_rest_the_forms_differ_by_the_factor_rho_only():
    X, D = problem()
    printed = ldl_hr(rest_weight=0.0, margin_weight=2.0, rho=0.25, form="printed").fit(X, D)
    released = ldl_hr(rest_weight=0.0, margin_weight=8.0, rho=0.25).fit(X, D)
    np.testing.assert_array_equal(printed.coef_, released.coef_)


def test_no_hinge_is_paid_where_all_margins_exceed_rho():
    D = problem()[1]
    X, labels = np.ones((30, 4)), np.full(30, 2)
    ahead = np.zeros((5, 4))
    ahead[2] = 2.0
    paid, gradient = HighestAndRest(X, D, labels, margin=1e6, rho=0.5)(ahead.ravel())
    free, gradient_without = HighestAndRest(X, D, labels, margin=0.0, rho=0.5)(ahead.ravel())
    assert paid == free
    np.testing.assert_array_equal(gradient, gradient_without)


def test_evaluations_leave_nothing_behind_for_the_next():
    """Buffers are used again and again, with terms switched off as well."""
    X, D = problem()
    for margin, rest in ((7.0, 3.0), (7.0, 0.0), (0.0, 3.0), (0.0, 0.0)):
        used = HighestAndRest(X, D, D.argmax(axis=1), margin, rest, rho=0.2)
        generator = np.random.default_rng(4)
        for w in generator.normal(size=(3, 20)):
            fresh = HighestAndRest(X, D, D.argmax(axis=1), margin, rest, rho=0.2)
            value, gradient = used(w)
            assert value == fresh(w)[0]
            np.testing.assert_array_equal(gradient, fresh(w)[1])


def test_patience_ends_after_rounds_that_together_gain_too_little():
    patience = Patience(rounds=2, least=0.1)
    for loss in (100.0, 95.0, 85.0, 80.0):  # 15 and 15 of the loss two rounds before
        patience(OptimizeResult(fun=loss))
    assert not patience.over
    with pytest.raises(StopIteration):
        patience(OptimizeResult(fun=79.0))
    assert patience.over


def test_patience_saves_iterations_and_says_so():
    X, D = problem(n=80)
    whole = ldl_hr(tol=0.0).fit(X, D)
    short = ldl_hr(tol=0.0, n_iter_no_change=5, min_gain=0.05).fit(X, D)
    assert short.diagnostics_["stopped"] == "patience"
    assert 5 < short.n_iter_ < whole.n_iter_
    assert whole.loss_ <= short.loss_ < ldl_hr(max_iter=2).fit(X, D).loss_
    again = ldl_hr(tol=0.0, max_iter=short.n_iter_).fit(X, D)
    np.testing.assert_array_equal(again.coef_, short.coef_)


def test_pairs_reach_the_optimiser():
    """With one pair the second direction already forgets the first step."""
    X, D = problem(n=80)
    few, many = (ldl_hr(pairs=pairs, max_iter=8).fit(X, D) for pairs in (1, 50))
    assert np.abs(few.coef_ - many.coef_).max() > 1e-6
    same = ldl_hr(pairs=1, max_iter=2).fit(X, D)
    np.testing.assert_array_equal(same.coef_, ldl_hr(pairs=50, max_iter=2).fit(X, D).coef_)


def test_intercept_is_penalised_like_every_other_weight():
    X, D = problem()
    model = ldl_hr(alpha=3.0, margin_weight=1.0).fit(X, D)
    P = model.predict(X)
    squares = (model.coef_**2).sum() + (model.intercept_**2).sum()
    assert model.intercept_.any()
    assert model.loss_ == pytest.approx(loss_in_words(P, D, 1.0, 1.0, 0.01) + 1.5 * squares)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_standardised_fit_is_that_of_scaled_features_in_weights_of_raw_ones(kind):
    X, D = problem()
    X = X * [1.0, 10.0, 0.1, 5.0] + 3.0
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LDLHR(max_iter=15).fit(kind(X), D)
    by_hand = LDLHR(max_iter=15, standardise=False).fit(scaled, D)
    assert model.loss_ == pytest.approx(by_hand.loss_, rel=1e-9)
    np.testing.assert_allclose(model.predict(kind(X)), by_hand.predict(scaled), atol=1e-7)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": 0}, "max_iter must be a whole number, at least 1, got 0"),
        ({"alpha": -1.0}, "alpha must be at least 0, got -1.0"),
        ({"margin_weight": -1.0}, "margin_weight must be at least 0"),
        ({"rest_weight": -1.0}, "rest_weight must be at least 0"),
        ({"rho": -0.1}, "rho must be at least 0"),
        ({"tol": -0.1}, "tol must be at least 0"),
        ({"min_gain": -0.1}, "min_gain must be at least 0"),
        ({"pairs": 0}, "pairs must be a whole number, at least 1, got 0"),
        (
            {"n_iter_no_change": 0},
            "n_iter_no_change must be a whole number, at least 1 or None, got 0",
        ),
        ({"form": "other"}, "form must be one of released, printed, got 'other'"),
        ({"form": "printed", "rho": 0.0}, "rho must be above 0 where form is 'printed', got 0.0"),
    ],
)
def test_impossible_settings_are_refused_by_name(parameters, message):
    with pytest.raises(ValueError, match=message):
        ldl_hr(**parameters).fit(*problem())

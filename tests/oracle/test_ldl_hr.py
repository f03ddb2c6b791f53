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


def test_without_a_rest_the_forms_differ_by_the_factor_rho_only():
    X, D = problem()
    printed = ldl_hr(rest_weight=0.0, margin_weight=2.0, rho=0.25, form="printed").fit(X, D)
    released = ldl_hr(rest_weight=0.0, margin_weight=8.0, rho=0.25).fit(X, D)
    np.testing.assert_array_equal(printed.coef_, released.coef_)


def test_loss_at_zero_weights_by_hand():
    """P is uniform, so every label below the highest lacks the whole margin."""
    X, D = problem(n=8, c=4)
    value = objective_of(X, D, margin=10.0, rest=1.0, rho=0.05)(np.zeros(16))[0]
    others = np.sort(D, axis=1)[:, :-1]
    expected = 8 * 2 * 0.75 + np.abs(0.25 - others).sum() + 8 * 0.25 + 10.0 * 8 * 3 * 0.05
    assert value == pytest.approx(expected, rel=1e-12)


def test_first_term_alone_pushes_predictions_to_the_highest_label():
    generator = np.random.default_rng(3)
    X = np.eye(3)[generator.integers(3, size=40)] + 0.05 * generator.normal(size=(40, 3))
    D = softmax_rows(3.0 * X)
    model = ldl_hr(alpha=0.0, margin_weight=0.0, rest_weight=0.0).fit(X, D)
    P = model.predict(X)
    np.testing.assert_array_equal(P.argmax(axis=1), D.argmax(axis=1))
    assert P.max(axis=1).min() > 0.99


def test_no_hinge_is_paid_where_all_margins_exceed_rho():
    D = problem()[1]
    X = np.ones((30, 4))
    D[:, 2] = D.max(axis=1) + 0.1  # the highest label of all rows
    ahead = np.zeros((5, 4))
    ahead[2] = 2.0
    paid, gradient = objective_of(X, D, margin=1e6, rho=0.5)(ahead.ravel())
    free, gradient_without = objective_of(X, D, margin=0.0, rho=0.5)(ahead.ravel())
    assert paid == free
    np.testing.assert_array_equal(gradient, gradient_without)


def test_one_hot_labels_leave_no_rest():
    X, D = problem()
    hot = np.eye(5)[D.argmax(axis=1)]
    assert not objective_of(X, hot).others.any()


def test_heavier_margin_leaves_less_of_it_lacking():
    X, D = problem(n=60)
    at_top = (np.arange(60), D.argmax(axis=1))
    lacking = []
    for weight in (0.0, 1.0, 100.0):
        P = ldl_hr(margin_weight=weight, rest_weight=2.0, rho=0.05).fit(X, D).predict(X)
        hinges = np.maximum(0.0, 0.05 - (P[at_top][:, None] - P))
        hinges[at_top] = 0.0
        lacking.append(hinges.sum())
    assert lacking[0] > lacking[1] > lacking[2]


def test_training_never_ends_above_its_start():
    X, D = problem()
    start = objective_of(np.column_stack([X, np.ones(30)]), D, 1e4, 1.0, 0.01)
    for max_iter in (1, 5, 50):
        model = ldl_hr(alpha=0.0, max_iter=max_iter).fit(X, D)
        assert model.loss_ < start(np.zeros(25))[0]


def test_evaluations_leave_nothing_behind_for_the_next():
    """Buffers are used again and again, with terms switched off as well."""
    X, D = problem()
    for margin, rest in ((7.0, 3.0), (7.0, 0.0), (0.0, 3.0), (0.0, 0.0)):
        used = objective_of(X, D, margin, rest, rho=0.2)
        generator = np.random.default_rng(4)
        for w in generator.normal(size=(3, 20)):
            fresh = objective_of(X, D, margin, rest, rho=0.2)
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
    model = as_stated(LDLHR, max_iter=15).fit(kind(X), D)
    by_hand = as_stated(LDLHR, max_iter=15, standardise=False).fit(scaled, D)
    assert model.loss_ == pytest.approx(by_hand.loss_, rel=1e-9)
    np.testing.assert_allclose(model.predict(kind(X)), by_hand.predict(scaled), atol=1e-7)


def test_large_features_do_not_overflow():
    X, D = problem()
    with np.errstate(over="raise", invalid="raise"):
        P = ldl_hr().fit(X * 1e4, D).predict(X * 1e4)
    assert np.isfinite(P).all()


def test_the_printed_form_needs_a_margin():
    with pytest.raises(ValueError, match="rho must be above 0 where form is 'printed'"):
        ldl_hr(form="printed", rho=0.0).fit(*problem())


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

"""PT-SVM: its parts against definitions and libsvm, the whole against what must follow."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ldl._distances import rbf
from ldl.kernels._pair_machines import platt
from ldl.kernels.ptsvm import PTSVM, couple, sigmoid
from tests.oracle.examples import exponential_problem, means_of_ten_folds
from tests.oracle.settings import as_stated

problem = partial(exponential_problem, q=3, c=3, noise=0.3)


# ---------------------------------------------------------------------- coupling


@pytest.mark.parametrize("c", [2, 3, 9])
def test_coupling_gives_back_the_distribution_that_made_the_pairs(c):
    P = np.random.default_rng(1).dirichlet(np.ones(c), size=50)
    R = P[:, :, None] / (P[:, :, None] + P[:, None, :])
    np.testing.assert_allclose(couple(R), P, atol=1e-10)


def disagreement(P: np.ndarray, R: np.ndarray) -> np.ndarray:
    crossed = R.transpose(0, 2, 1) * P[:, :, None] - R * P[:, None, :]
    return (crossed**2 * ~np.eye(P.shape[1], dtype=bool)).sum(axis=(1, 2))


def test_coupling_of_contradicting_pairs_is_the_minimum_on_the_simplex():
    generator = np.random.default_rng(2)
    upper = np.triu(generator.uniform(1e-7, 1 - 1e-7, size=(40, 5, 5)), 1)
    R = upper + np.tril(1 - upper.transpose(0, 2, 1), -1)
    P = couple(R)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    least = disagreement(P, R)
    for _ in range(200):
        other = 0.9 * P + 0.1 * generator.dirichlet(np.ones(5), size=40)
        assert (disagreement(other, R) >= least - 1e-12).all()


# ---------------------------------------------------------------------- sigmoid


def platt_loss(theta, values, positive, weight):
    ups, downs = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))
    p = sigmoid(values, *theta)
    return -(weight * (target * np.log(p) + (1 - target) * np.log(1 - p))).sum()


def test_sigmoid_is_the_minimum_of_platts_loss():
    from scipy.optimize import minimize

    generator = np.random.default_rng(3)
    values = generator.normal(size=200)
    positive = values + generator.normal(size=200) > 0.3
    weight = generator.uniform(0.1, 2.0, size=200)
    found = platt(values, weight * positive, weight * ~positive)
    reference = minimize(
        platt_loss, [0.0, 0.0], args=(values, positive, weight), method="BFGS", tol=1e-10
    ).x
    np.testing.assert_allclose(found, reference, atol=1e-5)


# ---------------------------------------------------------------------- the whole


def test_decision_values_are_libsvms_own():
    """One-hot labels on rows of equal weight: an ordinary machine on ordinary rows."""
    from sklearn.svm import SVC

    X, D = problem(5, c=2)
    y = D.argmax(axis=1)
    model = as_stated(PTSVM, random_state=0).fit(X, np.eye(2)[y])
    (machine,) = model.machines_
    ours = rbf(X, X, model.width_) @ machine.coef + machine.intercept
    plain = SVC(C=2.0, gamma=1 / (2 * model.width_**2)).fit(X, y == machine.positive)
    np.testing.assert_allclose(ours, plain.decision_function(X), atol=5e-3)


@pytest.mark.realdata
def test_order_of_appearance_costs_as_much_on_sjaffe_as_the_paper_prints(real_data):
    """The paper prints kl 0.0787, above the 0.0738 of the uniform distribution."""
    data = real_data("sjaffe")
    in_order, by_appearance = (
        means_of_ten_folds(
            data,
            as_stated(
                PTSVM, "resample", platt_split="pairs", column_order=order, random_state=0
            ).fit,
        )["kl"]
        for order in ("sorted", "first_appearance")
    )
    assert in_order < 0.0738 < by_appearance


def test_a_machine_that_needs_too_many_steps_ends_with_one_warning():
    generator = np.random.default_rng(0)
    X = 1e3 * np.linspace(0, 1, 60)[:, None] + 5 * generator.normal(size=(60, 1))
    D = generator.dirichlet(np.ones(3), size=60)
    with pytest.warns(ConvergenceWarning, match="PTSVM: .* ended before their optimum") as told:
        model = as_stated(PTSVM, C=1e5, random_state=0).fit(X, D)
    assert len(told) == 1
    assert 0 < model.diagnostics_["unfinished"] <= 18
    assert as_stated(PTSVM, random_state=0).fit(X / X.std(), D).diagnostics_["unfinished"] == 0

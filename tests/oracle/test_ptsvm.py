"""PT-SVM: its parts against definitions and libsvm, the whole against what must follow."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ldl._distances import rbf
from ldl.kernels._pair_machines import platt
from ldl.kernels.ptsvm import PTSVM, couple, sigmoid, single_labels
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


def test_whole_weights_are_repeated_instances():
    generator = np.random.default_rng(4)
    values = generator.normal(size=30)
    ups, downs = generator.poisson(1.0, size=(2, 30)).astype(float)
    single = np.concatenate([np.repeat(values, n.astype(int)) for n in (ups, downs)])
    positive = np.repeat([1.0, 0.0], [int(ups.sum()), int(downs.sum())])
    expected = platt(single, positive, 1.0 - positive)
    np.testing.assert_allclose(platt(values, ups, downs), expected, atol=1e-8)


# ---------------------------------------------------------------------- single-label instances


def test_weights_sum_to_rows_times_labels_and_keep_the_degrees():
    _, D = problem()
    D[0] = [1.0, 0.0, 0.0]
    found = single_labels(D, None)
    assert found.weight.sum() == pytest.approx(D.size)
    assert len(found.row) == D.size - 2
    rebuilt = np.zeros_like(D)
    rebuilt[found.row, found.label] = found.weight / 3
    np.testing.assert_allclose(rebuilt, D)


# ---------------------------------------------------------------------- the whole


def test_two_labels_get_the_output_of_the_sigmoid():
    X, D = problem(c=2)
    model = as_stated(PTSVM, random_state=0).fit(X, D)
    (machine,) = model.machines_
    values = rbf(X, X, model.width_) @ machine.coef + machine.intercept
    p = sigmoid(values, machine.slope, machine.offset)
    np.testing.assert_allclose(model.predict(X)[:, machine.positive], p, atol=1e-12)


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


def test_permuted_labels_permute_the_prediction_and_first_appearance_breaks_it():
    X, D = problem(7)
    order = [2, 0, 1]
    straight = as_stated(PTSVM, random_state=1).fit(X, D).predict(X)
    permuted = as_stated(PTSVM, random_state=1).fit(X, D[:, order]).predict(X)
    np.testing.assert_allclose(permuted, straight[:, order], atol=1e-9)
    drawn = {"transformation": "resample", "random_state": 1}
    sorted_ = as_stated(PTSVM, **drawn).fit(X, D).predict(X)
    model = as_stated(PTSVM, column_order="first_appearance", **drawn).fit(X, D)
    assert model.appearance_.tolist() != [0, 1, 2]
    np.testing.assert_allclose(model.predict(X), sorted_[:, model.appearance_], rtol=1e-14)


def test_pairs_held_out_without_their_row_turn_the_sigmoids_round():
    """The other labels of a held-out row stay in training and pull its margin the wrong way.

    Labels that do not depend on the features show this best.
    """
    generator = np.random.default_rng(9)
    X, D = generator.normal(size=(80, 5)), generator.dirichlet(np.full(3, 20.0), size=80)
    falling = {
        split: as_stated(PTSVM, platt_split=split, random_state=0)
        .fit(X, D)
        .diagnostics_["falling_sigmoids"]
        for split in ("rows", "pairs")
    }
    assert falling["pairs"] == 3
    assert falling["rows"] < 3


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

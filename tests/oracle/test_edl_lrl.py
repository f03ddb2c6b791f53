"""EDL-LRL: its loss by hand, copies of low rank, and the released code step by step."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import fmin_l_bfgs_b
from scipy.sparse import csr_matrix

from ldl.linear._softmax import softmax_rows
from ldl.linear.edl_lrl import EDLLRL, LowRankCopies
from ldl.linear.ldl_ldm import cluster_rows
from tests.oracle.examples import check_gradient, softmax_problem
from tests.oracle.settings import as_stated

problem = partial(softmax_problem, n=30)
BLOCKS = [slice(0, 12), slice(12, 30)]


def objective(X, D, rho=0.7, l2=0.0, diagonal=False) -> LowRankCopies:
    """The loss of the weights, with copies and multipliers that are not zero."""
    form = "released" if diagonal else "exact"
    made = LowRankCopies(X, D, BLOCKS, as_stated(EDLLRL, l2 / 2, rho=rho, form=form))
    generator = np.random.default_rng(8)
    made.copies[:] = generator.random(made.copies.shape)
    made.multipliers[:] = generator.normal(size=made.copies.shape)
    return made


@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_equals_central_differences(sparse):
    X, D = problem()
    made = objective(csr_matrix(X) if sparse else X, D, l2=0.3)
    check_gradient(made, np.random.default_rng(2).normal(size=20), step=1e-6)


def test_copies_minimise_the_sum_of_singular_values_and_the_distance():
    X, D = problem()
    made = objective(X, D)
    before, P = made.multipliers.copy(), D.T.copy()
    low_rank = 0.3
    total = made.move_copies(P, low_rank, shrink=True)

    def cost(copies):
        nuclear = sum(np.linalg.norm(copies[:, rows], "nuc") for rows in BLOCKS)
        apart = P - copies
        return low_rank * nuclear + (before * apart).sum() + 0.35 * (apart**2).sum()

    assert total == pytest.approx(
        sum(np.linalg.norm(made.copies[:, rows], "nuc") for rows in BLOCKS)
    )
    generator = np.random.default_rng(4)
    for length in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            step = length * generator.normal(size=made.copies.shape)
            assert cost(made.copies + step) > cost(made.copies)
    np.testing.assert_allclose(made.multipliers, before + 0.7 * (P - made.copies))


def released(X, D, seed, clusters, rho, low_rank, rounds):
    """The steps of the released code in plain NumPy, row by row and cluster by cluster."""
    (_, q), c = X.shape, D.shape[1]
    groups = cluster_rows(X, clusters, seed)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    w = np.random.default_rng(seed).random((q, c)).ravel()
    copies = [np.zeros((len(rows), c)) for rows in members]
    multipliers = [np.zeros((len(rows), c)) for rows in members]

    def value(w):
        total = 0.001 * (w**2).sum()
        for rows, copy, multiplier in zip(members, copies, multipliers, strict=True):
            P = softmax_rows(X[rows] @ w.reshape(q, c))
            total += 0.5 * ((P - D[rows]) ** 2).sum() + (multiplier * (P - copy)).sum()
            total += rho / 2 * ((P - copy) ** 2).sum()
        return total

    def slope(w):
        total = 0.002 * w.reshape(q, c)
        for rows, copy, multiplier in zip(members, copies, multipliers, strict=True):
            P = softmax_rows(X[rows] @ w.reshape(q, c))
            total = total + X[rows].T @ ((P - D[rows] + multiplier + rho * (P - copy)) * (P - P**2))
        return total.ravel()

    loss = np.inf
    for _ in range(rounds):
        w = fmin_l_bfgs_b(value, w, slope, pgtol=0.001, maxiter=10)[0]
        nuclear = 0.0
        for g, rows in enumerate(members):
            P = softmax_rows(X[rows] @ w.reshape(q, c))
            U, s, V = np.linalg.svd(P + multipliers[g] / rho, full_matrices=False)
            copies[g] = (U * (s * (s > low_rank / rho))) @ V
            multipliers[g] = multipliers[g] + rho * (P - copies[g])
            nuclear += np.linalg.norm(copies[g], "nuc")
        P = softmax_rows(X @ w.reshape(q, c))
        now = 0.5 * ((P - D) ** 2).sum() + 0.001 * (w**2).sum() + low_rank * nuclear
        if abs(loss - now) < 1e-8 or now > loss:
            break
        rho, loss = rho * 1.1, now
    return w.reshape(q, c)


@pytest.mark.parametrize("rho", [1e-6, 0.02])
def test_released_form_takes_the_released_steps(rho):
    X, D = problem(n=80)
    model = as_stated(
        EDLLRL, n_clusters=3, rho=rho, low_rank=0.05, form="released", random_state=5
    ).fit(X, D)
    expected = released(X, D, 5, 3, rho, 0.05, 50)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-6, atol=1e-8)

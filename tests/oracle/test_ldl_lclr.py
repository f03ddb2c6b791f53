"""LDL-LCLR: its term, the steps of ADMM, and the constraints at the end."""

import numpy as np
import pytest

from ldl import LDLLCLR, SABFGS
from ldl.linear._softmax import with_ones
from ldl.linear._terms import TermObjective
from ldl.linear.ldl_lclr import MixtureTerm, with_smaller_values
from tests.oracle.examples import check_gradient, softmax_problem


def fitted(**given) -> tuple[LDLLCLR, np.ndarray, np.ndarray]:
    X, D = softmax_problem(n=60)
    settings = {"alpha": 1.0, "random_state": 0, "mean_share": None} | given
    return LDLLCLR(**settings).fit(X, D), X, D


def test_loss_of_a_step_and_its_slopes():
    X, D = softmax_problem(n=20)
    generator = np.random.default_rng(0)
    S, T = generator.normal(size=(5, 5)), generator.normal(size=(20, 5))
    objective = TermObjective(with_ones(X), D, 0.3, 1, (MixtureTerm(T, S, 0.7),))
    at = generator.normal(size=25)
    W = at.reshape(5, 5).T
    P = np.exp(with_ones(X) @ W)
    P /= P.sum(axis=1, keepdims=True)
    expected = -(D * np.log(P)).sum() + 0.15 * (W[:4] ** 2).sum() + 0.35 * ((T - P @ S) ** 2).sum()
    assert objective(at)[0] == pytest.approx(expected)
    check_gradient(objective, at, step=1e-6)


def test_singular_values_shrink():
    S = np.random.default_rng(0).normal(size=(4, 4))
    before = np.linalg.svd(S)[1]
    after = np.linalg.svd(with_smaller_values(S, before[2]))[1]
    np.testing.assert_allclose(after, np.maximum(before - before[2], 0), atol=1e-12)


def test_the_first_round_is_written_out():
    """From S = I and E = 0: the solution of (P'P + I) S = P'D + I + G."""
    model, X, D = fitted(rounds=1, n_clusters=1, local_weight=0.05, error_weight=0.02)
    P = model.predict(X)
    apart = D[:, :, None] - D[:, None, :]
    G = 0.05 * (apart**2).sum(axis=0)
    expected = np.linalg.solve(P.T @ P + np.eye(5), P.T @ D + np.eye(5) + G)
    np.testing.assert_allclose(model.mixing_, expected, atol=1e-10)


def test_with_a_weak_link_it_is_sa_bfgs():
    model, X, D = fitted(rho=1e-9, error_weight=0.0, rank_weight=0.0, local_weight=0.0, tol=1e-12)
    plain = SABFGS(alpha=1.0, tol=1e-12, mean_share=None).fit(X, D)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-6)

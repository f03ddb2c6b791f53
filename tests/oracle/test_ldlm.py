"""LDLM: its loss in words, its slopes, and what it is made for."""

import numpy as np
import pytest

from ldl import LDLM
from ldl.linear._softmax import with_ones
from ldl.linear.ldlm import MarginObjective
from tests.oracle.examples import check_gradient, softmax_problem

MODEL = LDLM(alpha=0.2, margin_weight=0.7, rest_weight=0.4, rho=0.15)


def test_loss_is_the_sum_of_its_terms():
    X, D = softmax_problem(n=25)
    W = np.random.default_rng(1).normal(size=(5, 5))
    Z = with_ones(X) @ W
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    total = 0.1 * (W**2).sum()
    for d, p in zip(D, P, strict=True):
        t, others = d.argmax(), [j for j in range(5) if j != d.argmax()]
        total += max(0.0, (1 - p[t]) + sum(p[j] for j in others) - 0.15)
        total += 0.7 * sum(max(0.0, 0.15 - (p[t] - p[j])) for j in others)
        second, third = sorted(d[others])[::-1][:2]
        total += 0.4 * max(0.0, sum(abs(p[j] - d[j]) for j in others) - (second - third))
    assert MarginObjective(with_ones(X), D, MODEL)(W.T.ravel())[0] == pytest.approx(total)


def test_slopes_equal_central_differences_away_from_kinks():
    X, D = softmax_problem(n=25)
    objective = MarginObjective(with_ones(X), D, MODEL)
    check_gradient(objective, np.random.default_rng(2).normal(size=25), step=1e-7, tolerance=1e-5)

"""Machines of pairs against libsvm, against their own duality gap, and where either is silent."""

import numpy as np
import pytest

from ldl._distances import mean_distance, rbf
from ldl.kernels._pair_machines import TOLERANCE, Limits, solve
from ldl.kernels.ptsvm import similarities, single_labels

KINDS = ["degrees", "sparse", "one_hot", "counts", "one_rare", "repeated_rows"]
TIGHT = 1e-9


def problem(kind: str, seed: int = 0, n: int = 70) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a kernel, and the weights of its rows on either side."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 3))
    if kind == "repeated_rows":
        X = X[generator.integers(4, size=n)]
    lean = 1 / (1 + np.exp(-X[:, 0] - generator.normal(size=n)))
    ups, downs = 2 * lean, 2 - 2 * lean
    if kind == "sparse":
        ups *= generator.random(n) < 0.6
        downs *= generator.random(n) < 0.6
    elif kind == "one_hot":
        ups, downs = 2.0 * (lean > 0.5), 2.0 * (lean <= 0.5)
    elif kind == "counts":
        ups, downs = (generator.poisson(w).astype(float) for w in (ups, downs))
    elif kind == "one_rare":
        downs = np.where(np.arange(n) < 2, 1.0, 0.0)
    gram = rbf(X, X, mean_distance(X))
    np.fill_diagonal(gram, 1.0)
    return gram, ups, downs


def solved(gram, ups, downs, C=1.0, tolerance=TIGHT, start=None):
    """Return limits, multipliers, margins and intercept of a single machine."""
    limits = Limits.of(ups[None], downs[None], C)
    found = solve(gram, limits, limits.corner if start is None else start, tolerance)
    return Limits(*(v[0] for v in limits)), found.beta[0], found.margins[0], found.intercept[0]


def libsvm(gram, ups, downs, C, tolerance=1e-9):
    """Return libsvm's objective and margins; rows stand once for each side that they count on."""
    from sklearn.svm import SVC

    rows = np.concatenate([np.flatnonzero(ups), np.flatnonzero(downs)])
    positive = np.arange(len(rows)) < np.count_nonzero(ups)
    weight = np.where(positive, ups[rows], downs[rows])
    machine = SVC(C=C, kernel="precomputed", tol=tolerance)
    machine.fit(gram[np.ix_(rows, rows)], positive, sample_weight=weight)
    beta = np.zeros(len(gram))
    np.add.at(beta, rows[machine.support_], machine.dual_coef_[0])
    alphas = np.abs(machine.dual_coef_).sum()
    return alphas - 0.5 * beta @ gram @ beta, gram @ beta + machine.intercept_[0]


def dual(gram, limits, beta) -> float:
    total = (limits.upper - limits.lower).sum()
    return float(total - np.abs(beta - limits.corner).sum() - 0.5 * beta @ gram @ beta)


def primal(gram, ups, downs, C, beta, margins) -> float:
    losses = ups * np.maximum(0, 1 - margins) + downs * np.maximum(0, 1 + margins)
    return float(0.5 * beta @ gram @ beta + C * losses.sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_objective_and_margins_are_libsvms(kind, C):
    gram, ups, downs = problem(kind)
    limits, beta, margins, _ = solved(gram, ups, downs, C)
    objective, expected = libsvm(gram, ups, downs, C)
    assert dual(gram, limits, beta) == pytest.approx(objective, rel=1e-7)
    # libsvm keeps kernels in single precision. Where no row is between its limits, the intercept
    # is any of a range.
    between = (beta > limits.lower) & (beta < limits.upper) & (beta != limits.corner)
    if between.any():
        np.testing.assert_allclose(margins, expected, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_left_between_primal_and_dual(kind, seed):
    gram, ups, downs = problem(kind, seed)
    limits, beta, margins, _ = solved(gram, ups, downs)
    value = dual(gram, limits, beta)
    assert primal(gram, ups, downs, 1.0, beta, margins) == pytest.approx(value, rel=1e-8)


def test_more_equal_rows_than_are_looked_at_together_come_to_an_end():
    """Equal rows all disagree alike: none of them stands out."""
    gram = np.ones((400, 400))
    ups, downs = np.repeat([2.0, 0.5], 200), np.repeat([0.5, 1.0], 200)
    limits, beta, margins, _ = solved(gram, ups, downs)
    np.testing.assert_allclose(margins, 1.0)
    assert primal(gram, ups, downs, 1.0, beta, margins) == pytest.approx(dual(gram, limits, beta))


# ---------------------------------------------------------------------- within PT-SVM


@pytest.mark.realdata
@pytest.mark.parametrize("draw", [None, 0])
def test_machines_on_sjaffe_are_libsvms(real_data, draw):
    """The tolerance is tighter than libsvm's own, with which its margins are off by as much."""
    data = real_data("sjaffe")
    gram = similarities(data.X, mean_distance(data.X))
    drawn = single_labels(data.D, draw)
    weights = drawn.parts(np.zeros(len(drawn.row), int), *data.D.shape).sum(axis=0)
    for a, b in [(0, 1), (2, 3), (5, 0)]:
        limits, beta, margins, _ = solved(gram, weights[a], weights[b], tolerance=TOLERANCE)
        objective, expected = libsvm(gram, weights[a], weights[b], 1.0)
        assert dual(gram, limits, beta) == pytest.approx(objective, rel=1e-6)
        np.testing.assert_allclose(margins, expected, atol=2 * TOLERANCE)

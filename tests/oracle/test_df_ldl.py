"""DF-LDL: the paper's worked example, a direct implementation, ties, and parts of few rows."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from ldl import AAKNN, DFLDL, SABFGS, StructRF, Uniform
from tests.oracle.examples import softmax_problem as sample
from tests.oracle.settings import as_stated


def direct(X, D, T, base) -> np.ndarray:
    """Algorithms 1 and 2 row by row, for labels without ties."""
    guess = as_stated(AAKNN, 4).fit(X, D).predict(T)
    learners = {}
    for i, j in itertools.permutations(range(D.shape[1]), 2):
        rows = D[:, i] > D[:, j]
        learners[i, j] = clone(base).fit(X[rows], D[rows])
    answers = []
    for t, p in zip(T, guess, strict=True):
        chosen = [
            learners[(i, j) if p[i] >= p[j] else (j, i)].predict(t[None, :])[0]
            for i, j in itertools.combinations(range(D.shape[1]), 2)
        ]
        answers.append(np.mean(chosen, axis=0))
    return np.array(answers)


@pytest.mark.parametrize(
    "base",
    [
        as_stated(SABFGS, max_iter=30),
        as_stated(AAKNN, 3),
        as_stated(StructRF, n_estimators=1, max_samples=1.0, bootstrap=False),
    ],
)
def test_equals_the_algorithms_written_out(base):
    X, D = sample(n=90)
    P = as_stated(DFLDL, base).fit(X[:70], D[:70]).predict(X[70:])
    np.testing.assert_allclose(P, direct(X[:70], D[:70], X[70:], base), atol=1e-10)


def test_worked_example_of_the_paper():
    """The guess chooses l_21, l_31 and l_23, in the paper's count from 1."""
    X, D = sample(n=30, c=3)
    model = as_stated(DFLDL, Uniform()).fit(X, D)
    l_21, l_31, l_23 = (
        np.array([0.2, 0.7, 0.1]),
        np.array([0.25, 0.5, 0.25]),
        np.array([0.4, 0.6, 0]),
    )
    other = np.array([1.0, 0.0, 0.0])
    model.learners_ = [(other, l_21), (other, l_31), (l_23, other)]
    fused = model._fused(X[:1], np.array([[0.30, 0.38, 0.32]]))
    np.testing.assert_allclose(fused, [[0.85 / 3, 0.6, 0.35 / 3]])
    np.testing.assert_array_equal(fused.round(2), [[0.28, 0.6, 0.12]])


# ---------------------------------------------------------------------- bases


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": "ldl.NoSuch"}, "estimator: cannot find 'ldl.NoSuch'"),
        ({"estimator": "ldl.DLDL"}, "estimator: DLDL needs more than a table of features"),
        ({"settings": {"k": 3}}, "settings belong to an estimator that is given by its path"),
    ],
)
def test_what_is_no_base_is_refused_by_name(parameters, message):
    with pytest.raises(ValueError, match=message):
        as_stated(DFLDL, **parameters).fit(*sample())

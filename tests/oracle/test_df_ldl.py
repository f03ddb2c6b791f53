"""DF-LDL: the paper's worked example, a direct implementation, ties, and parts of few rows."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from ldl import AAKNN, DFLDL, SABFGS, LDLEstimator, RFRegression, StructRF, Uniform
from ldl.wrappers.df_ldl import parts_of_pairs
from tests.oracle.examples import softmax_problem as sample
from tests.oracle.settings import as_stated


@dataclass(eq=False, repr=False)
class Rows(LDLEstimator):
    """Remembers the rows that it was fitted to."""

    random_state: int | None = None

    def _fit(self, X, D):
        self.rows_ = X[:, 0].astype(int).tolist()
        self.D_ = D

    def _predict(self, X):
        return np.tile(self.D_.mean(axis=0), (len(X), 1))


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
        StructRF(n_estimators=1, max_samples=1.0, bootstrap=False),
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


def test_rows_go_to_the_part_of_the_higher_degree():
    D = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])
    told = [[part.tolist() for part in pair] for pair in parts_of_pairs(D, "first")]
    assert told == [[[0, 2], [1]], [[0, 2], [1]], [[0, 2], [1]]]
    both = [[part.tolist() for part in pair] for pair in parts_of_pairs(D, "both")]
    assert both == [[[0, 2], [1, 2]], [[0, 2], [1]], [[0, 2], [1]]]


def test_an_empty_part_leaves_its_place_to_the_other():
    X, D = sample(n=40, c=3)
    D[:, 0] += 1.0
    D /= D.sum(axis=1, keepdims=True)  # the first label is always the highest
    model = as_stated(DFLDL, Rows()).fit(X, D)
    for pair in model.learners_[:2]:
        assert pair[0] is pair[1]
        assert len(pair[0].rows_) == 40
    assert model.diagnostics_ == {
        "learners": 4,
        "smallest_part": min(int((D[:, 1] >= D[:, 2]).sum()), int((D[:, 1] < D[:, 2]).sum())),
    }


def test_parts_are_fitted_from_seeds_of_their_own_on_any_number_of_threads():
    X, D = sample(n=60)
    model = as_stated(DFLDL, RFRegression(n_estimators=2), random_state=3)
    alone = model.fit(X, D).predict(X)
    seeds = {learner.random_state for pair in model.learners_ for learner in pair}
    assert len(seeds) == 20
    together = (
        as_stated(DFLDL, RFRegression(n_estimators=2), random_state=3, n_jobs=3)
        .fit(X, D)
        .predict(X)
    )
    np.testing.assert_array_equal(alone, together)
    kept = as_stated(DFLDL, RFRegression(n_estimators=2, random_state=5), random_state=3).fit(X, D)
    assert {learner.random_state for pair in kept.learners_ for learner in pair} == {5}


# ---------------------------------------------------------------------- bases


def test_a_path_with_settings_is_the_estimator_that_they_make():
    X, D = sample(n=60)
    named = as_stated(DFLDL, "ldl.SABFGS", {"max_iter": 9, "alpha": 1.0, "mean_share": None}).fit(
        X, D
    )
    given = as_stated(DFLDL, as_stated(SABFGS, max_iter=9, alpha=1.0)).fit(X, D)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))


def test_parameters_of_the_base_are_parameters_of_the_wrapper():
    model = DFLDL(AAKNN(3))
    assert model.get_params()["estimator__n_neighbors"] == 3
    assert "estimator__n_neighbors" not in model.get_params(deep=False)
    assert model.set_params(estimator__n_neighbors=7, n_neighbors=2).estimator.n_neighbors == 7
    assert model.n_neighbors == 2
    assert repr(model) == "DFLDL(estimator=AAKNN(n_neighbors=7), n_neighbors=2)"


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

"""One run: what is fitted on which rows, what decides a grid, and what nobody may see."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from ldl import metrics
from ldl.base import LDLEstimator
from ldlrepro.catalogue import Method
from ldlrepro.folds.splits import Fold
from ldlrepro.train.selection import run_fold
from tests.unit.judged import PROJECT
from tests.unit.protocols import make_folds

SPEC: dict[str, Any] = {"title": "any", "class": "a.B"}
N = 60


class Spy(LDLEstimator):
    """Predicts the training mean, bent by its parameters; notes what it is given."""

    fits: ClassVar[list[tuple[np.ndarray, np.ndarray, dict[str, Any]]]] = []
    asked: ClassVar[list[np.ndarray]] = []

    def __init__(
        self, bend: float = 9.0, other: int = 0, random_state: int | None = None, n_jobs: int = 1
    ) -> None:
        self.bend = bend
        self.other = other
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self.mean_ = D.mean(axis=0)
        self.diagnostics_ = {"rows": len(D)}
        Spy.fits.append((X.copy(), D.copy(), self.get_params()))

    def _predict(self, X: Any) -> np.ndarray:
        Spy.asked.append(X.copy())
        bent = self.mean_ + self.bend * np.array([1.0, 0.0, 0.0])
        return np.tile(bent, (len(X), 1))


@pytest.fixture
def spy(monkeypatch):
    Spy.fits, Spy.asked = [], []
    monkeypatch.setattr(Method, "estimator", lambda method, **chosen: Spy(**chosen))
    return Spy


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray, Fold]:
    rng = np.random.default_rng(3)
    protocol = {"scheme": "kfold", "folds": 5, "validation": "next_fold"}
    fold = make_folds(protocol, N, ("seed",))[1]
    return rng.normal(size=(N, 4)), rng.dirichlet([3, 2, 1], size=N), fold


def run(X, D, fold, spec=SPEC, select_by="kl", **options):
    method = Method.model_validate(spec)
    return run_fold(method, X, D, fold, select_by=select_by, seed=5, **options)


# ---------------------------------------------------------------------- rows


def test_without_a_grid_one_model_is_fitted_on_all_training_rows(spy, data):
    X, D, fold = data
    result = run(X, D, fold)
    assert len(spy.fits) == 1
    np.testing.assert_array_equal(spy.fits[0][0], X[fold.train])
    np.testing.assert_allclose(spy.fits[0][1], D[fold.train], rtol=1e-15)
    np.testing.assert_array_equal(spy.asked[0], X[fold.test])
    assert result.selection == {}
    assert result.predictions.shape == D[fold.test].shape
    assert result.diagnostics["rows"] == len(fold.train)


def test_candidates_see_neither_validation_nor_test_rows_and_the_winner_sees_both_parts(spy, data):
    X, D, fold = data
    run(X, D, fold, {**SPEC, "grid": {"bend": [2.0, 0.0, 1.0]}})
    assert len(spy.fits) == 4
    for features, labels, _ in spy.fits[:3]:
        np.testing.assert_array_equal(features, X[fold.fitting])
        np.testing.assert_allclose(labels, D[fold.fitting], rtol=1e-15)
    for asked in spy.asked[:3]:
        np.testing.assert_array_equal(asked, X[fold.validation])
    np.testing.assert_array_equal(spy.fits[3][0], X[fold.train])
    np.testing.assert_array_equal(spy.asked[3], X[fold.test])


def quick(name: str, **changes: Any) -> Method:
    """A method of the project, with fewer candidates."""
    method = PROJECT.method(name)
    if "alpha" in method.grid:
        changes["grid"] = {"alpha": (0.0, 1.0)}
    return method.model_copy(update=changes)


@pytest.mark.parametrize("method", ["aa_knn@grid", "sa_bfgs@scaled", "pt_bayes", "rf"])
def test_test_labels_change_no_prediction(data, method):
    X, D, fold = data
    method = quick(method)
    first = run_fold(method, X, D, fold, select_by="kl", seed=5)
    garbled = D.copy()
    garbled[fold.test] = np.nan
    again = run_fold(method, X, garbled, fold, select_by="kl", seed=5)
    np.testing.assert_array_equal(first.predictions, again.predictions)
    assert first.params == again.params
    assert first.selection == again.selection


@pytest.mark.parametrize("method", ["aa_knn@grid", "sa_bfgs@scaled"])
def test_test_features_change_no_fit(data, method):
    X, D, fold = data
    method = quick(method, scaling="standard")
    first = run_fold(method, X, D, fold, select_by="kl", seed=5)
    wild = X.copy()
    wild[fold.test[1:]] = 1e6  # the first test row stays: it must be predicted as before
    again = run_fold(method, wild, D, fold, select_by="kl", seed=5)
    np.testing.assert_array_equal(first.predictions[0], again.predictions[0])
    assert first.selection == again.selection


def test_features_are_scaled_by_the_rows_that_are_fitted(spy, data):
    X, D, fold = data
    run(X, D, fold, {**SPEC, "scaling": "standard", "grid": {"bend": [0.0, 1.0]}})
    for features, _, _ in spy.fits:
        np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(features.std(axis=0), 1, rtol=1e-12)
    assert abs(spy.asked[0].mean(axis=0)).max() > 1e-3
    assert abs(spy.asked[-1].mean(axis=0)).max() > 1e-3


# ---------------------------------------------------------------------- choice


def test_the_candidate_with_the_best_validation_score_wins(spy, data):
    X, D, fold = data
    result = run(X, D, fold, {**SPEC, "grid": {"bend": [2.0, 0.0, 1.0]}})
    assert result.params["bend"] == 0.0
    assert result.selection["by"] == "kl"
    assert result.selection["rows"] == len(fold.validation)
    tried = result.selection["tried"]
    assert [t["bend"] for t in tried] == [2.0, 0.0, 1.0]
    mean = D[fold.fitting].mean(axis=0)
    for entry in tried:
        bent = mean + np.array([entry["bend"], 0, 0])
        P = np.tile(bent / bent.sum(), (len(fold.validation), 1))
        expected = metrics.evaluate(D[fold.validation], P)["kl"]
        assert entry["kl"] == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------------- what models are given


def test_every_model_gets_the_runs_seed_and_threads(spy, data):
    X, D, fold = data
    result = run(X, D, fold, {**SPEC, "grid": {"bend": [0.0, 1.0]}}, n_jobs=3)
    given = [(p["random_state"], p["n_jobs"]) for _, _, p in spy.fits]
    assert given == [(5, 3)] * 3
    assert result.params["random_state"] == 5


def test_a_method_that_says_so_is_given_the_test_labels(data):
    X, D, fold = data
    result = run_fold(PROJECT.method("true_labels"), X, D, fold, select_by="kl", seed=5)
    np.testing.assert_allclose(result.predictions, D[fold.test], rtol=1e-12)

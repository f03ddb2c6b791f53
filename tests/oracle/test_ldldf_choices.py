"""LDLDF's choices between layers: reuse, the stopping rule, and what test labels reach."""

from itertools import pairwise

import numpy as np
import pytest

from ldl.cascade._reuse import Reuse, choose
from ldl.cascade.ldldf import LDLDF, StopRule
from ldlrepro.catalogue import Project, with_settings
from ldlrepro.folds.splits import Fold
from ldlrepro.train.selection import run_fold
from tests.oracle.cascades import NEVER_STOPS, SMALL, problem
from tests.oracle.settings import as_stated

# ---------------------------------------------------------------------- reuse


@pytest.mark.parametrize("reuse", ["per_learner", "joint"])
def test_no_training_row_gets_farther_from_its_labels_with_reuse(reuse):
    X, D = problem()
    model = as_stated(LDLDF, **SMALL | NEVER_STOPS, reuse=reuse).fit(X, D)
    assert len(model.distance_) == 4
    for before, after in pairwise(model.distance_):
        assert (after <= before).all()
        assert (after < before).any()


def kept(by: str, L: np.ndarray, Z: np.ndarray, D: np.ndarray) -> np.ndarray:
    return choose(Reuse(by).nearer(L, Z, D), L, Z)


def test_joint_reuse_swaps_all_learners_of_a_row_and_the_other_each_alone():
    D = np.array([[0.5, 0.5]])
    Z = np.array([[[0.4, 0.6]], [[0.1, 0.9]]])
    L = np.array([[[0.2, 0.8]], [[0.5, 0.5]]])
    np.testing.assert_array_equal(kept("per_learner", L, Z, D), [Z[0], L[1]])
    np.testing.assert_array_equal(kept("joint", L, Z, D), L)
    np.testing.assert_array_equal(kept("off", L, Z, D), L)


# ---------------------------------------------------------------------- stopping


def followed(rule: StopRule, values: list[float]) -> tuple[int, int]:
    """Return the number of layers built, and the best of them."""
    for value in values:
        if rule.stops_after(value):
            break
    return rule.seen, rule.best_layer


@pytest.mark.parametrize(
    ("tol", "counter", "expected"),
    [
        (0.1, "consecutive", (7, 4)),
        (0.1, "cumulative", (5, 4)),
        (0.0, "consecutive", (8, 7)),
        (np.inf, "consecutive", (4, 1)),
    ],
)
def test_rule_counts_layers_that_do_not_improve_enough(tol, counter, expected):
    values = [-1.0, -0.99, -0.98, -0.8, -0.85, -0.8, -0.75, -0.76]
    assert followed(StopRule(tol, counter), values) == expected


def test_rule_goes_on_while_the_ceiling_is_far_enough():
    rule = StopRule(0.1, "consecutive", ceiling=0.0)
    assert followed(rule, [-1.0, -0.99, -0.2, -0.09, -0.08]) == (4, 4)


# ---------------------------------------------------------------------- leaks


def predictions(method: str, D_test_order: np.ndarray) -> np.ndarray:
    X, D = problem()
    D = D.copy()
    D[45:] = D[45:][D_test_order]
    fold = Fold(0, 0, np.arange(45), np.arange(0), np.arange(45, 60))
    return run_fold(Project.open().method(method), X, D, fold, select_by="kl", seed=3).predictions


def test_test_labels_reach_the_oracle_and_nothing_else():
    straight, turned = np.arange(15), np.arange(15)[::-1]
    honest = [predictions(cheap("ldldf"), order) for order in (straight, turned)]
    np.testing.assert_array_equal(*honest)
    oracle = [predictions(cheap("ldldf_oracle"), order) for order in (straight, turned)]
    assert not np.allclose(*oracle)


def cheap(method: str) -> str:
    return with_settings(method, {"n_estimators": 4, "max_estimators": 4, "max_layers": 3})


@pytest.mark.parametrize("reuse", ["per_learner", "off"])
def test_a_refit_grows_the_kept_layers_again_on_every_row(reuse):
    """So many layers without a rule, on the same rows and from the same seeds, answer the same."""
    X, D = problem()
    common = {"learners": "knn+lr", "reuse": reuse, "random_state": 5, "mean_share": None}
    held = {"judge_on": "holdout", "validation_fraction": 0.2, **common}
    stopped = LDLDF(output_layer="refitted", **held).fit(X, D)
    kept = stopped.diagnostics_["layers_kept"]
    plain = LDLDF(judge_on="out_of_fold", output_layer="last", max_layers=kept, **common).fit(X, D)
    np.testing.assert_array_equal(stopped.predict(X), plain.predict(X))
    assert stopped.diagnostics_["layers_built"] == len(stopped.performance_) > kept
    assert len(stopped.distance_) == kept
    without = LDLDF(output_layer="best", **held).fit(X, D)
    assert stopped.performance_ == without.performance_
    assert (stopped.predict(X) != without.predict(X)).any()

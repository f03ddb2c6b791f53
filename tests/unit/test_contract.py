"""What every estimator of the registry must keep, whatever it computes.

The list of methods comes from their YAML files, so a new method is tested by being there. The rules
are those that `ldlrepro check` holds a method of the user's own against.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from ldl import MSLP, checks
from ldl.base import LDLEstimator
from ldlrepro.peers.python_ldl import PythonLDL
from tests.unit.judged import PROJECT

# Cheaper settings, for classes that have these parameters. The contract does not depend on them.
CHEAPER = {
    "max_iter": 10,
    "n_estimators": 5,
    "max_estimators": 5,
    "max_layers": 2,
    "n_clusters": 2,
    "cv": 2,
    "validation_rows": 1,
    "leaf_batches": 10,
}
# Boosting grows trees for every label in every round, and chooses the number of rounds first. Ten
# steps of a softmax on hard labels do not come to the same point from sparse features.
STEPS = {
    "LDLogitBoost": {"max_iter": 3},
    "AOSOLDLogitBoost": {"max_iter": 3},
    "AgeSoftmax": {"max_iter": 40},
}
# For methods on images: a small network that starts from nothing.
SMALL = {
    "network": "tiny",
    "random_weights": True,
    "depth": 3,
    "units": 6,
    "max_iter": 8,
    "batch_size": 8,
    "leaf_batches": 3,
    "solver": "sgd",
    "learning_rate": 0.01,
    "drop_every": 5,
    "weight_decay": 0.0001,
    "temperature_factor": 0.9,
    "device": "cpu",
}


def distinct(names: list[str]) -> list[str]:
    """Without methods that are the same as one before once their settings are cheaper."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(repr(build(name)), name)
    return list(found.values())


def build(name: str, **parameters: Any) -> LDLEstimator:
    kind = PROJECT.method(name).kind
    known = kind._get_param_names()
    cheaper = SMALL if name in IMAGES else CHEAPER | STEPS.get(kind.__name__, {})
    if kind is MSLP:  # of the settings that it tries, some
        tried = PROJECT.method(name).parameters.items()
        cheaper = cheaper | {key: v[:2] for key, v in tried if isinstance(v, list | tuple)}
    wanted = {**cheaper, "random_state": 7, **parameters}
    return PROJECT.method(name).estimator(
        **{key: value for key, value in wanted.items() if key in known}
    )


# Those that see test labels have to be told them first. Algorithms of python-ldl are not ours to
# hold to anything, and run in an environment that need not be there: see test_peers.py.
OURS = [
    name
    for name in PROJECT.method_ids
    if not PROJECT.method(name).sees_test_labels and PROJECT.method(name).kind is not PythonLDL
]
IMAGES = {name for name in OURS if PROJECT.method(name).needs.images}
FIRST = list(
    {PROJECT.method(name).kind: name for name in reversed(OURS) if "@" not in name}.values()
)
"""A method of each class; the others have its code with other values of parameters."""
OTHERS = [name for name in distinct([*FIRST, *OURS]) if name not in FIRST]
BREAKABLE = ("distributions", "fewer_rows_than_features", "same_bits", "parameters")
"""Rules that another value of a parameter can break; all others are held against these alone."""

NOT_EQUIVARIANT = {
    "rf": "a tie between two highest degrees goes to the lower label index",
    "pt_bayes_hard": "draws a label of each row in the order of the labels",
    "pt_svm_hard": "as pt_bayes_hard",
    "rf_star": "as rf",
    "rf_reg": "rounding decides between equally good splits, and sums run over labels in order",
    "edl_lrl": "draws the first weights in the order of the labels",
    "cpnn": "labels enter as the numbers 1, 2, ...",
    "iis_aldl": "labels enter as the numbers 0, 1, ...",
    "aa_bp": "as edl_lrl",
    "bcpnn": "as edl_lrl",
    "acpnn": "as edl_lrl",
    "duo_ldl": "as edl_lrl",
    "ldl4c": "as edl_lrl",
    "sa_iis": "the first weights tie label j to feature j",
    "ldl_ldm": "as sa_iis",
}
NOT_EQUIVARIANT |= {
    name: "labels enter as the numbers 1, 2, ..., or draw the first weights in their order"
    for name in IMAGES
    if PROJECT.method(name).kind.__name__ != "DeepLDLF"
}


NOT_EQUIVARIANT["ldldf"] = "as rf_reg"
SPARSE_DIFFERS = {"ldldf": "xgboost reads absent entries as missing values"}

# The start ties label j to feature j, so an early stop depends on the order of the labels.
EQUIVARIANT_WITH = {"SABFGS": {"init": "zeros", "max_iter": 15}}

SPARSE_DIFFERS |= dict.fromkeys(IMAGES, "images are never sparse")
BAD_FEATURES = dict.fromkeys(
    IMAGES, "images cannot be so; tests/ldl/test_bad_input.py has what they can"
)
EXEMPT: dict[str, Mapping[str, str]] = {
    "label_order": NOT_EQUIVARIANT,
    "sparse": SPARSE_DIFFERS,
    "bad_features": BAD_FEATURES,
    "bad_rows": BAD_FEATURES,
}


def given_to(name: str, X: np.ndarray) -> np.ndarray:
    """Features, or images whose grey levels repeat them."""
    if name not in IMAGES:
        return X
    levels = np.clip(40 * X, 0, 255).astype(np.uint8)
    return np.stack([np.resize(row, (8, 8, 3)) for row in levels])


def trial_of(name: str, **fixed: Any) -> checks.Trial:
    def make(**parameters: Any) -> LDLEstimator:
        return build(name, **{**fixed, **parameters})

    if name not in IMAGES:
        return checks.Trial(make)
    # Networks compute in single precision, and sum in another order for one image.
    return checks.Trial(make, lambda X: given_to(name, X), tolerance=1e-6)


def keeps(name: str, rule: checks.Rule) -> None:
    kind = PROJECT.method(name).kind
    fixed = EQUIVARIANT_WITH.get(kind.__name__, {}) if rule.id == "label_order" else {}
    rule.check(trial_of(name, **fixed))


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("rule", checks.RULES, ids=lambda rule: rule.id)
def test_a_method_of_each_class_keeps_every_rule(name, rule):
    if name in EXEMPT.get(rule.id, {}):
        pytest.skip(EXEMPT[rule.id][name])
    if rule.id == "n_jobs" and "n_jobs" not in PROJECT.method(name).kind._get_param_names():
        pytest.skip("has no n_jobs")
    keeps(name, rule)


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_method_keeps_the_rules_that_a_parameter_can_break(name):
    for rule in checks.RULES:
        if rule.id in BREAKABLE:
            keeps(name, rule)


@pytest.mark.parametrize("name", [name for name in OURS if PROJECT.method(name).grid])
def test_every_candidate_of_the_grid_is_accepted(name):
    checks.grid_rule(PROJECT.method(name).grid).check(trial_of(name))


# ---------------------------------------------------------------------- what breaks a rule


class Good(LDLEstimator):
    """Breaks no rule; the classes below break one each."""

    def __init__(self, width: float = 1.0, random_state: int | None = None) -> None:
        self.width = width
        self.random_state = random_state

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self.X_, self.D_ = X.copy(), D

    def _predict(self, X: Any) -> np.ndarray:
        squares = ((X[:, None, :] - self.X_[None, :, :]) ** 2).sum(axis=2)
        squares -= squares.min(axis=1, keepdims=True)
        return np.exp(-squares / (2 * self.width**2)) @ self.D_


class OneColumn(Good):
    def _predict(self, X):
        return super()._predict(X)[:, 0]


class WritesIntoX(Good):
    def _fit(self, X, D):
        X -= X.mean(axis=0)
        super()._fit(X, D)


class KeepsX(Good):
    def _fit(self, X, D):
        self.X_, self.D_ = X, D


class DrawsAnew(Good):
    def _predict(self, X):
        return super()._predict(X) * np.random.default_rng().random(self.n_labels_)


class DrawsGlobally(Good):
    def _predict(self, X):
        np.random.random()
        return super()._predict(X)


class Accumulates(Good):
    def _fit(self, X, D):
        self.fits_ = getattr(self, "fits_", 0) + 1
        super()._fit(X, D)

    def _predict(self, X):
        return super()._predict(X) + self.fits_


class LooksAtTheBatch(Good):
    def _predict(self, X):
        return super()._predict(X - X.mean(axis=0))


class SumsInAnotherOrder(Good):
    """Gives a row that stands alone slightly other degrees, as sums of float32 do."""

    apart = 1e-7

    def _predict(self, X):
        return super()._predict(X) + self.apart * (len(X) == 1) * np.eye(self.n_labels_)[0]


class InSinglePrecision(SumsInAnotherOrder):
    def _predict(self, X):
        return super()._predict(X).astype(np.float32)


class TurnedToDoubles(InSinglePrecision):
    def _predict(self, X):
        return super()._predict(X).astype(np.float64)


class ApartInSinglePrecision(InSinglePrecision):
    apart = 1e-3


class FavoursTheFirstLabel(Good):
    def _predict(self, X):
        return super()._predict(X) + np.eye(self.n_labels_)[0]


class ChangesParameters(Good):
    def __init__(self, width: float = 1.0, random_state: int | None = None) -> None:
        super().__init__(width + 1, random_state)


class HoldsAFunction(Good):
    def _fit(self, X, D):
        super()._fit(X, D)
        self.kernel_ = lambda squares: np.exp(-squares)


class TellsArrays(Good):
    def _fit(self, X, D):
        super()._fit(X, D)
        self.diagnostics_ = {"mean": np.float64(X.mean())}


class NeedsManyRows(Good):
    def _fit(self, X, D):
        if len(X) < X.shape[1]:
            raise ZeroDivisionError("more features than rows")
        super()._fit(X, D)


def broken_rules(kind: type[LDLEstimator], *, must: bool = True) -> dict[str, str]:
    return checks.broken_rules(lambda **given: kind(**{"random_state": 7, **given}), must)


def test_a_method_that_keeps_all_rules_is_not_accused():
    assert broken_rules(Good, must=False) == {}


@pytest.mark.parametrize(
    ("kind", "rule", "words"),
    [
        (OneColumn, "distributions", r"_predict returned shape \(8,\), \(8, 4\) is needed"),
        (WritesIntoX, "inputs_untouched", "writes into X"),
        (KeepsX, "keeps_copies", r"keep X.copy\(\)"),
        (DrawsAnew, "same_bits", "made of random_state only"),
        (DrawsGlobally, "same_bits", "global generator"),
        (Accumulates, "forgets", "fitted with before"),
        (LooksAtTheBatch, "row_by_row", "alone gets another prediction"),
        (SumsInAnotherOrder, "row_by_row", "alone gets another prediction"),
        (ApartInSinglePrecision, "row_by_row", "alone gets another prediction"),
        (ChangesParameters, "parameters", "__init__ changes width: it may only store"),
        (HoldsAFunction, "pickle", "cannot be pickled"),
        (TellsArrays, "diagnostics", r"diagnostics_\['mean'\] is a float64"),
        (NeedsManyRows, "fewer_rows_than_features", "more features than rows"),
    ],
)
def test_a_method_that_breaks_a_rule_is_told_which(kind, rule, words):
    found = broken_rules(kind)
    assert re.search(words, found[rule]), found


@pytest.mark.parametrize("kind", [InSinglePrecision, TurnedToDoubles])
def test_single_precision_is_allowed_its_rounding(kind):
    assert broken_rules(kind) == {}


def test_what_is_only_worth_knowing_is_told_apart():
    assert broken_rules(FavoursTheFirstLabel) == {}
    assert set(broken_rules(FavoursTheFirstLabel, must=False)) == {"label_order"}

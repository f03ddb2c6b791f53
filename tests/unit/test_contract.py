"""What every estimator of the registry must keep, whatever it computes.

The list of methods comes from their YAML files, so a new method is tested by being there. The rules
are those that `ldlrepro check` holds a method of the user's own against.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from ldl import checks
from ldl.base import LDLEstimator
from ldlrepro import config, models

# Cheaper settings, for classes that have these parameters. The contract does not depend on them.
CHEAPER = {
    "max_iter": 40,
    "trees": 5,
    "max_trees": 5,
    "max_layers": 2,
    "folds": 2,
    "validation_rows": 1,
    "leaf_batches": 10,
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
    "optimiser": "sgd",
    "learning_rate": 0.01,
    "drop_every": 5,
    "weight_decay": 0.0001,
    "temperature_factor": 0.9,
    "device": "cpu",
}


def distinct(names: list[str]) -> list[str]:
    """Without methods on images that are the same as one before once their network is small."""
    found: dict[str, str] = {}
    for name in names:
        model = build(name) if name in IMAGES else name
        found.setdefault(repr(model), name)
    return list(found.values())


def build(name: str, **parameters: Any) -> LDLEstimator:
    known = models.estimator_class(name)._parameter_names()
    cheaper = SMALL if name in IMAGES else CHEAPER
    wanted = {**cheaper, "random_state": 7, **parameters}
    return models.load(name, **{key: value for key, value in wanted.items() if key in known})


OURS = [
    # Diagnoses that are told test labels cannot predict without them.
    name
    for name in config.method_ids()
    if not config.load_method(name)["sees_test_labels"]
]
IMAGES = {name for name in OURS if config.load_method(name).get("needs", {}).get("images")}
METHODS = distinct(OURS)

NOT_EQUIVARIANT = {
    "rf": "a tie between two highest degrees goes to the lower label index",
    "rf@sqrt": "as rf",
    "rf@smoothed": "as rf",
    "pt_bayes@as_released": "draws pairs in the order of the labels",
    "pt_bayes_hard": "draws a label of each row in the order of the labels",
    "pt_svm_hard": "as pt_bayes_hard",
    "pt_svm@resampled": "draws pairs in the order of the labels",
    "pt_svm@as_released": "as pt_svm@resampled, and returns columns in the order of the draws",
    "rf_star": "as rf",
    "rf_star@smoothed": "as rf",
    "rf_reg": "rounding decides between equally good splits, and sums run over labels in order",
    "sa_bfgs@uniform600": "draws the first weights in the order of the labels",
    "edl_lrl": "as sa_bfgs@uniform600",
    "edl_lrl@exact": "as sa_bfgs@uniform600",
    "cpnn": "labels enter as the numbers 1, 2, ...",
    "cpnn@as_released": "as cpnn",
    "cpnn@fine_steps": "as cpnn",
    "iis_aldl": "labels enter as the numbers 0, 1, ...",
    "iis_aldl@iis": "as iis_aldl",
    "aa_bp": "draws the first weights in the order of the labels",
    "aa_bp@hidden64": "as aa_bp",
    "aa_bp@toolbox": "as aa_bp",
}
NOT_EQUIVARIANT |= {
    name: "labels enter as the numbers 1, 2, ..., or draw the first weights in their order"
    for name in IMAGES
    if models.estimator_class(name).__name__ != "DeepLDLF"
}


def ldldf_with(kind: str) -> list[str]:
    """LDLDF and its variants that have this kind of learner."""
    own = [name for name in METHODS if name.partition("@")[0] == "ldldf"]
    return [name for name in own if kind in models.load(name).get_params()["learners"].split("+")]


NOT_EQUIVARIANT |= dict.fromkeys(ldldf_with("rf"), "as rf_reg")
SPARSE_DIFFERS = dict.fromkeys(ldldf_with("xgb"), "xgboost reads absent entries as missing values")

# The start ties label j to feature j, so an early stop depends on the order of the labels.
EQUIVARIANT_WITH = {
    "LDL4C": {"init": "zeros", "max_iter": 15},
    "SABFGS": {"init": "zeros", "max_iter": 15},
    "SAIIS": {"init": "zeros"},
    "LDLLDM": {"init": "zeros", "max_iter": 15},
}

SPARSE_DIFFERS |= dict.fromkeys(IMAGES, "images are never sparse")
BAD_FEATURES = dict.fromkeys(
    IMAGES, "images cannot be so; test_bad_images_are_refused_by_name has what they can"
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


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("rule", checks.RULES, ids=lambda rule: rule.id)
def test_every_method_keeps_every_rule(name, rule):
    if name in EXEMPT.get(rule.id, {}):
        pytest.skip(EXEMPT[rule.id][name])
    kind = models.estimator_class(name)
    if rule.id == "n_jobs" and "n_jobs" not in kind._parameter_names():
        pytest.skip("has no n_jobs")
    fixed = EQUIVARIANT_WITH.get(kind.__name__, {}) if rule.id == "label_order" else {}
    rule.check(trial_of(name, **fixed))


@pytest.mark.parametrize("name", [name for name in OURS if name not in METHODS])
def test_parameters_of_the_other_variants_are_stored_too(name):
    (rule,) = (rule for rule in checks.RULES if rule.id == "parameters")
    rule.check(trial_of(name))


@pytest.mark.parametrize("name", [m for m in METHODS if config.load_method(m).get("grid")])
def test_every_candidate_of_the_grid_is_accepted(name):
    checks.grid_rule(config.load_method(name)["grid"]).check(trial_of(name))


@pytest.mark.parametrize("name", [name for name in METHODS if name in IMAGES])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: X / 255.0, "X must hold grey levels from 0 to 255 as uint8, got float64"),
        (lambda X: X[..., 0], r"X must hold images, .*, got \(48, 8, 8\)"),
        (lambda X: X[..., :1], r"X must hold images, .*, got \(48, 8, 8, 1\)"),
        (lambda X: X[:, :0], r"X must hold images, .*, got \(48, 0, 8, 3\)"),
        (lambda X: X[:, :7], "tiny needs images of 8 x 8 pixels or more, X has 7 x 8"),
    ],
)
def test_bad_images_are_refused_by_name(name, spoil, message):
    X, D = trial_of(name).sample()
    with pytest.raises(ValueError, match=message):
        build(name).fit(spoil(X), D)


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


class TooFewLabels(Good):
    def _predict(self, X):
        return super()._predict(X)[:, :2]


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
        (TooFewLabels, "distributions", r"shape \(8, 2\), \(8, 4\) is needed"),
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

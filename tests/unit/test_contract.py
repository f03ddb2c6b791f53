"""What every estimator of the registry must keep, whatever it computes.

The list of methods comes from config/methods, so a new method is tested by being there.
"""

import pickle
from typing import Any

import numpy as np
import pytest

from ldlrepro import config, models
from ldlrepro.models.base import LDLEstimator

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
    name
    for name in config.method_ids()
    if config.load_method(name)["class"].startswith("ldlrepro.")
]
IMAGES = {name for name in OURS if config.load_method(name).get("needs", {}).get("images")}
METHODS = distinct(OURS)

NEEDS_TRUE_LABELS = {
    "true_labels": "answers with the labels it is given, so it has no predict(X)",
    "ldldf_oracle": "compares its layers' outputs with the labels it is given",
    "sldlf_released": "draws training rows from those to be predicted",
    "sldlf_released@drawn_rows": "as sldlf_released",
    "sldlf_released@best_iteration": "as sldlf_released",
    "sldlf_released@no_leaks": "as sldlf_released",
    "sldlf_released@mean_loss": "as sldlf_released",
}
NOT_EQUIVARIANT = {
    "rf": "a tie between two highest degrees goes to the lower label index",
    "rf@sqrt": "as rf",
    "rf@smoothed": "as rf",
    "pt_bayes@as_released": "draws pairs in the order of the labels",
    "pt_svm@resampled": "draws pairs in the order of the labels",
    "pt_svm@as_released": "as pt_svm@resampled, and returns columns in the order of the draws",
    "rf_star": "as rf",
    "rf_star@smoothed": "as rf",
    "rf_reg": "rounding decides between equally good splits, and sums run over labels in order",
    "rf_reg@kl": "as rf_reg",
    "sa_bfgs@uniform600": "draws the first weights in the order of the labels",
    "cpnn": "labels enter as the numbers 1, 2, ...",
    "cpnn@as_released": "as cpnn",
    "cpnn@fine_steps": "as cpnn",
    "aa_bp": "draws the first weights in the order of the labels",
    "aa_bp@toolbox": "as aa_bp",
}
SPARSE_DIFFERS = {
    "rf_reg": "rounding decides between equally good splits, and zeros are summed at another time",
    "rf_reg@kl": "as rf_reg",
}


NOT_EQUIVARIANT |= {
    name: "labels enter as the numbers 1, 2, ..., or draw the first weights in their order"
    for name in IMAGES
    if models.estimator_class(name).__name__ != "DeepLDLF"
}


def ldldf_with(kind: str) -> list[str]:
    """LDLDF and its variants that have this kind of learner."""
    own = [name for name in METHODS if name.partition("@")[0] in ("ldldf", "ldldf_oracle")]
    return [name for name in own if kind in models.load(name).get_params()["learners"].split("+")]


NOT_EQUIVARIANT |= dict.fromkeys(ldldf_with("rf"), "as rf_reg")
SPARSE_DIFFERS |= dict.fromkeys(ldldf_with("rf"), "as rf_reg")
SPARSE_DIFFERS |= dict.fromkeys(ldldf_with("xgb"), "xgboost reads absent entries as missing values")

# The start ties label j to feature j, so an early stop depends on the order of the labels.
EQUIVARIANT_WITH = {
    "SABFGS": {"init": "zeros", "max_iter": 15},
    "SAIIS": {"init": "zeros"},
    "LDLLDM": {"init": "zeros", "max_iter": 15},
}

predicting = pytest.mark.parametrize("name", [m for m in METHODS if m not in NEEDS_TRUE_LABELS])


def sample(seed: int = 0, n: int = 48, q: int = 6, c: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Non-negative features and labels that depend on them."""
    generator = np.random.default_rng(seed)
    X = generator.gamma(2.0, size=(n, q))
    scores = np.log1p(X) @ generator.normal(size=(q, c)) + 0.3 * generator.normal(size=(n, c))
    D = np.exp(scores)
    return X, D / D.sum(axis=1, keepdims=True)


def sample_for(name: str, *args: Any, **shape: Any) -> tuple[np.ndarray, np.ndarray]:
    X, D = sample(*args, **shape)
    return given_to(name, X), D


def given_to(name: str, X: np.ndarray) -> np.ndarray:
    """Features, or images whose grey levels repeat them."""
    if name not in IMAGES:
        return X
    levels = np.clip(40 * X, 0, 255).astype(np.uint8)
    return np.stack([np.resize(row, (8, 8, 3)) for row in levels])


def assert_on_simplex(P: np.ndarray, shape: tuple[int, int]) -> None:
    assert P.shape == shape
    assert P.dtype == np.float64
    assert np.isfinite(P).all()
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)


# ---------------------------------------------------------------------- output


@predicting
def test_prediction_lies_on_the_simplex(name):
    X, D = sample_for(name)
    P = build(name).fit(X[:40], D[:40]).predict(X[40:])
    assert_on_simplex(P, (8, 4))


HARD_DATA = {
    "fewer rows than features": sample(1, n=12, q=20),
    "two labels": sample(2, c=2),
    "constant columns": (
        np.column_stack([sample(3)[0], np.zeros((48, 1)), np.full((48, 1), 3.0)]),
        sample(3)[1],
    ),
    "only constant columns": (np.ones((48, 3)), sample(3)[1]),
    "duplicate rows": tuple(np.repeat(part[:16], 3, axis=0) for part in sample(4)),
    "a label that is always zero": (
        sample(5)[0],
        np.column_stack([sample(5)[1], np.zeros((48, 1))]),
    ),
    "one label with everything": (sample(6)[0], np.eye(3)[sample(6)[1].argmax(axis=1) % 3]),
}


@predicting
@pytest.mark.parametrize("kind", HARD_DATA)
def test_hard_data_still_give_distributions(name, kind):
    X, D = HARD_DATA[kind]
    X = given_to(name, X)
    P = build(name).fit(X, D).predict(X[:9])
    assert_on_simplex(P, (9, D.shape[1]))


@predicting
def test_sparse_features_predict_what_dense_ones_do(name):
    from scipy.sparse import csr_matrix

    if name in SPARSE_DIFFERS:
        pytest.skip(SPARSE_DIFFERS[name])
    if name in IMAGES:
        pytest.skip("images are never sparse")
    X, D = sample_for(name)
    X = np.where(X > 1.5, X, 0.0)
    dense = build(name).fit(X, D).predict(X[:6])
    sparse = build(name).fit(csr_matrix(X), D).predict(csr_matrix(X[:6]))
    np.testing.assert_allclose(sparse, dense, atol=1e-6)


# ---------------------------------------------------------------------- input


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, D: (X, D * np.nan), "D contains NaN"),
        (lambda X, D: (X, np.where(D.max() == D, np.inf, D)), "D contains NaN or infinity"),
        (lambda X, D: (X, D - 0.3), "D contains negative"),
        (lambda X, D: (X, D * 1.002), r"row \d+ of D sums to 1.002"),
        (lambda X, D: (X, D[:, :1]), "D must have shape"),
        (lambda X, D: (X, D[:-1]), "X has 48 rows but D has 47"),
        (lambda X, D: (X[:1], D[:1]), "D has one row"),
        (lambda X, D: (X * np.nan, D), "X contains NaN"),
        (lambda X, D: (np.where(X.max() == X, np.inf, X), D), "X contains NaN or infinity"),
        (lambda X, D: (X[:, :0], D), "X must have shape"),
        (lambda X, D: (X[:, 0], D), "X must have shape"),
    ],
)
def test_bad_training_data_are_refused_by_name(name, spoil, message):
    if name in IMAGES and message.startswith(("X contains", "X must")):
        pytest.skip("images cannot be so; test_bad_images_are_refused_by_name has what they can")
    with pytest.raises(ValueError, match=message):
        build(name).fit(*spoil(*sample_for(name)))


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
    X, D = sample_for(name)
    with pytest.raises(ValueError, match=message):
        build(name).fit(spoil(X), D)


@pytest.mark.parametrize("name", METHODS)
def test_small_errors_of_the_row_sums_are_mended_and_recorded(name):
    X, D = sample_for(name)
    off = D.copy()
    off[:5] *= 1.0005
    model = build(name).fit(X, off)
    assert model.renormalised_ == 5
    assert build(name).fit(X, D).renormalised_ == 0


@predicting
def test_training_data_are_left_as_they_were(name):
    X, D = sample_for(name)
    before = X.copy(), D.copy()
    model = build(name).fit(X, D)
    model.predict(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(D, before[1])


@predicting
def test_fitted_model_does_not_follow_changes_of_the_callers_arrays(name):
    X, D = sample_for(name)
    test = X[:5].copy()
    model = build(name).fit(X, D)
    before = model.predict(test)
    X[:] = X[::-1].copy()
    D[:] = D[::-1].copy()
    np.testing.assert_array_equal(model.predict(test), before)


@predicting
def test_wrong_width_at_predict_is_refused(name):
    X, D = sample_for(name)
    saw = "images of 5 x 8 pixels, but fit saw 8 x 8" if name in IMAGES else "5 features, but fit"
    with pytest.raises(ValueError, match=f"X has {saw}"):
        build(name).fit(X, D).predict(X[:, :5])


@predicting
def test_predict_before_fit_says_so(name):
    with pytest.raises(RuntimeError, match=r"not fitted; call fit\(X, D\) first"):
        build(name).predict(np.ones((2, 3)))


# ---------------------------------------------------------------------- repeatability


@predicting
def test_same_seed_gives_same_bits_whatever_the_global_generator_does(name):
    X, D = sample_for(name)
    np.random.seed(1)
    first = build(name).fit(X, D).predict(X)
    np.random.seed(2)
    state = np.random.get_state()[1].copy()
    again = build(name).fit(X, D).predict(X)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@predicting
def test_second_fit_forgets_the_first(name):
    X, D = sample_for(name, 1)
    fresh = build(name).fit(X, D).predict(X)
    reused = build(name).fit(*sample_for(name, 2, q=3, c=5)).fit(X, D).predict(X)
    np.testing.assert_array_equal(fresh, reused)


@predicting
def test_number_of_jobs_changes_no_bit(name):
    if "n_jobs" not in models.estimator_class(name)._parameter_names():
        pytest.skip("has no n_jobs")
    X, D = sample_for(name)
    alone = build(name, n_jobs=1).fit(X, D).predict(X)
    together = build(name, n_jobs=2).fit(X, D).predict(X)
    np.testing.assert_array_equal(alone, together)


@predicting
def test_rows_one_at_a_time_predict_what_the_batch_does(name):
    X, D = sample_for(name)
    model = build(name).fit(X[:30], D[:30])
    batch = model.predict(X)
    single = np.vstack([model.predict(row[None, :]) for row in X])
    # Networks compute in single precision, and sum in another order for one image.
    np.testing.assert_allclose(single, batch, atol=1e-6 if name in IMAGES else 1e-12, rtol=0)


@predicting
def test_permuted_labels_permute_the_prediction(name):
    if name in NOT_EQUIVARIANT:
        pytest.skip(NOT_EQUIVARIANT[name])
    X, D = sample_for(name)
    order = [2, 0, 3, 1]
    kind = models.estimator_class(name).__name__
    parameters = EQUIVARIANT_WITH.get(kind, {})
    straight = build(name, **parameters).fit(X, D).predict(X)
    permuted = build(name, **parameters).fit(X, D[:, order]).predict(X)
    np.testing.assert_allclose(permuted, straight[:, order], atol=1e-6)


# ---------------------------------------------------------------------- parameters


@pytest.mark.parametrize("name", OURS)
def test_parameters_are_stored_as_given_and_come_back(name):
    model = build(name)
    given = model.get_params()
    assert {key: getattr(model, key) for key in given} == given
    assert type(model)(**given).get_params() == given
    assert model.set_params(**given) is model
    with pytest.raises(ValueError, match="has no parameter 'no_such'"):
        model.set_params(no_such=1)


@pytest.mark.parametrize("name", METHODS)
def test_scikit_learn_can_clone_it(name):
    from sklearn.base import clone

    X, D = sample_for(name)
    model = build(name).fit(X, D)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "n_features_in_")


@predicting
def test_pickled_model_predicts_the_same_bits(name):
    X, D = sample_for(name)
    model = build(name).fit(X, D)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))


@pytest.mark.parametrize("name", METHODS)
def test_diagnostics_are_plain_numbers_and_words(name):
    model = build(name).fit(*sample_for(name))
    for key, value in getattr(model, "diagnostics_", {}).items():
        assert type(value) in (int, float, str, bool), key


@pytest.mark.parametrize("name", METHODS)
def test_every_candidate_of_the_grid_is_accepted(name):
    X, D = sample_for(name)
    for parameter, candidates in config.load_method(name).get("grid", {}).items():
        for value in candidates:
            model = build(name).set_params(**{parameter: value})
            assert model.fit(X, D).get_params()[parameter] == value

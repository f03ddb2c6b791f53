"""scikit-learn's own estimator checks on an estimator of every base class, and daily work with it:
pipelines, searches, data frames, sparse tables, pickles."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted

import ldl
from ldl._tempered import Tempered
from ldl.base import Weighted
from ldl.checks import sample
from ldl.datasets import make_distributions
from ldl.metrics import BETTER, FACTS, scorer, scorers
from tests.ldl.adapters import adapted
from tests.ldl.estimators import IMAGES, KINDS, NAMES, TABLES, cheap, images

needs_torch = pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")

# ---------------------------------------------------------------------- scikit-learn's checks

ONE_COLUMN = "expects one number a row, where a distribution has one for each label"
ONLY_THE_FIRST = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
"""Checks that fail whatever the estimator; tried on the first, where they must."""
DRAWING = ("ConformalBall", "DRF", "LDLDF", "PTSVM", "RFRegression", "RFStar", "SLDLF", "SSGLDL")
NEIGHBOURS = ("AAKNN", "CCAKNN", "DFLDL", "LPPKNN", "MSLP", "NPEKNN", "PCAKNN")
COPIES = {
    **dict.fromkeys((*DRAWING, "StructRF"), "of copies others are drawn"),
    **dict.fromkeys(NEIGHBOURS, "copies are neighbours, too"),
    "LogRatioRegression": "a row that is left out has copies",
    "RG4LDL": "to its machine all rows count alike",
    **dict.fromkeys(("LDLogitBoost", "AOSOLDLogitBoost"), "leaves hold five rows, copies or not"),
}
CANNOT_APPLY: dict[str, dict[str, str]] = {
    **{check: {KINDS[0]: ONE_COLUMN} for check in ONLY_THE_FIRST},
    "check_sample_weight_equivalence_on_dense_data": COPIES,
    "check_sample_weight_equivalence_on_sparse_data": COPIES,
}
"""Check -> estimators for which it must fail, and why; one that passes all the same is an error."""
COUNTING: dict[str, dict[str, Any]] = {
    **{name: {"n_clusters": 1} for name in ("EDLLRL", "LDLLCLR", "LDLLDM", "LDLSCL")},
    "LDSVR": {"kernel": "linear"},
}
"""Settings without clusters and widths, for which all rows count alike."""


def checks() -> list[Any]:
    """Pairs to try: a method's own part in weights is in its fit, all else is in the bases."""
    found = []
    for name in TABLES:
        expected = {check: row[name] for check, row in CANNOT_APPLY.items() if name in row}
        made = estimator_checks_generator(
            adapted(name, **COUNTING.get(name, {})),
            expected_failed_checks=expected,
            mark="xfail",
            xfail_strict=True,
        )
        for case in made:
            values, marks = getattr(case, "values", case), getattr(case, "marks", ())
            given = ",".join(f"{k}={v}" for k, v in values[1].keywords.items())
            check = getattr(values[1].func, "__name__", "check")
            wanted = name in KINDS or "sample_weight" in check
            if wanted and (check not in ONLY_THE_FIRST or name == KINDS[0]):
                found.append(pytest.param(*values, marks=marks, id=f"{name}-{check}({given})"))
    return found


@pytest.mark.parametrize(("estimator", "check"), checks())
@pytest.mark.filterwarnings("ignore")
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------- daily work


def distributions(P: np.ndarray) -> bool:
    return bool((P >= 0).all() and np.allclose(P.sum(axis=1), 1))


@pytest.mark.parametrize("name", NAMES)
def test_metadata_are_the_weights_of_rows_and_no_more(name):
    model = cheap(name)
    assert isinstance(model, BaseEstimator)
    known = {"sample_weight": None} if isinstance(model, Weighted) else {}
    assert model.get_metadata_routing().fit.requests == known
    assert model.get_metadata_routing().score.requests == {}


def test_weights_are_routed_through_a_pipeline_and_into_folds():
    X, D = sample(n=60)
    weight = np.arange(60) % 3
    model = ldl.RFRegression(n_estimators=5, random_state=0)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        line = make_pipeline(scaler, clone(model).set_fit_request(sample_weight=True))
        routed = line.fit(X, D, sample_weight=weight).predict(X)
        kept = {"cv": 2, "scoring": scorer("kl")}
        of_folds = cross_validate(line, X, D, params={"sample_weight": weight}, **kept)
        without = cross_validate(line, X, D, **kept)
    scaled = StandardScaler().fit_transform(X)
    direct = model.fit(scaled, D, sample_weight=weight).predict(scaled)
    np.testing.assert_array_equal(routed, direct)
    assert (of_folds["test_score"] < 0).all()
    assert (of_folds["test_score"] != without["test_score"]).all()


@pytest.mark.parametrize("name", NAMES)
def test_tags_say_what_it_takes(name):
    tags = get_tags(cheap(name))
    assert tags.estimator_type is None
    assert tags.requires_fit
    assert tags.target_tags.required
    assert (tags.target_tags.multi_output, tags.target_tags.single_output) == (True, False)
    assert tags.input_tags.two_d_array == tags.input_tags.sparse == (name in TABLES)
    assert not tags.input_tags.allow_nan


@pytest.mark.parametrize("name", ["AAKNN", "RFRegression", "DFLDL"])
def test_names_of_columns_are_kept_and_compared(name):
    X, D = sample(n=24)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = cheap(name, **seed(name)).fit(frame, pd.DataFrame(D))
    assert list(model.feature_names_in_) == list("abcdef")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        P = model.predict(frame)
    np.testing.assert_array_equal(P, cheap(name, **seed(name)).fit(X, D).predict(X))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(clone(model), "feature_names_in_")
    assert not hasattr(model.fit(X, D), "feature_names_in_")


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "coo_array"])
def test_sparse_tables_of_every_kind(kind):
    X, D = sample(n=24)
    X = getattr(sparse, kind)(np.where(X > 1.5, X, 0.0))
    assert distributions(cheap("AAKNN").fit(X, D).predict(X))


@pytest.mark.parametrize("name", ["AAKNN", "RFRegression", "DLDL"])
def test_a_fit_that_fails_leaves_it_unfitted(name, monkeypatch):
    """An earlier fit is gone too: half of its attributes may be of the later one."""
    X, D = images(8) if name in IMAGES else sample(n=24)
    model = cheap(name)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_train" if name in IMAGES else "_fit", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, D)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


LACKING = """
import sys

class Lacking:
    def find_spec(self, name, *_):
        if name == "{package}":
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Lacking())
import numpy as np
from scipy.sparse import csr_array
from ldl import {name}

generator = np.random.default_rng(0)
X = generator.integers(256, size={shape}, dtype=np.uint8)
{name}().fit({features}, generator.dirichlet(np.ones(3), size=len(X)))
"""


@pytest.mark.parametrize(
    ("name", "package", "features"),
    [("LDLDF", "xgboost", "csr_array(X)"), ("SLDLF", "torch", "X"), ("DLDL", "torch", "X")],
)
def test_a_method_that_lacks_an_extra_says_what_to_install(name, package, features):
    """In a process of its own: a module that is loaded once keeps what it has imported."""
    shape = (8, 16, 16, 3) if name in IMAGES else (24, 5)
    code = LACKING.format(name=name, package=package, features=features, shape=shape)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith(
        f"ModuleNotFoundError: {name} needs {package}, which is not installed: pip install "
        "'ldl[cpu]'"
    )


@needs_torch
def test_images_in_a_search():
    X, D = images(12)
    found = GridSearchCV(cheap("DeepDRF"), {"batch_size": [3, 4]}, cv=2, error_score="raise").fit(
        X, D
    )
    assert distributions(found.predict(X))
    again = pickle.loads(pickle.dumps(found.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert check_is_fitted(found.best_estimator_) is None


# ---------------------------------------------------------------------- names, frames, pictures


def test_predictions_are_frames_where_they_are_asked_for():
    X, D = sample(n=24)
    rows = pd.DataFrame(X, columns=list("abcdef"), index=range(100, 124))
    named = pd.DataFrame(D, columns=["calm", "glad", "sad", "sour"], index=rows.index)
    model = ldl.AAKNN().set_output(transform="pandas").fit(rows, named)
    assert list(model.label_names_) == list(named.columns)
    P = clone(model).fit(rows, named).predict(rows)
    assert list(P.columns) == list(named.columns)
    assert list(P.index) == list(rows.index)
    assert model.score(rows, named) == ldl.AAKNN().fit(X, D).score(X, D)
    plain = model.fit(X, D)
    assert not hasattr(plain, "label_names_")
    assert list(plain.predict(X).columns) == ["label_0", "label_1", "label_2", "label_3"]
    np.testing.assert_array_equal(plain.set_output(transform="default").predict(X), P)
    with pytest.raises(ValueError, match="transform must be 'default', 'pandas' or None"):
        plain.set_output(transform="polars")


def test_notebooks_show_a_diagram_with_parameters():
    shown = make_pipeline(StandardScaler(), ldl.SABFGS(max_iter=7))._repr_html_()
    assert "SABFGS(max_iter=7)" in shown
    assert "SABFGS(max_iter=7)" in ldl.SABFGS(max_iter=7)._repr_html_()


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in IMAGES or find_spec("torch")]
)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_tells_how_it_goes_where_it_is_asked_to_and_else_nothing(name, capsys):
    X, D = images(12) if name in IMAGES else sample(n=24)
    silent = cheap(name, **seed(name)).fit(X, D).predict(X)
    assert capsys.readouterr().out == ""
    model = cheap(name, **seed(name), verbose=True)
    np.testing.assert_array_equal(model.fit(X, D).predict(X), silent)
    told = capsys.readouterr().out.splitlines()
    assert told
    assert all(line.startswith(f"{name}: ") for line in told)


def test_what_is_chosen_is_told_once_for_all_trials(capsys):
    X, D = sample(n=60)
    model = ldl.SABFGS(alpha="auto", verbose=True).fit(X, D)
    told = capsys.readouterr().out.splitlines()
    chosen = ", ".join(f"{name}={value!r}" for name, value in model.auto_.items())
    assert told[0] == "SABFGS: 60 rows, 6 features, 4 labels"
    assert [line for line in told if "chose" in line] == [f"SABFGS: chose {chosen}"]
    assert told[-1].startswith("SABFGS: fitted in ")


# ---------------------------------------------------------------------- weights, importances


@needs_torch
@pytest.mark.parametrize("name", IMAGES)
def test_images_of_weight_zero_are_as_if_left_out(name):
    X, D = images(12)
    weight = np.repeat([1.0, 2.0, 0.0], 4)
    model = cheap(name, **seed(name))
    some = clone(model).fit(X, D, sample_weight=weight).predict(X)
    without = clone(model).fit(X[:8], D[:8], sample_weight=weight[:8]).predict(X)
    np.testing.assert_array_equal(some, without)
    assert (some != clone(model).fit(X, D).predict(X)).any()


COUNTED = [name for name in TABLES if isinstance(cheap(name), Weighted)]


def test_all_but_the_uniform_distribution_take_weights():
    assert set(TABLES) - set(COUNTED) == {"Uniform"}


@pytest.mark.parametrize("name", COUNTED)
def test_weights_of_one_change_no_bit_and_rows_of_weight_zero_are_as_if_left_out(name):
    X, D = sample(n=60)
    model = getattr(ldl, name)(**seed(name))  # with all that it chooses on held-out rows
    if "max_iter" in model.get_params():
        model.set_params(max_iter=5)
    plain = clone(model).fit(X, D).predict(X)
    ones = clone(model).fit(X, D, sample_weight=np.ones(60)).predict(X)
    np.testing.assert_array_equal(ones, plain)
    weight = np.arange(60) % 3 > 0
    some = clone(model).fit(X, D, sample_weight=weight)
    without = clone(model).fit(X[weight], D[weight])
    np.testing.assert_array_equal(some.predict(X), without.predict(X))
    assert (some.predict(X) != plain).any()
    with pytest.raises(ValueError, match="sample_weight must be above zero for two rows"):
        model.fit(X, D, sample_weight=np.eye(60)[0])


@pytest.mark.parametrize("name", [name for name in COUNTED if name in COPIES])
def test_predictions_follow_the_rows_that_weigh_more(name):
    X, D = sample(n=120)
    weight = np.where(D[:, 0] > np.median(D[:, 0]), 10.0, 1.0)
    plain = {"mean_share": None} if issubclass(getattr(ldl, name), Tempered) else {}
    model = cheap(name, **seed(name), **plain)
    weighted = clone(model).fit(X, D, sample_weight=weight).predict(X)
    assert weighted[:, 0].mean() > model.fit(X, D).predict(X)[:, 0].mean()


@pytest.mark.parametrize("name", [name for name in COUNTED if name not in COPIES])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_whole_weights_are_copies_of_rows(name, kind):
    """More rows than features, units that differ; the check of scikit-learn has fewer rows."""
    X, D = sample(n=60)
    X = np.where(X > 1.0, X, 0.0) * [1.0, 10.0, 0.1, 5.0, 2.0, 1.0]
    weight = np.arange(60) % 4
    model = cheap(name, **seed(name), **COUNTING.get(name, {}))
    weighted = clone(model).fit(kind(X), D, sample_weight=weight)
    copies = clone(model).fit(kind(X.repeat(weight, axis=0)), D.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.predict(X), copies.predict(X), atol=1e-7)
    np.testing.assert_allclose(weighted.mean_, copies.mean_, atol=1e-12)


def test_neighbours_have_the_weights_of_their_rows():
    X, D = sample(n=60)
    weight = np.arange(60) % 4
    model = ldl.AAKNN(5, mean_share=None).fit(X, D, sample_weight=weight)
    found = model.kneighbors(X)
    np.testing.assert_array_equal(model.X_, model._scaled(X[weight > 0]))
    shares = weight[weight > 0][found]
    wanted = (shares[:, :, None] * D[weight > 0][found]).sum(axis=1) / shares.sum(axis=1)[:, None]
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-14)


@pytest.mark.parametrize("name", ["RFRegression", "RFStar", "StructRF"])
def test_importances_name_the_features_that_decide(name):
    X, D = make_distributions(200, 6, 3, n_informative=2, concentration=None, random_state=0)
    model = cheap(name, n_estimators=5, random_state=0)
    with pytest.raises(NotFittedError):
        _ = model.feature_importances_
    shares = model.fit(X, D).feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert shares[:2].min() > 2 * shares[2:].max()
    assert not model.fit(np.ones((9, 2)), D[:9]).feature_importances_.any()


def test_importances_of_a_tree_are_what_its_splits_take_from_the_squared_error():
    """One split by a feature of two values, without a draw of rows to speak of."""
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 400, axis=0)
    D = np.repeat([[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]], 400, axis=0)
    model = ldl.RFRegression(n_estimators=20, max_samples=1.0, random_state=0).fit(X, D)
    first = 2 * (1 / 3 * (0.9 - 1.7 / 3) ** 2 + 2 / 3 * (0.4 - 1.7 / 3) ** 2)
    second = 2 * (2 / 3 * 0.1**2)
    wanted = np.array([first, second]) / (first + second)
    np.testing.assert_allclose(model.feature_importances_, wanted, atol=0.01)


# ---------------------------------------------------------------------- scorers


def test_a_scorer_for_each_measure_in_one_search():
    X, D = sample(n=24)
    scoring = {name: scorer(name) for name in BETTER}
    found = cross_validate(ldl.AAKNN(), X, D, cv=2, scoring=scoring)
    for name, better in BETTER.items():
        assert (found[f"test_{name}"] <= 0).all() == (better == "lower"), name
    grid = {"n_neighbors": [1, 5]}
    search = GridSearchCV(ldl.AAKNN(), grid, cv=2, scoring=scoring, refit="kl").fit(X, D)
    wanted = GridSearchCV(ldl.AAKNN(), grid, cv=2).fit(X, D)  # by score, which is the same
    assert search.best_params_ == wanted.best_params_
    together = GridSearchCV(ldl.AAKNN(), grid, cv=2, scoring=scorers(), refit="kl").fit(X, D)
    assert together.best_score_ == search.best_score_
    assert {f"mean_test_{name}" for name in FACTS} <= set(together.cv_results_)


def test_set_params_of_a_step_and_representation():
    line = make_pipeline(StandardScaler(), ldl.SABFGS(max_iter=7)).set_params(sabfgs__alpha=0.5)
    assert repr(line[-1]) == "SABFGS(alpha=0.5, max_iter=7)"
    assert repr(clone(line)[-1]) == repr(line[-1])
    with pytest.raises(ValueError, match="Invalid parameter 'depth' for estimator SABFGS"):
        line.set_params(sabfgs__depth=3)


def seed(name: str) -> dict[str, int]:
    return {"random_state": 3} if "random_state" in cheap(name).get_params() else {}

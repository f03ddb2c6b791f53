"""Anybody's regressor or classifier becomes an estimator of distributions in one line."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ldl import AAKNN, SSGLDL, Regression, SingleLabelClassifier
from ldl.checks import sample

X, D = sample(n=60)
NEW = X[40:]
AS_IT_IS = {"standardise": False, "mean_share": None}


def distributions(degrees: np.ndarray) -> np.ndarray:
    degrees = np.where(degrees < 0, 1e-6, degrees)
    return degrees / degrees.sum(axis=1, keepdims=True)


def test_a_regressor_of_several_targets_predicts_what_it_does_alone():
    given = Ridge(alpha=0.3)
    P = Regression(given, **AS_IT_IS).fit(X[:40], D[:40]).predict(NEW)
    alone = Ridge(alpha=0.3).fit(X[:40], D[:40]).predict(NEW)
    np.testing.assert_allclose(P, distributions(alone), rtol=1e-12)
    assert not hasattr(given, "coef_"), "the object that is given stays as it was"
    by_path = Regression("sklearn.linear_model.Ridge", {"alpha": 0.3}, **AS_IT_IS).fit(
        X[:40], D[:40]
    )
    np.testing.assert_array_equal(by_path.predict(NEW), P)


def test_a_regressor_of_one_target_is_fitted_label_by_label():
    given = GradientBoostingRegressor(n_estimators=3, random_state=0)
    given = make_pipeline(StandardScaler(), given)
    P = Regression(given, random_state=1, **AS_IT_IS).fit(X[:40], D[:40]).predict(NEW)
    columns = [
        GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X[:40], d).predict(NEW)
        for d in D[:40].T
    ]
    np.testing.assert_allclose(P, distributions(np.column_stack(columns)), atol=1e-12)


def test_vector_leaves_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    given = xgboost.XGBRegressor(n_estimators=5, max_depth=2, multi_strategy="multi_output_tree")
    P = Regression(given, random_state=0, **AS_IT_IS).fit(X[:40], D[:40]).predict(NEW)
    alone = clone(given).fit(X[:40], D[:40]).predict(NEW).astype(np.float64)
    np.testing.assert_allclose(P, distributions(alone), rtol=1e-6)
    labels = SingleLabelClassifier(xgboost.XGBClassifier(n_estimators=2), **AS_IT_IS).fit(
        X, np.column_stack([np.zeros(60), D])
    )
    assert not labels.predict(X)[:, 0].any(), "labels that stand for no row leave no gap"


def test_a_classifier_predicts_what_it_does_alone():
    given = LogisticRegression(C=0.2)
    P = SingleLabelClassifier(given, **AS_IT_IS).fit(X[:40], D[:40]).predict(NEW)
    alone = LogisticRegression(C=0.2).fit(X[:40], D[:40].argmax(axis=1)).predict(NEW)
    np.testing.assert_array_equal(P, np.eye(D.shape[1])[alone])


def test_seeds_that_are_unset_come_from_the_methods_own():
    given = ExtraTreesRegressor(n_estimators=3)
    plain = Regression(given, mean_share=None)
    one, same, other = (
        clone(plain).set_params(random_state=s).fit(X, D).predict(X) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one == other).all(), (
        "each tree sees all rows, so that training rows are learnt by heart"
    )
    assert Regression(given, random_state=1).fit(X, D).regressor_.random_state is not None
    fixed = Regression(ExtraTreesRegressor(n_estimators=3, random_state=5), random_state=1)
    assert fixed.fit(X, D).regressor_.random_state == 5
    tree = SingleLabelClassifier(DecisionTreeClassifier(), random_state=3).fit(X, D)
    assert tree.classifier_.random_state is not None


@pytest.mark.parametrize(
    ("model", "name", "values"),
    [
        (Regression(Ridge()), "regressor__alpha", [0.1, 1.0]),
        (SingleLabelClassifier(LogisticRegression()), "classifier__C", [0.1, 1.0]),
        (SSGLDL(AAKNN()), "estimator__n_neighbors", [1, 5]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_parameters_inside_are_searched(model, name, values):
    search = GridSearchCV(model, {name: values}, cv=2, error_score="raise").fit(X, D)
    assert search.best_estimator_.get_params()[name] == search.best_params_[name]
    assert name not in model.get_params(deep=False)
    kept = clone(model).set_params(**{name: values[0]})
    assert kept.get_params()[name] == values[0]


def test_what_is_no_regressor_is_refused_in_a_line():
    with pytest.raises(ValueError, match="regressor must be an object with fit and predict or the"):
        Regression(Ridge).fit(X, D)
    with pytest.raises(ValueError, match=r"classifier must be one of lr, .* or an object with fit"):
        SingleLabelClassifier(LogisticRegression).fit(X, D)
    with pytest.raises(ValueError, match="settings belong to a regressor that is given by its"):
        Regression(Ridge(), {"alpha": 1}).fit(X, D)

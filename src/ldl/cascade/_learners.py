"""The learners of a cascade's layers: four kinds of model that fit and predict in one way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ldl.base import dense
from ldl.forests.random_forest import RFRegression
from ldl.forests.structrf import MaxFeatures
from ldl.neighbours.knn import AAKNN

if TYPE_CHECKING:
    from ldl.boosting._squares import SquaresForest

KINDS = ("rf", "xgb", "knn", "lr")
BINS = 32
"""Bins of a feature in the histograms of XGBoost."""

LOWEST_DEGREE = 1e-6
"""Degree to which outputs are clipped, for a degree of 0 can make the divergence infinite."""


class Model(Protocol):
    """Anything that fits features F to degrees D of rows with weights, and predicts degrees."""

    def fit(self, F: Any, D: np.ndarray, weight: np.ndarray | None = None, /) -> Any: ...

    def predict(self, F: Any) -> np.ndarray: ...


@dataclass(frozen=True)
class Settings:
    """The settings of the learners of one layer, by the names of the parameters of ``LDLDF``."""

    n_estimators: int
    max_depth: int
    max_features: MaxFeatures
    learning_rate: float
    base_score: float | None
    n_neighbors: int


def build(kind: str, settings: Settings, seed: int) -> Model:
    """Make a learner of one of the ``KINDS``."""
    if kind == "rf":
        return RFRegression(
            n_estimators=settings.n_estimators,
            max_depth=settings.max_depth,
            max_samples=1.0,
            min_samples_split=2,
            max_features=settings.max_features,
            random_state=seed,
            mean_share=None,
        )
    if kind == "xgb":
        return Boosted(settings, seed)
    if kind == "knn":
        return AAKNN(settings.n_neighbors, standardise=False, mean_share=None)
    return Linear()


class Boosted:
    """XGBoost by histograms, on all labels at once: one booster, with trees for each label.

    It runs in one thread, because xgboost sums histograms in another order with another number of
    threads. Absent entries of compressed data are missing values to xgboost, which learns on which
    side of a split they go. Where nothing is missing and all rows count alike code of ours cuts the
    same bins and grows the same trees, bit for bit, in less time.
    """

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self.parameters = {
            "objective": "reg:squarederror",
            "eta": settings.learning_rate,
            "max_depth": settings.max_depth,
            "tree_method": "hist",
            "max_bin": BINS,
            "base_score": settings.base_score,
            "seed": seed,
            "nthread": 1,
            "verbosity": 0,
        }

    def fit(self, F: Any, D: np.ndarray, weight: np.ndarray | None = None) -> Boosted:
        asked = self.settings
        if weight is None and not hasattr(F, "tocsr"):
            self._answer = _grown(asked, F, D).predict
            return self
        import xgboost

        data = xgboost.QuantileDMatrix(F, D, weight=weight, max_bin=BINS, nthread=1)
        self._answer = xgboost.train(self.parameters, data, asked.n_estimators).inplace_predict
        return self

    def predict(self, F: Any) -> np.ndarray:
        return np.asarray(self._answer(F), dtype=np.float64)


def _grown(asked: Settings, F: np.ndarray, D: np.ndarray) -> SquaresForest:
    """Grow the trees on bins that are cut as xgboost cuts them."""
    from ldl.boosting._quantiles import cut_like_xgboost
    from ldl.boosting._squares import SquaresForest

    forest = SquaresForest(cut_like_xgboost(F, BINS), asked.base_score)
    return forest.fit(F, D, asked.n_estimators, asked.max_depth, asked.learning_rate)


class Linear:
    """Linear regression by least squares, with an intercept; of several solutions the shortest."""

    def fit(self, F: Any, D: np.ndarray, weight: np.ndarray | None = None) -> Linear:
        from sklearn.linear_model import LinearRegression

        self.model_ = LinearRegression().fit(dense(F), D, weight)
        return self

    def predict(self, F: Any) -> np.ndarray:
        return self.model_.predict(dense(F))


def as_distributions(P: np.ndarray, normalise: str) -> np.ndarray:
    """Make outputs, with labels along the last axis, distributions; 'none' leaves them alone."""
    if normalise == "none":
        return P
    P = np.maximum(P, LOWEST_DEGREE)
    return P / P.sum(axis=-1, keepdims=True)

"""Any regressor as a method: it predicts the label degrees, which are made into distributions.

``Regression`` takes the regressor. A class of one's own, with parameters of its own, derives from
``RegressorMethod``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from ldl._parameters import FITS, class_at
from ldl._self_tuned import SelfTuned
from ldl._weighted import weights_for
from ldl.base import child_seeds, copy_of, seed_unset


class RegressorMethod(SelfTuned):
    """Base of methods that leave the work to a regressor with ``fit`` and ``predict``.

    A subclass stores its parameters and writes ``_regressor``, which returns a new regressor. One
    that knows a single target only is fitted once for each label. Every ``random_state`` of the
    regressor that is None gets a seed drawn from the ``random_state`` of the method. Negative
    degrees become ``lowest_degree``, a class attribute: kl punishes a zero without measure.

    Attributes
    ----------
    regressor_ : object
        The fitted regressor.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from ldl import RegressorMethod
    >>> from sklearn.linear_model import Ridge
    >>> @dataclass(eq=False, repr=False)
    ... class RidgeMethod(RegressorMethod):
    ...     alpha: float = 1.0
    ...
    ...     def _regressor(self):
    ...         return Ridge(alpha=self.alpha)
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> RidgeMethod(alpha=0.1).fit(X[:40], D[:40]).predict(X[40:]).shape
    (20, 3)
    """

    lowest_degree = 1e-6

    def _regressor(self) -> Any:
        """Return a new regressor, not fitted yet."""
        raise NotImplementedError

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        seed = child_seeds(getattr(self, "random_state", None), 1)[0]
        # A copy, because some regressors keep the rows that they were given.
        weight = self._weight(len(D))
        self.regressor_ = _fitted(self._regressor(), X.copy(), D, seed, weight)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        predicted = np.asarray(self.regressor_.predict(X), dtype=np.float64)
        if predicted.shape != (len(X), self.n_labels_):
            raise ValueError(
                f"the regressor predicts an array of shape {predicted.shape} where "
                f"{(len(X), self.n_labels_)} is needed: one column for each label"
            )
        return np.where(predicted < 0, self.lowest_degree, predicted)


@dataclass(eq=False, repr=False)
class Regression(RegressorMethod):
    """Regression of the label degrees by any regressor.

    A regressor that knows several targets learns all labels at once, scikit-learn's, XGBoost's with
    vector leaves and CatBoost's with MultiRMSE among them. A regressor of scikit-learn's kind that
    knows a single target is fitted once for each label; another goes into a
    ``MultiOutputRegressor`` first. Negative degrees become 1e-6; then rows are divided by their
    sums.

    Parameters
    ----------
    regressor : object or str, default='sklearn.linear_model.Ridge'
        Object with ``fit`` and ``predict``, which is copied; its parameters are also parameters of
        the method, by the name ``regressor__parameter``. Or the dotted path of its class, for files
        such as YAML that hold no objects.
    settings : dict or None, default=None
        Keyword arguments of a class that is given by its path.
    random_state : int or None, default=None
        Seed; every ``random_state`` of the regressor that is None gets one drawn from it.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import Regression
    >>> from sklearn.linear_model import Ridge
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = Regression(Ridge()).set_params(regressor__alpha=0.1)
    >>> model.fit(X[:40], D[:40]).predict(X[40:]).shape
    (20, 3)
    """

    regressor: Any = "sklearn.linear_model.Ridge"
    settings: dict[str, Any] | None = None
    random_state: int | None = None

    def _regressor(self) -> Any:
        if isinstance(self.regressor, str):
            kind = class_at("regressor", self.regressor, "sklearn.linear_model.Ridge")
            return kind(**(self.settings or {}))
        if self.settings is not None:
            raise ValueError("settings belong to a regressor that is given by its path")
        if not FITS.allows(self.regressor):
            raise ValueError(
                f"regressor must be {FITS} or the dotted path of its class, got {self.regressor!r}"
            )
        return copy_of(self.regressor)


def _fitted(
    regressor: Any, X: np.ndarray, D: np.ndarray, seed: int, weight: np.ndarray | None
) -> Any:
    """Fit a regressor, one for each label where it needs that, and give it its seed."""
    weights = weights_for(regressor, weight)
    if not _knows_many_targets(regressor):
        from sklearn.multioutput import MultiOutputRegressor

        regressor = MultiOutputRegressor(regressor)
    seed_unset(regressor, seed)
    regressor.fit(X, D, **weights)
    return regressor


def _knows_many_targets(regressor: Any) -> bool:
    """Ask scikit-learn's tags; a regressor of no kin to scikit-learn is taken to know them."""
    if not isinstance(regressor, BaseEstimator):
        return True
    return bool(get_tags(regressor).target_tags.multi_output)

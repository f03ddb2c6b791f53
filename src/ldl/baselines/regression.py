"""Any regressor as a method: it predicts the label degrees, which are made into distributions.

``Regression`` is named by a YAML file alone. A class of one's own, with arguments of its own,
derives from ``RegressorMethod`` and writes ``__init__`` and ``_regressor``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator, child_seeds


class RegressorMethod(LDLEstimator):
    """A method whose work is done by a regressor with scikit-learn's ``fit`` and ``predict``.

    One that knows a single target only is fitted once for each label. What has a ``random_state``
    and was given none gets its seed from that of the method. Negative degrees become
    ``lowest_degree``: kl punishes a zero without measure.
    """

    lowest_degree = 1e-6

    def _regressor(self) -> Any:
        """A new regressor, not fitted yet."""
        raise NotImplementedError

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        seed = child_seeds(getattr(self, "random_state", None), 1)[0]
        # A copy, because some regressors keep the rows that they were given.
        self.regressor_ = _fitted(self._regressor(), X.copy(), D, seed)

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
    """The regressor that ``regressor`` names, made with the keyword arguments ``settings``."""

    regressor: str = "sklearn.linear_model.Ridge"
    settings: dict[str, Any] | None = None
    random_state: int | None = None

    def _regressor(self) -> Any:
        module_name, _, name = self.regressor.rpartition(".")
        try:
            kind = getattr(importlib.import_module(module_name), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"regressor: cannot find '{self.regressor}' ({error}). "
                "Write the dotted path of its class, such as sklearn.linear_model.Ridge."
            ) from error
        return kind(**(self.settings or {}))


def _fitted(regressor: Any, X: np.ndarray, D: np.ndarray, seed: int) -> Any:
    if not _knows_many_targets(regressor):
        from sklearn.multioutput import MultiOutputRegressor

        regressor = MultiOutputRegressor(regressor)
    if hasattr(regressor, "get_params"):
        given = regressor.get_params()
        unset = [
            name
            for name in sorted(given)
            if name.rpartition("__")[2] == "random_state" and given[name] is None
        ]
        if unset:
            regressor.set_params(**dict.fromkeys(unset, seed))
    regressor.fit(X, D)
    return regressor


def _knows_many_targets(regressor: Any) -> bool:
    """What scikit-learn says of it; whoever is not of that family has to know."""
    from sklearn.base import BaseEstimator
    from sklearn.utils import get_tags

    if not isinstance(regressor, BaseEstimator):
        return True
    return bool(get_tags(regressor).target_tags.multi_output)

"""Log-ratio regression: ridge regression of logarithms of ratios, after Aitchison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from ldl._parameters import NotNegative, Options
from ldl.compositional._scaled import Compositional

_PENALTIES = np.logspace(-1, 5, 13)


@dataclass(eq=False, repr=False)
class LogRatioRegression(Compositional):
    """Ridge regression of log-ratios.

    The logarithms of a row's degrees, less their mean, are the centred log-ratios (clr). They are
    regressed on standardised features with squared error and a ridge penalty, and the softmax takes
    predictions back. Isometric log-ratios (ilr) are a rotation of them and give the same
    predictions.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights; ``'auto'`` takes the one from 0.1 to 100,000 whose error is
        least when each training row is left out in turn.

    Attributes
    ----------
    alpha_ : float
        Penalty that was taken.

    References
    ----------
    J. Aitchison, "The statistical analysis of compositional data", Journal of the Royal Statistical
    Society B 44(2), 139-177, 1982.

    J. Egozcue et al., "Isometric logratio transformations for compositional data analysis",
    Mathematical Geology 35(3), 279-300, 2003.

    Examples
    --------
    >>> from ldl import LogRatioRegression
    >>> from ldl.datasets import make_distributions
    >>> X, D = make_distributions(60, 5, 3, concentration=None, random_state=0)
    >>> model = LogRatioRegression(alpha=0.0, mean_share=None).fit(X[:40], D[:40])
    >>> bool(abs(model.predict(X[40:]) - D[40:]).max() < 1e-9)
    True
    """

    alpha: NotNegative | Annotated[Any, Options("auto")] = field(default="auto", kw_only=True)

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        from sklearn.linear_model import Ridge, RidgeCV

        weight = self._weight(len(X))
        logs = np.log(self._raised(D))
        ratios = logs - logs.mean(axis=1, keepdims=True)
        scale = self._scale_of(X, weight)
        ridge = RidgeCV(_PENALTIES) if self.alpha == "auto" else Ridge(self.alpha)
        ridge.fit(scale.applied(X), ratios, sample_weight=weight)
        self.alpha_ = float(ridge.alpha_ if self.alpha == "auto" else self.alpha)
        self.coef_, self.intercept_ = scale.fold(ridge.coef_.T, ridge.intercept_)

"""The contract that every estimator keeps.

Follows scikit-learn's conventions (``fit``/``predict``, ``get_params``, fitted attributes end in
``_``, ``clone`` and pickling work) without importing scikit-learn: that import takes longer than
most of our units, and a unit starts one process.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np

MAX_ROW_SUM_ERROR = 1e-3
"""Label rows further from one than this are refused; smaller errors are mended and recorded."""


class LDLEstimator:
    """Base class. A subclass writes ``__init__`` (store only), ``_fit`` and ``_predict``.

    ``_fit(X, D)`` sees checked float64 arrays (X may be CSR if ``accepts_sparse``);
    ``_predict(X)`` returns non-negative scores, which are made into distributions here.
    After ``fit``: ``n_features_in_``, ``n_labels_``, ``renormalised_`` (mended rows of D).
    """

    accepts_sparse = False

    # ------------------------------------------------------------------ to be written by methods

    def _fit(self, X: Any, D: np.ndarray) -> None:
        raise NotImplementedError

    def _predict(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    # ------------------------------------------------------------------ public

    def fit(self, X: Any, D: Any) -> Self:
        X = _check_features(X, self.accepts_sparse)
        D = np.array(D, dtype=np.float64, order="C")
        if D.ndim != 2 or D.shape[1] < 2:
            raise ValueError(f"D must have shape (rows, labels >= 2), got {D.shape}")
        if len(D) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but D has {len(D)}")
        if len(D) < 2:
            raise ValueError("D has one row; at least two are needed to fit")
        if not np.isfinite(D).all():
            raise ValueError("D contains NaN or infinity")
        if (D < 0).any():
            raise ValueError("D contains negative label degrees")
        sums = D.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1)))
        if abs(sums[worst] - 1) > MAX_ROW_SUM_ERROR:
            raise ValueError(f"row {worst} of D sums to {sums[worst]:.6g}, not to 1")
        self.renormalised_ = int((np.abs(sums - 1) > 1e-12).sum())
        D /= sums[:, None]
        self.n_features_in_ = int(X.shape[1])
        self.n_labels_ = int(D.shape[1])
        self._fit(X, D)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label distributions, one row per row of X."""
        if not hasattr(self, "n_features_in_"):
            raise RuntimeError(f"{type(self).__name__} is not fitted; call fit(X, D) first")
        X = _check_features(X, self.accepts_sparse)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but fit saw {self.n_features_in_} of them"
            )
        return to_simplex(self._predict(X))

    # ------------------------------------------------------------------ parameters

    @classmethod
    def _parameter_names(cls) -> list[str]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        # A class without its own __init__ shows object's *args and **kwargs.
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return sorted(p.name for p in parameters if p.name != "self" and p.kind not in variadic)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        for name, value in params.items():
            if name not in self._parameter_names():
                known = ", ".join(self._parameter_names()) or "none"
                raise ValueError(
                    f"{type(self).__name__} has no parameter '{name}' (it has: {known})"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items())
        return f"{type(self).__name__}({shown})"


def to_simplex(P: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; a row of zeros becomes uniform."""
    P = np.asarray(P, dtype=np.float64)
    if not np.isfinite(P).all():
        raise FloatingPointError("the prediction contains NaN or infinity")
    if (P < 0).any():
        raise FloatingPointError("the prediction contains negative label degrees")
    sums = P.sum(axis=1, keepdims=True)
    return np.where(sums > 0, P / np.where(sums > 0, sums, 1.0), 1.0 / P.shape[1])


def child_seeds(random_state: int | None, count: int) -> list[int]:
    """Seeds for ``count`` independent parts, drawn up front so that order and threads are free."""
    children = np.random.SeedSequence(random_state).spawn(count)
    return [int(child.generate_state(1, np.uint32)[0]) for child in children]


def _check_features(X: Any, accepts_sparse: bool) -> Any:
    if hasattr(X, "tocsr"):
        X = X.tocsr().astype(np.float64, copy=False) if accepts_sparse else X.toarray()
    if not hasattr(X, "tocsr"):
        X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"X must have shape (rows, features >= 1), got {X.shape}")
    values = X.data if hasattr(X, "tocsr") else X
    if not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity")
    return X

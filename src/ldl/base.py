"""The contract that every estimator keeps.

Estimators are scikit-learn's: parameters, ``clone``, tags, routing of metadata and how they are
shown come from its ``BaseEstimator``. Here stand the checks of features and distributions, names of
labels, and what ``predict`` returns.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import Tags, TransformerTags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import _check_feature_names

from ldl._docstrings import complete
from ldl._parameters import check_parameters
from ldl.metrics import MAX_LABEL_SUM_ERROR, demand_distributions, scorer

SHORT = 8
"""Rows of fewer numbers are added up one number after the other, longer ones eight abreast."""
OPTIONAL = ("torch", "xgboost")
"""Packages of the extras, which only some methods import."""


@dataclass(eq=False, repr=False, kw_only=True)
class LDLEstimator(BaseEstimator):
    """Base of all estimators.

    A subclass is a dataclass: its fields are its parameters, so that they are written once and
    ``__init__`` only stores them. It writes ``_fit(X, D)``, which sees checked float64 arrays (X
    may be CSR if ``accepts_sparse``) and sets attributes that end in ``_``, and ``_predict(X)``,
    which returns non-negative scores; they are made into distributions here.

    Parameters
    ----------
    verbose : bool, default=False
        Print how a fit goes: its rows, its steps, what it chooses, and its seconds.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of str
        Names of the features; only where ``fit`` was given a data frame.
    n_labels_ : int
        Number of labels.
    label_names_ : ndarray of str
        Names of the labels; only where ``fit`` was given D as a data frame with names in text.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from ldl import LDLEstimator
    >>> @dataclass(eq=False, repr=False)
    ... class Shrunk(LDLEstimator):
    ...     share: float = 0.5
    ...
    ...     def _fit(self, X, D):
    ...         self.mean_ = D.mean(axis=0)
    ...
    ...     def _predict(self, X):
    ...         even = np.full(self.n_labels_, 1 / self.n_labels_)
    ...         mixed = (1 - self.share) * self.mean_ + self.share * even
    ...         return np.tile(mixed, (len(X), 1))
    >>> X, D = np.zeros((4, 1)), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> Shrunk(share=0.0).fit(X, D).predict(X[:1])
    array([[0.75, 0.25]])
    """

    verbose: bool = False

    accepts_sparse = False
    """Whether ``_fit`` and ``_predict`` take CSR matrices; else they are made dense."""
    accepts_images = False
    """Whether X holds images instead of a table of features."""
    spreads_nan = False
    """Whether NaN or infinity in X makes predictions NaN, so that a look at these is enough."""

    # To scikit-learn a second argument of another name than y were metadata.
    __metadata_request__fit: ClassVar = {"D": UNUSED}
    __metadata_request__score: ClassVar = {"D": UNUSED}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls)

    # ------------------------------------------------------------------ to be written by methods

    def _fit(self, X: Any, D: np.ndarray) -> None:
        raise NotImplementedError

    def _predict(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    # ------------------------------------------------------------------ public

    def fit(self, X: Any, D: Any) -> Self:
        """Fit to features and label distributions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features; finite numbers.
        D : array-like of shape (rows, labels)
            Label degrees, not negative; each row sums to 1 within 0.001.

        Returns
        -------
        self
            The fitted estimator.
        """
        given, X = X, check_features(X, self.accepts_sparse)
        self._keep_label_names(D)
        D, self.renormalised_ = check_distributions(D, X.shape[0])
        self._match_names(given, reset=True)
        self.n_features_in_ = int(X.shape[1])
        self.n_labels_ = int(D.shape[1])
        with self._fitted_or_not():
            self._check_parameters()
            start = time.perf_counter()
            self._say(f"{len(D)} rows, {self.n_features_in_} features, {self.n_labels_} labels")
            self._learn(X, D)
            self._say(f"fitted in {time.perf_counter() - start:.1f} s")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict label distributions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray or data frame of shape (rows, labels)
            A distribution for each row: not negative, with sum 1; see ``set_output``.
        """
        given, X = X, self._checked(X, finite=not self.spreads_nan)
        with np.errstate(invalid="ignore") if self.spreads_nan else nullcontext():
            P = self._predict(X)
        try:
            P = to_simplex(P)
        except FloatingPointError:
            demand_finite(X)
            raise
        return self._framed(P, given) if hasattr(self, "_sklearn_output_config") else P

    def score(self, X: Any, D: Any) -> float:
        """Return minus the mean Kullback-Leibler divergence from D; higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features.
        D : array-like of shape (rows, labels)
            True label distributions.

        Returns
        -------
        float
            At most 0. ``ldl.metrics.scorer`` makes scorers of the other measures.
        """
        return scorer("kl")(self, X, D)

    def _say(self, text: str) -> None:
        """Print how the fit goes, for whoever asked for it."""
        if self.verbose:
            print(f"{type(self).__name__}: {text}", flush=True)

    def _learn(self, X: Any, D: np.ndarray) -> None:
        """Fit to checked data; a base extends it by what is done around every fit."""
        self._fit(X, D)

    def _checked(self, X: Any, finite: bool = True) -> Any:
        """Check features against those that ``fit`` saw; whether they are finite where asked to."""
        self._demand_fitted()
        self._match_names(X, reset=False)
        X = check_features(X, self.accepts_sparse, finite)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: those that fit saw"
            )
        return X

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``predict`` returns, as scikit-learn's transformers do.

        Parameters
        ----------
        transform : {'default', 'pandas'} or None, default=None
            ``'pandas'`` for data frames with a column for each label and the index of X, where it
            has one; ``'default'`` for arrays; None changes nothing.

        Returns
        -------
        self
            The estimator.
        """
        if transform not in (None, "default", "pandas"):
            raise ValueError(f"transform must be 'default', 'pandas' or None, got {transform!r}")
        if transform is not None:
            # By this name scikit-learn's clone finds it.
            self._sklearn_output_config = {"transform": transform}
        return self

    def _framed(self, P: np.ndarray, X: Any) -> Any:
        """Return a prediction in the form that ``set_output`` chose."""
        if self._sklearn_output_config["transform"] == "default":
            return P
        import pandas as pd

        plain = [f"label_{j}" for j in range(self.n_labels_)]
        names = getattr(self, "label_names_", plain)
        return pd.DataFrame(P, columns=names, index=getattr(X, "index", None))

    def _keep_label_names(self, D: Any) -> None:
        names = list(getattr(D, "columns", ()))
        if names and all(isinstance(name, str) for name in names):
            self.label_names_ = np.array(names, dtype=object)
        elif hasattr(self, "label_names_"):
            del self.label_names_  # of an earlier fit

    def _match_names(self, X: Any, reset: bool) -> None:
        """Keep the names of features that X has, or compare them with those that ``fit`` saw."""
        if hasattr(X, "columns") or hasattr(self, "feature_names_in_"):
            try:
                _check_feature_names(self, X, reset=reset)
            except TypeError:  # scikit-learn's own text has 400 letters
                raise TypeError(
                    "X has column names of mixed types, some text and some not. Feature names are "
                    "only supported if all input features have string names; X.columns = "
                    "X.columns.astype(str) makes them so."
                ) from None

    @contextmanager
    def _fitted_or_not(self) -> Iterator[None]:
        """Leave an estimator whose fit fails unfitted, and say how to get a package it lacks."""
        try:
            yield
        except BaseException as error:
            del self.n_features_in_
            if isinstance(error, ModuleNotFoundError) and error.name in OPTIONAL:
                raise ModuleNotFoundError(
                    f"{type(self).__name__} needs {error.name}, which is not installed: pip "
                    "install 'ldl[cpu]', or 'ldl[gpu]' on a machine with one",
                    name=error.name,
                ) from None
            raise

    def _demand_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"{type(self).__name__} is not fitted; call fit(X, D) first")

    # ------------------------------------------------------------------ parameters

    def _check_parameters(self) -> None:
        """Refuse by name what no fit could use; extend it where one parameter limits another."""
        check_parameters(self)

    # ------------------------------------------------------------------ scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that the target is a table of degrees, and what X may be."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags() if hasattr(self, "transform") else None
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        # There is no tag for images, which have four axes. Every table may be sparse: methods
        # that do not compute with sparse matrices make them dense.
        tags.input_tags.sparse = tags.input_tags.two_d_array = not self.accepts_images
        return tags


class Weighted(LDLEstimator):
    """Base of estimators whose training rows may count differently.

    ``_fit`` asks ``_weight`` for the weights. It sees no rows of weight zero.
    """

    _sample_weight: Any = None

    def fit(self, X: Any, D: Any, sample_weight: Any = None) -> Self:
        """Fit to features and label distributions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features; finite numbers.
        D : array-like of shape (rows, labels)
            Label degrees, not negative; each row sums to 1 within 0.001.
        sample_weight : array-like of shape (rows,) or None, default=None
            How much each row counts, not negative; None for all alike.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._sample_weight = sample_weight
        try:
            return super().fit(X, D)
        finally:
            del self._sample_weight

    def _learn(self, X: Any, D: np.ndarray) -> None:
        super()._learn(*self._rows_that_count(X, D))

    def _rows_that_count(self, X: Any, D: np.ndarray) -> tuple[Any, np.ndarray]:
        """Leave rows of weight zero out, and forget weights that are all one."""
        weight = self._weight(len(D))
        if weight is None:
            return X, D
        kept = weight > 0
        if kept.sum() < 2:
            raise ValueError("sample_weight must be above zero for two rows at least")
        weight = weight[kept]
        self._sample_weight = None if (weight == 1).all() else weight
        return X[kept], D[kept]

    def _weight(self, rows: int) -> np.ndarray | None:
        """Return the checked weight of each row; None where all count alike."""
        return check_weights(self._sample_weight, rows)


# ---------------------------------------------------------------------- distributions and seeds


def to_simplex(P: np.ndarray) -> np.ndarray:
    """Divide rows by their sums; a row of zeros becomes uniform."""
    P = np.asarray(P, dtype=np.float64)
    sums = sums_of_rows(P)[:, None]
    # Where all sums are finite, so are their terms; a sum alone may overflow.
    if not np.isfinite(sums).all() and not np.isfinite(P).all():
        raise FloatingPointError("the prediction contains NaN or infinity")
    if P.min(initial=0.0) < 0:
        raise FloatingPointError("the prediction contains negative label degrees")
    if sums.min(initial=1.0) > 0:
        return P / sums
    return np.where(sums > 0, P / np.where(sums > 0, sums, 1.0), 1.0 / P.shape[1])


def sums_of_rows(P: np.ndarray) -> np.ndarray:
    """Return ``P.sum(axis=1)``, bit by bit, without the time that NumPy loses on short rows."""
    if P.shape[1] >= SHORT:
        return np.asarray(P.sum(axis=1))
    return np.asarray(np.ascontiguousarray(P.T).sum(axis=0))


def child_seeds(random_state: int | None, count: int) -> list[int]:
    """Draw seeds for ``count`` independent parts up front, so that order and threads are free."""
    children = np.random.SeedSequence(random_state).spawn(count)
    return [int(child.generate_state(1, np.uint32)[0]) for child in children]


def copy_of(estimator: Any) -> Any:
    """Return an unfitted copy of somebody's estimator, of whatever library."""
    return clone(estimator, safe=False)


def seed_unset(estimator: Any, seed: int) -> None:
    """Set every ``random_state`` that is None in somebody's estimator, and inside it."""
    given = estimator.get_params() if hasattr(estimator, "get_params") else {}
    unset = [
        name
        for name in sorted(given)
        if name.rpartition("__")[2] == "random_state" and given[name] is None
    ]
    if unset:
        estimator.set_params(**dict.fromkeys(unset, seed))


def warn_unfinished(what: str, advice: str) -> None:
    """Warn that a solver came to its bound before its end, which no parameter had set."""
    text = f"{what} ended before their optimum: the steps are used up. {advice}"
    warnings.warn(text, ConvergenceWarning, stacklevel=2)


# ---------------------------------------------------------------------- checks of arguments


def check_distributions(D: Any, rows: int) -> tuple[np.ndarray, int]:
    """Return label distributions as a C-ordered copy whose rows sum to 1, and how many did not.

    Raises
    ------
    ValueError
        If D is no table of degrees with one distribution for each of ``rows`` rows.
    """
    if D is None:
        raise ValueError("D is None: fit requires y to be passed, but the target y is None")
    if hasattr(D, "tocsr"):
        raise TypeError("D must be dense, got a sparse matrix; write D.toarray()")
    D = _numbers(D, "D", "label degrees")
    if D.ndim != 2 or D.shape[1] < 2:
        raise ValueError(f"D must have shape (rows, labels >= 2), got {D.shape}")
    if len(D) != rows:
        raise ValueError(f"X has {rows} rows but D has {len(D)}")
    if rows < 2:
        raise ValueError("D has one row; at least two are needed to fit (n_samples=1)")
    sums = demand_distributions("D", D, MAX_LABEL_SUM_ERROR)
    mended = int((np.abs(sums - 1) > 1e-12).sum())
    D /= sums[:, None]
    return D, mended


def check_features(X: Any, accepts_sparse: bool, finite: bool = True) -> Any:
    """Return features as a C-ordered float64 array, or as CSR where that is kept.

    Raises
    ------
    ValueError
        If X is no table of numbers or, where ``finite``, holds NaN or infinity.
    """
    if X is None:
        raise ValueError("X is None, but a table of features is needed")
    if hasattr(X, "tocsr"):
        _refuse_complex(X, "X")
        X = X.tocsr().astype(np.float64, copy=False) if accepts_sparse else X.toarray()
    if not hasattr(X, "tocsr"):
        X = np.ascontiguousarray(_numbers(X, "X", "features", copy=False))
    if X.ndim != 2:
        hint = " Reshape your data: one row is X.reshape(1, -1)." if X.ndim == 1 else ""
        raise ValueError(f"X must have shape (rows, features >= 1), got {X.shape}.{hint}")
    if X.shape[0] == 0:
        raise ValueError(f"X has 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.shape[1] == 0:
        raise ValueError(
            f"X must have shape (rows, features >= 1): 0 feature(s) (shape={X.shape}) while a "
            "minimum of 1 is required."
        )
    if finite:
        demand_finite(X)
    return X


def check_weights(sample_weight: Any, rows: int) -> np.ndarray | None:
    """Return the weight of each row, None where none are given; refuse what are no weights."""
    if sample_weight is None:
        return None
    weight = _numbers(sample_weight, "sample_weight", "weights of rows")
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight must have shape ({rows},), a number for each row, got {weight.shape}"
        )
    if not np.isfinite(weight).all() or weight.min() < 0 or weight.max() == 0:
        raise ValueError("sample_weight must be finite, not negative and not all zero")
    return weight


def dense(X: Any) -> np.ndarray:
    """Return features as an array, which they are unless they are sparse."""
    return X.toarray() if hasattr(X, "tocsr") else X


def demand_finite(X: Any) -> None:
    """Refuse NaN and infinity; look at numbers one by one only if their squares' sum is neither."""
    values = X.data if hasattr(X, "tocsr") else X
    if not np.isfinite(np.vdot(values, values)) and not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity")


def _numbers(values: Any, name: str, what: str, copy: bool = True) -> np.ndarray:
    """Convert to float64; say which argument holds something else."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "US":
            raise ValueError(f"got text, such as {str(given.flat[0])!r}")
        _refuse_complex(given, name)
        converted = np.array(given, dtype=np.float64, order="C", copy=copy or None)
    except (ValueError, TypeError) as error:
        kind = type(error)  # scikit-learn tells what is no number from what is no table
        raise kind(f"{name} must hold {what} as numbers: {error}") from None
    return np.atleast_1d(converted)


def _refuse_complex(values: Any, name: str) -> None:
    if values.dtype.kind == "c":
        raise ValueError(f"{name} holds complex numbers. Complex data not supported")

"""The rules that every estimator keeps, whatever it computes.

A rule is given a trial, which makes estimators and their data, and raises AssertionError with what
is wrong in words. ``RULES`` lists them all; ``broken_rules`` tries an estimator of one's own:

>>> from ldl import AAKNN
>>> from ldl.checks import broken_rules
>>> broken_rules(AAKNN)
{}
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ldl.base import LDLEstimator

Build = Callable[..., LDLEstimator]


def sample(seed: int = 0, n: int = 48, q: int = 6, c: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Draw non-negative features, and label distributions that depend on them.

    Parameters
    ----------
    seed : int, default=0
        Seed of the draw.
    n : int, default=48
        Number of rows.
    q : int, default=6
        Number of features.
    c : int, default=4
        Number of labels.

    Returns
    -------
    X : ndarray of shape (n, q)
        Features.
    D : ndarray of shape (n, c)
        Label distributions.

    Examples
    --------
    >>> from ldl.checks import sample
    >>> X, D = sample(n=10)
    >>> X.shape, D.shape
    ((10, 6), (10, 4))
    """
    generator = np.random.default_rng(seed)
    X = generator.gamma(2.0, size=(n, q))
    scores = np.log1p(X) @ generator.normal(size=(q, c)) + 0.3 * generator.normal(size=(n, c))
    D = np.exp(scores)
    return X, D / D.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Trial:
    """Everything that a rule needs to try an estimator.

    Parameters
    ----------
    build : callable
        ``build(**parameters)`` makes an estimator that is not fitted; a class will do.
    given : callable, default=lambda
        Makes of a table of features what the estimator takes, such as images; as a rule nothing
        is changed.
    tolerance : float, default=1e-12
        Most by which the degrees of a row may differ when it is predicted alone. Where an
        estimator computes them in single precision, 1e-5 if that is more.
    """

    build: Build
    given: Callable[[np.ndarray], np.ndarray] = lambda X: X
    tolerance: float = 1e-12

    def sample(self, *seed: int, **shape: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw what the estimator takes, and labels; arguments are those of ``sample``."""
        X, D = sample(*seed, **shape)
        return self.given(X), D


@dataclass(frozen=True)
class Rule:
    """One thing that an estimator does.

    Parameters
    ----------
    id : str
        Short name.
    text : str
        Continues the sentence "The estimator ...".
    check : callable
        Called with a ``Trial``; raises AssertionError with what is wrong.
    must : bool, default=True
        False for what is worth knowing and allowed.
    """

    id: str
    text: str
    check: Callable[[Trial], None]
    must: bool = True


SINGLE_PRECISION = 1e-5
"""Most by which degrees computed in single precision may differ, for sums in another order."""
RULES: list[Rule] = []
"""All rules, filled below."""


def broken_rules(build: Build, must: bool = True) -> dict[str, str]:
    """Return what is wrong with an estimator, rule by rule.

    Parameters
    ----------
    build : callable
        ``build(**parameters)`` makes an estimator that is not fitted; a class will do.
    must : bool, default=True
        False for the rules that may be broken as well: the estimator gives the same from sparse
        features, and does not depend on the order of the labels.

    Returns
    -------
    dict of str to str
        The ``id`` of each broken rule, and what is wrong in words; empty if nothing is.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLEstimator
    >>> from ldl.checks import broken_rules
    >>> class Noise(LDLEstimator):
    ...     def _fit(self, X, D):
    ...         pass
    ...
    ...     def _predict(self, X):
    ...         return np.random.default_rng().random((len(X), self.n_labels_))
    >>> "same_bits" in broken_rules(Noise)
    True
    """
    trial = Trial(build)
    found = {}
    for rule in RULES:
        if rule.must or not must:
            try:
                rule.check(trial)
            except Exception as error:
                kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
                found[rule.id] = f"{kind}{error}"
    return found


def _rule(id: str, text: str, *, must: bool = True) -> Callable[..., Any]:
    def keep(check: Callable[[Trial], None]) -> Callable[[Trial], None]:
        RULES.append(Rule(id, text, check, must))
        return check

    return keep


def _demand(kept: bool, text: str) -> None:
    if not kept:
        raise AssertionError(text)


def _demand_same_bits(one: np.ndarray, other: np.ndarray, text: str) -> None:
    _demand(one.shape == other.shape and bool((one == other).all()), text)


def _demand_close(one: np.ndarray, other: np.ndarray, tolerance: float, text: str) -> None:
    apart = float(np.abs(one - other).max())
    _demand(apart <= tolerance, f"{text}: degrees differ by up to {apart:.2g}")


# ---------------------------------------------------------------------- output


def _demand_distributions(model: LDLEstimator, X: Any, labels: int) -> None:
    wanted = (X.shape[0], labels)
    try:
        P = model.predict(X)
    except (ValueError, IndexError):
        raw = np.shape(model._predict(X))
        _demand(raw == wanted, f"_predict returned shape {raw}, {wanted} is needed")
        raise
    _demand(
        P.shape == wanted,
        f"the prediction has shape {P.shape}, {wanted} is needed: a row for each row of X, "
        "a column for each label",
    )
    _demand(P.dtype == np.float64, f"the prediction holds {P.dtype}, not float64")
    _demand(bool(np.isfinite(P).all()), "the prediction contains NaN or infinity")
    _demand(bool((P >= 0).all()), "the prediction contains negative degrees")
    _demand_close(P.sum(axis=1), np.ones(len(P)), 1e-9, "rows of the prediction do not sum to 1")


@_rule("distributions", "predicts distributions")
def _distributions(trial: Trial) -> None:
    X, D = trial.sample()
    _demand_distributions(trial.build().fit(X[:40], D[:40]), X[40:], 4)


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


def _hard_rule(kind: str) -> None:
    @_rule(kind.replace(" ", "_"), f"copes with {kind}")
    def check(trial: Trial) -> None:
        X, D = HARD_DATA[kind]
        X = trial.given(X)
        _demand_distributions(trial.build().fit(X, D), X[:9], D.shape[1])


for _kind in HARD_DATA:
    _hard_rule(_kind)


@_rule("sparse", "predicts the same from sparse features", must=False)
def _sparse(trial: Trial) -> None:
    from scipy.sparse import csr_matrix

    X, D = trial.sample()
    X = np.where(X > 1.5, X, 0.0)
    dense = trial.build().fit(X, D).predict(X[:6])
    sparse = trial.build().fit(csr_matrix(X), D).predict(csr_matrix(X[:6]))
    _demand_close(sparse, dense, 1e-6, "sparse features give another prediction")


# ---------------------------------------------------------------------- input

Spoil = tuple[Callable[[Any, Any], tuple[Any, Any]], str]
SPOILT_LABELS: Sequence[Spoil] = (
    (lambda X, D: (X, D * np.nan), "D contains NaN"),
    (lambda X, D: (X, np.where(D.max() == D, np.inf, D)), "D contains NaN or infinity"),
    (lambda X, D: (X, D - 0.3), "D contains negative"),
    (lambda X, D: (X, D * 1.002), "of D sums to 1.002"),
    (lambda X, D: (X, D[:, :1]), "D must have shape"),
    (lambda X, D: (X, D[:-1]), "X has 48 rows but D has 47"),
    (lambda X, D: (X[:1], D[:1]), "D has one row"),
)
SPOILT_FEATURES: Sequence[Spoil] = (
    (lambda X, D: (X * np.nan, D), "X contains NaN"),
    (lambda X, D: (np.where(X.max() == X, np.inf, X), D), "X contains NaN or infinity"),
    (lambda X, D: (X[:, :0], D), "X must have shape"),
    (lambda X, D: (X[:, 0], D), "X must have shape"),
)


@_rule("bad_labels", "refuses bad labels")
def _bad_labels(trial: Trial) -> None:
    for spoil, message in SPOILT_LABELS:
        spoilt = spoil(*trial.sample())
        _demand_refusal(partial(trial.build().fit, *spoilt), ValueError, message)


@_rule("bad_features", "refuses bad features")
def _bad_features(trial: Trial) -> None:
    for spoil, message in SPOILT_FEATURES:
        spoilt = spoil(*trial.sample())
        _demand_refusal(partial(trial.build().fit, *spoilt), ValueError, message)


@_rule("bad_rows", "refuses new rows with NaN or infinity")
def _bad_rows(trial: Trial) -> None:
    X, D = trial.sample()
    model = trial.build().fit(X, D)
    for value in (np.nan, np.inf, -np.inf):
        for column in (0, -1):
            rows = X[:6].copy()
            rows[3, column] = value
            _demand_refusal(partial(model.predict, rows), ValueError, "X contains NaN or infinity")


def _demand_refusal(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    try:
        call()
    except kind as error:
        _demand(message in str(error), f"instead of '{message}' it says '{error}'")
    else:
        raise AssertionError(f"nothing is refused where '{message}' was to be said")


@_rule("row_sums", "mends and counts small errors of the row sums")
def _row_sums(trial: Trial) -> None:
    X, D = trial.sample()
    off = D.copy()
    off[:5] *= 1.0005
    counts = trial.build().fit(X, off).renormalised_, trial.build().fit(X, D).renormalised_
    _demand(counts == (5, 0), f"renormalised_ counts {counts} rows instead of (5, 0)")


@_rule("inputs_untouched", "leaves the training data as they were")
def _inputs_untouched(trial: Trial) -> None:
    X, D = trial.sample()
    before = X.copy(), D.copy()
    trial.build().fit(X, D).predict(X)
    _demand_same_bits(X, before[0], "fit or predict writes into X")
    _demand_same_bits(D, before[1], "fit or predict writes into D")


@_rule("keeps_copies", "does not follow later changes of the arrays it was fitted with")
def _keeps_copies(trial: Trial) -> None:
    X, D = trial.sample()
    test = X[:5].copy()
    model = trial.build().fit(X, D)
    before = model.predict(test)
    X[:] = X[::-1].copy()
    D[:] = D[::-1].copy()
    text = "writing into X or D after the fit changes the prediction: keep X.copy() instead of X"
    _demand_same_bits(model.predict(test), before, text)


@_rule("width", "refuses other features than it was fitted with")
def _width(trial: Trial) -> None:
    X, D = trial.sample()
    model = trial.build().fit(X, D)
    _demand_refusal(lambda: model.predict(X[:, :5]), ValueError, "fit saw")


@_rule("not_fitted", "says so when it is not fitted")
def _not_fitted(trial: Trial) -> None:
    message = "not fitted; call fit(X, D) first"
    _demand_refusal(lambda: trial.build().predict(np.ones((2, 3))), NotFittedError, message)


# ---------------------------------------------------------------------- repeatability


@_rule("same_bits", "gives the same bits with the same seed")
def _same_bits(trial: Trial) -> None:
    X, D = trial.sample()
    np.random.seed(1)
    first = trial.build().fit(X, D).predict(X)
    np.random.seed(2)
    state = np.random.get_state()[1].copy()  # type: ignore[index]
    again = trial.build().fit(X, D).predict(X)
    text = "a second fit with the same data and seed predicts something else: take random numbers"
    _demand_same_bits(first, again, f"{text} from a generator made of random_state only")
    moved = np.random.get_state()[1]  # type: ignore[index]
    _demand_same_bits(moved, state, "it draws from numpy's global generator")


@_rule("forgets", "forgets an earlier fit")
def _forgets(trial: Trial) -> None:
    X, D = trial.sample(1)
    fresh = trial.build().fit(X, D).predict(X)
    reused = trial.build().fit(*trial.sample(2, q=3, c=5)).fit(X, D).predict(X)
    _demand_same_bits(fresh, reused, "what it was fitted with before changes the prediction")


@_rule("n_jobs", "gives the same bits with any number of jobs")
def _n_jobs(trial: Trial) -> None:
    if "n_jobs" not in trial.build()._get_param_names():
        return
    X, D = trial.sample()
    alone = trial.build(n_jobs=1).fit(X, D).predict(X)
    together = trial.build(n_jobs=2).fit(X, D).predict(X)
    _demand_same_bits(alone, together, "n_jobs=2 predicts other bits than n_jobs=1")


def _in_single_precision(model: LDLEstimator, X: Any) -> bool:
    """Tell by the numbers: of those computed in double precision next to none is a float32."""
    if model.accepts_images:  # the tolerance of their trials knows
        return False
    raw = np.asarray(model._predict(model._checked(X)))
    return bool(np.mean(raw == raw.astype(np.float32)) > 0.5)


@_rule("row_by_row", "predicts a row whatever stands beside it")
def _row_by_row(trial: Trial) -> None:
    X, D = trial.sample()
    model = trial.build().fit(X[:30], D[:30])
    batch = model.predict(X)
    single = np.vstack([model.predict(row[None, :]) for row in X])
    least = SINGLE_PRECISION if _in_single_precision(model, X) else 0.0
    text = "a row alone gets another prediction than among others"
    _demand_close(single, batch, max(trial.tolerance, least), text)


@_rule("label_order", "does not depend on the order of the labels", must=False)
def _label_order(trial: Trial) -> None:
    X, D = trial.sample()
    order = [2, 0, 3, 1]
    straight = trial.build().fit(X, D).predict(X)
    permuted = trial.build().fit(X, D[:, order]).predict(X)
    _demand_close(permuted, straight[:, order], 1e-6, "labels in another order, another prediction")


# ---------------------------------------------------------------------- parameters


@_rule("parameters", "stores its parameters as given")
def _parameters(trial: Trial) -> None:
    model = trial.build()
    given = model.get_params(deep=False)
    stored = {key: getattr(model, key) for key in given}
    _demand(stored == given, "get_params differs from the attributes")
    again = type(model)(**given).get_params(deep=False)
    changed = [key for key in given if again[key] != given[key]]
    _demand(not changed, f"__init__ changes {', '.join(changed)}: it may only store")
    _demand(model.set_params(**given) is model, "set_params does not return the estimator")
    _demand_refusal(lambda: model.set_params(no_such=1), ValueError, "parameter 'no_such'")


@_rule("clone", "can be cloned by scikit-learn")
def _clone(trial: Trial) -> None:
    model = trial.build().fit(*trial.sample())
    copied = clone(model)
    _demand(copied.get_params() == model.get_params(), "a clone has other parameters")
    _demand(not hasattr(copied, "n_features_in_"), "a clone is fitted already")


@_rule("pickle", "predicts the same after pickling")
def _pickle(trial: Trial) -> None:
    X, D = trial.sample()
    model = trial.build().fit(X, D)
    try:
        stored = pickle.dumps(model)
    except Exception as error:
        raise AssertionError(f"the fitted model cannot be pickled: {error}") from error
    text = "a model that was pickled predicts other bits"
    _demand_same_bits(pickle.loads(stored).predict(X), model.predict(X), text)


@_rule("diagnostics", "has plain numbers and words in diagnostics_")
def _diagnostics(trial: Trial) -> None:
    model = trial.build().fit(*trial.sample())
    for key, value in getattr(model, "diagnostics_", {}).items():
        plain = type(value) in (int, float, str, bool)
        _demand(plain, f"diagnostics_['{key}'] is a {type(value).__name__}: make it a plain number")


def grid_rule(grid: Mapping[str, Sequence[Any]]) -> Rule:
    """Make the rule that an estimator takes every candidate of a grid.

    Parameters
    ----------
    grid : dict of str to list
        Candidates of each parameter, as for a grid search.

    Returns
    -------
    Rule
        The rule, which fits every candidate of one parameter after the other.

    Examples
    --------
    >>> from ldl import AAKNN
    >>> from ldl.checks import Trial, grid_rule
    >>> grid_rule({"n_neighbors": [1, 5]}).check(Trial(AAKNN))
    """

    def check(trial: Trial) -> None:
        X, D = trial.sample()
        for parameter, candidates in grid.items():
            for value in candidates:
                model = trial.build().set_params(**{parameter: value})
                kept = model.fit(X, D).get_params()[parameter]
                _demand(kept == value, f"fit changes {parameter} from {value} to {kept}")

    return Rule("grid", "accepts every candidate of its grid", check)

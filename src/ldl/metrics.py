"""The ten measures between distributions, four more, two of the label on top, and two for ages.

Every measure is computed per row and averaged over rows. Zeros matter only inside ``kl``: each
convention in use has a name here, and a value of ``kl`` is comparable within one of them only.
``FACTS`` says of each measure between which values it lies and what zeros and ties do.

Predictions in double precision hardly ever tie: where a method means two degrees to be equal, their
last bits decide which is higher, and may decide otherwise on another machine. Measures that rank
labels therefore take a ``tolerance``: of a row's degrees in ascending order, those that are no more
than this above the one before tie with it.

Examples
--------
>>> from ldl.metrics import kl
>>> round(kl([[0.6, 0.4]], [[0.5, 0.5]]), 4)
0.0201
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.errors import nearest

BETTER = {
    "chebyshev": "lower",
    "clark": "lower",
    "canberra": "lower",
    "kl": "lower",
    "cosine": "higher",
    "intersection": "higher",
    "euclidean": "lower",
    "sorensen": "lower",
    "squared_chi2": "lower",
    "fidelity": "higher",
}
"""The measures in the order of the papers' tables, and which direction is better."""

LABEL_BETTER = {"zero_one_loss": "lower", "error_probability": "lower"}
"""The same for measures of the label that is predicted to be on top."""

FURTHER_BETTER = {
    "spearman": "higher",
    "kendall": "higher",
    "aitchison": "lower",
    "top_k": "higher",
}
"""The same for measures that statisticians use and the papers' tables do not."""

AGE_BETTER = {"mae": "lower", "cs5": "higher"}
"""The same for measures of ages."""


@dataclass(frozen=True)
class Facts:
    """Facts about one measure.

    Parameters
    ----------
    range : str
        Lowest and highest value, where ``c`` is the number of labels.
    zeros : str, default='count as any other degree'
        Effect of degrees of zero.
    ties : str, default='of no effect'
        Effect of equal degrees in a row.

    Examples
    --------
    >>> from ldl.metrics import FACTS
    >>> FACTS["clark"].range
    '0 to sqrt(c)'
    """

    range: str
    zeros: str = "count as any other degree"
    ties: str = "of no effect"


_BOTH_ZERO = "a label of zero in both does not count; of zero in one counts as much as it can"
_FIRST_ON_TOP = "the first of the highest labels counts"
_MEAN_RANKS = "tied labels share their mean rank; a row of equal degrees counts as 0"
FACTS = {
    "chebyshev": Facts("0 to 1"),
    "clark": Facts("0 to sqrt(c)", _BOTH_ZERO),
    "canberra": Facts("0 to c", _BOTH_ZERO),
    "kl": Facts("0 to inf", "by the convention that ``zeros`` names; by default 36.04 at most"),
    "cosine": Facts("0 to 1"),
    "intersection": Facts("0 to 1"),
    "euclidean": Facts("0 to sqrt(2)"),
    "sorensen": Facts("0 to 1"),
    "squared_chi2": Facts("0 to 2", "a label of zero in both does not count"),
    "fidelity": Facts("0 to 1"),
    "zero_one_loss": Facts("0 to 1", ties=_FIRST_ON_TOP),
    "error_probability": Facts("0 to 1", ties=_FIRST_ON_TOP),
    "spearman": Facts("-1 to 1", ties=_MEAN_RANKS),
    "kendall": Facts("-1 to 1", ties="tau-b; a row of equal degrees counts as 0"),
    "aitchison": Facts("0 to inf", "degrees below ``lowest`` are raised to it"),
    "top_k": Facts("0 to 1", ties="the first of tied labels count"),
}
"""Facts about each measure of distributions; which direction is better stands above."""

MAX_LABEL_SUM_ERROR = 1e-3
MAX_PREDICTION_SUM_ERROR = 1e-6


@dataclass(frozen=True)
class ZeroConvention:
    """Treatment of label degrees of zero inside ``kl``, in the truth and in the prediction.

    Parameters
    ----------
    name : str
        Name by which ``zeros`` arguments ask for it.
    used_by : str
        Code that computes so.
    lowest : float, default=0.0
        Degrees are raised to at least this.
    added : float, default=0.0
        Added to every degree, without renormalising.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl.metrics import zero_convention
    >>> zero_convention("exact").kl(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]))
    array([inf])
    """

    name: str
    used_by: str
    lowest: float = 0.0
    added: float = 0.0

    def kl(self, D: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Return the Kullback-Leibler divergence of each row of P from that of D."""
        if self.lowest:
            D, P = np.clip(D, self.lowest, 1.0), np.clip(P, self.lowest, 1.0)
        if self.added:
            D, P = D + self.added, P + self.added
        counted = D > 0  # 0 ln 0 = 0
        with np.errstate(divide="ignore", over="ignore"):  # d ln(d/0) is infinite, and meant so
            ratio = np.divide(D, P, out=np.ones_like(D), where=counted)
        return (D * np.log(ratio)).sum(axis=1)


ZERO_CONVENTIONS = {
    convention.name: convention
    for convention in (
        ZeroConvention("clip64", "Wang's baselines; our default", lowest=float(np.finfo("f8").eps)),
        ZeroConvention("clip32", "PyLDL", lowest=float(np.finfo("f4").eps)),
        ZeroConvention("add64", "the PALM toolbox", added=float(np.finfo("f8").eps)),
        ZeroConvention("add1e-5", "the NJUST code", added=1e-5),
        ZeroConvention("exact", "the definition: infinite where p = 0 < d"),
    )
}


def zero_convention(name: str) -> ZeroConvention:
    """Return the convention of this name.

    Parameters
    ----------
    name : {'clip64', 'clip32', 'add64', 'add1e-5', 'exact'}
        Key of ``ZERO_CONVENTIONS``; the error for another name tells the nearest.

    Returns
    -------
    ZeroConvention
        The convention.

    Examples
    --------
    >>> from ldl.metrics import zero_convention
    >>> zero_convention("add1e-5").used_by
    'the NJUST code'
    """
    if name not in ZERO_CONVENTIONS:
        known = ", ".join(ZERO_CONVENTIONS)
        raise ValueError(
            f"zeros: unknown convention '{name}'.{nearest(name, ZERO_CONVENTIONS)} It has: {known}"
        )
    return ZERO_CONVENTIONS[name]


def evaluate(D_true: Any, D_pred: Any, zeros: str = "clip64") -> dict[str, float]:
    """Return the means over rows of all ten measures.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    zeros : {'clip64', 'clip32', 'add64', 'add1e-5', 'exact'}, default='clip64'
        Treatment of degrees of zero, by the name of a convention in ``ZERO_CONVENTIONS``.

    Returns
    -------
    dict of str to float
        Value of each measure by its name, in the order of ``BETTER``.

    Examples
    --------
    >>> from ldl.metrics import evaluate
    >>> values = evaluate([[1.0, 0.0]], [[0.5, 0.5]])
    >>> round(values["kl"], 4), values["intersection"]
    (0.6931, 0.5)
    """
    return {name: float(rows.mean()) for name, rows in per_row(D_true, D_pred, zeros).items()}


def per_row(D_true: Any, D_pred: Any, zeros: str = "clip64") -> dict[str, np.ndarray]:
    """Return all ten measures of each row.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    zeros : {'clip64', 'clip32', 'add64', 'add1e-5', 'exact'}, default='clip64'
        Treatment of degrees of zero, by the name of a convention in ``ZERO_CONVENTIONS``.

    Returns
    -------
    dict of str to ndarray of shape (rows,)
        Values of each measure by its name, in the order of ``BETTER``.

    Examples
    --------
    >>> from ldl.metrics import per_row
    >>> per_row([[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])["chebyshev"]
    array([0.5, 0. ])
    """
    convention = zero_convention(zeros)
    D, P = _checked(D_true, D_pred)
    apart = np.abs(D - P)
    both = D + P
    # Where truth and prediction are both 0 the label does not count.
    share = np.divide(apart, both, out=np.zeros_like(apart), where=both > 0)
    lengths = np.sqrt(_row_dot(D, D) * _row_dot(P, P))
    return {
        "chebyshev": apart.max(axis=1),
        "clark": np.sqrt(_row_dot(share, share)),
        "canberra": share.sum(axis=1),
        "kl": convention.kl(D, P),
        "cosine": _row_dot(D, P) / lengths,
        "intersection": np.minimum(D, P).sum(axis=1),
        "euclidean": np.sqrt(_row_dot(apart, apart)),
        "sorensen": apart.sum(axis=1) / both.sum(axis=1),
        "squared_chi2": _row_dot(apart, share),
        "fidelity": np.sqrt(D * P).sum(axis=1),
    }


def zeros_report(D_true: Any, D_pred: Any) -> dict[str, float | int]:
    """Return how far ``kl`` depends on the zero convention.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    dict
        ``zero_predictions``, the number of predicted degrees that are zero, and
        ``infinite_kl_share``, the share of rows whose divergence is infinite by the definition.

    Examples
    --------
    >>> from ldl.metrics import zeros_report
    >>> zeros_report([[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]])
    {'zero_predictions': 2, 'infinite_kl_share': 0.5}
    """
    D, P = _checked(D_true, D_pred)
    zero = P == 0
    return {
        "zero_predictions": int(zero.sum()),
        "infinite_kl_share": float((zero & (D > 0)).any(axis=1).mean()),
    }


def measure(name: str, D_true: Any, D_pred: Any, zeros: str = "clip64") -> float:
    """Return the mean over rows of a measure of distributions, of ranks or of the label on top.

    Parameters
    ----------
    name : str
        Key of ``FACTS``; the error for another name tells the nearest.
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    zeros : {'clip64', 'clip32', 'add64', 'add1e-5', 'exact'}, default='clip64'
        Treatment of degrees of zero inside ``kl``; of no effect on the other measures.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import measure
    >>> measure("zero_one_loss", [[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.7, 0.3]])
    0.5
    """
    if name in LABEL_BETTER:
        return label_errors(D_true, D_pred)[name]
    if name in FURTHER_BETTER:
        return _FURTHER[name](D_true, D_pred)
    _demand_known(name)
    return evaluate(D_true, D_pred, zeros)[name]


def label_errors(D_true: Any, D_pred: Any) -> dict[str, float]:
    """Return how wrong it is to predict, for each row, the label with the highest degree.

    Of several labels with the highest degree the first counts, true and predicted.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    dict of str to float
        ``zero_one_loss``, the share of rows whose true distribution has another label on top, and
        ``error_probability``, one minus the mean true degree of the predicted label.

    Examples
    --------
    >>> from ldl.metrics import label_errors
    >>> label_errors([[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.7, 0.3]])
    {'zero_one_loss': 0.5, 'error_probability': 0.5}
    """
    D, P = _checked(D_true, D_pred)
    predicted = P.argmax(axis=1)
    return {
        "zero_one_loss": float((predicted != D.argmax(axis=1)).mean()),
        "error_probability": float(1.0 - D[np.arange(len(D)), predicted].mean()),
    }


def age_errors(y: Any, yhat: Any) -> dict[str, float]:
    """Return the mean absolute error and the percentage of rows off by five years or less.

    Parameters
    ----------
    y : array-like of shape (rows,)
        True ages.
    yhat : array-like of shape (rows,)
        Predicted ages; they are not rounded.

    Returns
    -------
    dict of str to float
        ``mae`` in years and ``cs5`` in percent.

    Examples
    --------
    >>> from ldl.metrics import age_errors
    >>> age_errors([20, 30], [20.0, 36.0])
    {'mae': 3.0, 'cs5': 50.0}
    """
    y, yhat = np.asarray(y, dtype=np.float64), np.asarray(yhat, dtype=np.float64)
    if y.ndim != 1 or y.shape != yhat.shape or len(y) == 0:
        raise ValueError(
            f"y and yhat must be vectors of one length, got shapes {y.shape} and {yhat.shape}"
        )
    for name, values in (("y", y), ("yhat", yhat)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} contains NaN or infinity")
    off = np.abs(y - yhat)
    return {"mae": float(off.mean()), "cs5": float(100.0 * (off <= 5).mean())}


# ---------------------------------------------------------------------- one measure each


def chebyshev(D_true: Any, D_pred: Any) -> float:
    """Return the mean Chebyshev distance, max_j |d_j - p_j|; lower is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import chebyshev
    >>> round(chebyshev([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.1
    """
    return evaluate(D_true, D_pred)["chebyshev"]


def clark(D_true: Any, D_pred: Any) -> float:
    """Return the mean Clark distance; lower is better.

    The root of the sum of ((d_j - p_j) / (d_j + p_j))^2 over labels. A label that is zero in both
    does not count.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import clark
    >>> round(clark([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.1772
    """
    return evaluate(D_true, D_pred)["clark"]


def canberra(D_true: Any, D_pred: Any) -> float:
    """Return the mean Canberra distance; lower is better.

    The sum of |d_j - p_j| / (d_j + p_j) over labels. A label that is zero in both does not count.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import canberra
    >>> round(canberra([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.2343
    """
    return evaluate(D_true, D_pred)["canberra"]


def kl(D_true: Any, D_pred: Any, zeros: str = "clip64") -> float:
    """Return the mean Kullback-Leibler divergence; lower is better.

    The sum of d_j ln(d_j / p_j) over labels: how far the prediction p is from the truth d, in nats.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    zeros : {'clip64', 'clip32', 'add64', 'add1e-5', 'exact'}, default='clip64'
        Treatment of degrees of zero, by the name of a convention in ``ZERO_CONVENTIONS``.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import kl
    >>> round(kl([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.0229
    """
    return evaluate(D_true, D_pred, zeros)["kl"]


def cosine(D_true: Any, D_pred: Any) -> float:
    """Return the mean cosine of the angle between truth and prediction; higher is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import cosine
    >>> round(cosine([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.9839
    """
    return evaluate(D_true, D_pred)["cosine"]


def intersection(D_true: Any, D_pred: Any) -> float:
    """Return the mean intersection, sum_j min(d_j, p_j); higher is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import intersection
    >>> round(intersection([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.9
    """
    return evaluate(D_true, D_pred)["intersection"]


def euclidean(D_true: Any, D_pred: Any) -> float:
    """Return the mean Euclidean distance; lower is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import euclidean
    >>> round(euclidean([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.1414
    """
    return evaluate(D_true, D_pred)["euclidean"]


def sorensen(D_true: Any, D_pred: Any) -> float:
    """Return the mean Sorensen distance; lower is better.

    The sum of |d_j - p_j| divided by the sum of d_j + p_j; for distributions, 1 - intersection.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import sorensen
    >>> round(sorensen([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.1
    """
    return evaluate(D_true, D_pred)["sorensen"]


def squared_chi2(D_true: Any, D_pred: Any) -> float:
    """Return the mean squared chi-squared distance; lower is better.

    The sum of (d_j - p_j)^2 / (d_j + p_j) over labels. A label that is zero in both does not count.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import squared_chi2
    >>> round(squared_chi2([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.0234
    """
    return evaluate(D_true, D_pred)["squared_chi2"]


def fidelity(D_true: Any, D_pred: Any) -> float:
    """Return the mean fidelity, sum_j sqrt(d_j p_j); higher is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import fidelity
    >>> round(fidelity([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]), 4)
    0.9941
    """
    return evaluate(D_true, D_pred)["fidelity"]


def zero_one_loss(D_true: Any, D_pred: Any) -> float:
    """Return the share of rows whose predicted label is not the one with the highest true degree.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; the first label with the highest degree is the predicted one.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import zero_one_loss
    >>> zero_one_loss([[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.7, 0.3]])
    0.5
    """
    return label_errors(D_true, D_pred)["zero_one_loss"]


def error_probability(D_true: Any, D_pred: Any) -> float:
    """Return one minus the mean true degree of the predicted label; lower is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; the first label with the highest degree is the predicted one.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import error_probability
    >>> error_probability([[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.7, 0.3]])
    0.5
    """
    return label_errors(D_true, D_pred)["error_probability"]


# ---------------------------------------------------------------------- ranks and ratios


def spearman(D_true: Any, D_pred: Any, tolerance: float = 0.0) -> float:
    """Return the mean of Spearman's rank correlation of labels; higher is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    tolerance : float, default=0.0
        Largest step between degrees that tie.

    Returns
    -------
    float
        Mean over rows. Tied labels share their mean rank; a row whose labels all tie, in the truth
        or in the prediction, counts as 0.

    Examples
    --------
    >>> from ldl.metrics import spearman
    >>> spearman([[0.5, 0.3, 0.2]], [[0.4, 0.35, 0.25]])
    1.0
    """
    from scipy.stats import rankdata

    D, P = _checked(D_true, D_pred)
    ranks = (rankdata(_levels(rows, tolerance), axis=1) for rows in (D, P))
    return _mean_correlation(*(r - r.mean(axis=1, keepdims=True) for r in ranks))


def kendall(D_true: Any, D_pred: Any, tolerance: float = 0.0) -> float:
    """Return the mean of Kendall's rank correlation of labels, tau-b; higher is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    tolerance : float, default=0.0
        Largest step between degrees that tie.

    Returns
    -------
    float
        Mean over rows. A row whose labels all tie, in the truth or in the prediction, counts as 0.

    Examples
    --------
    >>> from ldl.metrics import kendall
    >>> round(kendall([[0.5, 0.3, 0.2]], [[0.3, 0.45, 0.25]]), 4)
    0.3333
    """
    D, P = _checked(D_true, D_pred)
    one, other = np.triu_indices(D.shape[1], 1)
    levels = (_levels(rows, tolerance) for rows in (D, P))
    return _mean_correlation(*(np.sign(r[:, one] - r[:, other]).astype(float) for r in levels))


def aitchison(D_true: Any, D_pred: Any, lowest: float = 1e-6) -> float:
    """Return the mean Aitchison distance, that of logarithms of ratios; lower is better.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    lowest : float, default=1e-6
        Degrees below are raised to this, for a zero has no logarithm. The distance depends on it
        wherever there are zeros.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from ldl.metrics import aitchison
    >>> round(aitchison([[0.6, 0.4]], [[0.5, 0.5]]), 4)
    0.2867
    """
    D, P = _checked(D_true, D_pred)
    apart = np.log(np.maximum(D, lowest)) - np.log(np.maximum(P, lowest))
    return float(np.sqrt(apart.shape[1] * apart.var(axis=1)).mean())


def top_k(D_true: Any, D_pred: Any, k: int = 3, tolerance: float = 0.0) -> float:
    """Return the mean share of the k highest labels that are among the k predicted ones.

    Parameters
    ----------
    D_true : array-like of shape (rows, labels)
        True distributions; sums of rows may be off by 0.001.
    D_pred : array-like of shape (rows, labels)
        Predicted distributions; sums of rows may be off by 0.000001.
    k : int, default=3
        Number of labels; where there are no more, the share is 1.
    tolerance : float, default=0.0
        Largest step between degrees that tie; of tied labels the first count.

    Returns
    -------
    float
        Mean over rows; higher is better.

    Examples
    --------
    >>> from ldl.metrics import top_k
    >>> top_k([[0.5, 0.3, 0.2]], [[0.3, 0.2, 0.5]], k=2)
    0.5
    """
    D, P = _checked(D_true, D_pred)
    k = min(k, D.shape[1])
    among = np.zeros((2, *D.shape), dtype=bool)
    for chosen, rows in zip(among, (D, P), strict=True):
        highest = np.argsort(-_levels(rows, tolerance), axis=1, kind="stable")[:, :k]
        np.put_along_axis(chosen, highest, True, axis=1)
    return float(among.all(axis=0).sum(axis=1).mean() / k)


_FURTHER: dict[str, Callable[..., float]] = {
    "spearman": spearman,
    "kendall": kendall,
    "aitchison": aitchison,
    "top_k": top_k,
}


def _levels(rows: np.ndarray, tolerance: float) -> np.ndarray:
    """Number the different degrees of each row from the lowest; tied ones have one number."""
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be at least 0, got {tolerance!r}")
    order = np.argsort(rows, axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(rows, order, axis=1), axis=1) > tolerance
    levels = np.zeros(rows.shape, dtype=np.int64)
    np.put_along_axis(levels, order[:, 1:], steps.cumsum(axis=1), axis=1)
    return levels


def _mean_correlation(A: np.ndarray, B: np.ndarray) -> float:
    """Return the mean cosine between rows; rows of zeros count as 0."""
    lengths = np.sqrt(_row_dot(A, A) * _row_dot(B, B))
    return float((_row_dot(A, B) / np.where(lengths > 0, lengths, 1.0)).mean())


# ---------------------------------------------------------------------- scorers


@dataclass(frozen=True)
class Scorer:
    """Measure of an estimator's predictions in the form that scikit-learn takes as ``scoring``.

    Values are such that higher is better: a measure of which lower is better is negated.

    Parameters
    ----------
    measure : str
        Key of ``FACTS``.
    zeros : str, default='clip64'
        Name of the zero convention of ``kl``.

    Examples
    --------
    >>> from ldl.metrics import Scorer
    >>> Scorer("kl").sign
    -1
    """

    measure: str
    zeros: str = "clip64"

    @property
    def sign(self) -> int:
        """Factor of the measure: 1 if higher is better, otherwise -1."""
        return _sign(self.measure)

    def __call__(self, estimator: Any, X: Any, D: Any) -> float:
        """Return the signed measure of the fitted estimator's predictions for X against D."""
        return self.sign * measure(self.measure, D, estimator.predict(X), self.zeros)


def scorer(name: str, zeros: str = "clip64") -> Scorer:
    """Return a scorer of this measure, for ``cross_val_score`` and ``GridSearchCV``.

    Parameters
    ----------
    name : str
        Key of ``FACTS``; the error for another name tells the nearest.
    zeros : {'clip64', 'clip32', 'add64', 'add1e-5', 'exact'}, default='clip64'
        Treatment of degrees of zero inside ``kl``; of no effect on the other measures.

    Returns
    -------
    Scorer
        Callable with a fitted estimator, X and D, which returns a float: higher is better, so that
        measures of which lower is better are negated. It can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import AAKNN
    >>> from ldl.metrics import scorer
    >>> from sklearn.model_selection import cross_val_score
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((30, 4)), generator.dirichlet(np.ones(3), size=30)
    >>> cross_val_score(AAKNN(), X, D, cv=3, scoring=scorer("kl")).shape
    (3,)
    """
    _demand_known(name)
    zero_convention(zeros)
    return Scorer(name, zeros)


@dataclass(frozen=True)
class Scorers:
    """Several measures of one prediction, in the form that scikit-learn takes as ``scoring``.

    Parameters
    ----------
    measures : tuple of str
        Keys of ``FACTS``.
    zeros : str, default='clip64'
        Name of the zero convention of ``kl``.
    tolerance : float, default=0.0
        Largest step between degrees that tie, in measures that rank labels.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import Uniform
    >>> from ldl.metrics import Scorers
    >>> X, D = np.zeros((2, 1)), np.array([[0.5, 0.5], [0.75, 0.25]])
    >>> Scorers(("chebyshev", "intersection"))(Uniform().fit(X, D), X, D)
    {'chebyshev': -0.125, 'intersection': 0.875}
    """

    measures: tuple[str, ...]
    zeros: str = "clip64"
    tolerance: float = 0.0

    def __call__(self, estimator: Any, X: Any, D: Any) -> dict[str, float]:
        """Return the signed measures of the fitted estimator's predictions for X against D."""
        P = estimator.predict(X)
        found = evaluate(D, P, self.zeros) | label_errors(D, P)
        for name in FURTHER_BETTER.keys() & set(self.measures):
            options = {} if name == "aitchison" else {"tolerance": self.tolerance}
            found[name] = _FURTHER[name](D, P, **options)
        return {name: _sign(name) * found[name] for name in self.measures}


def scorers(*measures: str, zeros: str = "clip64", tolerance: float = 0.0) -> Scorers:
    """Return a scorer of several measures, for ``cross_validate`` and ``GridSearchCV``.

    Each model predicts once for all of them. ``GridSearchCV`` is told by ``refit`` which of them
    chooses.

    Parameters
    ----------
    *measures : str
        Keys of ``FACTS``; all of them if none is named.
    zeros : {'clip64', 'clip32', 'add64', 'add1e-5', 'exact'}, default='clip64'
        Treatment of degrees of zero inside ``kl``.
    tolerance : float, default=0.0
        Largest step between degrees that tie, in measures that rank labels.

    Returns
    -------
    Scorers
        Callable with a fitted estimator, X and D, which returns a number for each name: higher is
        better, so that measures of which lower is better are negated. It can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import AAKNN
    >>> from ldl.metrics import scorers
    >>> from sklearn.model_selection import cross_validate
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((30, 4)), generator.dirichlet(np.ones(3), size=30)
    >>> found = cross_validate(AAKNN(), X, D, cv=3, scoring=scorers("kl", "spearman"))
    >>> sorted(found)
    ['fit_time', 'score_time', 'test_kl', 'test_spearman']
    """
    for name in measures:
        _demand_known(name)
    zero_convention(zeros)
    return Scorers(measures or (*FACTS,), zeros, tolerance)


def better(name: str) -> str:
    """Return which direction of a measure is better.

    Parameters
    ----------
    name : str
        Key of ``FACTS``.

    Returns
    -------
    {'lower', 'higher'}
        The direction.

    Examples
    --------
    >>> from ldl.metrics import better
    >>> better("spearman")
    'higher'
    """
    _demand_known(name)
    return {**BETTER, **LABEL_BETTER, **FURTHER_BETTER}[name]


def _sign(name: str) -> int:
    return 1 if better(name) == "higher" else -1


def _demand_known(name: str) -> None:
    if name not in FACTS:
        raise ValueError(
            f"unknown measure '{name}'.{nearest(name, FACTS)} There are: {', '.join(FACTS)}"
        )


def _row_dot(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", A, B)


def _checked(D_true: Any, D_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    D = np.asarray(D_true, dtype=np.float64)
    P = np.asarray(D_pred, dtype=np.float64)
    if D.ndim != 2 or D.shape != P.shape or D.size == 0:
        raise ValueError(
            "D_true and D_pred must have one shape (rows >= 1, labels), "
            f"got {D.shape} and {P.shape}"
        )
    for name, rows, tolerance in (
        ("D_true", D, MAX_LABEL_SUM_ERROR),
        ("D_pred", P, MAX_PREDICTION_SUM_ERROR),
    ):
        demand_distributions(name, rows, tolerance)
    return D, P


def demand_distributions(name: str, rows: np.ndarray, tolerance: float) -> np.ndarray:
    """Refuse rows that are no distributions.

    Parameters
    ----------
    name : str
        Name of the rows, for messages.
    rows : ndarray of shape (rows, labels)
        Label degrees.
    tolerance : float
        Most by which the sum of a row may be off.

    Returns
    -------
    ndarray of shape (rows,)
        Sums of the rows.

    Raises
    ------
    ValueError
        If a degree is negative or no finite number, or a row sums to something else than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl.metrics import demand_distributions
    >>> demand_distributions("D", np.array([[0.75, 0.25]]), 1e-3)
    array([1.])
    """
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} contains NaN or infinity")
    if (rows < 0).any():
        raise ValueError(f"{name} contains negative label degrees")
    sums = np.asarray(rows.sum(axis=1))
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > tolerance:
        raise ValueError(f"row {worst} of {name} sums to {sums[worst]:.9g}, not to 1")
    return sums

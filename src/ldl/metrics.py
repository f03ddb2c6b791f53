"""The ten measures between true and predicted distributions, and the two for ages.

Every measure is computed per row and averaged over rows. Zeros matter only inside ``kl``: each
convention in use has a name here, and a value of ``kl`` is comparable within one of them only.
"""

from __future__ import annotations

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

AGE_BETTER = {"mae": "lower", "cs5": "higher"}

MAX_LABEL_SUM_ERROR = 1e-3
MAX_PREDICTION_SUM_ERROR = 1e-6


@dataclass(frozen=True)
class ZeroConvention:
    """How ``kl`` treats label degrees of zero, in the truth and in the prediction."""

    name: str
    used_by: str
    lowest: float = 0.0
    """Degrees are raised to at least this."""
    added: float = 0.0
    """Added to every degree, without renormalising."""

    def kl(self, D: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Kullback-Leibler divergence of every row."""
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
    if name not in ZERO_CONVENTIONS:
        known = ", ".join(ZERO_CONVENTIONS)
        raise ValueError(
            f"zeros: unknown convention '{name}'.{nearest(name, ZERO_CONVENTIONS)} It has: {known}"
        )
    return ZERO_CONVENTIONS[name]


def evaluate(D_true: Any, D_pred: Any, zeros: str = "clip64") -> dict[str, float]:
    """Means over rows of all ten measures."""
    return {name: float(rows.mean()) for name, rows in per_row(D_true, D_pred, zeros).items()}


def per_row(D_true: Any, D_pred: Any, zeros: str = "clip64") -> dict[str, np.ndarray]:
    """All ten measures for every row."""
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
    """How far ``kl`` hangs on the zero convention."""
    D, P = _checked(D_true, D_pred)
    zero = P == 0
    return {
        "zero_predictions": int(zero.sum()),
        "infinite_kl_share": float((zero & (D > 0)).any(axis=1).mean()),
    }


def age_errors(y: Any, yhat: Any) -> dict[str, float]:
    """Mean absolute error in years; percent of rows off by five years or less, unrounded."""
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
        if not np.isfinite(rows).all():
            raise ValueError(f"{name} contains NaN or infinity")
        if (rows < 0).any():
            raise ValueError(f"{name} contains negative label degrees")
        sums = rows.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1)))
        if abs(sums[worst] - 1) > tolerance:
            raise ValueError(f"row {worst} of {name} sums to {sums[worst]:.9g}, not to 1")
    return D, P

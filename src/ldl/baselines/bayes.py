"""PT-Bayes: every row counts under every label, as much as its degree; then Bayes' rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator, to_simplex

_JITTER = 1e-14
"""Added to the spectrum of a full covariance, as the toolbox does."""
_RELATIVE_JITTER = 1e-9
"""Share of the largest feature variance added to the others, as in scikit-learn."""

_TRANSFORMS = ("weights", "resample")
_COVARIANCES = ("full", "diag", "shrunk")
_DOMAINS = ("log", "density")


@dataclass(eq=False, repr=False)
class PTBayes(LDLEstimator):
    """One Gaussian per label; ``floor`` keeps every predicted degree above zero.

    ``transform='weights'`` is the expectation of what ``'resample'`` draws. ``domain='density'``
    multiplies plain densities as the released code does; with many features they leave the range
    of float64, and such rows become uniform.
    """

    transform: str = "weights"
    covariance: str = "full"
    domain: str = "log"
    floor: float = 1e-9
    random_state: int | None = None

    def _fit(self, X: Any, D: np.ndarray) -> None:
        _check_choice("transform", self.transform, _TRANSFORMS)
        _check_choice("covariance", self.covariance, _COVARIANCES)
        _check_choice("domain", self.domain, _DOMAINS)
        if not 0 <= self.floor < 1:
            raise ValueError(f"floor must lie in [0, 1), got {self.floor}")
        mass = D / len(D)
        if self.transform == "resample":
            # Drawing (row, label) pairs one by one is one draw of how often each pair comes up.
            generator = np.random.default_rng(self.random_state)
            mass = generator.multinomial(D.size, mass.ravel()).reshape(D.shape) / D.size
        self.prior_ = mass.sum(axis=0)
        self.gaussians_: list[_Gaussian | None] = []
        for share, prior in zip(mass.T, self.prior_, strict=True):
            if prior == 0:
                self.gaussians_.append(None)
                continue
            draws = D.size * prior if self.transform == "resample" else None
            self.gaussians_.append(_Gaussian(X, share / prior, self.covariance, draws))
        self.diagnostics_ = {"labels_without_mass": int((self.prior_ == 0).sum())}

    def _predict(self, X: Any) -> np.ndarray:
        evidence = np.full((X.shape[0], self.n_labels_), -np.inf)
        for j, gaussian in enumerate(self.gaussians_):
            if gaussian is not None:
                evidence[:, j] = np.log(self.prior_[j]) + gaussian.log_density(X)
        if self.domain == "log":
            P = np.exp(evidence - evidence.max(axis=1, keepdims=True))
            P /= P.sum(axis=1, keepdims=True)
        else:
            P = _normalised_densities(evidence)
        return to_simplex(np.maximum(P, self.floor))


def _normalised_densities(evidence: np.ndarray) -> np.ndarray:
    """What is left of Bayes' rule when densities overflow or vanish: 0/0 or inf/inf, made 0."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        density = np.exp(evidence)
        P = density / density.sum(axis=1, keepdims=True)
    P[~np.isfinite(P).all(axis=1)] = 0.0
    return P


class _Gaussian:
    """A weighted Gaussian, kept as mean, principal axes and variances along them."""

    def __init__(self, X: np.ndarray, weights: np.ndarray, kind: str, draws: float | None) -> None:
        self.mean = weights @ X
        centred = X - self.mean
        bessel = draws / (draws - 1.0) if draws is not None and draws > 1 else 1.0
        if kind == "diag":
            self.axes = None
            variances = bessel * (weights @ centred**2)
            self.variances = variances + _RELATIVE_JITTER * variances.max()
        else:
            scaled = centred * np.sqrt(weights)[:, None]
            covariance = scaled.T @ scaled
            shrinkage, mean_variance = 0.0, 0.0
            if kind == "shrunk":
                shrinkage, mean_variance = _ledoit_wolf(centred, weights, covariance)
            variances, self.axes = np.linalg.eigh(covariance)
            variances = bessel * np.maximum(variances, 0.0)
            self.variances = (1 - shrinkage) * variances + shrinkage * mean_variance + _JITTER
        # All features constant: any positive value will do, the means tell nothing apart.
        self.variances = np.maximum(self.variances, np.finfo(np.float64).tiny)
        self.log_constant = -0.5 * (
            np.log(self.variances).sum() + len(self.mean) * np.log(2.0 * np.pi)
        )

    def log_density(self, X: np.ndarray) -> np.ndarray:
        apart = X - self.mean
        if self.axes is not None:
            apart = apart @ self.axes
        apart /= np.sqrt(self.variances)
        return self.log_constant - 0.5 * np.einsum("ij,ij->i", apart, apart)


def _ledoit_wolf(
    centred: np.ndarray, weights: np.ndarray, covariance: np.ndarray
) -> tuple[float, float]:
    """Share of the sphere in Ledoit and Wolf's mixture, and the sphere's variance.

    Theirs is the case of equal weights 1/n; with weights the noise of the covariance is the sum
    of w^2 |x x' - S|^2 over rows.
    """
    mean_variance = float(np.trace(covariance)) / len(covariance)
    size = float(np.vdot(covariance, covariance))
    from_sphere = size - len(covariance) * mean_variance**2
    if from_sphere <= 0:
        return 1.0, mean_variance
    squared = np.einsum("ij,ij->i", centred, centred) ** 2
    along = np.einsum("ij,ij->i", centred @ covariance, centred)
    noise = float(weights**2 @ (squared - 2.0 * along + size))
    return min(max(noise, 0.0) / from_sphere, 1.0), mean_variance


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got '{value}'")

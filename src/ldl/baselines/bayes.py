"""PT-Bayes: every row counts under every label, as much as its degree; then Bayes' rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Interval, Positive
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO
from ldl.base import to_simplex

_JITTER = 1e-14
"""Added to the spectrum of a full covariance, as the toolbox does."""
_RELATIVE_JITTER = 1e-9
"""Share of the largest feature variance added to the others, as in scikit-learn."""


@dataclass(eq=False, repr=False)
class PTBayes(SelfTuned):
    """Bayes' rule with a Gaussian for each label (PT-Bayes).

    Problem transformation: a row with the label degrees D_1, ..., D_c becomes c rows of one label
    each, weighted by these degrees. A label's prior is its share of all weight, its Gaussian has
    the weighted mean and covariance of the features, and a predicted degree is proportional to
    prior times density, ``P_j(x) ~ prior_j N(x; mean_j, covariance_j)``. Every row counts under
    every label, so that the Gaussians nearly coincide where degrees are much alike. What differs is
    mostly noise, and features that say the same multiply it: ``worth`` keeps it down.

    The original has ``PTBayes(transformation='resample', covariance_type='full',
    domain='density', worth=None, standardise=False, mean_share=None)``.

    Parameters
    ----------
    transformation : {'weights', 'resample'}, default='weights'
        ``'resample'`` draws as many (row, label) pairs as D has entries, as the original does.
        ``'weights'`` is the expectation of these draws and leaves nothing to chance.
    covariance_type : {'diag', 'full', 'shrunk'}, default='diag'
        ``'diag'`` is naive Bayes. ``'full'`` adds 1e-14 to the spectrum, as the released toolbox
        does. ``'shrunk'`` is Ledoit and Wolf's estimate, which stays well conditioned where there
        are more features than rows.
    domain : {'log', 'density'}, default='log'
        ``'density'`` multiplies plain densities as the released code does; with many features
        they leave the range of float64, and such rows become uniform. ``'log'`` works with
        logarithms and has no such rows.
    floor : float, default=1e-9
        Smallest degree before rows are divided by their sums; at least 0 and below 1.
    random_state : int or None, default=None
        Seed of the draws of ``transformation='resample'``; not used otherwise.
    worth : float, 'auto' or None, default='auto'
        Number of independent features that all together are worth at most: log densities are
        multiplied by its share of the number of features. With None each is worth itself, as
        Bayes' rule has it. The smaller, the nearer are predictions to the mean of the labels.
        ``'auto'`` chooses from 1 to 100 on held-out rows.

    Attributes
    ----------
    prior_ : ndarray of shape (n_labels,)
        Share of each label in the weight of the training rows.
    gaussians_ : list of length n_labels
        The Gaussian of each label, with ``mean``, principal ``axes`` and ``variances`` along them;
        None for a label without any weight.
    diagnostics_ : dict
        ``labels_without_mass``, the number of labels without any weight.

    References
    ----------
    X. Geng, "Label distribution learning", IEEE Transactions on Knowledge and Data Engineering
    28(7), 1734-1748, 2016.

    O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance
    matrices", Journal of Multivariate Analysis 88(2), 365-411, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import PTBayes
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = PTBayes(covariance_type="shrunk").fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> bool(np.isclose(model.prior_, D[:40].mean(axis=0)).all())
    True
    """

    transformation: Literal["weights", "resample"] = "weights"
    covariance_type: Literal["full", "diag", "shrunk"] = "diag"
    domain: Literal["log", "density"] = "log"
    floor: Annotated[float, Interval(0, 1, open_high=True)] = 1e-9
    random_state: int | None = None
    worth: Positive | Auto | None = field(default=AUTO, kw_only=True)

    candidates: ClassVar[Grid] = {"worth": (3.0, 1.0, 10.0, 30.0, 100.0)}

    def _fit(self, X: Any, D: np.ndarray) -> None:
        weight = self._weight(len(D))
        mass = D / len(D) if weight is None else D * (weight / weight.sum())[:, None]
        if self.transformation == "resample":
            # Drawing (row, label) pairs one by one is one draw of how often each pair comes up.
            generator = np.random.default_rng(self.random_state)
            mass = generator.multinomial(D.size, mass.ravel()).reshape(D.shape) / D.size
        self.prior_ = mass.sum(axis=0)
        self.gaussians_: list[_Gaussian | None] = []
        for share, prior in zip(mass.T, self.prior_, strict=True):
            if prior == 0:
                self.gaussians_.append(None)
                continue
            draws = D.size * prior if self.transformation == "resample" else None
            self.gaussians_.append(_Gaussian(X, share / prior, self.covariance_type, draws))
        self.diagnostics_ = {"labels_without_mass": int((self.prior_ == 0).sum())}

    def _predict(self, X: Any) -> np.ndarray:
        evidence = np.full((X.shape[0], self.n_labels_), -np.inf)
        worth = self._setting("worth")
        share = 1.0 if worth is None else min(1.0, worth / X.shape[1])
        for j, gaussian in enumerate(self.gaussians_):
            if gaussian is not None:
                evidence[:, j] = np.log(self.prior_[j]) + share * gaussian.log_density(X)
        if self.domain == "log":
            P = np.exp(evidence - evidence.max(axis=1, keepdims=True))
            P /= P.sum(axis=1, keepdims=True)
        else:
            P = _normalised_densities(evidence)
        return to_simplex(np.maximum(P, self.floor))


def _normalised_densities(evidence: np.ndarray) -> np.ndarray:
    """Divide plain densities by their sums; a row that overflows or vanishes becomes zeros."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        density = np.exp(evidence)
        P = density / density.sum(axis=1, keepdims=True)
    P[~np.isfinite(P).all(axis=1)] = 0.0
    return P


class _Gaussian:
    """A weighted Gaussian, kept as mean, principal axes and variances along them.

    ``draws`` is the number of draws that the weights stand for, if any: the covariance is then the
    unbiased one. ``axes`` is None where ``kind`` is 'diag'.
    """

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
        # Where all features are constant any positive value will do: no mean differs from another.
        self.variances = np.maximum(self.variances, np.finfo(np.float64).tiny)
        self.log_constant = -0.5 * (
            np.log(self.variances).sum() + len(self.mean) * np.log(2.0 * np.pi)
        )

    def log_density(self, X: np.ndarray) -> np.ndarray:
        """Return the logarithm of the density at each row of X."""
        apart = X - self.mean
        if self.axes is not None:
            apart = apart @ self.axes
        apart /= np.sqrt(self.variances)
        return self.log_constant - 0.5 * np.einsum("ij,ij->i", apart, apart)


def _ledoit_wolf(
    centred: np.ndarray, weights: np.ndarray, covariance: np.ndarray
) -> tuple[float, float]:
    """Return the share of the sphere in Ledoit and Wolf's mixture, and the sphere's variance.

    They treat equal weights 1/n; with weights w the noise of the covariance S is the sum of
    w^2 |x x' - S|^2 over rows.
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

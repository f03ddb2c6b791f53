"""PT-SVM: one support vector machine per pair of labels, sigmoids, and pairwise coupling.

Every row counts under every label, as much as its degree. The machine of a pair is the one that
libsvm finds, but the solver makes use of rows that stand on both sides. Platt's sigmoid is fitted
to held-out margins; the second method of Wu, Lin and Weng couples all pairs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ldl._distances import mean_distance, rbf
from ldl._memory import demand_memory
from ldl._parameters import Interval, Positive
from ldl._self_tuned import SelfTuned
from ldl._weighted import counted
from ldl.base import child_seeds, warn_unfinished

_PLATT_FOLDS = 5
_CLIP = 1e-7
"""Least probability of either label of a pair, as in libsvm."""
_DIGITS = 12
"""Digits of the weights; later ones hold rounding errors of the degrees."""
_PAIRS_AT_ONCE = 128
_BLOCK_ROWS = 512


@dataclass(frozen=True)
class Instances:
    """Instances of a single label: feature row, label and weight of each, in the order drawn."""

    row: np.ndarray
    label: np.ndarray
    weight: np.ndarray

    def parts(self, folds: np.ndarray, rows: int, labels: int) -> np.ndarray:
        """Add up the weights by fold, label and row."""
        parts = np.zeros((_PLATT_FOLDS, labels, rows))
        np.add.at(parts, (folds, self.label, self.row), self.weight)
        return parts


@dataclass(frozen=True)
class Machine:
    """A machine that tells two labels apart, with its sigmoid.

    The margin of x is ``sum_i coef_i k(x_i, x) + intercept`` over training rows; the probability of
    the positive label is ``sigmoid(slope * margin + offset)``.
    """

    positive: int
    negative: int
    coef: np.ndarray
    intercept: float
    slope: float
    offset: float


@dataclass(eq=False, repr=False)
class PTSVM(SelfTuned):
    """Support vector machines for pairs of labels, coupled to a distribution (PT-SVM).

    Problem transformation: a row with c label degrees becomes c rows of one label each, weighted by
    these degrees. A C-SVC with an rbf kernel ``exp(-distance^2 / (2 width^2))``, whose width is the
    mean distance of the training rows, tells each two labels apart; Platt's sigmoid of margins on
    held-out rows gives r_ab, the probability of label a given a or b. The prediction p minimises
    ``sum_a sum_{b != a} (r_ba p_a - r_ab p_b)^2``.

    The width counts all rows alike. Features on large scales decide the kernel; scale them if they
    should not. A machine that has not found its optimum after 500 steps a row stays as it is, with
    a warning.

    Parameters
    ----------
    transformation : {'weights', 'resample'}, default='weights'
        ``'resample'`` draws as many (row, label) pairs as D has entries, as the original does.
        ``'weights'`` is the expectation of these draws.
    C : float, default=1.0
        Cost of margin errors; the larger, the closer the fit.
    platt_split : {'rows', 'pairs'}, default='rows'
        What is held out together for the sigmoids: rows, or (row, label) pairs as in libsvm, which
        leaves the same features under other labels in the training part.
    column_order : {'sorted', 'first_appearance'}, default='sorted'
        ``'first_appearance'`` returns columns in the order in which labels were first drawn, as
        libsvm does and the released code does not undo. It needs ``transformation='resample'``.
    max_rows : int or None, default=None
        Size of a random subsample that is fitted where there are more rows; None fits all. The
        kernel takes 8 bytes times the square of the number of rows.
    random_state : int or None, default=None
        Seed of the subsample, the draws and the hold-outs.

    Attributes
    ----------
    X_ : ndarray of shape (rows, n_features_in_)
        Training rows that were fitted.
    width_ : float
        Width of the kernel.
    labels_ : ndarray of int
        Labels with any weight, the heaviest first.
    appearance_ : ndarray of int
        Labels in the order in which they first appear among the instances.
    machines_ : list of Machine
        A machine for each two labels.
    diagnostics_ : dict
        Numbers of rows, of machines that ended before their optimum, of instances, of labels
        without any weight, and of sigmoids that fall.

    References
    ----------
    X. Geng, "Label distribution learning", IEEE Transactions on Knowledge and Data Engineering
    28(7), 1734-1748, 2016.

    T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class classification by
    pairwise coupling", Journal of Machine Learning Research 5, 975-1005, 2004.

    J. C. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", Advances in Large Margin Classifiers, MIT Press, 61-74, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import PTSVM
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = PTSVM(random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> len(model.machines_)
    3
    """

    transformation: Literal["weights", "resample"] = "weights"
    C: Positive = 1.0
    platt_split: Literal["rows", "pairs"] = "rows"
    column_order: Literal["sorted", "first_appearance"] = "sorted"
    max_rows: Annotated[int, Interval(2, whole=True)] | None = None
    random_state: int | None = None

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        if self.column_order == "first_appearance" and self.transformation != "resample":
            raise ValueError("column_order='first_appearance' needs transformation='resample'")
        subsample, draw, split = child_seeds(self.random_state, 3)
        weight = self._weight(len(D))
        if self.max_rows is not None and len(X) > self.max_rows:
            chosen = np.random.default_rng(subsample).choice(len(X), self.max_rows, replace=False)
            X, D = X[np.sort(chosen)], D[np.sort(chosen)]
            weight = None if weight is None else weight[np.sort(chosen)]
        demand_memory("PTSVM", 8.0 * len(X) ** 2, "Lower max_rows.")
        self.X_ = X.copy()
        self.width_ = mean_distance(X)
        instances = single_labels(D, draw if self.transformation == "resample" else None, weight)
        folds = self._platt_folds(instances, len(X), split)
        parts = instances.parts(folds, *D.shape)
        self.labels_ = heaviest_first(parts.sum(axis=0))
        self.appearance_ = np.array(list(dict.fromkeys(instances.label.tolist())))
        gram = similarities(X, self.width_)
        self.machines_, unfinished = fit_pairs(gram, parts, self.labels_, self.C)
        if unfinished:
            warn_unfinished(f"PTSVM: {unfinished} machines", "Scale the features, or lower C.")
        self.diagnostics_ = {
            "rows": len(X),
            "unfinished": unfinished,
            "instances": len(instances.row),
            "labels_without_mass": D.shape[1] - len(self.labels_),
            "falling_sigmoids": sum(machine.slope < 0 for machine in self.machines_),
        }

    def _platt_folds(self, instances: Instances, rows: int, seed: int) -> np.ndarray:
        """Draw the fold in which each instance is held out."""
        generator = np.random.default_rng(seed)
        if self.platt_split == "rows":
            return (generator.permutation(rows) % _PLATT_FOLDS)[instances.row]
        return generator.permutation(len(instances.row)) % _PLATT_FOLDS

    def _predict(self, X: np.ndarray) -> np.ndarray:
        P = np.zeros((len(X), self.n_labels_))
        P[:, self.labels_] = couple(self._pairwise(X))
        if self.column_order == "sorted":
            return P
        misplaced = np.zeros_like(P)
        misplaced[:, : len(self.appearance_)] = P[:, self.appearance_]
        return misplaced

    def _pairwise(self, X: np.ndarray) -> np.ndarray:
        """Return R[:, a, b] = P(a | a or b), where a and b are places in ``labels_``."""
        coefs = np.array([machine.coef for machine in self.machines_]).reshape(-1, len(self.X_))
        values = rbf(X, self.X_, self.width_) @ coefs.T
        place = {label: index for index, label in enumerate(self.labels_.tolist())}
        R = np.full((len(X), len(place), len(place)), 0.5)
        for margins, machine in zip(values.T, self.machines_, strict=True):
            p = sigmoid(margins + machine.intercept, machine.slope, machine.offset)
            a, b = place[machine.positive], place[machine.negative]
            R[:, a, b] = np.clip(p, _CLIP, 1 - _CLIP)
            R[:, b, a] = 1.0 - R[:, a, b]
        return R


def single_labels(
    D: np.ndarray, draw_seed: int | None, weight: np.ndarray | None = None
) -> Instances:
    """Draw as many instances as D has entries; without a seed, weight one per entry above 0.

    The weights add up to the number of entries as well.
    """
    n, c = D.shape
    if draw_seed is None:
        # libsvm stops so early that a last bit here can move the fourth digit of the result.
        weights = np.round(c * counted(D, weight), _DIGITS)
        row, label = np.nonzero(weights)
        return Instances(row, label, weights[row, label])
    generator = np.random.default_rng(draw_seed)
    if weight is None:
        row = generator.integers(n, size=n * c)
    else:
        row = generator.choice(n, size=n * c, p=weight / weight.sum())
    cumulative = np.cumsum(D[row], axis=1)
    mark = generator.random(n * c) * cumulative[:, -1]
    label = (cumulative <= mark[:, None]).sum(axis=1)
    return Instances(row, label, np.ones(n * c))


# ---------------------------------------------------------------------- a pair of labels


def heaviest_first(weights: np.ndarray) -> np.ndarray:
    """Sort the labels with any weight, in a way that does not depend on the order of columns.

    The heavier label of a pair is then the positive one.
    """
    mass = weights.sum(axis=1)
    present = np.flatnonzero(mass).tolist()
    return np.array(sorted(present, key=lambda k: (mass[k], weights[k].tolist()), reverse=True))


def similarities(X: np.ndarray, width: float) -> np.ndarray:
    """Return the kernel of all rows with each other, made in blocks for the sake of memory."""
    gram = np.empty((len(X), len(X)))
    for start in range(0, len(X), _BLOCK_ROWS):
        gram[start : start + _BLOCK_ROWS] = rbf(X[start : start + _BLOCK_ROWS], X, width)
    np.fill_diagonal(gram, 1.0)
    return gram


def fit_pairs(
    gram: np.ndarray, parts: np.ndarray, labels: np.ndarray, C: float
) -> tuple[list[Machine], int]:
    """Fit a machine to every two of the labels, positive for the one that comes first.

    Return also how many machines, those of the folds included, had to end before their optimum.
    """
    pairs = np.array(list(itertools.combinations(labels.tolist(), 2))).reshape(-1, 2)
    blocks = [pairs[k : k + _PAIRS_AT_ONCE] for k in range(0, len(pairs), _PAIRS_AT_ONCE)]
    found = [_fit_block(gram, parts, block, C) for block in blocks]
    return [machine for some, _ in found for machine in some], sum(count for _, count in found)


def _fit_block(
    gram: np.ndarray, parts: np.ndarray, pairs: np.ndarray, C: float
) -> tuple[list[Machine], int]:
    """Fit the machines of some pairs: on all folds, and without each fold for the sigmoids."""
    from ldl.kernels._pair_machines import Limits, carry, platt, solve

    first, second = pairs.T
    whole = parts.sum(axis=0)
    limits = Limits.of(whole[first], whole[second], C)
    machines = solve(gram, limits, limits.corner)
    margins, unfinished = [], machines.unfinished
    for fold in range(len(parts)):
        rest = np.delete(parts, fold, axis=0).sum(axis=0)
        without = Limits.of(rest[first], rest[second], C)
        of_rest = solve(gram, without, carry(machines.beta, limits, without))
        margins.append(of_rest.margins)
        unfinished += of_rest.unfinished
    held = np.stack(margins, axis=1)
    found = []
    for p, (a, b) in enumerate(pairs.tolist()):
        counts = parts[:, a] + parts[:, b] > 0
        sigmoid_of_pair = platt(held[p][counts], parts[:, a][counts], parts[:, b][counts])
        coef, intercept = machines.beta[p], float(machines.intercept[p])
        found.append(Machine(a, b, coef, intercept, *sigmoid_of_pair))
    return found, unfinished


def sigmoid(values: np.ndarray, slope: float, offset: float) -> np.ndarray:
    """Return 1 / (1 + exp(-slope * values - offset))."""
    z = slope * values + offset
    return np.exp(-np.logaddexp(0.0, -z))


def couple(R: np.ndarray) -> np.ndarray:
    """Return the distribution p of each row with the least sum of (r_ba p_a - r_ab p_b)^2.

    R[:, a, b] = P(a | a or b). The minimum on the plane sum(p) = 1 is known to have no negative
    entries: it is the solution of a linear system.
    """
    rows, c, _ = R.shape
    if c == 1:
        return np.ones((rows, 1))
    system = np.zeros((rows, c + 1, c + 1))
    off_diagonal = ~np.eye(c, dtype=bool)
    turned = R.transpose(0, 2, 1)
    system[:, :c, :c] = np.where(off_diagonal, -turned * R, 0.0)
    diagonal = np.arange(c)
    system[:, diagonal, diagonal] = np.where(off_diagonal, turned**2, 0.0).sum(axis=2)
    system[:, c, :c] = system[:, :c, c] = 1.0
    right = np.zeros((rows, c + 1, 1))
    right[:, c] = 1.0
    P = np.maximum(np.linalg.solve(system, right)[:, :c, 0], 0.0)
    return P / P.sum(axis=1, keepdims=True)

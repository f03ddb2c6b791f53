"""PT-SVM: one support vector machine per pair of labels, sigmoids, and pairwise coupling.

Every row counts under every label, as much as its degree. A pair's machine is libsvm's; the
probabilities are our own: Platt's sigmoid on held-out margins (scikit-learn has deprecated its
``probability=True``), then the second coupling method of Wu, Lin and Weng.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ldlrepro.models._embedded import check_choice
from ldlrepro.models._spectral import mean_distance, rbf
from ldlrepro.models.base import LDLEstimator, child_seeds

_PLATT_FOLDS = 5
_CLIP = 1e-7
_DIGITS = 12
_NEWTON_STEPS = 100


@dataclass(frozen=True)
class Instances:
    """Single-label instances: feature row, label and weight of each, in the order drawn."""

    row: np.ndarray
    label: np.ndarray
    weight: np.ndarray

    def of(self, label: int) -> np.ndarray:
        return np.flatnonzero(self.label == label)


@dataclass(frozen=True)
class Machine:
    """Decision values of a pair: ``coef`` per training row; P(positive) by a sigmoid of them."""

    positive: int
    negative: int
    coef: np.ndarray
    intercept: float
    slope: float
    offset: float


class PTSVM(LDLEstimator):
    """C-SVC with an rbf kernel on single-label instances, with coupled pairwise probabilities.

    ``transform='weights'`` is the expectation of what ``'resample'`` draws. ``platt_split`` says
    what is held out together for the sigmoids: ``rows``, or (row, label) ``pairs`` as libsvm does,
    which leaves the same features under other labels in the training part. ``column_order=
    'first_appearance'`` returns columns in the order in which labels were first drawn, as libsvm
    does and the released code does not undo. ``max_rows`` is a random subsample of the rows.
    """

    def __init__(
        self,
        transform: str = "weights",
        gamma: str = "mean_distance",
        C: float = 1.0,
        platt_split: str = "rows",
        column_order: str = "sorted",
        max_rows: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.transform = transform
        self.gamma = gamma
        self.C = C
        self.platt_split = platt_split
        self.column_order = column_order
        self.max_rows = max_rows
        self.random_state = random_state

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        self._check()
        subsample, draw, split = child_seeds(self.random_state, 3)
        if self.max_rows is not None and len(X) > self.max_rows:
            chosen = np.random.default_rng(subsample).choice(len(X), self.max_rows, replace=False)
            X, D = X[np.sort(chosen)], D[np.sort(chosen)]
        self.X_ = X.copy()
        self.width_ = mean_distance(X) if self.gamma == "mean_distance" else (X.shape[1] / 2) ** 0.5
        instances = single_labels(D, draw if self.transform == "resample" else None)
        folds = self._platt_folds(instances, len(X), split)
        gram = rbf(X, X, self.width_)
        first_seen = np.unique(instances.label, return_index=True)
        self.labels_, self.appearance_ = first_seen[0], first_seen[0][np.argsort(first_seen[1])]
        self.machines_ = [
            _fit_pair(gram, instances, folds, a, b, self.C)
            for a, b in itertools.combinations(self.labels_.tolist(), 2)
        ]
        self.diagnostics_ = {
            "rows": len(X),
            "instances": len(instances.row),
            "labels_without_mass": D.shape[1] - len(self.labels_),
            "falling_sigmoids": sum(machine.slope < 0 for machine in self.machines_),
        }

    def _platt_folds(self, instances: Instances, rows: int, seed: int) -> np.ndarray:
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
        """R[:, a, b] = P(label a | a or b), over the labels with any mass."""
        place = {label: index for index, label in enumerate(self.labels_.tolist())}
        R = np.full((len(X), len(place), len(place)), 0.5)
        similarities = rbf(X, self.X_, self.width_)
        for machine in self.machines_:
            values = similarities @ machine.coef + machine.intercept
            p = sigmoid(values, machine.slope, machine.offset)
            a, b = place[machine.positive], place[machine.negative]
            R[:, a, b] = np.clip(p, _CLIP, 1 - _CLIP)
            R[:, b, a] = 1.0 - R[:, a, b]
        return R

    def _check(self) -> None:
        check_choice("transform", self.transform, ("weights", "resample"))
        check_choice("gamma", self.gamma, ("mean_distance", "inverse_q"))
        check_choice("platt_split", self.platt_split, ("rows", "pairs"))
        check_choice("column_order", self.column_order, ("sorted", "first_appearance"))
        if self.column_order == "first_appearance" and self.transform != "resample":
            raise ValueError("column_order='first_appearance' needs transform='resample'")
        if not self.C > 0:
            raise ValueError(f"C must be positive, got {self.C}")
        if self.max_rows is not None and self.max_rows < 2:
            raise ValueError(f"max_rows must be at least 2, got {self.max_rows}")


def single_labels(D: np.ndarray, draw_seed: int | None) -> Instances:
    """As many instances as D has entries, drawn; or one per entry above 0, weighted to match."""
    n, c = D.shape
    if draw_seed is None:
        # libsvm stops so early that a last bit here can move the fourth digit of the result.
        weights = np.round(c * D, _DIGITS)
        row, label = np.nonzero(weights)
        return Instances(row, label, weights[row, label])
    generator = np.random.default_rng(draw_seed)
    row = generator.integers(n, size=n * c)
    cumulative = np.cumsum(D[row], axis=1)
    mark = generator.random(n * c) * cumulative[:, -1]
    label = (cumulative <= mark[:, None]).sum(axis=1)
    return Instances(row, label, np.ones(n * c))


# ---------------------------------------------------------------------- a pair of labels


def _fit_pair(
    gram: np.ndarray, instances: Instances, folds: np.ndarray, a: int, b: int, C: float
) -> Machine:
    mass = {label: float(instances.weight[instances.of(label)].sum()) for label in (a, b)}
    if mass[b] > mass[a]:  # the heavier label is positive, so that the order of labels is free
        a, b = b, a
    chosen = np.concatenate([instances.of(a), instances.of(b)])
    rows, weight, folds = instances.row[chosen], instances.weight[chosen], folds[chosen]
    positive = np.arange(len(chosen)) < len(instances.of(a))
    held = np.empty(len(chosen))
    for fold in range(_PLATT_FOLDS):
        out = folds == fold
        coef, intercept = _support_vectors(gram, rows[~out], positive[~out], weight[~out], C)
        held[out] = gram[rows[out]] @ coef + intercept
    coef, intercept = _support_vectors(gram, rows, positive, weight, C)
    slope, offset = platt(held, positive, weight)
    return Machine(a, b, coef, intercept, slope, offset)


def _support_vectors(
    gram: np.ndarray, rows: np.ndarray, positive: np.ndarray, weight: np.ndarray, C: float
) -> tuple[np.ndarray, float]:
    """Coefficient per training row and intercept; with one class alone, the constant +1 or -1."""
    from sklearn.svm import SVC

    coef = np.zeros(len(gram))
    if positive.all() or not positive.any():
        return coef, float(np.sign(positive.sum() - 0.5)) if len(positive) else 0.0
    # Nothing here is random; without a number scikit-learn would turn the global generator.
    machine = SVC(C=C, kernel="precomputed", cache_size=400, random_state=0)
    machine.fit(gram[np.ix_(rows, rows)], positive, sample_weight=weight)
    np.add.at(coef, rows[machine.support_], machine.dual_coef_[0])
    return coef, float(machine.intercept_[0])


def sigmoid(values: np.ndarray, slope: float, offset: float) -> np.ndarray:
    z = slope * values + offset
    return np.exp(-np.logaddexp(0.0, -z))


def platt(values: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the sigmoid of largest likelihood, targets drawn in as Platt proposes.

    Newton's method with halved steps; the problem is convex.
    """
    ups, downs = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))
    design = np.column_stack([values, np.ones(len(values))])

    def loss(theta: np.ndarray) -> float:
        z = design @ theta
        return float(weight @ (np.logaddexp(0.0, z) - target * z))

    theta = np.array([0.0, np.log((ups + 1) / (downs + 1))])
    current = loss(theta)
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(values, *theta)
        gradient = design.T @ (weight * (p - target))
        if np.abs(gradient).max() < 1e-9 * weight.sum():
            break
        hessian = design.T @ ((weight * p * (1 - p))[:, None] * design)
        hessian += 1e-12 * np.trace(hessian) * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while (tried := loss(theta - size * step)) > current and size > 1e-10:
            size /= 2
        if size <= 1e-10:
            break
        theta, current = theta - size * step, tried
    return float(theta[0]), float(theta[1])


def couple(R: np.ndarray) -> np.ndarray:
    """Distributions p that minimise sum over a, b of (r_ba p_a - r_ab p_b)^2, one per row.

    R[:, a, b] = P(a | a or b). The minimum on the plane sum(p) = 1 is known to have no negative
    entries, so it is the solution of a linear system.
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

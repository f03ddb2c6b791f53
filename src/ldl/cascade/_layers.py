"""Parts of a cascade: layers, fitted crosswise, and the rule to stop.

Outputs of a layer have the shape (learners, rows, labels).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import child_seeds, to_simplex
from ldl.cascade._learners import Model, Settings, as_distributions, build


class Workers:
    """Runs independent parts in threads; the results keep the order of the parts."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def map(self, function: Callable[..., Any], parts: Iterable[tuple[Any, ...]]) -> list[Any]:
        if self.n_jobs == 1:
            return [function(*part) for part in parts]
        with ThreadPoolExecutor(self.n_jobs) as pool:
            return [future.result() for future in [pool.submit(function, *p) for p in parts]]


# ---------------------------------------------------------------------- a layer


@dataclass(frozen=True)
class Plan:
    """How every layer is fitted."""

    kinds: tuple[str, ...]
    """One entry per learner."""
    folds: int
    partition: str
    layer_features: str
    test_features: str
    normalise: str


@dataclass
class Layer:
    models: list[list[Model]]
    """Of each learner those that answer for new rows."""
    fold_of: np.ndarray
    """The fold of every row that the layer was fitted to, by learner."""
    normalise: str

    def output(self, F: Any, workers: Workers) -> np.ndarray:
        """For new rows: the mean of each learner's models."""

        def predict(model: Model) -> np.ndarray:
            return as_distributions(model.predict(F), self.normalise)

        predicted = iter(workers.map(predict, [(m,) for models in self.models for m in models]))
        return np.array([sum(next(predicted) for _ in ms) / len(ms) for ms in self.models])


def fit_layer(
    plan: Plan, settings: Settings, F: Any, D: np.ndarray, seed: int, workers: Workers
) -> tuple[Layer, np.ndarray]:
    """The layer, and its output for the rows it was fitted to.

    'heldout' gives a row the output of the one model that has not seen it; 'fold_mean' the mean of
    the others, which have.
    """
    fold_of, seeds = _draw(plan, len(D), seed)
    refit = plan.test_features == "refit"  # its number is that of no fold, so it sees every row
    numbers = range(plan.folds + refit)

    def rows_of(learner: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows that a model is fitted to and those it is asked about."""
        held = fold_of[learner] == number
        asked = held if plan.layer_features == "heldout" else ~held & (number < plan.folds)
        return np.flatnonzero(~held), np.flatnonzero(asked)

    def fit(learner: int, number: int) -> tuple[Model, np.ndarray | None]:
        seen, asked = rows_of(learner, number)
        model = build(plan.kinds[learner], settings, seeds[learner][number])
        model.fit(F[seen], D[seen])
        if len(asked) == 0:
            return model, None
        return model, as_distributions(model.predict(F[asked]), plan.normalise)

    parts = [(learner, number) for learner in range(len(plan.kinds)) for number in numbers]
    models: list[list[Model]] = [[] for _ in plan.kinds]
    output = np.zeros((len(plan.kinds), *D.shape))
    for part, (model, predicted) in zip(parts, workers.map(fit, parts), strict=True):
        learner, number = part
        if not refit or number == plan.folds:
            models[learner].append(model)
        if predicted is not None:
            output[learner, rows_of(*part)[1]] += predicted
    if plan.layer_features == "fold_mean":
        output /= plan.folds - 1
    return Layer(models, fold_of, plan.normalise), output


def _draw(plan: Plan, n: int, seed: int) -> tuple[np.ndarray, list[list[int]]]:
    """Each learner's folds, and seeds for its models."""
    common, *own = child_seeds(seed, 1 + len(plan.kinds))
    drawn = [child_seeds(learner, 2 + plan.folds) for learner in own]
    if plan.partition == "per_layer":
        partitions = [common] * len(own)
    else:
        partitions = [first for first, *_ in drawn]
    fold_of = np.array([_fold_numbers(n, plan.folds, partition) for partition in partitions])
    return fold_of, [seeds for _, *seeds in drawn]


def _fold_numbers(n: int, folds: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.arange(n) % folds)


def join(X: Any, C: np.ndarray) -> Any:
    """Features and the layer's outputs: a block of labels for each learner."""
    columns = np.concatenate(C, axis=1)
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix, hstack

        return hstack([X, csr_matrix(columns)], format="csr")
    return np.hstack([X, columns])


def mean_of(L: np.ndarray) -> np.ndarray:
    """The distributions that the learners agree on; outputs need not be distributions yet."""
    return np.mean([to_simplex(np.maximum(one, 0.0)) for one in L], axis=0)


# ---------------------------------------------------------------------- stopping


class StopRule:
    """Follows a measure for which more is better, layer by layer.

    With a ``ceiling``, the measure's best possible value, it also stops as soon as nothing below
    the ceiling can improve by theta: what the rule would answer is settled then.
    """

    def __init__(
        self, theta: float, theta_mode: str, counter: str, patience: int, ceiling: float = math.inf
    ) -> None:
        self.theta, self.theta_mode, self.ceiling = theta, theta_mode, ceiling
        self.counter, self.patience = counter, patience
        self.best = -math.inf
        self.best_layer = 0
        self.seen = 0
        self.failures = 0

    def stops_after(self, performance: float) -> bool:
        self.seen += 1
        if self._improves(performance):
            self.best, self.best_layer = performance, self.seen
            if self.counter == "consecutive":
                self.failures = 0
        else:
            self.failures += 1
        return self.failures >= self.patience or not self._improves(self.ceiling)

    def _improves(self, performance: float) -> bool:
        if self.best == -math.inf:
            return True
        gain = performance - self.best
        least = self.theta * abs(self.best) if self.theta_mode == "relative" else self.theta
        return gain > 0 and gain >= least

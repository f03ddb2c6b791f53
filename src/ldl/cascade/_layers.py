"""One layer of a cascade: its learners, fitted crosswise, and their outputs.

The outputs of a layer have the shape (learners, rows, labels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl._threads import each
from ldl.base import child_seeds, to_simplex
from ldl.cascade._learners import Model, Settings, as_distributions, build


@dataclass(frozen=True)
class Plan:
    """The way every layer is fitted; words are those of the parameters of ``LDLDF``."""

    kinds: tuple[str, ...]
    """Kind of each learner."""
    cv: int
    layer_features: str
    test_features: str
    normalise: str


@dataclass
class Layer:
    """A fitted layer."""

    models: list[list[Model]]
    """By learner: the models that answer for new rows."""
    fold_of: np.ndarray
    """By learner: the fold of every row that the layer was fitted to."""
    normalise: str

    def output(self, F: Any, n_jobs: int) -> np.ndarray:
        """Return the outputs for new rows: the mean of each learner's models."""

        def predict(model: Model) -> np.ndarray:
            return as_distributions(model.predict(F), self.normalise)

        predicted = iter(each(predict, [m for models in self.models for m in models], n_jobs))
        return np.array([sum(next(predicted) for _ in ms) / len(ms) for ms in self.models])


def fit_layer(
    plan: Plan,
    settings: Settings,
    F: Any,
    D: np.ndarray,
    weight: np.ndarray | None,
    seed: int,
    n_jobs: int,
) -> tuple[Layer, np.ndarray]:
    """Fit a layer, and return it with its outputs for the rows that it was fitted to.

    'heldout' gives a row the output of the one model that has not seen it, 'fold_mean' the mean of
    the others, which have.
    """
    fold_of, seeds = _draw(plan, len(D), seed)
    refit = plan.test_features == "refit"  # its number is that of no fold, so it sees every row
    numbers = range(plan.cv + refit)

    def rows_of(learner: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that a model is fitted to, and those it is asked about."""
        held = fold_of[learner] == number
        asked = held if plan.layer_features == "heldout" else ~held & (number < plan.cv)
        return np.flatnonzero(~held), np.flatnonzero(asked)

    def fit(part: tuple[int, int]) -> tuple[Model, np.ndarray | None]:
        learner, number = part
        seen, asked = rows_of(learner, number)
        model = build(plan.kinds[learner], settings, seeds[learner][number])
        model.fit(F[seen], D[seen], None if weight is None else weight[seen])
        if len(asked) == 0:
            return model, None
        return model, as_distributions(model.predict(F[asked]), plan.normalise)

    parts = [(learner, number) for learner in range(len(plan.kinds)) for number in numbers]
    models: list[list[Model]] = [[] for _ in plan.kinds]
    output = np.zeros((len(plan.kinds), *D.shape))
    for part, (model, predicted) in zip(parts, each(fit, parts, n_jobs), strict=True):
        learner, number = part
        if not refit or number == plan.cv:
            models[learner].append(model)
        if predicted is not None:
            output[learner, rows_of(*part)[1]] += predicted
    if plan.layer_features == "fold_mean":
        output /= plan.cv - 1
    return Layer(models, fold_of, plan.normalise), output


def _draw(plan: Plan, n: int, seed: int) -> tuple[np.ndarray, list[list[int]]]:
    """Draw each learner's folds, and seeds for its models."""
    _, *own = child_seeds(seed, 1 + len(plan.kinds))  # the first was a layer's, in older records
    drawn = [child_seeds(learner, 2 + plan.cv) for learner in own]
    fold_of = np.array([_fold_numbers(n, plan.cv, first) for first, *_ in drawn])
    return fold_of, [seeds for _, *seeds in drawn]


def _fold_numbers(n: int, folds: int, seed: int) -> np.ndarray:
    """Draw the fold of each row; folds differ in size by one row at most."""
    return np.random.default_rng(seed).permutation(np.arange(n) % folds)


def join(X: Any, C: np.ndarray) -> Any:
    """Join features and a layer's outputs, a block of labels for each learner."""
    columns = np.concatenate(C, axis=1)
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix, hstack

        return hstack([X, csr_matrix(columns)], format="csr")
    return np.hstack([X, columns])


def mean_of(L: np.ndarray) -> np.ndarray:
    """Average the learners' outputs, which need not be distributions yet."""
    return np.mean([to_simplex(np.maximum(one, 0.0)) for one in L], axis=0)

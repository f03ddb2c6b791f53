"""Base of estimators whose defaults suit new data: scaled, tempered, tuned on held-out rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldl._holdouts import first_best, holdouts
from ldl._scale import Scale
from ldl._tempered import AUTO, SHARES, Held, Tempered, losses, mean_distribution, settled_share
from ldl.base import dense

Candidate = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]]
_HELD_OUT, _ROWS_TO_SCORE, _MOST_SPLITS = 1 / 5, 200, 5
"""Rows held out at a time, rows that are scored in all, and how often rows are held out at most."""
_FEWEST_ROWS = 5
"""Rows from which on some are held out; of fewer, first candidates and half the mean stand."""
_OWN = ("n_features_in_", "feature_names_in_", "renormalised_", "auto_", "mean_", "_scale")
"""Attributes that a fit to settled values does not take over from the copy that was fitted."""


@dataclass(eq=False, repr=False, kw_only=True)
class SelfTuned(Tempered):
    """Base of methods that scale features, temper predictions and choose parameters themselves.

    A subclass names ``candidates`` for parameters that may be ``'auto'``. Values of these and the
    share of the mean are those with the least divergence on training rows that are held out: a
    fifth at a time, until 200 rows have been scored, at most all. These count alike. Then every row
    is fitted, as often as it counts.

    Parameters
    ----------
    standardise : bool, default=True
        Give features mean 0 and deviation 1 first, so that their units do not matter. Sparse
        features become dense by it. Rows and weights among the attributes are those of the scaled
        features, but for the weights of linear models.
    """

    standardise: bool = True

    candidates: ClassVar[Grid] = {}
    """Values of each parameter that may be ``'auto'``; the first stands where rows are few."""
    scales_itself: ClassVar[bool] = False
    """Whether ``_fit`` heeds ``standardise``."""
    tells_steps: ClassVar[bool] = False
    """Whether ``_fit`` calls ``_tell`` after each step: all ``max_iter`` then come from one fit."""

    def _learn(self, X: Any, D: np.ndarray) -> None:
        X, D = self._rows_that_count(X, D)
        weight = self._weight(len(D))
        self._scale = None if self.scales_itself or not self.standardise else Scale(X, weight)
        self.mean_ = mean_distribution(D, weight)
        self.auto_: dict[str, Any] = {}
        X = self._scaled(X)
        self.auto_ = self._chosen(X, D)
        settled = {name: value for name, value in self.auto_.items() if name != "mean_share"}
        if settled:
            self._take_over(self._copy({**settled, "verbose": self.verbose})._fitted(X, D))
        else:
            self._fit(X, D)
        if self._scale is not None:
            self._keep_scale(self._scale)

    def _scaled(self, X: Any) -> Any:
        if self._scale is None:
            return X
        return self._scale.applied(dense(X))

    def _keep_scale(self, scale: Scale) -> None:
        """Keep the scale for new rows; a linear model folds it into its weights instead."""

    def _checked(self, X: Any, finite: bool = True) -> Any:
        return self._scaled(super()._checked(X, finite))

    # ------------------------------------------------------------------ choice

    def _copy(self, settled: Candidate) -> Self:
        """Return an unfitted copy that leaves features and predictions alone."""
        given = {name: getattr(self, name) for name in self._get_param_names()}
        plain = {"mean_share": None, "verbose": False} | (
            {} if self.scales_itself else {"standardise": False}
        )
        made = type(self)(**given | plain | dict(settled))
        made._sample_weight = self._sample_weight
        return made

    def _weight(self, rows: int) -> np.ndarray | None:
        """Return the checked weight of each row; None where all count alike, as in a trial."""
        trial = "renormalised_" not in vars(self) and np.shape(self._sample_weight) != (rows,)
        return None if trial else super()._weight(rows)

    def _fitted(self, X: Any, D: np.ndarray) -> Self:
        """Fit to data that have been checked."""
        self.n_features_in_, self.n_labels_ = X.shape[1], D.shape[1]
        self._learn(X, D)
        return self

    def _take_over(self, fitted: Self) -> None:
        """Make what a copy has learnt one's own."""
        own = {*_OWN, *self._get_param_names()}
        self.__dict__.update({k: v for k, v in vars(fitted).items() if k not in own})

    def _open(self, rows: int) -> Grid:
        """Return candidates of the parameters that are 'auto', for a fit to so many rows."""
        return {name: v for name, v in self.candidates.items() if getattr(self, name) == AUTO}

    def _tried(
        self, X: Any, D: np.ndarray, T: Any, grid: Grid
    ) -> Iterator[tuple[Candidate, np.ndarray]]:
        """Yield every candidate and what it predicts for rows T, fitted to X and D.

        A method whose candidates share work does it in its own way.
        """
        steps = sorted(grid.get("max_iter", ())) if self.tells_steps else []
        others = {name: v for name, v in grid.items() if not (steps and name == "max_iter")}
        for values in itertools.product(*others.values()):
            candidate = dict(zip(others, values, strict=True))
            if steps:
                yield from self._tried_steps(X, D, T, candidate, steps)
            else:
                yield candidate, self._copy(candidate)._fitted(X, D).predict(T)

    def _tried_steps(
        self, X: Any, D: np.ndarray, T: Any, candidate: Candidate, steps: list[int]
    ) -> Iterator[tuple[Candidate, np.ndarray]]:
        """Yield a candidate with each number of steps, from one fit with the most of them."""
        model = self._copy({**candidate, "max_iter": steps[-1]})
        found: list[np.ndarray] = []

        def hear(step: int) -> None:
            if step in steps:
                found.append(model.predict(T))

        model.__dict__["_hear"] = hear
        last = model._fitted(X, D).predict(T)
        for place, step in enumerate(steps):  # a fit that ended before has no later ones
            yield {**candidate, "max_iter": step}, found[place] if place < len(found) else last

    def _tell(self, step: int) -> None:
        """Let what listens know that a step is done, after which the model can predict."""
        if (hear := vars(self).get("_hear")) is not None:
            hear(step)

    def _chosen(self, X: Any, D: np.ndarray) -> dict[str, Any]:
        """Return the values of all parameters that are 'auto', with the share of the mean."""
        splits = holdouts(len(D), _HELD_OUT, _ROWS_TO_SCORE, 0)[:_MOST_SPLITS]
        grid = self._open(len(splits[0][0]))
        automatic = self.mean_share == AUTO
        if not grid and not automatic:
            return {}
        if len(D) < _FEWEST_ROWS:
            found = {name: values[0] for name, values in grid.items()}
            return found | ({"mean_share": 0.5} if automatic else {})
        answers: list[list[Held]] = []
        for place, (inside, out) in enumerate(splits, start=1):
            tried = list(self._tried(X[inside], D[inside], X[out], grid))
            answers.append([(D[out], P, mean_distribution(D[inside])) for _, P in tried])
            self._say(f"held-out rows {place} of {len(splits)}: {len(tried)} tried")
        held = list(zip(*answers, strict=True))
        shares = SHARES if automatic else (self.mean_share,)
        table = np.array([losses(of_candidate, shares) for of_candidate in held])
        best, place = divmod(first_best(table.ravel(), lower_is_better=True), len(shares))
        found = dict(tried[best][0])
        if automatic:
            found["mean_share"] = settled_share(held[best], shares[place])
        self._say("chose " + ", ".join(f"{name}={value!r}" for name, value in found.items()))
        return found

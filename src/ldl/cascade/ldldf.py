"""LDLDF: a cascade of layers of different learners, and the rule by which it ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ldl import metrics
from ldl._holdouts import split
from ldl._parameters import Count, Interval, NotNegative, Options, Part, Positive
from ldl._tempered import AUTO, Tempered, best_share, mean_distribution, settled_share
from ldl.base import child_seeds
from ldl.cascade._layers import Layer, Plan, fit_layer, join, mean_of
from ldl.cascade._learners import KINDS, Settings
from ldl.cascade._reuse import Choice, Reuse, choose
from ldl.forests.structrf import MaxFeatures

_PATIENCE = 3
"""Layers that do not improve, after which a cascade ends."""


@dataclass(eq=False, repr=False)
class LDLDF(Tempered):
    """Cascade of layers of heterogeneous learners, after deep forests.

    Every layer sees the features X and the outputs C of the layer before. A layer fits each of its
    learners on all folds of the training rows but one in turn, so that a row's output L comes from
    a model that has not seen the row. Layer t grows
    ``n_estimators + (t - 1) n_estimators_step`` trees, at most ``max_estimators``, of depth
    ``max_depth + (t - 1) max_depth_step``.

    By layer feature reuse a training row passes on the output nearest to its labels D of all layers
    so far: L where KL(L || D) < KL(Z || D), and else Z, the best output of the layers before
    (Equation 9). New rows have no labels, and pass on every L. The cascade ends after three
    layers in a row that do not improve ``measure`` by ``tol``; the prediction is the mean of the
    learners of the last layer that did.

    Parameters
    ----------
    learners : str, default='rf+xgb'
        Kinds of learners, joined by +: random forests ('rf'), boosted trees of XGBoost ('xgb'),
        nearest neighbours ('knn') and linear regression ('lr').
    learners_per_layer : int, default=6
        Number of learners in a layer, a multiple of the number of kinds.
    max_layers : int, default=10
        Largest number of layers.
    cv : int, default=5
        Folds of the cross-fitting inside a layer.
    n_estimators : int, default=40
        Trees of a forest, and rounds of XGBoost, in the first layer.
    n_estimators_step : int, default=20
        Trees that each further layer has more.
    max_estimators : int, default=100
        Largest number of trees.
    max_depth : int, default=3
        Depth of the trees in the first layer.
    max_depth_step : int, default=3
        Depth that each further layer has more.
    max_features : int, float, str or None, default='sqrt'
        Features that a split of a random forest looks at: None for all, 'sqrt' for the
        square root of their number, a number, or a share up to 1.0.
    learning_rate : float, default=0.3
        Learning rate of XGBoost.
    base_score : float or None, default=None
        Degree from which XGBoost starts; None takes the mean of each label.
    n_neighbors : int, default=3
        Neighbours that 'knn' averages.
    layer_features : {'heldout', 'fold_mean'}, default='heldout'
        Output that a training row gets from a learner: that of the one model that has not seen it,
        or the mean of the models that have, as the paper's text says.
    test_features : {'mean', 'refit'}, default='mean'
        Output that a new row gets: the mean of the models of all folds, or that of one model fitted
        to all rows.
    normalise : {'clip', 'none'}, default='clip'
        Way to make outputs distributions: raise degrees to 1e-6 and divide by the sum. 'none'
        leaves the features of the next layer alone.
    reuse : {'per_learner', 'joint', 'off'}, default='per_learner'
        Compare the outputs of each learner, or the mean of all learners of a row; or reuse nothing.
    test_reuse : {'none', 'nearest', 'gate'}, default='none'
        Reuse by new rows, whose labels nobody knows: none, as the nearest training row does, or by
        a random forest that has learned the training rows' choices.
    judge_on : {'holdout', 'out_of_fold', 'reused'}, default='holdout'
        Outputs that judge a layer: those for rows held out of the cascade, those for the training
        rows, or the latter after reuse, as in Algorithm 3.
    validation_fraction : float, default=0.2
        Share of the training rows that 'holdout' holds out.
    measure : str, default='intersection'
        Measure of ``ldl.metrics`` that judges a layer.
    tol : float, default=0.005
        Least improvement of the measure.
    counter : {'consecutive', 'cumulative'}, default='consecutive'
        Count the layers in a row that do not improve, as the text says, or all that do not, as
        Algorithm 3 does.
    output_layer : {'refitted', 'best', 'last'}, default='refitted'
        Layer that answers: the last one that improved, or the last one built. With 'refitted' the
        layers up to the last one that improved are fitted again to all training rows, those that
        'holdout' held out too; where none were held out, that is 'best'.
    random_state : int or None, default=None
        Seed; None draws another one each time.
    n_jobs : int, default=1
        Number of threads that fit the learners. The result does not depend on it.

    Attributes
    ----------
    layers_ : list of Layer
        Layers up to the one that answers, with their ``models`` and ``fold_of``, the fold of each
        training row.
    choices_ : list of Choice or None
        For each of these layers the learned choice of new rows; None where they reuse nothing.
    performance_ : list of float
        Value of the measure after each layer that was built; minus it where lower is better.
    distance_ : list of ndarray of shape (learners, rows)
        Divergence of each training row from its labels after reuse, for each layer that was built;
        with joint reuse that of the learners' mean, of shape (1, rows).
    diagnostics_ : dict
        ``layers_built``, ``layers_kept``, ``stopped_by`` ('rule' or 'depth'), and for each layer
        ``train_kl_1``, the mean of ``distance_``, and ``performance_1``, numbered from 1.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    Wang, Zhu, Liu and Zhou, Label distribution learning based on deep forest and heterogeneous
    ensemble, Journal of Software (in Chinese), 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLDF
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = LDLDF(learners="knn+lr", max_layers=3, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> model.outputs(X[40:]).shape
    (6, 20, 3)
    """

    accepts_sparse = True

    learners: str = "rf+xgb"
    learners_per_layer: Count = 6
    max_layers: Count = 10
    cv: Annotated[int, Interval(2, whole=True)] = 5
    n_estimators: Count = 40
    n_estimators_step: Annotated[int, Interval(0, whole=True)] = 20
    max_estimators: Count = 100
    max_depth: Count = 3
    max_depth_step: Annotated[int, Interval(0, whole=True)] = 3
    max_features: MaxFeatures = "sqrt"
    learning_rate: Positive = 0.3
    base_score: float | None = None
    n_neighbors: Count = 3
    layer_features: Literal["heldout", "fold_mean"] = "heldout"
    test_features: Literal["mean", "refit"] = "mean"
    normalise: Literal["clip", "none"] = "clip"
    reuse: Literal["per_learner", "joint", "off"] = "per_learner"
    test_reuse: Literal["none", "nearest", "gate"] = "none"
    judge_on: Literal["holdout", "out_of_fold", "reused"] = "holdout"
    validation_fraction: Part = 0.2
    measure: Annotated[str, Options(*metrics.BETTER)] = "intersection"
    tol: NotNegative = 0.005
    counter: Literal["consecutive", "cumulative"] = "consecutive"
    output_layer: Literal["refitted", "best", "last"] = "refitted"
    random_state: int | None = None
    n_jobs: Count = 1

    # ------------------------------------------------------------------ fitting

    def _fit(self, X: Any, D: np.ndarray) -> None:
        ways = self.cv, self.layer_features, self.test_features, self.normalise
        plan = Plan(self._kinds(), *ways)
        split_seed, *seeds = child_seeds(self.random_state, 1 + self.max_layers)
        share = self.validation_fraction if self.judge_on == "holdout" else 0.0
        inside, held = split(len(D), share, split_seed)
        weight = self._weight(len(D))
        of_inside = None if weight is None else weight[inside]
        self._check_rows(len(inside))
        self.performance_: list[float] = []
        rule = StopRule(self.tol, self.counter)
        if self.output_layer != "last":
            rule.ceiling = 0.0 if metrics.BETTER[self.measure] == "lower" else 1.0
        judged, truth = self._new_rows(X[held], D[held]), D[held] if len(held) else D
        unseen: list[np.ndarray] = []

        def stops(layer: Layer, choice: Choice | None, L: np.ndarray, Z: np.ndarray) -> bool:
            """Judge a layer; ``unseen`` takes its answer for rows that its models have not seen."""
            if self.judge_on == "holdout":
                L = judged.advance(layer, choice, self.n_jobs)
            unseen.append(mean_of(L))
            P = mean_of(Z) if self.judge_on == "reused" else unseen[-1]
            self.performance_.append(self._performance(P, truth))
            self._say(f"layer {len(unseen)}: {self.measure} {self.performance_[-1]:.4f}")
            return rule.stops_after(self.performance_[-1])

        stopped = self._grow(plan, X[inside], D[inside], of_inside, seeds, stops)
        kept = len(self.layers_) if self.output_layer == "last" else rule.best_layer
        if self.mean_share == AUTO:
            mean = mean_distribution(D[inside], of_inside)
            answers = [(truth, unseen[kept - 1], mean)]
            self.auto_["mean_share"] = settled_share(answers, best_share(answers))
        if self.output_layer == "refitted" and len(held):
            self._grow(plan, X, D, weight, seeds[:kept])
        del self.layers_[kept:], self.choices_[kept:]
        self.diagnostics_ = self._diagnostics("rule" if stopped else "depth")

    def _grow(
        self,
        plan: Plan,
        X: Any,
        D: np.ndarray,
        weight: np.ndarray | None,
        seeds: Sequence[int],
        stops: Callable[[Layer, Choice | None, np.ndarray, np.ndarray], bool] | None = None,
    ) -> bool:
        """Grow a layer for each seed, until one ``stops`` the cascade; return whether one did."""
        reuse = self._reuse()
        F, Z = X, None
        self.layers_: list[Layer] = []
        self.choices_: list[Choice | None] = []
        self.distance_: list[np.ndarray] = []
        for number, seed in enumerate(seeds):
            settings = self._settings(number)
            layer, L = fit_layer(plan, settings, F, D, weight, seed, self.n_jobs)
            taken = reuse.nearer(L, Z, D)
            Z = choose(taken, L, Z)
            self.layers_.append(layer)
            self.choices_.append(reuse.learn_choice(X, taken, seed))
            self.distance_.append(reuse.distance(Z, D))
            if stops is not None and stops(layer, self.choices_[-1], L, Z):
                return True
            F = join(X, Z)
        return False

    def _reuse(self) -> Reuse:
        return Reuse(self.reuse, self.test_reuse)

    def _settings(self, number: int) -> Settings:
        """Return the settings of the learners of a layer; the first has number 0."""
        return Settings(
            n_estimators=min(
                self.n_estimators + number * self.n_estimators_step, self.max_estimators
            ),
            max_depth=self.max_depth + number * self.max_depth_step,
            max_features=self.max_features,
            learning_rate=self.learning_rate,
            base_score=self.base_score,
            n_neighbors=self.n_neighbors,
        )

    def _performance(self, P: np.ndarray, D: np.ndarray) -> float:
        """Return the measure of predictions, turned so that more is better."""
        value = metrics.evaluate(D, P)[self.measure]
        return -value if metrics.BETTER[self.measure] == "lower" else value

    def _diagnostics(self, stopped: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "layers_built": len(self.performance_),
            "layers_kept": len(self.layers_),
            "stopped_by": stopped,
        }
        for number, distance in enumerate(self.distance_, start=1):
            found[f"train_kl_{number}"] = float(distance.mean())
        for number, performance in enumerate(self.performance_, start=1):
            found[f"performance_{number}"] = performance
        return found

    # ------------------------------------------------------------------ predicting

    def _predict(self, X: Any) -> np.ndarray:
        return mean_of(self._outputs(X))

    def outputs(self, X: Any) -> np.ndarray:
        """Return the output of each learner of the layer that answers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of shape (learners, rows, labels)
            Distributions, or with ``normalise='none'`` whatever the learners predict.
        """
        return self._outputs(self._checked(X))

    def _new_rows(self, X: Any, D: np.ndarray | None = None) -> NewRows:
        """Return rows on their way through the cascade; those held out of it have labels D."""
        return NewRows(X)

    def _outputs(self, X: Any) -> np.ndarray:
        rows = self._new_rows(X)
        for layer, choice in zip(self.layers_, self.choices_, strict=True):
            L = rows.advance(layer, choice, self.n_jobs)
        return L

    # ------------------------------------------------------------------ parameters

    def _kinds(self) -> tuple[str, ...]:
        """Return the kind of each learner of a layer."""
        named = self.learners.split("+")
        for kind in named:
            if kind not in KINDS:
                raise ValueError(
                    f"learners: no learner '{kind}' in '{self.learners}'; "
                    f"join any of {', '.join(KINDS)} with +"
                )
        share, rest = divmod(self.learners_per_layer, len(named))
        if rest:
            raise ValueError(
                f"learners_per_layer must be a multiple of the {len(named)} kinds in "
                f"'{self.learners}', got {self.learners_per_layer}"
            )
        return tuple(kind for kind in named for _ in range(share))

    def _check_rows(self, n: int) -> None:
        """Refuse too few rows: a model needs two, and as many as it has neighbours."""
        fewest = n - -(-n // self.cv)
        least = max(2, self.n_neighbors if "knn" in self.learners else 0)
        if n < self.cv or fewest < least:
            raise ValueError(
                f"{n} rows are too few for {self.cv} folds: each needs a row of its own and "
                f"{least} rows besides"
            )


class NewRows:
    """Rows that a cascade was not fitted to, on their way through its layers."""

    def __init__(self, X: Any) -> None:
        self.X = self.F = X
        self.C: np.ndarray | None = None

    def advance(self, layer: Layer, choice: Choice | None, n_jobs: int) -> np.ndarray:
        """Return the outputs of the next layer; where the rows reuse, the best so far."""
        C = layer.output(self.F, n_jobs)
        taken = self.taken(C, choice)
        if taken is not None:
            C = choose(taken, C, self.C)
        self.C, self.F = C, join(self.X, C)
        return C

    def taken(self, C: np.ndarray, choice: Choice | None) -> np.ndarray | None:
        """Tell which rows take the outputs C and not those before; None where all take C."""
        return None if choice is None else choice.of(self.X)


class StopRule:
    """The rule that ends a cascade by a measure for which more is better.

    With a ``ceiling``, the measure's best possible value, it also stops as soon as nothing up to
    the ceiling can improve by tol, for the answer is settled then.
    """

    def __init__(self, tol: float, counter: str, ceiling: float = math.inf) -> None:
        self.tol, self.counter, self.ceiling = tol, counter, ceiling
        self.best = -math.inf
        self.best_layer = 0
        self.seen = 0
        self.failures = 0

    def stops_after(self, performance: float) -> bool:
        """Take the performance of one more layer, and tell whether it is the last."""
        self.seen += 1
        if self._improves(performance):
            self.best, self.best_layer = performance, self.seen
            if self.counter == "consecutive":
                self.failures = 0
        else:
            self.failures += 1
        return self.failures >= _PATIENCE or not self._improves(self.ceiling)

    def _improves(self, performance: float) -> bool:
        if self.best == -math.inf:
            return True
        gain = performance - self.best
        return gain > 0 and gain >= self.tol

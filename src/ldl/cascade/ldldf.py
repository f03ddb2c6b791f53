"""LDLDF: a cascade of layers of different learners, after deep forests.

Wang, Zhu, Liu and Zhou (Journal of Software, 2023, in Chinese). Every layer sees the features and
the outputs of the layer before; training rows get outputs of models that have not seen them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl import metrics
from ldl.base import LDLEstimator, child_seeds, to_simplex
from ldl.cascade._layers import Layer, Plan, StopRule, Workers, fit_layer, join, mean_of
from ldl.cascade._learners import KINDS, Settings
from ldl.cascade._reuse import TEST_REUSE, Choice, Reuse, choose

_WORDS = {
    "layer_features": ("heldout", "fold_mean"),
    "test_features": ("mean", "refit"),
    "partition": ("per_learner", "per_layer"),
    "normalise": ("clip", "simplex", "none"),
    "reuse": ("per_learner", "joint", "off"),
    "test_reuse": TEST_REUSE,
    "kl_order": ("prediction_first", "truth_first"),
    "judge_on": ("holdout", "out_of_fold", "reused"),
    "measure": tuple(metrics.BETTER),
    "theta_mode": ("absolute", "relative"),
    "counter": ("consecutive", "cumulative"),
    "output_layer": ("best", "last"),
    "tree_method": ("exact", "hist"),
    "multi_strategy": ("one_output_per_tree", "multi_output_tree"),
}


@dataclass(eq=False, repr=False)
class LDLDF(LDLEstimator):
    """Up to ``max_layers`` layers of ``learners_per_layer`` learners of the named kinds.

    Layer t grows ``trees + (t - 1) trees_step`` trees, at most ``max_trees``, of depth
    ``depth + (t - 1) depth_step``. With ``reuse`` a training row keeps the output nearest to its
    labels of all layers so far; ``test_reuse`` says what new rows keep, whose labels nobody knows.
    Layers are added until ``patience`` of them in a row do not improve ``measure`` by ``theta``,
    on rows held out of the cascade ('holdout'), on the outputs for the training rows
    ('out_of_fold') or on those after reuse ('reused'). ``skip_hopeless`` does not build layers
    that cannot improve it by as much any more; the answer is the same.
    """

    accepts_sparse = True

    learners: str = "rf+xgb"
    learners_per_layer: int = 6
    max_layers: int = 10
    folds: int = 5
    trees: int = 40
    trees_step: int = 20
    max_trees: int = 100
    depth: int = 3
    depth_step: int = 3
    max_features: str | int | float | None = "sqrt"
    learning_rate: float = 0.3
    base_score: float | None = 0.5
    max_bin: int = 32
    tree_method: str = "hist"
    multi_strategy: str = "one_output_per_tree"
    n_neighbors: int = 3
    layer_features: str = "heldout"
    test_features: str = "mean"
    partition: str = "per_learner"
    normalise: str = "clip"
    reuse: str = "per_learner"
    test_reuse: str = "none"
    kl_order: str = "prediction_first"
    judge_on: str = "holdout"
    holdout_share: float = 0.1
    measure: str = "intersection"
    theta: float = 0.005
    theta_mode: str = "absolute"
    counter: str = "consecutive"
    patience: int = 3
    output_layer: str = "best"
    skip_hopeless: bool = True
    random_state: int | None = None
    n_jobs: int = 1

    # ------------------------------------------------------------------ fitting

    def _fit(self, X: Any, D: np.ndarray) -> None:
        plan = self._checked_plan()
        split_seed, *layer_seeds = child_seeds(self.random_state, 1 + self.max_layers)
        inside, held = self._split(len(D), split_seed)
        self._check_rows(len(inside))
        workers, reuse, rule = Workers(self.n_jobs), self._reuse(), self._rule()
        X_in, D_in = X[inside], D[inside]
        judged = _NewRows(X[held], reuse, D[held] if self._knows_new_labels else None)
        F, Z = X_in, None
        self.layers_: list[Layer] = []
        self.choices_: list[Choice | None] = []
        self.performance_: list[float] = []
        self.distance_: list[np.ndarray] = []
        """For every layer, the divergence of each training row after reuse."""
        stopped = "depth"
        for number, seed in enumerate(layer_seeds):
            layer, L = fit_layer(plan, self._settings(number), F, D_in, seed, workers)
            taken = reuse.nearer(L, Z, D_in)
            Z = choose(taken, L, Z)
            self.layers_.append(layer)
            self.choices_.append(reuse.learn_choice(X_in, taken, seed))
            self.distance_.append(reuse.distance(Z, D_in))
            if self.judge_on == "holdout":
                advanced = judged.advance(layer, self.choices_[-1], workers)
                performance = self._performance(advanced, D[held])
            else:
                performance = self._performance(L if self.judge_on == "out_of_fold" else Z, D_in)
            self.performance_.append(performance)
            if rule.stops_after(performance):
                stopped = "rule"
                break
            F = join(X_in, Z)
        kept = rule.best_layer if self.output_layer == "best" else len(self.layers_)
        del self.layers_[kept:], self.choices_[kept:]
        self.diagnostics_ = self._diagnostics(stopped)

    _knows_new_labels = False

    def _reuse(self) -> Reuse:
        return Reuse(self.reuse, self.kl_order, self.test_reuse)

    def _rule(self) -> StopRule:
        rule = StopRule(self.theta, self.theta_mode, self.counter, self.patience)
        if self.skip_hopeless and self.output_layer == "best":
            rule.ceiling = 0.0 if metrics.BETTER[self.measure] == "lower" else 1.0
        return rule

    def _settings(self, number: int) -> Settings:
        return Settings(
            trees=min(self.trees + number * self.trees_step, self.max_trees),
            depth=self.depth + number * self.depth_step,
            max_features=self.max_features,
            learning_rate=self.learning_rate,
            base_score=self.base_score,
            max_bin=self.max_bin,
            tree_method=self.tree_method,
            multi_strategy=self.multi_strategy,
            n_neighbors=self.n_neighbors,
        )

    def _split(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the cascade, and rows that judge it."""
        count = max(1, round(self.holdout_share * n)) if self.judge_on == "holdout" else 0
        order = np.random.default_rng(seed).permutation(n)
        return np.sort(order[count:]), np.sort(order[:count])

    def _performance(self, L: np.ndarray, D: np.ndarray) -> float:
        value = metrics.evaluate(D, mean_of(L))[self.measure]
        return -value if metrics.BETTER[self.measure] == "lower" else value

    def _diagnostics(self, stopped: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "layers_built": len(self.performance_),
            "layers_kept": len(self.layers_),
            "stopped_by": stopped,
        }
        for number, (distance, performance) in enumerate(
            zip(self.distance_, self.performance_, strict=True), start=1
        ):
            found[f"train_kl_{number}"] = float(distance.mean())
            found[f"performance_{number}"] = performance
        return found

    # ------------------------------------------------------------------ predicting

    def _predict(self, X: Any, D_true: np.ndarray | None = None) -> np.ndarray:
        return mean_of(self.outputs(X, D_true))

    def outputs(self, X: Any, D_true: np.ndarray | None = None) -> np.ndarray:
        """What each learner of the answering layer says; with ``normalise='none'`` as it is."""
        workers = Workers(self.n_jobs)
        rows = _NewRows(X, self._reuse(), D_true)
        for layer, choice in zip(self.layers_, self.choices_, strict=True):
            L = rows.advance(layer, choice, workers)
        return L

    # ------------------------------------------------------------------ parameters

    def _checked_plan(self) -> Plan:
        for name, allowed in _WORDS.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        counts = ("learners_per_layer", "max_layers", "trees", "max_trees", "depth", "patience")
        for name in counts:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}")
        if not 0 < self.holdout_share < 1:
            raise ValueError(f"holdout_share must lie between 0 and 1, got {self.holdout_share}")
        return Plan(
            kinds=self._kinds(),
            folds=self.folds,
            partition=self.partition,
            layer_features=self.layer_features,
            test_features=self.test_features,
            normalise=self.normalise,
        )

    def _kinds(self) -> tuple[str, ...]:
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
        """Every model needs two rows, and as many as it has neighbours."""
        fewest = n - -(-n // self.folds)
        least = max(2, self.n_neighbors if "knn" in self.learners else 0)
        if n < self.folds or fewest < least:
            raise ValueError(
                f"{n} rows are too few for {self.folds} folds: each needs a row of its own and "
                f"{least} rows besides"
            )


class LDLDFOracle(LDLDF):
    """LDLDF that reuses on test rows as on training rows, by their labels: a leak.

    It shows what the printed numbers would be if the authors' code did so.
    """

    sees_test_labels = True
    _knows_new_labels = True

    def predict(self, X: Any, D_true: Any = None) -> np.ndarray:
        X, D_true = self._checked_with_truth(X, D_true)
        return to_simplex(self._predict(X, D_true))


class _NewRows:
    """Rows that a cascade was not fitted to, on their way through it."""

    def __init__(self, X: Any, reuse: Reuse, D: np.ndarray | None) -> None:
        self.X, self.reuse, self.D = X, reuse, D
        self.F = X
        self.C: np.ndarray | None = None

    def advance(self, layer: Layer, choice: Choice | None, workers: Workers) -> np.ndarray:
        """Outputs of the next layer; where the rows reuse, the best so far."""
        C = layer.output(self.F, workers)
        if self.D is not None:
            C = choose(self.reuse.nearer(C, self.C, self.D), C, self.C)
        elif choice is not None:
            C = choose(choice.of(self.X), C, self.C)
        self.C, self.F = C, join(self.X, C)
        return C

"""LDLogitBoost and AOSO-LDLogitBoost: boosted trees on the scores of a softmax.

Our reading of Xing, Geng and Xue (CVPR 2016), whose text was not at hand: the boosting core is that
of LogitBoost and of AOSO-LogitBoost, with label distributions in the place of one-hot classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl import metrics
from ldl.base import LDLEstimator
from ldl.linear.maxent import softmax_rows
from ldl.neighbours._embedded import check_choice, check_counts, first_best, holdouts

if TYPE_CHECKING:
    from ldl.boosting._trees import Rules, Tree

_BLOCK_ROWS = 1024
_LARGEST_RESPONSE = 4.0
_FLOOR = 1e-6
_HISTOGRAM_BYTES = 256 * 2**20

Forest = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Feature and child of each node, their thresholds, the roots, and the leaves."""
Mapping = Callable[[Callable[[np.ndarray], Any], Iterable[np.ndarray]], Iterable[Any]]


class _Boosting(LDLEstimator):
    """Rounds of Newton steps on F, where P = softmax(F) and the loss is sum KL(D || P).

    The number of rounds has the best ``select_by`` on rows held out of the training rows, averaged
    over as many random hold-outs as score ``validation_rows`` rows; then all rows are fitted for
    that many rounds. ``n_iter_no_change=None`` runs ``max_iter`` rounds and holds out nothing.
    """

    accepts_sparse = True
    max_iter: int
    learning_rate: float
    max_leaf_nodes: int
    min_samples_leaf: int
    max_bins: int
    n_iter_no_change: int | None
    validation_share: float
    validation_rows: int
    select_by: str
    random_state: int | None
    n_jobs: int = 1

    # ------------------------------------------------------------------ to be written by methods

    def _kind(self) -> int:
        """How a node is judged, one of the kinds of ``_boost_trees``."""
        raise NotImplementedError

    def _statistics(self, D: np.ndarray, P: np.ndarray) -> list[np.ndarray]:
        """For each tree of a round, the statistics of every row."""
        raise NotImplementedError

    def _scores(self, outputs: np.ndarray) -> np.ndarray:
        """F from the sums of the trees' outputs, one column per label."""
        raise NotImplementedError

    # ------------------------------------------------------------------ fit and predict

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._check()
        self.validation_curve_ = np.zeros(0)
        self.n_iter_ = self.max_iter
        self.diagnostics_: dict[str, Any] = {}
        with ThreadPoolExecutor(self.n_jobs) if self.n_jobs > 1 else nullcontext() as pool:
            mapping: Mapping = pool.map if pool else map
            if self.n_iter_no_change is not None and X.shape[0] > 2:
                self._choose_rounds(X, D, mapping)
            ensemble = _Ensemble(self, X, D)
            for _ in range(self.n_iter_):
                ensemble.advance(mapping)
        self._join(ensemble.rounds)
        P = softmax_rows(self._scores(ensemble.outputs))
        self.diagnostics_ |= {
            "rounds": self.n_iter_,
            "leaves": float(np.mean([len(t.leaves) for trees in ensemble.rounds for t in trees])),
            "training_kl": metrics.evaluate(D, P)["kl"],
        }

    def _choose_rounds(self, X: Any, D: np.ndarray, mapping: Mapping) -> None:
        splits = holdouts(
            X.shape[0], self.validation_share, self.validation_rows, self.random_state
        )
        watched = [_Watched(_Ensemble(self, X[a], D[a]), X[b], D[b]) for a, b in splits]
        curve: list[float] = []
        lower = metrics.BETTER[self.select_by] == "lower"
        best = 0
        while len(curve) < self.max_iter and len(curve) - best <= (self.n_iter_no_change or 0):
            scores = [each.advance(mapping)[self.select_by] for each in watched]
            curve.append(float(np.mean(scores)))
            best = first_best(np.array(curve), lower)
        self.validation_curve_ = np.array(curve)
        self.n_iter_ = best + 1
        self.diagnostics_ |= {
            f"validation_{self.select_by}": curve[best],
            "validation_splits": len(splits),
        }

    def _join(self, rounds: list[list[Tree]]) -> None:
        """The trees of each place of a round, one after the other, for the prediction."""
        self.forests_: list[Forest] = []
        for trees in zip(*rounds, strict=True):
            nodes = np.cumsum([0] + [len(tree.feature) for tree in trees])
            leaves = np.cumsum([0] + [len(tree.leaves) for tree in trees])
            children = [
                tree.child + np.where(tree.feature < 0, first_leaf, first_node)
                for tree, first_node, first_leaf in zip(trees, nodes[:-1], leaves[:-1], strict=True)
            ]
            self.forests_.append(
                (
                    _nodes(
                        np.concatenate([tree.feature for tree in trees]), np.concatenate(children)
                    ),
                    np.concatenate([tree.threshold for tree in trees]),
                    nodes[:-1],
                    np.concatenate([tree.leaves for tree in trees]),
                )
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores F, whose softmax is the prediction; every row sums to zero."""
        return self._scores_of(self._checked(X))

    def _scores_of(self, X: Any) -> np.ndarray:
        outputs = np.zeros((X.shape[0], self.n_labels_))
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            block = _dense(X[rows])
            for forest, part in zip(self.forests_, _parts(outputs, self.forests_), strict=True):
                _add(block, forest, part[rows])
        return self._scores(outputs)

    def _predict(self, X: Any) -> np.ndarray:
        return softmax_rows(self._scores_of(X))

    # ------------------------------------------------------------------ settings

    def _rules(self, labels: int) -> Rules:
        from ldl.boosting._trees import Rules

        return Rules(
            kind=self._kind(),
            labels=labels,
            max_leaves=self.max_leaf_nodes,
            min_leaf=self.min_samples_leaf,
            floor=_FLOOR,
            histogram_bytes=_HISTOGRAM_BYTES,
        )

    def _check(self) -> None:
        for name in ("max_iter", "max_leaf_nodes", "min_samples_leaf", "validation_rows"):
            check_counts(name, [getattr(self, name)])
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate must lie in (0, 1], got {self.learning_rate}")
        if not 2 <= self.max_bins <= 256:
            raise ValueError(f"max_bins must lie between 2 and 256, got {self.max_bins}")
        if self.n_iter_no_change is not None:
            check_counts("n_iter_no_change", [self.n_iter_no_change])
        if not 0 < self.validation_share < 1:
            raise ValueError(
                f"validation_share must lie between 0 and 1, got {self.validation_share}"
            )
        check_choice("select_by", self.select_by, tuple(metrics.BETTER))


@dataclass(eq=False, repr=False)
class LDLogitBoost(_Boosting):
    """Each round fits one tree per label to a Newton step with the diagonal of the Hessian.

    A node's value is G / H, the weighted least squares fit of the working response g / w with
    weights w = P (1 - P). ``working_response='classical'`` clips that response to +-4.
    """

    max_iter: int = 500
    learning_rate: float = 0.1
    max_leaf_nodes: int = 20
    min_samples_leaf: int = 5
    max_bins: int = 256
    working_response: str = "robust"
    n_iter_no_change: int | None = 50
    validation_share: float = 1 / 9
    validation_rows: int = 200
    select_by: str = "kl"
    random_state: int | None = None
    n_jobs: int = 1

    def _check(self) -> None:
        super()._check()
        check_choice("working_response", self.working_response, ("robust", "classical"))

    def _kind(self) -> int:
        from ldl.boosting._trees import DIAGONAL

        return DIAGONAL

    def _statistics(self, D: np.ndarray, P: np.ndarray) -> list[np.ndarray]:
        gradient, weight = D - P, P * (1 - P)
        if self.working_response == "classical":
            limit = _LARGEST_RESPONSE * weight
            gradient = np.clip(gradient, -limit, limit)
        return [np.stack([gradient[:, j], weight[:, j]], axis=1) for j in range(D.shape[1])]

    def _scores(self, outputs: np.ndarray) -> np.ndarray:
        c = outputs.shape[1]
        centred = outputs - outputs.mean(axis=1, keepdims=True)
        return self.learning_rate * (c - 1) / c * centred


@dataclass(eq=False, repr=False)
class AOSOLDLogitBoost(_Boosting):
    """Each round fits one tree whose nodes move one pair of labels against each other.

    The pair of a node has the greatest gain of its Newton step: of all pairs (``exact``), or of
    those with the label of the largest gradient (``smo``). ``auto``: exact up to 20 labels.
    """

    max_iter: int = 500
    learning_rate: float = 0.1
    max_leaf_nodes: int = 20
    min_samples_leaf: int = 5
    max_bins: int = 256
    pair: str = "auto"
    n_iter_no_change: int | None = 50
    validation_share: float = 1 / 9
    validation_rows: int = 200
    select_by: str = "kl"
    random_state: int | None = None

    def _check(self) -> None:
        super()._check()
        check_choice("pair", self.pair, ("auto", "exact", "smo"))

    def _kind(self) -> int:
        from ldl.boosting._trees import EXACT_PAIR, SMO_PAIR

        exact = self.pair == "exact" or (self.pair == "auto" and self.n_labels_ <= 20)
        return EXACT_PAIR if exact else SMO_PAIR

    def _statistics(self, D: np.ndarray, P: np.ndarray) -> list[np.ndarray]:
        r, s = np.triu_indices(D.shape[1], 1)
        # P_r (1 - P_r) + P_s (1 - P_s) + 2 P_r P_s
        curvature = P[:, r] + P[:, s] - (P[:, r] - P[:, s]) ** 2
        return [np.hstack([D - P, curvature])]

    def _scores(self, outputs: np.ndarray) -> np.ndarray:
        return self.learning_rate * outputs


class _Ensemble:
    """Trees grown so far, and their outputs for the training rows."""

    def __init__(self, model: _Boosting, X: Any, D: np.ndarray) -> None:
        # numba and the compiled code load here, so that other methods start without them.
        from ldl.boosting import _bins as _boost_bins
        from ldl.boosting import _trees as _boost_trees

        self.model = model
        self.D = D
        self.bins = _boost_bins.make_bins(X, model.max_bins)
        self.rules = model._rules(D.shape[1])
        self.grow = _boost_trees.grow
        self.outputs = np.zeros_like(D)
        self.rounds: list[list[Tree]] = []

    def advance(self, mapping: Mapping) -> list[Tree]:
        """One more round; its trees in the order of the labels, whoever grows them first."""
        P = softmax_rows(self.model._scores(self.outputs))
        statistics = self.model._statistics(self.D, P)
        trees = list(mapping(lambda part: self.grow(self.bins, part, self.rules), statistics))
        for tree, part in zip(trees, _parts(self.outputs, trees), strict=True):
            part += tree.leaves[tree.leaf_of]
        self.rounds.append(trees)
        return trees


class _Watched:
    """An ensemble and what it predicts for rows that it is not fitted on."""

    def __init__(self, ensemble: _Ensemble, X: Any, D: np.ndarray) -> None:
        self.ensemble = ensemble
        self.X = _dense(X)
        self.D = D
        self.outputs = np.zeros_like(D)

    def advance(self, mapping: Mapping) -> dict[str, float]:
        trees = self.ensemble.advance(mapping)
        for tree, part in zip(trees, _parts(self.outputs, trees), strict=True):
            root = np.zeros(1, np.int64)
            nodes = _nodes(tree.feature, tree.child)
            _add(self.X, (nodes, tree.threshold, root, tree.leaves), part)
        return metrics.evaluate(self.D, softmax_rows(self.ensemble.model._scores(self.outputs)))


def _parts(outputs: np.ndarray, trees: list[Any]) -> list[np.ndarray]:
    """Columns of the outputs by tree of a round: one each, or all for the only tree."""
    return np.hsplit(outputs, len(trees))


def _nodes(feature: np.ndarray, child: np.ndarray) -> np.ndarray:
    return np.column_stack([feature, child]).astype(np.int32)


def _add(X: np.ndarray, forest: Forest, outputs: np.ndarray) -> None:
    from ldl.forests._prediction import add_predictions

    # Compiled once for whole arrays instead of again for columns of one.
    total = np.zeros(outputs.shape)
    add_predictions(X, *forest, total)
    outputs += total


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "tocsr") else X

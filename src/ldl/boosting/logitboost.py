"""LDLogitBoost and AOSO-LDLogitBoost: boosted trees on the scores of a softmax.

This is our reading of Xing, Geng and Xue (CVPR 2016), whose text was not at hand: the boosting core
is that of LogitBoost and AOSO-LogitBoost, with label distributions in the place of one-hot classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import local
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from ldl import metrics
from ldl._holdouts import first_best, holdouts
from ldl._parameters import Count, Factor, Options
from ldl._tempered import AUTO, Held, Tempered, best_share, mean_distribution, mixed, settled_share
from ldl.base import dense
from ldl.linear._softmax import softmax_rows

if TYPE_CHECKING:
    from ldl.boosting._bins import Bins
    from ldl.boosting._tree import BoostedTree
    from ldl.forests._prediction import Forest

_BLOCK_ROWS = 1024
_BINS = 256
"""Bins into which a feature with more values is put."""
_HELD_OUT, _ROWS_TO_SCORE = 1 / 9, 200
"""Share of the rows in a hold-out; hold-outs are repeated until so many rows have been scored."""
_LARGEST_RESPONSE = 4.0
_FLOOR = 1e-6
_HISTOGRAM_BYTES = 256 * 2**20

Mapping = Callable[[Callable[[np.ndarray], Any], Iterable[np.ndarray]], Iterable[Any]]
"""``map``, or that of a pool of threads."""


@dataclass(eq=False, repr=False)
class _Boosting(Tempered):
    """Base of both: rounds of Newton steps on F, where P = softmax(F).

    The loss is the sum of KL(D || P) over the rows. First the number of rounds is chosen: it has
    the best mean score on rows held out of the training rows at random. Then all rows are fitted
    for that many rounds. A share of the mean distribution, chosen with it, tempers what a small set
    has taught.
    """

    accepts_sparse = True

    max_iter: Count = 150
    learning_rate: Factor = 0.2
    max_leaf_nodes: Count = 6
    min_samples_leaf: Count = 5
    n_iter_no_change: Count | None = 10
    select_by: Annotated[str, Options(*metrics.BETTER)] = "kl"
    random_state: int | None = None

    # ------------------------------------------------------------------ to be written by methods

    def _grow(self, bins: Bins, statistics: np.ndarray, memory: _Memory) -> BoostedTree:
        """Grow a tree on the statistics of all rows."""
        raise NotImplementedError

    def _statistics(self, D: np.ndarray, P: np.ndarray) -> list[np.ndarray]:
        """Return the statistics of every row, for each tree of a round."""
        raise NotImplementedError

    def _scores(self, outputs: np.ndarray) -> np.ndarray:
        """Return F, given the sums of the trees' outputs, one column per label."""
        raise NotImplementedError

    # ------------------------------------------------------------------ fit and predict

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._boost(X, D, map)

    def _boost(self, X: Any, D: np.ndarray, mapping: Mapping) -> None:
        """Fit; ``mapping`` grows the trees of a round."""
        self.validation_curve_ = np.zeros(0)
        self.n_iter_ = self.max_iter
        if self.mean_share == AUTO:
            self.auto_["mean_share"] = None  # unless rows are held out
        self.diagnostics_: dict[str, Any] = {}
        memory = _Memory()
        if self.n_iter_no_change is not None and X.shape[0] > 2:
            self._choose_rounds(X, D, mapping, memory)
        ensemble = _Ensemble(self, X, D, memory, self._weight(len(D)))
        for _ in range(self.n_iter_):
            ensemble.advance(mapping)
        from ldl.forests._prediction import join

        # The trees of the same place in all rounds make a forest.
        self.forests_: list[Forest] = [join(trees) for trees in zip(*ensemble.rounds, strict=True)]
        P = softmax_rows(self._scores(ensemble.outputs))
        self.diagnostics_ |= {
            "rounds": self.n_iter_,
            "leaves": float(np.mean([len(t.leaves) for trees in ensemble.rounds for t in trees])),
            "training_kl": metrics.evaluate(D, P)["kl"],
        }

    def _choose_rounds(self, X: Any, D: np.ndarray, mapping: Mapping, memory: _Memory) -> None:
        """Set the number of rounds, and maybe the share of the mean, by scores of held-out rows."""
        splits = holdouts(X.shape[0], _HELD_OUT, _ROWS_TO_SCORE, self.random_state)
        weight = self._weight(len(D))
        watched = []
        for a, b in splits:
            kept = None if weight is None else weight[a]
            watched.append(_Watched(_Ensemble(self, X[a], D[a], memory, kept), X[b], D[b]))
        curve: list[float] = []
        lower = metrics.BETTER[self.select_by] == "lower"
        measured, automatic = partial(metrics.measure, self.select_by), self.mean_share == AUTO
        best = 0
        while len(curve) < self.max_iter and len(curve) - best <= (self.n_iter_no_change or 0):
            held = [each.advance(mapping) for each in watched]
            share: Any = best_share(held) if automatic else self.mean_share
            curve.append(float(np.mean([measured(D, mixed(P, m, share)) for D, P, m in held])))
            best = first_best(np.array(curve), lower)
            if automatic and best == len(curve) - 1:
                last = held, share
            self._say(f"round {len(curve)}: held-out {self.select_by} {curve[-1]:.4f}")
        if automatic:
            self.auto_["mean_share"] = settled_share(*last)
        self.validation_curve_ = np.array(curve)
        self.n_iter_ = best + 1
        self.diagnostics_ |= {
            f"validation_{self.select_by}": curve[best],
            "validation_splits": len(splits),
        }

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores F, whose softmax is the prediction before the mean is mixed in.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of shape (rows, labels)
            Scores; each row sums to 0.
        """
        return self._scores(self._outputs(self._checked(X)))

    def _predict(self, X: Any) -> np.ndarray:
        return softmax_rows(self._scores(self._outputs(X)))

    def _outputs(self, X: Any) -> np.ndarray:
        """Sum the outputs of the trees, a column for each label."""
        outputs = np.zeros((X.shape[0], self.n_labels_))
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            block = dense(X[rows])
            for forest, part in zip(self.forests_, _parts(outputs, self.forests_), strict=True):
                _add(block, forest, part[rows])
        return outputs


@dataclass(eq=False, repr=False)
class LDLogitBoost(_Boosting):
    """LogitBoost for label distributions, with one regression tree per label in each round.

    The prediction is the softmax of scores F, and the loss is the sum of KL(D || P) over the rows.
    Each round takes a Newton step with the diagonal of the Hessian: with gradients g = D - P and
    weights w = P (1 - P), summed to G and H over the rows of a node, a leaf has the value G / H,
    and a split gains G_L^2 / H_L + G_R^2 / H_R - G^2 / H. The trees f_j of a round are centred over
    the c labels, to (c - 1) / c (f_j - mean f), and added to F with the factor ``learning_rate``.

    This is our reading: the text of the paper was not at hand.

    Parameters
    ----------
    max_iter : int, default=150
        Largest number of rounds.
    learning_rate : float, default=0.2
        Factor of every tree, above 0 and at most 1.
    max_leaf_nodes : int, default=6
        Largest number of leaves of a tree, which grows at the leaf with the greatest gain.
    min_samples_leaf : int, default=5
        Least number of rows in a leaf.
    n_iter_no_change : int or None, default=10
        The choice of the number of rounds ends after so many rounds without a better score on
        ninths of the rows that are held out, as many as have 200 rows together. None runs
        ``max_iter`` rounds and holds out nothing.
    select_by : str, default='kl'
        Measure of ``ldl.metrics`` by which the number of rounds is chosen.
    random_state : int or None, default=None
        Seed of the hold-outs; the trees draw nothing.
    working_response : {'robust', 'classical'}, default='robust'
        Leave the response g / w of a row as it is, or clip it to +-4 as LogitBoost is usually
        written.
    n_jobs : int, default=1
        Number of threads that grow the trees of a round. The trees do not depend on it.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds.
    validation_curve_ : ndarray of shape (rounds,)
        Score of the held-out rows after each round; empty where nothing was held out.
    forests_ : list of Forest
        Trees of all rounds, one forest for each label.
    diagnostics_ : dict
        ``rounds``; ``leaves``, the mean number of leaves of a tree; ``training_kl``; and where rows
        were held out ``validation_splits`` and the best score, such as ``validation_kl``.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    Xing, Geng and Xue, Logistic boosting regression for label distribution learning, CVPR 2016.

    Friedman, Hastie and Tibshirani, Additive logistic regression: a statistical view of boosting,
    Annals of Statistics 28, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLogitBoost
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = LDLogitBoost(max_iter=20, n_iter_no_change=None).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> model.n_iter_
    20
    """

    working_response: Literal["robust", "classical"] = "robust"
    n_jobs: Count = 1

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if self.n_jobs <= 1:
            self._boost(X, D, map)
            return
        with ThreadPoolExecutor(self.n_jobs) as pool:
            self._boost(X, D, pool.map)

    def _grow(self, bins: Bins, statistics: np.ndarray, memory: _Memory) -> BoostedTree:
        # numba and the compiled code load here, so that other methods start without them.
        from ldl.boosting._newton_trees import Rules, grow, room_for

        rules = Rules(self.max_leaf_nodes, self.min_samples_leaf, _FLOOR, _HISTOGRAM_BYTES)
        return grow(bins, statistics, rules, memory.of(room_for(bins, rules)))

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
    """AOSO-LogitBoost for label distributions, with one tree for all labels in each round.

    The prediction is the softmax of scores F, and the loss is the sum of KL(D || P) over the rows.
    Each node of a tree moves one pair of labels (r, s) against each other, by a Newton step a / h
    with the gain a^2 / (2 h), where a sums g_r - g_s over the rows of the node, with g = D - P, and
    h sums P_r (1 - P_r) + P_s (1 - P_s) + 2 P_r P_s. Every node has a pair of its own, the one with
    the greatest gain. The tree is added to F with the factor ``learning_rate``.

    This is our reading: the text of the paper was not at hand.

    Parameters
    ----------
    max_iter : int, default=60
        Largest number of rounds.
    learning_rate : float, default=0.5
        Factor of every tree, above 0 and at most 1.
    max_leaf_nodes : int, default=4
        Largest number of leaves of a tree, which grows at the leaf with the greatest gain.
    min_samples_leaf : int, default=5
        Least number of rows in a leaf.
    n_iter_no_change : int or None, default=5
        The choice of the number of rounds ends after so many rounds without a better score on
        ninths of the rows that are held out, as many as have 200 rows together. None runs
        ``max_iter`` rounds and holds out nothing.
    select_by : str, default='kl'
        Measure of ``ldl.metrics`` by which the number of rounds is chosen.
    random_state : int or None, default=None
        Seed of the hold-outs; the trees draw nothing.
    pair : {'auto', 'exact', 'smo'}, default='smo'
        Pairs that a node tries: all of them ('exact'), or those with the label of the largest
        gradient ('smo'), which takes less time. 'auto' tries all up to 20 labels.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds.
    validation_curve_ : ndarray of shape (rounds,)
        Score of the held-out rows after each round; empty where nothing was held out.
    forests_ : list of Forest
        Trees of all rounds, as the only forest.
    diagnostics_ : dict
        ``rounds``; ``leaves``, the mean number of leaves of a tree; ``training_kl``; and where rows
        were held out ``validation_splits`` and the best score, such as ``validation_kl``.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    Xing, Geng and Xue, Logistic boosting regression for label distribution learning, CVPR 2016.

    Sun, Reid and Zhou, AOSO-LogitBoost: adaptive one-vs-one LogitBoost for multi-class problem,
    ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import AOSOLDLogitBoost
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = AOSOLDLogitBoost(max_iter=20, n_iter_no_change=None).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> model.n_iter_
    20
    """

    max_iter: Count = 60
    learning_rate: Factor = 0.5
    max_leaf_nodes: Count = 4
    n_iter_no_change: Count | None = 5
    pair: Literal["auto", "exact", "smo"] = "smo"

    def _grow(self, bins: Bins, statistics: np.ndarray, memory: _Memory) -> BoostedTree:
        from ldl.boosting._pair_trees import EXACT_PAIR, SMO_PAIR, Rules, grow

        exact = self.pair == "exact" or (self.pair == "auto" and self.n_labels_ <= 20)
        rules = Rules(
            kind=EXACT_PAIR if exact else SMO_PAIR,
            labels=self.n_labels_,
            max_leaves=self.max_leaf_nodes,
            min_leaf=self.min_samples_leaf,
            floor=_FLOOR,
            histogram_bytes=_HISTOGRAM_BYTES,
        )
        return grow(bins, statistics, rules)

    def _statistics(self, D: np.ndarray, P: np.ndarray) -> list[np.ndarray]:
        r, s = np.triu_indices(D.shape[1], 1)
        # P_r (1 - P_r) + P_s (1 - P_s) + 2 P_r P_s
        curvature = P[:, r] + P[:, s] - (P[:, r] - P[:, s]) ** 2
        return [np.hstack([D - P, curvature])]

    def _scores(self, outputs: np.ndarray) -> np.ndarray:
        return self.learning_rate * outputs


class _Ensemble:
    """The trees grown so far, and the sums of their outputs for the training rows."""

    def __init__(
        self,
        model: _Boosting,
        X: Any,
        D: np.ndarray,
        memory: _Memory,
        weight: np.ndarray | None,
    ) -> None:
        from ldl.boosting._bins import make_bins

        self.model = model
        self.D, self.weight = D, weight
        self.bins = make_bins(X, _BINS)
        self.memory = memory
        self.outputs = np.zeros_like(D)
        self.rounds: list[list[BoostedTree]] = []

    def advance(self, mapping: Mapping) -> list[BoostedTree]:
        """Grow the trees of one more round, and return them in the order of the labels."""
        P = softmax_rows(self.model._scores(self.outputs))
        statistics = self.model._statistics(self.D, P)
        if self.weight is not None:
            statistics = [part * self.weight[:, None] for part in statistics]
        trees = list(mapping(partial(self.model._grow, self.bins, memory=self.memory), statistics))
        for tree, part in zip(trees, _parts(self.outputs, trees), strict=True):
            part += tree.leaves[tree.leaf_of]
        self.rounds.append(trees)
        return trees


class _Memory(local):
    """Room for histograms that all trees of a fit share, for each thread its own."""

    room = np.empty(0)

    def of(self, size: int) -> np.ndarray:
        if len(self.room) < size:
            self.room = np.empty(size)
        return self.room[:size]


class _Watched:
    """An ensemble, and the sums of its outputs for rows that it is not fitted to."""

    def __init__(self, ensemble: _Ensemble, X: Any, D: np.ndarray) -> None:
        self.ensemble = ensemble
        self.X = dense(X)
        self.D = D
        self.outputs = np.zeros_like(D)

    def advance(self, mapping: Mapping) -> Held:
        """Grow one more round; return the rows' distributions and predictions, and the mean."""
        trees = self.ensemble.advance(mapping)
        for tree, part in zip(trees, _parts(self.outputs, trees), strict=True):
            _add(self.X, _alone(tree), part)
        P = softmax_rows(self.ensemble.model._scores(self.outputs))
        return self.D, P, mean_distribution(self.ensemble.D, self.ensemble.weight)


def _parts(outputs: np.ndarray, trees: list[Any]) -> list[np.ndarray]:
    """Return the outputs of each tree of a round: a column each, or all for the only tree."""
    if len(trees) == 1:
        return [outputs]
    return [outputs[:, j : j + 1] for j in range(len(trees))]


def _alone(tree: BoostedTree) -> Forest:
    """Return a tree as a forest: joining takes as long as growing where rows are few."""
    from ldl.forests._prediction import Forest

    nodes = np.stack([tree.feature, tree.child.astype(np.int32)], axis=1)
    return Forest(nodes, tree.threshold, np.zeros(1, np.int64), tree.leaves)


def _add(X: np.ndarray, forest: Forest, outputs: np.ndarray) -> None:
    """Add the outputs of a forest to ``outputs``."""
    from ldl.forests._prediction import add_predictions

    # Given columns of a larger array, the function would be compiled once more.
    total = np.zeros(outputs.shape)
    add_predictions(X, *forest, total, False)
    outputs += total

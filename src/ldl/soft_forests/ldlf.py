"""Label distribution learning forests on a linear map (sLDLF), and the public script's leaks.

Shen, Zhao, Guo and Yuille (NIPS 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator, child_seeds, to_simplex
from ldl.metrics import evaluate
from ldl.soft_forests._base import SoftForest


@dataclass(eq=False, repr=False)
class SLDLF(SoftForest):
    """Label distribution learning forest on a linear map (sLDLF).

    A soft tree sends a row x to the left of split node n with probability sigmoid(f_phi(n)(x)).
    Here f(x) = W'x + b is a linear map, and the index function phi draws one of its outputs for
    each node. Leaf l is reached with probability p(l|x), the product over the splits on the way
    (Eq. 1 of [1]_), and holds a label distribution q_l. A tree predicts the sum of p(l|x) q_l over
    its leaves (Eq. 2), the forest the mean of its trees.

    Training alternates. Gradient steps on mini-batches reduce the mean of the trees' cross
    entropies (Eqs. 3 and 13) by W and b. After every ``leaf_batches`` batches a leaf step reduces
    them by the leaves, in closed form by variational bounding (Eq. 12).

    Three more methods are this class: sNDF-LDL, trained as deep neural decision forests [3]_ are,
    is ``schedule='random'``; their classification forest (DNDF) also has ``hard_labels=True``; and
    the DLDLF of [2]_ has ``temperature=1.0``.

    Parameters
    ----------
    trees : int, default=5
        Number of trees; more cost time in proportion.
    depth : int, default=7
        Levels of a tree, leaves included: it has 2**(depth - 1) leaves.
    units : int or None, default=64
        Outputs of the linear map, which the split nodes ask. None takes as many as a tree has
        leaves.
    phi_replacement : bool, default=False
        Draw the outputs of a tree's split nodes with replacement. Without, ``units`` must be at
        least 2**(depth - 1) - 1.
    schedule : {'joint', 'random', 'round_robin', 'blocks'}, default='joint'
        Trees that a mini-batch moves: all of them, by the mean of their losses; or one, drawn at
        random, in turn, or the same for a stretch of the training.
    share_units : bool or None, default=None
        Let all trees ask the same outputs; otherwise each has ``units`` of its own. None shares
        them only if ``schedule='joint'``.
    leaf_batches : int, default=100
        Mini-batches between two leaf steps, which update the leaves on these batches.
    leaf_repeats : int, default=20
        Updates in a leaf step, each from the result of the one before.
    temperature : float, default=0.0
        Weight of the routing's entropy in the loss, at first; it keeps splits soft early on. 0
        switches annealing of the splits off; the DRF paper starts at 1.
    temperature_factor : float, default=0.9
        Factor of the temperature after each leaf step.
    max_iter : int, default=25000
        Number of mini-batches.
    batch_size : int, default=100
        Rows of a mini-batch; at most all.
    optimiser : {'sgd', 'adam'}, default='sgd'
        Gradient descent with momentum, or Adam.
    learning_rate : float, default=2.0
        Learning rate, on the mean loss of a batch. The first parameter to tune.
    momentum : float, default=0.9
        Momentum of ``'sgd'``; Adam ignores it.
    drop_every : int or None, default=None
        Mini-batches after which the learning rate is multiplied by ``drop_factor``, again and
        again. None keeps it.
    drop_factor : float, default=0.5
        Factor of the learning rate at each drop.
    init : {'glorot', 'xavier_inputs', 'normal'}, default='glorot'
        First weights of the map: uniform with variance 2 / (features + units), uniform with
        variance 1 / features, or normal with deviation 0.01.
    fit_intercept : bool, default=True
        Add an intercept b to the linear map.
    standardise : bool, default=True
        Give features mean 0 and deviation 1 before the map. Without, the learning rate must suit
        their scale.
    dtype : {'float32', 'float64'}, default='float32'
        Precision of the training; predictions are always in double precision.
    random_state : int or None, default=None
        Seed of everything random; None draws a fresh one.
    batch_replacement : bool, default=False
        Draw each mini-batch from all rows instead of going through them epoch by epoch.
    queue : {'recompute', 'stale'}, default='recompute'
        Routing that a leaf step learns from: by the present weights, or as it was when a batch was
        visited.
    queue_batches : int or None, default=None
        Batches in the queue of a leaf step: the latest ones, whichever leaf steps used them before.
        None takes those since the last leaf step.
    hard_labels : bool, default=False
        Teach the highest label alone, as in classification.
    keep : {'last', 'holdout'}, default='last'
        State that predicts: the last one, or the one after the leaf step that was best by KL on
        held-out rows. Hold rows out where the forest overfits.
    holdout_share : float, default=0.1
        Share of the rows held out if ``keep='holdout'``.
    patience : int, default=20
        Leaf steps without improvement on held-out rows after which training stops.

    Attributes
    ----------
    phi_ : ndarray of shape (trees, 2**(depth - 1) - 1)
        Output of the linear map that each split node asks, nodes in heap order.
    state_ : Snapshot
        State that predicts: ``W`` (features, outputs), ``b`` (outputs,), the leaves' distributions
        ``table`` (trees, leaves, labels) and the ``iteration`` after which it was taken.
    diagnostics_ : dict
        Iterations, the iteration whose state predicts, leaf steps, KL on the training rows and
        largest weight; with held-out rows also the best and the last KL on these.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    .. [1] W. Shen, K. Zhao, Y. Guo and A. Yuille, "Label distribution learning forests", NIPS,
       2017.
    .. [2] W. Shen, Y. Guo, Y. Wang, K. Zhao, B. Wang and A. Yuille, "Deep differentiable random
       forests for age estimation", preprint 2019, later IEEE Transactions on Pattern Analysis and
       Machine Intelligence.
    .. [3] P. Kontschieder, M. Fiterau, A. Criminisi and S. Rota Bulò, "Deep neural decision
       forests", ICCV, 1467-1475, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import SLDLF
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = SLDLF(trees=2, depth=4, units=16, max_iter=200, random_state=0)
    >>> model.fit(X[:40], D[:40]).predict(X[40:]).shape
    (20, 3)
    >>> model.diagnostics_["leaf_steps"]
    2
    """

    depth: int = 7
    units: int | None = 64
    leaf_batches: int = 100
    max_iter: int = 25000
    batch_size: int = 100
    learning_rate: float = 2.0
    drop_every: int | None = None
    batch_replacement: bool = False
    queue: str = "recompute"
    queue_batches: int | None = None
    hard_labels: bool = False
    keep: str = "last"
    holdout_share: float = 0.1
    patience: int = 20

    def _fit(self, X: Any, D: np.ndarray) -> None:
        split_seed, seed = child_seeds(self.random_state, 2)
        inside, held = self._split(len(D), split_seed)
        judges = (X[held], D[held]) if len(held) else None
        taught = np.eye(D.shape[1])[D.argmax(axis=1)] if self.hard_labels else D
        self._train(X[inside], taught[inside], seed, judges, self.patience)

    def _train(
        self,
        X: Any,
        D: np.ndarray,
        seed: int,
        judges: tuple[Any, np.ndarray] | None,
        patience: float,
    ) -> None:
        """Fit to X and D; features and labels of ``judges`` choose the state that predicts."""
        from ldl.soft_forests._leaves import DistributionLeaves
        from ldl.soft_forests._linear import DTYPES, one_thread
        from ldl.soft_forests._training import BestLeafStep, LinearForest

        settings = self._checked_settings()
        with one_thread():
            leaves = DistributionLeaves(
                self.n_estimators, self._leaf_count(), D.shape[1], DTYPES[self.dtype]
            )
            forest = LinearForest(settings, X, D, leaves, seed)
            best = BestLeafStep(forest, *judges, patience) if judges else None
            iterations = forest.train(best or (lambda iteration: False))
        last = forest.snapshot(iterations)
        self._store(forest.phi, best.state if best else last)
        self.diagnostics_ = {
            "iterations": iterations,
            "answers_with_iteration": self.state_.iteration,
            "leaf_steps": forest.leaf_steps,
            "train_kl": evaluate(D, self._predict(X))["kl"],
            "largest_weight": float(np.abs(self.state_.W).max()),
        }
        if best:
            self.diagnostics_ |= {"judged_kl": best.least, "judged_kl_at_the_end": best.latest}

    def _split(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the rows to fit and the rows that choose the state that predicts."""
        count = max(1, round(self.holdout_share * n)) if self.keep == "holdout" else 0
        order = np.random.default_rng(seed).permutation(n)
        return np.sort(order[count:]), np.sort(order[:count])

    def _predict(self, X: Any) -> np.ndarray:
        return self._mixture(self.state_.table, X)

    def _own_settings(self) -> dict[str, Any]:
        return {
            "batch_replacement": self.batch_replacement,
            "queue": self.queue,
            "queue_batches": self.queue_batches,
        }


@dataclass(eq=False, repr=False)
class SLDLFReleased(LDLEstimator):
    """sLDLF as its public script runs it, leaks included: a diagnostic, not a competitor.

    The script draws rows with replacement before it splits them, so that about six of ten test rows
    also stand in training (``draw_rows``), and it reports the iteration that is best on the test
    rows (``best_iteration``). Both need the rows and labels of the test, so ``fit`` only stores its
    data, and ``predict`` trains: on as many rows as ``fit`` was given, drawn from these and the
    test rows together.

    The trees are those of ``SLDLF`` [1]_, with the script's settings: mini-batches are drawn with
    replacement; a leaf step follows every 50 of them and takes the routing of the visits, from as
    many of the latest batches as hold the rows of an epoch; features are not standardised.

    Parameters
    ----------
    draw_rows : bool, default=True
        Train on rows drawn with replacement from training and test rows together. Otherwise on
        those of ``fit``.
    best_iteration : bool, default=True
        Predict by the state after the leaf step that is best on the test rows. Otherwise by the
        last.
    max_iter : int, default=3000
        Number of mini-batches.
    batch_size : int, default=1000
        Rows of a mini-batch; at most all.
    learning_rate : float, default=1000.0
        Learning rate, on the mean of the trees' losses: the script's 100 on their sum, times ten
        trees.
    trees : int, default=10
        Number of trees; more cost time in proportion.
    depth : int, default=5
        Levels of a tree, leaves included: it has 2**(depth - 1) leaves.
    units : int or None, default=512
        Outputs of the linear map, which the split nodes ask. None takes as many as a tree has
        leaves.
    random_state : int or None, default=None
        Seed of everything random; None draws a fresh one.

    Attributes
    ----------
    X_, D_ : ndarray
        Rows and labels given to ``fit``.
    forest_ : SLDLF
        Forest of the latest ``predict``.
    diagnostics_ : dict
        Diagnostics of that forest; ``judged_kl`` is the KL on the test rows.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    .. [1] W. Shen, K. Zhao, Y. Guo and A. Yuille, "Label distribution learning forests", NIPS,
       2017, and the script published with it.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import SLDLFReleased
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = SLDLFReleased(trees=2, units=16, max_iter=100, random_state=0)
    >>> model.fit(X[:40], D[:40]).predict(X[40:], D[40:]).shape
    (20, 3)
    """

    accepts_sparse = True
    sees_test_labels = True

    draw_rows: bool = True
    best_iteration: bool = True
    max_iter: int = 3000
    batch_size: int = 1000
    learning_rate: float = 1000.0
    trees: int = 10
    depth: int = 5
    units: int | None = 512
    random_state: int | None = None

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._forest()._checked_settings()
        self.X_, self.D_ = X.copy(), D

    def predict(self, X: Any, D_true: Any = None) -> np.ndarray:
        """Train as the script does, with the test rows at hand, and predict these.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features of the test rows.
        D_true : array-like of shape (rows, labels), default=None
            True label distributions of the test rows; an error is raised without them.

        Returns
        -------
        ndarray of shape (rows, labels)
            A distribution for each row: not negative, with sum 1.
        """
        X, D_true = self._checked_with_truth(X, D_true)
        draw_seed, seed = child_seeds(self.random_state, 2)
        X_drawn, D_drawn = self._drawn(X, D_true, draw_seed)
        judges = (X, D_true) if self.best_iteration else None
        # A ring of as many batches as hold the rows of an epoch.
        self.forest_ = self._forest(queue_batches=max(1, -(-len(self.D_) // self.batch_size)))
        self.forest_._train(X_drawn, D_drawn, seed, judges, np.inf)
        self.diagnostics_ = self.forest_.diagnostics_
        return to_simplex(self.forest_._predict(X))

    def _forest(self, queue_batches: int | None = None) -> SLDLF:
        """Return a forest with the script's settings."""
        return SLDLF(
            trees=self.n_estimators,
            depth=self.depth,
            units=self.units,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            batch_replacement=True,
            leaf_batches=50,
            queue="stale",
            queue_batches=queue_batches,
            learning_rate=self.learning_rate,
            init="xavier_inputs",
            standardise=False,
            random_state=self.random_state,
        )

    def _drawn(self, X: Any, D: np.ndarray, seed: int) -> tuple[Any, np.ndarray]:
        """Return the rows to train on: as given, or drawn from these and the test rows."""
        if not self.draw_rows:
            return self.X_, self.D_
        count = len(self.D_)
        drawn = np.random.default_rng(seed).integers(0, count + len(D), count)
        return _stacked(self.X_, X)[drawn], np.vstack([self.D_, D])[drawn]


def _stacked(above: Any, below: Any) -> Any:
    """Return dense or sparse rows, one block below the other."""
    if hasattr(above, "tocsr"):
        from scipy.sparse import vstack

        return vstack([above, below], format="csr")
    return np.vstack([above, below])

"""Label distribution learning forests on a linear map (sLDLF).

Shen, Zhao, Guo and Yuille (NIPS 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ldl._holdouts import split
from ldl._parameters import Count, Part
from ldl.base import child_seeds
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
    keep : {'last', 'holdout'}, default='holdout'
        State that predicts: the last one, or the one after the leaf step that was best by KL on
        held-out rows, which keeps the forest from overfitting. The papers take the last.
    validation_fraction : float, default=0.1
        Share of the rows held out if ``keep='holdout'``.
    n_iter_no_change : int, default=20
        Leaf steps without improvement on held-out rows after which training stops.

    Attributes
    ----------
    state_ : Snapshot
        State that predicts: ``W`` (features, outputs), ``b`` (outputs,), the leaves' distributions
        ``table`` (trees, leaves, labels) and the ``iteration`` after which it was taken.
    diagnostics_ : dict
        Iterations, the iteration whose state predicts, leaf steps, KL on the training rows and
        largest weight; with held-out rows also the best and the last KL on these.

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
    >>> model = SLDLF(n_estimators=2, depth=4, units=16, max_iter=200, random_state=0)
    >>> model.fit(X[:40], D[:40]).predict(X[40:]).shape
    (20, 3)
    >>> model.diagnostics_["leaf_steps"]
    10
    """

    depth: int = 7
    units: int | None = 64
    leaf_batches: int = 20
    max_iter: int = 1500
    batch_size: int = 100
    learning_rate: float = 1.0
    drop_every: int | None = None
    batch_replacement: bool = False
    queue: Literal["recompute", "stale"] = "recompute"
    queue_batches: Count | None = None
    hard_labels: bool = False
    keep: Literal["last", "holdout"] = "holdout"
    validation_fraction: Part = 0.1
    n_iter_no_change: Count = 20

    def _fit(self, X: Any, D: np.ndarray) -> None:
        split_seed, seed = child_seeds(self.random_state, 2)
        share = self.validation_fraction if self.keep == "holdout" else 0.0
        inside, held = split(len(D), share, split_seed)
        judges = (X[held], D[held]) if len(held) else None
        taught = np.eye(D.shape[1])[D.argmax(axis=1)] if self.hard_labels else D
        weight = self._weight(len(D))
        weight = None if weight is None else weight[inside]
        self._train(X[inside], taught[inside], seed, judges, self.n_iter_no_change, weight)

    def _train(
        self,
        X: Any,
        D: np.ndarray,
        seed: int,
        judges: tuple[Any, np.ndarray] | None,
        patience: float,
        weight: np.ndarray | None = None,
    ) -> None:
        """Fit to X and D; features and labels of ``judges`` choose the state that predicts."""
        from ldl.soft_forests._leaves import DistributionLeaves
        from ldl.soft_forests._linear import DTYPES, one_thread
        from ldl.soft_forests._training import BestLeafStep, LinearForest

        with one_thread():
            leaves = DistributionLeaves(
                self.n_estimators, self._leaf_count(), D.shape[1], DTYPES[self.dtype]
            )
            forest = LinearForest(self, X, D, leaves, seed, weight)
            best = BestLeafStep(forest, *judges, patience) if judges else None
            iterations = forest.train(best or (lambda iteration: False))
        last = forest.snapshot(iterations)
        self.phi_, self.state_ = forest.phi, best.state if best else last
        self.diagnostics_ = {
            "iterations": iterations,
            "answers_with_iteration": self.state_.iteration,
            "leaf_steps": forest.leaf_steps,
            "train_kl": evaluate(D, self._predict(X))["kl"],
            "largest_weight": float(np.abs(self.state_.W).max()),
        }
        if best:
            self.diagnostics_ |= {"judged_kl": best.least, "judged_kl_at_the_end": best.latest}

    def _predict(self, X: Any) -> np.ndarray:
        return self.state_.predict(self.phi_, self.state_.table, X)

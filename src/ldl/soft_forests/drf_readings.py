"""Other readings of what the DRF paper leaves open about its leaves, on a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldl._parameters import Constraints, Options
from ldl.soft_forests.drf import DRF

if TYPE_CHECKING:
    from ldl.soft_forests._leaves import GaussianLeaves


@dataclass(eq=False, repr=False)
class DRFReading(DRF):
    """Differentiable regression forest with other readings of its leaves' start and updates.

    It is ``DRF`` with two more choices, on which the paper [1]_ is silent. First, which leaf gets
    which cluster: they ascend from the left, or stand in another order in each tree
    (``leaf_order``). Second, how neural regression forests [2]_, which the paper compares with,
    update their leaves: by the probabilities of the leaves alone, or by taking every label as a
    class, updating class distributions (Eq. 48), and giving each leaf the mean and variance of its
    distribution (``leaf_rule``).

    Parameters
    ----------
    leaf_rule : {'posterior', 'routing', 'binned_dndf'}, default='posterior'
        Weights of the rows in a leaf step: their responsibilities, or the probabilities of the leaf
        alone; ``'binned_dndf'`` updates a classification forest instead, in which ``tau`` has no
        part.
    leaf_order : {'ascending', 'random'}, default='ascending'
        Order of the clusters: ascending from left to right, or another one in each tree. Matters
        only if ``leaf_init='kmeans'``.

    References
    ----------
    .. [1] W. Shen, Y. Guo, Y. Wang, K. Zhao, B. Wang and A. Yuille, "Deep differentiable random
       forests for age estimation", preprint 2019, later IEEE Transactions on Pattern Analysis and
       Machine Intelligence.
    .. [2] A. Roy and S. Todorovic, "Monocular depth estimation using neural regression forest",
       CVPR, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DRFReading
    >>> X = np.random.default_rng(0).random((60, 3))
    >>> D = np.eye(10)[(10 * X[:, 0]).astype(int)]
    >>> model = DRFReading(leaf_rule="binned_dndf", n_estimators=2, depth=4, random_state=0)
    >>> model.set_params(max_iter=300).fit(X, D).predict(X).shape
    (60, 10)
    """

    _constraints: ClassVar[Constraints] = {
        "leaf_order": Options("ascending", "random"),
        "leaf_rule": Options("posterior", "routing", "binned_dndf"),
    }

    leaf_order: str = "ascending"

    def _leaves(self, numbers: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        from ldl.soft_forests._leaves import BinnedLeaves

        leaves = super()._leaves(numbers, generator)
        if self.leaf_order == "random":
            for mean, variance in zip(leaves.mean, leaves.variance, strict=True):
                order = generator.permutation(len(mean))
                mean[:], variance[:] = mean[order], variance[order]
        if self.leaf_rule == "binned_dndf":
            return BinnedLeaves(leaves, self.shift_, self.scale_, self.n_labels_)
        return leaves

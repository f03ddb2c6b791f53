"""Other readings of what the DRF paper leaves open about its leaves, on a linear f."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldl.soft_forests.drf import DRF

if TYPE_CHECKING:
    from ldl.soft_forests._leaves import GaussianLeaves
    from ldl.soft_forests._training import Plan

_ORDERS = ("ascending", "random")
_RULES = ("posterior", "routing", "binned_dndf")


@dataclass(eq=False, repr=False)
class DRFReading(DRF):
    """DRF, whose parameters it has, with another order and another update of its leaves.

    ``leaf_order='random'`` puts the first leaves of every tree in an order of its own, where DRF
    has the clusters ascend from the left (leaves that are drawn have no order).
    ``leaf_rule='binned_dndf'`` takes every label as a class, updates the leaves as deep neural
    decision forests do, and gives each the mean and variance of its distribution; ``tau`` has no
    part in that.
    """

    leaf_order: str = "ascending"

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted([*DRF._parameter_names(), "leaf_order"])

    def _leaves(self, y: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        from ldl.soft_forests._binned import BinnedLeaves

        leaves = super()._leaves(y, generator)
        if self.leaf_order == "random":
            for mean, variance in zip(leaves.mean, leaves.variance, strict=True):
                order = generator.permutation(len(mean))
                mean[:], variance[:] = mean[order], variance[order]
        if self.leaf_rule == "binned_dndf":
            return BinnedLeaves(leaves, self.shift_, self.scale_, self.n_labels_)
        return leaves

    def _checked_plan(self) -> Plan:
        for name, allowed in (("leaf_order", _ORDERS), ("leaf_rule", _RULES)):
            given = getattr(self, name)
            if given not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {given!r}")
        # No plan depends on the rule, of which DRF knows but two.
        known = {name: getattr(self, name) for name in DRF._parameter_names()}
        return DRF(**{**known, "leaf_rule": "posterior"})._checked_plan()

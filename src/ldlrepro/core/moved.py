"""Old names of modules that own methods and measures import; to go with release 0.3."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "ldlrepro.contract": "ldl.checks",
    "ldlrepro.errors": "ldlrepro.core.errors",
    "ldlrepro.metrics": "ldl.metrics",
    "ldlrepro.models.aldl": "ldl.linear.aldl",
    "ldlrepro.models.base": "ldl.base",
    "ldlrepro.models.bayes": "ldl.baselines.bayes",
    "ldlrepro.models.bp": "ldl.networks.bp",
    "ldlrepro.models.controls": "ldl.baselines.controls",
    "ldlrepro.models.cpnn": "ldl.networks.cpnn",
    "ldlrepro.models.deep": "ldl.deep.estimators",
    "ldlrepro.models.drf": "ldl.soft_forests.drf",
    "ldlrepro.models.drf_readings": "ldl.soft_forests.drf_readings",
    "ldlrepro.models.embeddings": "ldl.neighbours.embeddings",
    "ldlrepro.models.forest": "ldl.forests.random_forest",
    "ldlrepro.models.iis": "ldl.linear.iis",
    "ldlrepro.models.knn": "ldl.neighbours.knn",
    "ldlrepro.models.ldl_hr": "ldl.linear.ldl_hr",
    "ldlrepro.models.ldl_ldm": "ldl.linear.ldl_ldm",
    "ldlrepro.models.ldlcl": "ldl.linear.ldlcl",
    "ldlrepro.models.ldldf": "ldl.cascade.ldldf",
    "ldlrepro.models.ldlf": "ldl.soft_forests.ldlf",
    "ldlrepro.models.ldsvr": "ldl.kernels.ldsvr",
    "ldlrepro.models.logitboost": "ldl.boosting.logitboost",
    "ldlrepro.models.maxent": "ldl.linear.maxent",
    "ldlrepro.models.mslp": "ldl.neighbours.mslp",
    "ldlrepro.models.ptsvm": "ldl.kernels.ptsvm",
    "ldlrepro.models.regression": "ldl.baselines.regression",
    "ldlrepro.models.structrf": "ldl.forests.structrf",
}
"""Old name -> new name."""


class OldNames:
    """Finds modules by their old names, with a warning that tells the new one.

    A finder and loader without their base classes, whose import takes longer than all of this.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let Python make an empty module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        new = MOVED[module.__name__]
        warnings.warn(
            f"{module.__name__} is now {new}; the old name goes with release 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        there = importlib.import_module(new)
        for name in dir(there):
            if not name.startswith("__"):
                setattr(module, name, getattr(there, name))

"""Label distribution learning: the estimators of five papers, and the ten measures.

>>> import numpy as np
>>> from ldl import StructRF
>>> generator = np.random.default_rng(0)
>>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
>>> StructRF(n_estimators=10, random_state=0).fit(X[:40], D[:40]).predict(X[40:]).shape
(20, 3)

An estimator is loaded when it is first asked for, so that this import stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldl.base import LDLEstimator
    from ldl.baselines.bayes import PTBayes
    from ldl.baselines.controls import TrainMean, Uniform
    from ldl.baselines.regression import Regression, RegressorMethod
    from ldl.baselines.single_label import SingleLabelClassifier
    from ldl.boosting.logitboost import AOSOLDLogitBoost, LDLogitBoost
    from ldl.cascade.ldldf import LDLDF
    from ldl.deep.estimators import DLDL, DeepDRF, DeepLDLF, DeepRegression
    from ldl.forests.random_forest import RFRegression
    from ldl.forests.structrf import RFStar, StructRF
    from ldl.kernels.ldsvr import LDSVR
    from ldl.kernels.ptsvm import PTSVM
    from ldl.linear.aldl import ALDL
    from ldl.linear.edl_lrl import EDLLRL
    from ldl.linear.iis import SAIIS
    from ldl.linear.ldl4c import LDL4C
    from ldl.linear.ldl_hr import LDLHR
    from ldl.linear.ldl_ldm import LDLLDM
    from ldl.linear.ldl_scl import LDLSCL
    from ldl.linear.ldlcl import LDLCL
    from ldl.linear.maxent import SABFGS
    from ldl.neighbours.embeddings import CCAKNN, LPPKNN, NPEKNN, PCAKNN
    from ldl.neighbours.knn import AAKNN
    from ldl.neighbours.mslp import MSLP
    from ldl.networks.bp import AABP
    from ldl.networks.cpnn import CPNN
    from ldl.soft_forests.drf import DRF
    from ldl.soft_forests.ldlf import SLDLF
    from ldl.wrappers.df_ldl import DFLDL
    from ldl.wrappers.ssg_ldl import SSGLDL

_FAMILIES = {
    "ldl.base": ("LDLEstimator",),
    "ldl.baselines.bayes": ("PTBayes",),
    "ldl.baselines.controls": (
        "TrainMean",
        "Uniform",
    ),
    "ldl.baselines.regression": (
        "Regression",
        "RegressorMethod",
    ),
    "ldl.baselines.single_label": ("SingleLabelClassifier",),
    "ldl.boosting.logitboost": (
        "AOSOLDLogitBoost",
        "LDLogitBoost",
    ),
    "ldl.cascade.ldldf": ("LDLDF",),
    "ldl.deep.estimators": (
        "DLDL",
        "DeepDRF",
        "DeepLDLF",
        "DeepRegression",
    ),
    "ldl.forests.random_forest": ("RFRegression",),
    "ldl.forests.structrf": (
        "RFStar",
        "StructRF",
    ),
    "ldl.kernels.ldsvr": ("LDSVR",),
    "ldl.kernels.ptsvm": ("PTSVM",),
    "ldl.linear.aldl": ("ALDL",),
    "ldl.linear.edl_lrl": ("EDLLRL",),
    "ldl.linear.iis": ("SAIIS",),
    "ldl.linear.ldl4c": ("LDL4C",),
    "ldl.linear.ldl_hr": ("LDLHR",),
    "ldl.linear.ldl_ldm": ("LDLLDM",),
    "ldl.linear.ldl_scl": ("LDLSCL",),
    "ldl.linear.ldlcl": ("LDLCL",),
    "ldl.linear.maxent": ("SABFGS",),
    "ldl.neighbours.embeddings": (
        "CCAKNN",
        "LPPKNN",
        "NPEKNN",
        "PCAKNN",
    ),
    "ldl.neighbours.knn": ("AAKNN",),
    "ldl.neighbours.mslp": ("MSLP",),
    "ldl.networks.bp": ("AABP",),
    "ldl.networks.cpnn": ("CPNN",),
    "ldl.soft_forests.drf": ("DRF",),
    "ldl.soft_forests.ldlf": ("SLDLF",),
    "ldl.wrappers.df_ldl": ("DFLDL",),
    "ldl.wrappers.ssg_ldl": ("SSGLDL",),
}
"""Where each name is defined."""
_HOMES = {name: module for module, names in _FAMILIES.items() for name in names}

__all__ = [
    "AABP",
    "AAKNN",
    "ALDL",
    "CCAKNN",
    "CPNN",
    "DFLDL",
    "DLDL",
    "DRF",
    "EDLLRL",
    "LDL4C",
    "LDLCL",
    "LDLDF",
    "LDLHR",
    "LDLLDM",
    "LDLSCL",
    "LDSVR",
    "LPPKNN",
    "MSLP",
    "NPEKNN",
    "PCAKNN",
    "PTSVM",
    "SABFGS",
    "SAIIS",
    "SLDLF",
    "SSGLDL",
    "AOSOLDLogitBoost",
    "DeepDRF",
    "DeepLDLF",
    "DeepRegression",
    "LDLEstimator",
    "LDLogitBoost",
    "PTBayes",
    "RFRegression",
    "RFStar",
    "Regression",
    "RegressorMethod",
    "SingleLabelClassifier",
    "StructRF",
    "TrainMean",
    "Uniform",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from ldl.errors import nearest

        hint = "" if name.startswith("_") else nearest(name, __all__)
        raise AttributeError(f"module 'ldl' has no attribute '{name}'." + hint)
    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

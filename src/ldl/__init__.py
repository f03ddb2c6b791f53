"""Label distribution learning: methods of the papers of this field, and the ten measures.

Examples
--------
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
    from ldl.base import LDLEstimator as LDLEstimator
    from ldl.baselines.bayes import PTBayes as PTBayes
    from ldl.baselines.controls import TrainMean as TrainMean
    from ldl.baselines.controls import Uniform as Uniform
    from ldl.baselines.regression import Regression as Regression
    from ldl.baselines.regression import RegressorMethod as RegressorMethod
    from ldl.baselines.single_label import SingleLabelClassifier as SingleLabelClassifier
    from ldl.boosting.logitboost import AOSOLDLogitBoost as AOSOLDLogitBoost
    from ldl.boosting.logitboost import LDLogitBoost as LDLogitBoost
    from ldl.cascade.ldldf import LDLDF as LDLDF
    from ldl.comparison.compare import compare as compare
    from ldl.compositional.conformal import ConformalBall as ConformalBall
    from ldl.compositional.dirichlet import DirichletRegression as DirichletRegression
    from ldl.compositional.log_ratio import LogRatioRegression as LogRatioRegression
    from ldl.deep.estimators import DLDL as DLDL
    from ldl.deep.estimators import DeepDRF as DeepDRF
    from ldl.deep.estimators import DeepLDLF as DeepLDLF
    from ldl.deep.estimators import DeepRegression as DeepRegression
    from ldl.forests.random_forest import RFRegression as RFRegression
    from ldl.forests.structrf import RFStar as RFStar
    from ldl.forests.structrf import StructRF as StructRF
    from ldl.kernels.ldsvr import LDSVR as LDSVR
    from ldl.kernels.ptsvm import PTSVM as PTSVM
    from ldl.linear.aldl import ALDL as ALDL
    from ldl.linear.bd_ldl import BDLDL as BDLDL
    from ldl.linear.edl_lrl import EDLLRL as EDLLRL
    from ldl.linear.iis import SAIIS as SAIIS
    from ldl.linear.ldl4c import LDL4C as LDL4C
    from ldl.linear.ldl_dpa import LDLDPA as LDLDPA
    from ldl.linear.ldl_hr import LDLHR as LDLHR
    from ldl.linear.ldl_lclr import LDLLCLR as LDLLCLR
    from ldl.linear.ldl_ldm import LDLLDM as LDLLDM
    from ldl.linear.ldl_lrr import LDLLRR as LDLLRR
    from ldl.linear.ldl_scl import LDLSCL as LDLSCL
    from ldl.linear.ldlcl import LDLCL as LDLCL
    from ldl.linear.ldllc import LDLLC as LDLLC
    from ldl.linear.ldlm import LDLM as LDLM
    from ldl.linear.ldlsf import LDLSF as LDLSF
    from ldl.linear.maxent import SABFGS as SABFGS
    from ldl.linear.tlrldl import TLRLDL as TLRLDL
    from ldl.neighbours.embeddings import CCAKNN as CCAKNN
    from ldl.neighbours.embeddings import LPPKNN as LPPKNN
    from ldl.neighbours.embeddings import NPEKNN as NPEKNN
    from ldl.neighbours.embeddings import PCAKNN as PCAKNN
    from ldl.neighbours.knn import AAKNN as AAKNN
    from ldl.neighbours.mslp import MSLP as MSLP
    from ldl.networks.bcpnn import ACPNN as ACPNN
    from ldl.networks.bcpnn import BCPNN as BCPNN
    from ldl.networks.bp import AABP as AABP
    from ldl.networks.cpnn import CPNN as CPNN
    from ldl.networks.duo_ldl import DuoLDL as DuoLDL
    from ldl.networks.rg4ldl import RG4LDL as RG4LDL
    from ldl.soft_forests.drf import DRF as DRF
    from ldl.soft_forests.ldlf import SLDLF as SLDLF
    from ldl.wrappers.df_ldl import DFLDL as DFLDL
    from ldl.wrappers.ssg_ldl import SSGLDL as SSGLDL

__version__ = "0.1.0"

_FAMILIES = {
    "ldl.base": ("LDLEstimator",),
    "ldl.baselines.bayes": ("PTBayes",),
    "ldl.baselines.controls": ("TrainMean", "Uniform"),
    "ldl.baselines.regression": ("Regression", "RegressorMethod"),
    "ldl.baselines.single_label": ("SingleLabelClassifier",),
    "ldl.boosting.logitboost": ("AOSOLDLogitBoost", "LDLogitBoost"),
    "ldl.cascade.ldldf": ("LDLDF",),
    "ldl.comparison.compare": ("compare",),
    "ldl.compositional.conformal": ("ConformalBall",),
    "ldl.compositional.dirichlet": ("DirichletRegression",),
    "ldl.compositional.log_ratio": ("LogRatioRegression",),
    "ldl.deep.estimators": ("DLDL", "DeepDRF", "DeepLDLF", "DeepRegression"),
    "ldl.forests.random_forest": ("RFRegression",),
    "ldl.forests.structrf": ("RFStar", "StructRF"),
    "ldl.kernels.ldsvr": ("LDSVR",),
    "ldl.kernels.ptsvm": ("PTSVM",),
    "ldl.linear.aldl": ("ALDL",),
    "ldl.linear.bd_ldl": ("BDLDL",),
    "ldl.linear.edl_lrl": ("EDLLRL",),
    "ldl.linear.iis": ("SAIIS",),
    "ldl.linear.ldl4c": ("LDL4C",),
    "ldl.linear.ldl_dpa": ("LDLDPA",),
    "ldl.linear.ldl_hr": ("LDLHR",),
    "ldl.linear.ldl_lclr": ("LDLLCLR",),
    "ldl.linear.ldl_ldm": ("LDLLDM",),
    "ldl.linear.ldl_lrr": ("LDLLRR",),
    "ldl.linear.ldl_scl": ("LDLSCL",),
    "ldl.linear.ldlcl": ("LDLCL",),
    "ldl.linear.ldllc": ("LDLLC",),
    "ldl.linear.ldlm": ("LDLM",),
    "ldl.linear.ldlsf": ("LDLSF",),
    "ldl.linear.maxent": ("SABFGS",),
    "ldl.linear.tlrldl": ("TLRLDL",),
    "ldl.neighbours.embeddings": ("CCAKNN", "LPPKNN", "NPEKNN", "PCAKNN"),
    "ldl.neighbours.knn": ("AAKNN",),
    "ldl.neighbours.mslp": ("MSLP",),
    "ldl.networks.bcpnn": ("ACPNN", "BCPNN"),
    "ldl.networks.bp": ("AABP",),
    "ldl.networks.cpnn": ("CPNN",),
    "ldl.networks.duo_ldl": ("DuoLDL",),
    "ldl.networks.rg4ldl": ("RG4LDL",),
    "ldl.soft_forests.drf": ("DRF",),
    "ldl.soft_forests.ldlf": ("SLDLF",),
    "ldl.wrappers.df_ldl": ("DFLDL",),
    "ldl.wrappers.ssg_ldl": ("SSGLDL",),
}
"""Where each name is defined."""
_HOMES = {name: module for module, names in _FAMILIES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from ldl.errors import nearest

        hint = "" if name.startswith("_") else nearest(name, __all__)
        raise AttributeError(f"module 'ldl' has no attribute '{name}'." + hint)
    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

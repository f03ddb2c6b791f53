"""The methods that are compared, each with the settings that are tried of it.

A space lists values of some parameters; settings are drawn from its combinations. The values are
what a parameter's meaning allows, penalties and widths by factors. None comes from a printed number
or from a test row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

from ldl._parameters import class_at
from ldl.base import copy_of
from ldl.baselines.regression import Regression
from ldl.baselines.single_label import SingleLabelClassifier
from ldl.errors import UserError, nearest

Setting = Mapping[str, Any]
Space = Mapping[str, Sequence[Any]]
MEAN = "TrainMean"
"""The method that any other should beat."""


@dataclass(frozen=True)
class Contender:
    """A method of the comparison."""

    name: str
    family: str
    make: Callable[[], Any] = field(repr=False)
    """Returns an unfitted estimator with its defaults."""
    space: Space = field(default_factory=dict, repr=False)
    """Values of parameters, by the names that ``set_params`` knows."""
    slow: bool = False
    """Whether a fit of a thousand rows takes many seconds."""

    def build(self, setting: Setting, random_state: int | None) -> Any:
        """Return the unfitted estimator with a setting."""
        model = self.make()
        if "random_state" in model.get_params():
            model.set_params(random_state=random_state)
        return model.set_params(**setting)

    def settings(self, count: int, random_state: int) -> list[dict[str, Any]]:
        """Return the defaults, then settings drawn from the space, all different."""
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        drawn = min(count - 1, len(ParameterGrid(dict(self.space)))) if self.space else 0
        sampler = ParameterSampler(dict(self.space), max(drawn, 1), random_state=random_state)
        return [{}, *islice(sampler, drawn)]


def portfolio() -> dict[str, Contender]:
    """Return every method whose packages are installed, by name."""
    return {contender.name: contender for contender in _all()}


def chosen(methods: Mapping[str, Any] | Sequence[str] | None) -> list[Contender]:
    """Return the methods that were asked for, names of the portfolio or estimators by name."""
    known = portfolio()
    if methods is None:
        return list(known.values())
    if not isinstance(methods, Mapping):
        methods = dict.fromkeys(methods)
    of_letters = {_letters(name): name for name in known}
    found = {}
    for name, estimator in methods.items():
        if estimator is not None:
            found[name] = Contender(name, "own", partial(copy_of, estimator))
        elif meant := of_letters.get(_letters(name)):
            found[meant] = known[meant]
        else:
            raise UserError(f"no method is called '{name}' here.{nearest(name, known)}")
    return list({MEAN: known[MEAN], **found}.values())


def _letters(name: str) -> str:
    """Return a name without capitals and marks: AAKNN, AA-kNN and aa_knn are one method."""
    return "".join(filter(str.isalnum, name.casefold()))


# ---------------------------------------------------------------------- the table

_FACTORS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
_PENALTIES = (0.03, 0.3, 3.0, 30.0, 300.0, 3000.0)
_TENTHS = (0.001, 0.01, 0.1, 1.0)
_SHARES = (0.1, 0.3, 0.6, 1.0)
_NEIGHBOURS = (3, 5, 8, 12, 20, 30, 50, 80)
_FOREST = {
    "n_estimators": (100,),
    "max_features": (None, "sqrt", 0.33),
    "min_samples_split": (2, 5, 10, 20),
    "max_depth": (5, 10, 20),
}
_EMBEDDED = {"u": _SHARES, "n_neighbors": _NEIGHBOURS}
_LEAVES = {
    "learning_rate": (0.05, 0.1, 0.2, 0.5),
    "max_leaf_nodes": (3, 6, 12),
    "min_samples_leaf": (3, 5, 10, 20),
}
_OF_LIBRARY: dict[str, dict[str, Space]] = {
    "control": {MEAN: {}},
    "linear": {
        "SABFGS": {"alpha": (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)},
        "SAIIS": {"max_iter": (1, 2, 5, 10, 20, 50, 100)},
        "LDLLDM": {
            "alpha": _FACTORS,
            "global_weight": (0.01, 0.1, 1.0),
            "local_weight": (0.01, 0.1, 1.0),
            "n_clusters": (5, 10),
        },
        "LDLCL": {"alpha": _FACTORS, "collaboration": (0.1, 0.5, 0.9), "sparsity": (0.01, 0.1)},
        "LDLSCL": {"alpha": _FACTORS, "n_clusters": (3, 6, 10), "cluster_weight": (0.001, 0.1)},
        "LDLHR": {"alpha": _FACTORS, "margin_weight": (0.1, 1.0, 10.0), "rho": (0.001, 0.01, 0.1)},
        "LDL4C": {"alpha": _FACTORS, "margin_weight": (0.01, 0.1, 1.0), "rho": (0.01, 0.1, 1.0)},
        "EDLLRL": {"alpha": _FACTORS, "low_rank": (0.001, 0.01, 0.1), "n_clusters": (3, 5)},
        "ALDL": {"rounds": (3, 10), "first_width": (1.0, 3.0)},
        "BDLDL": {"alpha": (*_FACTORS, 1e4), "back_weight": (1e-4, 1e-3, 1e-2, 0.1)},
        "LDLDPA": {"alpha": _PENALTIES, "rank_weight": _TENTHS, "variance_weight": (0.1, 1.0)},
        "LDLLC": {"alpha": _PENALTIES, "correlation_weight": _TENTHS},
        "LDLLCLR": {"alpha": _PENALTIES, "local_weight": _TENTHS, "n_clusters": (2, 4, 8)},
        "LDLLRR": {"alpha": _PENALTIES, "rank_weight": (0.01, 1.0, 100.0)},
        "TLRLDL": {"alpha": (*_FACTORS, 1e4), "rank_weight": _TENTHS},
        "RG4LDL": {"alpha": _FACTORS, "n_components": (32, 64, 128)},
        "LDLM": {"alpha": _FACTORS, "margin_weight": _TENTHS, "rest_weight": _TENTHS},
        "LDLSF": {
            "specific_weight": (0.03, 0.3, 3.0),
            "common_weight": (0.1, 1.0, 10.0),
            "correlation_weight": (1e-4, 1e-3, 1e-2),
        },
    },
    "statistical": {
        "DirichletRegression": {"alpha": (0.1, 1.0, 10.0, 100.0, 300.0, 1000.0, 10000.0)},
        "LogRatioRegression": {"alpha": _FACTORS, "lowest": (1e-4, 1e-3, 1e-2)},
        "PTBayes": {"worth": (1.0, 3.0, 10.0, 30.0), "covariance_type": ("diag", "full")},
    },
    "neighbours": {
        "AAKNN": {"n_neighbors": _NEIGHBOURS},
        "PCAKNN": _EMBEDDED,
        "LPPKNN": {**_EMBEDDED, "graph_neighbors": (3, 5, 10)},
        "NPEKNN": {**_EMBEDDED, "graph_neighbors": (3, 5, 10)},
        "CCAKNN": {**_EMBEDDED, "ridge": (1e-4, 1e-3, 1e-2, 1e-1)},
        "MSLP": {**_EMBEDDED, "k_plus": (5, 10, 20), "lam": (0.01, 0.1)},
        "SSGLDL": {"amount": (1.0, 3.0), "n_neighbors": (3, 5, 10)},
        "DFLDL": {"n_neighbors": (2, 4, 8)},
    },
    "kernel": {
        "LDSVR": {"C": (0.1, 1.0, 10.0), "epsilon": (0.01, 0.03, 0.1), "width": (0.25, 0.5, 1.0)},
        "PTSVM": {"C": _FACTORS},
    },
    "forest": {
        "RFRegression": _FOREST,
        "StructRF": _FOREST,
        "RFStar": {**_FOREST, "leaf_smoothing": (0.01, 0.1, 1.0)},
        "LDLDF": {"max_depth": (3, 6), "n_estimators": (40, 80), "learning_rate": (0.1, 0.3)},
    },
    "boosting": {"LDLogitBoost": _LEAVES, "AOSOLDLogitBoost": _LEAVES},
    "network": {
        "CPNN": {"hidden_layer_sizes": (20, 50, 100), "max_iter": (20, 50, 100, 200)},
        "ACPNN": {"hidden_layer_sizes": (20, 50), "max_iter": (20, 50, 100)},
        "BCPNN": {"hidden_layer_sizes": (20, 50, 100), "max_iter": (20, 50, 100, 200)},
        "DuoLDL": {"hidden_layer_sizes": (20, 40, 80), "learning_rate": (0.003, 0.01, 0.03)},
        "AABP": {"hidden_layer_sizes": ((20,), (50,), (100,)), "max_iter": (100, 400, 1600)},
        "SLDLF": {"depth": (4, 6, 8), "n_estimators": (5, 10), "learning_rate": (0.1, 0.5, 1.0)},
        "DRF": {"depth": (4, 6), "n_estimators": (5, 10), "learning_rate": (0.02, 0.05, 0.1)},
    },
}
_SLOW = ("LDLDF", "CPNN", "ACPNN", "BCPNN", "DuoLDL", "AABP", "SLDLF", "DRF", "EDLLRL")
_WRAPPED: tuple[tuple[str, str, str, Setting, Space], ...] = (
    ("Ridge", "linear", "sklearn.linear_model.Ridge", {}, {"alpha": (*_FACTORS, 1e4)}),
    (
        "BayesianRidge",
        "linear",
        "sklearn.linear_model.BayesianRidge",
        {},
        {"alpha_1": (1e-6, 1e-3, 1.0), "lambda_1": (1e-6, 1e-3, 1.0)},
    ),
    (
        "ElasticNet",
        "linear",
        "sklearn.linear_model.MultiTaskElasticNet",
        {"alpha": 0.01, "max_iter": 2000},
        {"alpha": (1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1), "l1_ratio": (0.1, 0.5, 0.9)},
    ),
    (
        "PLS",
        "linear",
        "sklearn.cross_decomposition.PLSRegression",
        {},
        {"n_components": (1, 2, 3, 4, 6, 8)},
    ),
    (
        "KNeighbors",
        "neighbours",
        "sklearn.neighbors.KNeighborsRegressor",
        {"n_neighbors": 10, "weights": "distance"},
        {"n_neighbors": _NEIGHBOURS, "weights": ("uniform", "distance"), "p": (1, 2)},
    ),
    (
        "KernelRidge",
        "kernel",
        "sklearn.kernel_ridge.KernelRidge",
        {"kernel": "rbf"},
        {"alpha": (0.01, 0.1, 1.0, 10.0), "gamma": (None, 1e-4, 1e-3, 1e-2, 0.1)},
    ),
    (
        "GaussianProcess",
        "kernel",
        "ldl.comparison.contenders.gaussian_process",
        {},
        {"kernel__k1__k2__length_scale": (3.0, 10.0, 30.0, 100.0)},
    ),
    (
        "SVR",
        "kernel",
        "sklearn.svm.SVR",
        {"epsilon": 0.03},
        {"C": (0.1, 1.0, 10.0), "epsilon": (0.01, 0.03), "gamma": ("scale", 1e-3, 1e-2)},
    ),
    (
        "DecisionTree",
        "forest",
        "sklearn.tree.DecisionTreeRegressor",
        {"min_samples_leaf": 5},
        {"min_samples_leaf": (2, 5, 10, 20, 40), "max_depth": (3, 6, None)},
    ),
    (
        "RandomForest",
        "forest",
        "sklearn.ensemble.RandomForestRegressor",
        {},
        {"max_features": (1.0, "sqrt", 0.33), "min_samples_leaf": (1, 2, 5, 10)},
    ),
    (
        "ExtraTrees",
        "forest",
        "sklearn.ensemble.ExtraTreesRegressor",
        {},
        {"max_features": (1.0, "sqrt", 0.33), "min_samples_leaf": (1, 2, 5, 10)},
    ),
    (
        "HistGradientBoosting",
        "boosting",
        "sklearn.ensemble.HistGradientBoostingRegressor",
        {},
        {
            "max_iter": (50, 100, 200),
            "learning_rate": (0.03, 0.1, 0.3),
            "max_leaf_nodes": (4, 8, 31),
            "l2_regularization": (0.0, 1.0, 10.0),
        },
    ),
    (
        "XGBoost",
        "boosting",
        "xgboost.XGBRegressor",
        {
            "multi_strategy": "multi_output_tree",
            "n_jobs": 1,
            "n_estimators": 50,
            "max_depth": 3,
            "max_bin": 64,
        },
        {
            "n_estimators": (50, 100, 200),
            "learning_rate": (0.03, 0.1, 0.3),
            "max_depth": (2, 3, 6),
            "subsample": (0.7, 1.0),
        },
    ),
    (
        "CatBoost",
        "boosting",
        "catboost.CatBoostRegressor",
        {
            "loss_function": "MultiRMSE",
            "iterations": 50,
            "depth": 3,
            "border_count": 64,
            "learning_rate": 0.3,
            "verbose": False,
            "thread_count": 1,
            "allow_writing_files": False,
        },
        {
            "iterations": (50, 100, 200),
            "learning_rate": (0.03, 0.1, 0.3),
            "depth": (2, 3, 6),
            "l2_leaf_reg": (1.0, 10.0),
        },
    ),
    (
        "MLP",
        "network",
        "sklearn.neural_network.MLPRegressor",
        {"early_stopping": True},
        {
            "hidden_layer_sizes": ((32,), (100,), (64, 64)),
            "alpha": (1e-4, 1e-2, 1.0),
            "learning_rate_init": (1e-3, 1e-2),
        },
    ),
    (
        "LogisticRegression",
        "classifier",
        "sklearn.linear_model.LogisticRegression",
        {"max_iter": 1000},
        {"C": _FACTORS},
    ),
    (
        "GaussianNB",
        "classifier",
        "sklearn.naive_bayes.GaussianNB",
        {},
        {"var_smoothing": (1e-9, 1e-3, 1e-2, 0.1, 1.0)},
    ),
)
_WRAPPED_SLOW = (
    "HistGradientBoosting",
    "GaussianProcess",
    "CatBoost",
    "XGBoost",
    "RandomForest",
    "MLP",
)


def gaussian_process() -> Any:
    """Return a Gaussian process whose kernel is fitted to the rows, from a stated beginning."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(10.0) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True)


def _all() -> Iterator[Contender]:
    for family, methods in _OF_LIBRARY.items():
        for name, space in methods.items():
            yield Contender(name, family, partial(_of_library, name), space, name in _SLOW)
    for name, family, path, given, space in _WRAPPED:
        if find_spec(path.partition(".")[0]) is not None:
            part = "classifier" if family == "classifier" else "regressor"
            inside = {f"{part}__{key}": values for key, values in space.items()}
            make = partial(_wrapping, part, path, given)
            yield Contender(name, family, make, inside, name in _WRAPPED_SLOW)


def _of_library(name: str) -> Any:
    return class_at("name", f"ldl.{name}", "ldl.SABFGS")()


def _wrapping(part: str, path: str, given: Setting) -> Any:
    inner = class_at(part, path, "sklearn.linear_model.Ridge")(**given)
    return Regression(inner) if part == "regressor" else SingleLabelClassifier(inner)

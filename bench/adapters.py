"""How each library is asked to build, fit and predict, and where it gets its rows from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module, metadata
from typing import Any

PROTOCOL = "structrf"
SEED = 2026


class Ldlrepro:
    """Ours.

    ``{method: structrf, parameters: {n_estimators: 10}}``: a method of config/methods, changed.
    ``{class: StructRF}``: a class of the library with its own defaults, and changes as well.
    Features are as given, or scaled as part of the fit: ``scaling: standard``.
    """

    def build(self, spec: Mapping[str, Any], seed: int) -> Any:
        import ldl
        from ldlrepro.catalogue import Project

        changes = spec.get("parameters", {})
        if "class" in spec:
            model = getattr(ldl, spec["class"])(**changes)
        else:
            model = Project.open().method(spec["method"]).estimator(**changes)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        return Scaled(model, spec["scaling"]) if "scaling" in spec else model

    def fit(self, model: Any, X: Any, D: Any, spec: Mapping[str, Any]) -> None:
        model.fit(X, D)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X)

    def versions(self) -> dict[str, str]:
        from ldlrepro import __version__

        return {"ldlrepro": __version__}


class Scaled:
    """A model whose features are scaled by what its training rows tell."""

    def __init__(self, model: Any, kind: str) -> None:
        from ldlrepro.train.scaling import Scaler

        self.model, self.scaler = model, Scaler(kind)

    def fit(self, X: Any, D: Any) -> None:
        self.model.fit(self.scaler.fit(X).transform(X), D)

    def predict(self, X: Any) -> Any:
        return self.model.predict(self.scaler.transform(X))


class PythonLdl(Ldlrepro):
    """``{class: SA_BFGS, init: {...}, fit: {...}}``: arguments of the class and of its fit.

    An argument ``{tree: {...}}`` is a tree of its StructRF, ``{sgd: 0.5}`` an optimiser. With
    ``resampled: {...}`` the class is fitted to the rows that SSG_LDL with these arguments returns.
    """

    def build(self, spec: Mapping[str, Any], seed: int) -> Any:
        from pyldl import algorithms

        try:
            kind = getattr(algorithms, spec["class"])
        except ModuleNotFoundError as error:
            if error.name not in ("pyldl.algorithms._tree", "pyldl.algorithms._rbm"):
                raise
            raise RuntimeError(
                f"the compiled part of python-ldl's {spec['class']} is missing; it is made with "
                "a C compiler and Python's headers when make bench sets up the peers"
            ) from error
        return kind(**_objects(spec.get("init", {})), random_state=seed)

    def fit(self, model: Any, X: Any, D: Any, spec: Mapping[str, Any]) -> None:
        if "resampled" in spec:
            from pyldl.algorithms import SSG_LDL

            X, D = SSG_LDL(**spec["resampled"]).fit_transform(X, D)
        model.fit(X, D, **_objects(spec.get("fit", {})))

    def predict(self, model: Any, X: Any) -> Any:
        # Its classifiers predict the highest label alone.
        whole = getattr(model, "predict_proba", model.predict)
        return whole(X)

    def versions(self) -> dict[str, str]:
        return {"python-ldl": metadata.version("python-ldl")}


class OfModule(PythonLdl):
    """``{class: RandomForestRegressor, init: {...}}`` of a module.

    Features are scaled as on our side: ``scaling: minmax01``.
    """

    def __init__(self, module: str, package: str = "") -> None:
        self.module, self.package = module, package

    def build(self, spec: Mapping[str, Any], seed: int) -> Any:
        kind = getattr(import_module(self.module), spec["class"])
        model = kind(**spec.get("init", {}), random_state=seed)
        return Scaled(model, spec["scaling"]) if "scaling" in spec else model

    def versions(self) -> dict[str, str]:
        return {self.package: metadata.version(self.package)} if self.package else {}


ADAPTERS: dict[str, Ldlrepro] = {
    "ldlrepro": Ldlrepro(),
    "python-ldl": PythonLdl(),
    "scikit-learn": OfModule("sklearn.ensemble", "scikit-learn"),
    "catboost": OfModule("catboost", "catboost"),
    "torch": OfModule("bench.yardsticks", "torch"),
    "plain": OfModule("bench.plain"),
}
OF_THE_PROJECT = ("ldlrepro", "plain")
"""Libraries that run in the project's own environment."""


def _objects(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _object(value) for name, value in arguments.items()}


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, given),) = value.items()
    if kind == "tree":
        from pyldl.algorithms import StructRF

        return StructRF.StructTree(**given)
    if kind == "sgd":
        import keras

        return keras.optimizers.SGD(given)
    raise ValueError(f"no object is made from '{kind}'; there are tree and sgd")


# ---------------------------------------------------------------------- rows


def rows(library: str, request: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Training features and distributions, and test features, of the fold to be timed on."""
    if library == "ldlrepro":
        X, D, X_test, _ = fold(request["dataset"])
        return X, D, X_test
    import numpy as np

    with np.load(request["file"]) as stored:
        return stored["X"], stored["D"], stored["X_test"]


def fold(dataset: str) -> tuple[Any, Any, Any, Any]:
    """The first fold of the StructRF protocol: features and distributions, training and test."""
    from ldlrepro.catalogue import Project
    from ldlrepro.data import load
    from ldlrepro.folds.splits import folds_seed, make_folds

    data = load(dataset)
    protocol = Project.open().protocol(PROTOCOL)
    first = make_folds(protocol, len(data.D), folds_seed(SEED, PROTOCOL, dataset))[0]
    return data.X[first.train], data.D[first.train], data.X[first.test], data.D[first.test]


def environment(library: str) -> dict[str, str]:
    """The environment of a worker: one thread, and what else the processor has.

    Units of the workflow use no registers wider than AVX2, for the same bits on all machines;
    whoever installs a library, ours or another, uses what there is.
    """
    from ldlrepro.core import numerics

    return {**os.environ, **dict.fromkeys(numerics.THREAD_VARIABLES, "1"), "KERAS_BACKEND": "torch"}

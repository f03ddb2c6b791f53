"""Loads estimators, which share one contract, by their method ids."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from ldl.base import LDLEstimator
from ldlrepro import config
from ldlrepro.core.errors import UserError, nearest

__all__ = ["LDLEstimator", "estimator_class", "load"]


def load(method_id: str, **overrides: Any) -> LDLEstimator:
    """Return the unfitted estimator of a method, with its fixed parameters and ``overrides``.

    Parameters that the method chooses on validation data (its ``grid``) keep the class's default.
    """
    method = config.load_method(method_id)
    kind = estimator_class(method_id)
    grid = method.get("grid", {})
    given = method.get("parameters", {})
    where = _file_of(method_id)
    _check_names(kind, given, f"{where}: parameters")
    _check_names(kind, grid, f"{where}: grid")
    _check_names(kind, overrides, f"method '{method_id}'")
    fixed = {name: value for name, value in given.items() if name not in grid}
    model = kind(**{**fixed, **overrides})
    if kind.accepts_images and (weights := getattr(model, "weights", None)):
        # In a YAML the path of a file counts from the checkout, wherever the run's folder is.
        model.set_params(weights=str(config.project_root() / Path(weights).expanduser()))
    return model


def estimator_class(method_id: str) -> type[LDLEstimator]:
    """Return the class that a method's YAML names."""
    path: str = config.load_method(method_id)["class"]
    module_name, _, class_name = path.rpartition(".")
    where = _file_of(method_id)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"{where}: class: cannot import '{module_name}' ({error}). "
            "Write the dotted path of the class, such as ldl.AAKNN."
        ) from error
    kind = getattr(module, class_name, None)
    if not isinstance(kind, type) or not issubclass(kind, LDLEstimator):
        own = _estimators_of(module)
        raise UserError(
            f"{where}: class: {module_name} has no estimator '{class_name}'."
            f"{nearest(class_name, own)} It has: {', '.join(own) or 'none'}"
        )
    return kind


def _estimators_of(module: ModuleType) -> list[str]:
    """List the estimators that a module says it has, else those that are defined in it."""
    if told := getattr(module, "__all__", None):
        return list(told)
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, LDLEstimator)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    ]


def _check_names(kind: type[LDLEstimator], names: Iterable[str], where: str) -> None:
    known = kind._parameter_names()
    for name in names:
        if name not in known:
            raise UserError(
                f"{where}: {kind.__name__} has no parameter '{name}'.{nearest(name, known)} "
                f"It has: {', '.join(known) or 'none'}"
            )


def _file_of(method_id: str) -> str:
    return config.shown(config.file_of("method", method_id.partition("@")[0]))

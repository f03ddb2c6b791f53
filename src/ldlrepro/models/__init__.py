"""Estimators of the current folder's project, until every caller takes a ``Method``. It will go."""

from __future__ import annotations

from typing import Any

from ldl.base import LDLEstimator
from ldlrepro import config


def load(method_id: str, **overrides: Any) -> LDLEstimator:
    return config.current().method(method_id).estimator(**overrides)


def estimator_class(method_id: str) -> type[LDLEstimator]:
    return config.current().method(method_id).kind

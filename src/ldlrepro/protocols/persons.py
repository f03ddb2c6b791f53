"""Folds for a data set, with persons bundled where a protocol wants fewer folds than persons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldlrepro.data.dataset import Dataset
from ldlrepro.protocols.folds import Fold, make_folds


def folds_of(
    protocol: Mapping[str, Any], data: Dataset, seed_parts: tuple[object, ...]
) -> list[Fold]:
    groups = data.groups
    if groups is not None and protocol["scheme"] == "leave_one_group_out" and "folds" in protocol:
        groups = bundled(groups, int(protocol["folds"]))
    return make_folds(protocol, len(data.D), seed_parts, groups)


def bundled(groups: np.ndarray, count: int) -> np.ndarray:
    """Whole persons in ``count`` bundles of as many persons each, in their order."""
    persons, number = np.unique(groups, return_inverse=True)
    return number * count // len(persons)

"""Checks, by name, of the parameters that soft forests and estimators on images share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldl._values import check_choice

_WORDS = {
    "network": ("vgg16", "alexnet", "tiny"),
    "device": ("auto", "cpu", "cuda"),
    "optimiser": ("sgd", "adam"),
    "init": ("glorot", "xavier_inputs", "normal"),
    "dtype": ("float32", "float64"),
    "schedule": ("joint", "random", "round_robin", "blocks"),
    "queue": ("recompute", "stale"),
    "keep": ("last", "holdout"),
    "leaf_init": ("random", "kmeans"),
    "leaf_rule": ("posterior", "routing"),
    "split_loss": ("nll", "l2"),
}
_COUNTS = (
    *("max_iter", "batch_size", "readers", "trees", "units", "leaf_batches", "leaf_repeats"),
    "patience",
)
_COUNTS_OR_NONE = ("queue_batches", "drop_every")
_POSITIVE = ("learning_rate", "least_variance")
_SHARES = ("tau", "tau_factor", "temperature_factor", "drop_factor")
_NOT_NEGATIVE = ("temperature", "weight_decay")


def check_parameters(
    given: Mapping[str, Any], own_words: Mapping[str, tuple[str, ...]] | None = None
) -> None:
    """Refuse by name what no fit could use; parameters that are not ``given`` are not looked at.

    ``own_words`` are the words that a class allows where others allow none, or other ones.
    """
    for name, allowed in {**_WORDS, **(own_words or {})}.items():
        if name in given:
            check_choice(name, given[name], allowed)
    for name in _COUNTS:
        if given.get(name, 1) < 1:
            raise ValueError(f"{name} must be at least 1, got {given[name]}")
    for name in _COUNTS_OR_NONE:
        if given.get(name) is not None and given[name] < 1:
            raise ValueError(f"{name} must be at least 1 or None, got {given[name]}")
    if given.get("depth", 2) < 2:
        raise ValueError(f"depth must be at least 2, a split and two leaves, got {given['depth']}")
    for name in _POSITIVE:
        if not given.get(name, 1) > 0:
            raise ValueError(f"{name} must be positive, got {given[name]}")
    for name in _SHARES:
        if not 0 < given.get(name, 1) <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {given[name]}")
    for name in _NOT_NEGATIVE:
        if not given.get(name, 0) >= 0:
            raise ValueError(f"{name} must not be negative, got {given[name]}")
    if not 0 <= given.get("momentum", 0) < 1:
        raise ValueError(f"momentum must lie between 0 and 1, got {given['momentum']}")
    if not 0 < given.get("holdout_share", 0.5) < 1:
        raise ValueError(f"holdout_share must lie between 0 and 1, got {given['holdout_share']}")

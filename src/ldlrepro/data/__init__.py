"""Data sets: fetching, reading, checking and generating them.

``from ldlrepro.data import load; load("sjaffe")`` gives features and label distributions.
Everything is imported on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldlrepro.data.dataset import Dataset, DataUnavailable
    from ldlrepro.data.registry import load, load_ready, prepare

__all__ = ["DataUnavailable", "Dataset", "load", "load_ready", "prepare"]

_HOME = {
    "Dataset": "dataset",
    "DataUnavailable": "dataset",
    "load": "registry",
    "load_ready": "registry",
    "prepare": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

"""Protocols for tests, as a paper's file would define them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ldlrepro.catalogue import Protocol
from ldlrepro.folds import splits


def protocol(definition: Mapping[str, Any], name: str = "p") -> Protocol:
    made = Protocol.model_validate({"text": "for a test", **definition})
    return made.placed(name, Path("paper.yaml"), SimpleNamespace())


def make_folds(definition: Mapping[str, Any], *rest: Any, **given: Any) -> list[splits.Fold]:
    return splits.make_folds(protocol(definition), *rest, **given)


def count_folds(definition: Mapping[str, Any]) -> int | None:
    return protocol(definition).count_folds()

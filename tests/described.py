"""Made-up data sets and weights for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from ldlrepro.catalogue import DataSet, RawFile, Source, Weights, from_environment

S = TypeVar("S", bound=Source)
TEXTS = {"title": "made up", "licence": "free"}
PLACEHOLDER = {"name": "x", "sha256": "0" * 64}


def data_set(spec: Mapping[str, Any], name: str = "demo") -> DataSet:
    """A data set that a file would describe so."""
    return _described(DataSet, {"reader": "mat", **spec}, name)


def weights(spec: Mapping[str, Any], name: str = "mine") -> Weights:
    told = {"network": "vgg16", "layout": "torchvision"}
    told |= {"colours": "rgb", "mean": [0, 0, 0], "std": [1, 1, 1]}
    return _described(Weights, {**told, **spec}, name)


def _described(kind: type[S], spec: Mapping[str, Any], name: str) -> S:
    """Files may have addresses on this machine and lack checksums, which no YAML may."""
    files = [RawFile.model_construct(**entry) for entry in spec.get("files", ())]
    checked = kind.model_validate({**TEXTS, **spec, "files": [PLACEHOLDER]})
    made = checked.model_copy(update={"files": tuple(files)})
    placed: S = made.placed(name, Path(f"{name}.yaml"), from_environment())
    return placed

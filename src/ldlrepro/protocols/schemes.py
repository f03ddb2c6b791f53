"""The folds of a protocol on a data set, whatever its scheme: made by one stage, audited by one."""

from __future__ import annotations

from pathlib import Path

from ldlrepro import plan
from ldlrepro.data.dataset import Dataset
from ldlrepro.protocols import parts
from ldlrepro.protocols.folds import Fold, folds_seed
from ldlrepro.protocols.persons import folds_of


def protocol_folds(protocol: str, data: Dataset, seed: int, data_dir: Path) -> list[Fold]:
    """``seed`` is the workflow's; ``data_dir`` is where the authors' parts of photographs stand."""
    definition = plan.protocol(protocol)
    if definition["scheme"] == parts.SCHEME:
        return parts.make_folds(definition, data.id, data_dir)
    return folds_of(definition, data, folds_seed(seed, protocol, data.id))

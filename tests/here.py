"""The checkout that a test is in, as its files are now."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Project, from_environment
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.core.workspace import Workspace
from ldlrepro.plan import Chunk, Plan, Unit
from ldlrepro.train.unit import UnitJob


def project() -> Project:
    return from_environment()


def known(name: str) -> Any:
    """A data set or weights."""
    return project().source(name)


def unit(protocol: str, data_set: str, method: str) -> Unit:
    return Plan(project()).unit(protocol, data_set, method)


def job(of: Unit, folds: str, results: str = "results", **changes: Any) -> UnitJob:
    """Some folds of a unit, recorded and kept below ``results``."""
    chunk, here, there = Chunk.parse(of, folds), Workspace(), Workspace(Path(results))
    return UnitJob(
        chunk=chunk,
        ready=here.ready(of.data_set.id),
        folds=here.folds(of.protocol.id, of.data_set.id),
        record=chunk.record(there.results),
        journal=there.journal(of.key),
        seed=2026,
        **changes,
    )


def own_files(path: Path) -> None:
    """Name own files as a run tells its jobs; the checkout of a test forgets them."""
    os.environ[OWN_FILES] = str(path)

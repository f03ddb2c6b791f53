"""The checkout that a test is in, as its files are now."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Project, from_environment
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.plan import Plan, Unit


def project() -> Project:
    return from_environment()


def known(name: str) -> Any:
    """A data set or weights."""
    return project().source(name)


def unit(protocol: str, data_set: str, method: str) -> Unit:
    return Plan(project()).unit(protocol, data_set, method)


def own_files(path: Path) -> None:
    """Name own files as a run tells its jobs; the checkout of a test forgets them."""
    os.environ[OWN_FILES] = str(path)

"""The checkout that a test is in, as its files are now."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Project, from_environment
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.plan import Cell, Plan, Unit
from ldlrepro.plan.printed import Row


def project() -> Project:
    return from_environment()


def plan() -> Plan:
    return Plan(project())


def known(name: str) -> Any:
    """A data set or weights."""
    return project().source(name)


def own_files(*paths: Path | str) -> None:
    """Name further files of the user's own, as a run tells its jobs; the checkout forgets them."""
    named = [*filter(None, os.environ.get(OWN_FILES, "").split(os.pathsep)), *map(str, paths)]
    os.environ[OWN_FILES] = os.pathsep.join(dict.fromkeys(named))


def unit(protocol: str, data_set: str, method: str) -> Unit:
    return plan().unit(protocol, data_set, method)


def cells(paper: str) -> list[Cell]:
    here = plan()
    return here.cells(here.project.paper(paper))


def units(paper: str, **given: bool) -> list[Unit]:
    here = plan()
    return here.units(here.project.paper(paper), **given)


def published(paper: str) -> list[Row]:
    here = plan()
    return here.published(here.project.paper(paper))


def copies(paper: str) -> dict[int, str]:
    here = plan()
    return here.copies(here.project.paper(paper))


def check_run(**changes: Any) -> None:
    """Check what a run of config/config.yaml checks, with changes of it."""
    opened = project()
    where = "config/config.yaml"
    run = opened.run.model_copy(update=changes)
    opened.check(run, where)

"""The plan of the current folder's project, until every stage takes a ``Plan``. It will go.

Nothing new is built on the functions here: ``Plan`` has them for any project.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ldlrepro import config
from ldlrepro.catalogue import Figure, Project, RunConfig
from ldlrepro.plan import printed as printed
from ldlrepro.plan.planning import LONGEST_JOB_S as LONGEST_JOB_S
from ldlrepro.plan.planning import Plan as Plan
from ldlrepro.plan.planning import is_quoted as is_quoted
from ldlrepro.plan.planning import same_number as same_number
from ldlrepro.plan.sweeps import Point
from ldlrepro.plan.units import Cell as Cell
from ldlrepro.plan.units import Chunk as Chunk
from ldlrepro.plan.units import Unit as Unit


def current() -> Plan:
    """Return the plan of the current folder's project."""
    return _plan(config.current())


@cache
def _plan(project: Project) -> Plan:
    return Plan(project)


def unit(protocol: str, data_set: str, method: str) -> Unit:
    return current().unit(protocol, data_set, method)


def protocols() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return protocol id -> (paper id, definition)."""
    return {p.id: (p.paper, p.plain()) for p in config.current().protocols.values()}


def protocol(name: str) -> dict[str, Any]:
    value = config.current().protocol(name)
    return {**value.plain(), "persons_of": value.persons_of, "noise_of": value.noise_of}


def published(paper: str) -> list[dict[str, str]]:
    return current().published(config.current().paper(paper))


def cells(paper: str) -> list[Cell]:
    return current().cells(config.current().paper(paper))


def copies(paper: str) -> dict[int, str]:
    return current().copies(config.current().paper(paper))


def paper_units(paper: str, *, extra: bool = True) -> list[Unit]:
    return current().units(config.current().paper(paper), extra=extra)


def figure_units(paper: str, figure: Mapping[str, Any]) -> dict[Point, Unit]:
    drawn = Figure.model_validate(dict(figure))
    return current().figure_units(config.current().paper(paper), drawn)


def run_units(run: Mapping[str, Any], paper: str) -> list[Unit]:
    return current().run_units(_run(run), config.current().paper(paper))


def run_experiments(run: Mapping[str, Any], paper: str) -> list[str]:
    return current().run_experiments(_run(run), config.current().paper(paper))


def _run(run: Mapping[str, Any]) -> RunConfig:
    return RunConfig.model_validate({"papers": [], **run})


def experiment(paper: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = config.current().paper(paper).experiment(name).model_dump(mode="json")
    return found


def chunks(unit: Unit) -> list[Chunk]:
    return current().chunks(unit)


def resources(unit: Unit) -> dict[str, int]:
    return unit.resources.model_dump()


def record_path(results: str | Path, chunk: Chunk) -> Path:
    return chunk.record(results)

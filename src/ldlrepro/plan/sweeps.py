"""Figures that vary a method's parameters. Each point is an ordinary unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ldlrepro.catalogue import Figure, Project, with_settings


@dataclass(frozen=True)
class Point:
    """One setting of a figure. The method's id holds it."""

    line: Any
    """Value of the parameter that distinguishes the lines; None where there is one line."""
    x: Any
    method: str


def points(figure: Figure, project: Project) -> Iterator[Point]:
    """Yield all settings of a figure, line by line; none for a figure of something else."""
    if not figure.x:
        return
    x_name = next(iter(figure.x))
    for line in next(iter(figure.lines.values()), (None,)):
        fixed = {**figure.fixed, **figure.fixed_by_line.get(line, {})}
        for x in figure.x[x_name]:
            varied = dict.fromkeys(figure.lines, line) | {x_name: x}
            yield Point(line, x, _method(figure.method, {**fixed, **varied}, project))


def _method(method: str, settings: dict[str, Any], project: Project) -> str:
    """Return the method's id with these settings.

    If they are the method's own settings, the figure shares its runs with the tables.
    """
    own = project.method(method).parameters
    if all(name in own and own[name] == value for name, value in settings.items()):
        return method
    return with_settings(method, settings)

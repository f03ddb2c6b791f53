"""Why a setting is what it is: stated, released, chosen on validation rows or by the print, ours.

What was chosen because it fits the printed numbers, or after a look at test rows, explains these
numbers and reproduces nothing: it is marked wherever a number rests on it, and counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from ldlrepro.catalogue import Method, Paper, Project
from ldlrepro.catalogue.methods import Look

STATED, CODE, VALIDATION = "stated", "released code", "validation"
PRINT, OURS = "print", "ours"
NO_PAPERS = {"code", "validation", "print", "ours"}
"""Origins that are no papers."""


def chosen_by(name: str, method: Method, paper: Paper) -> str:
    """Return why a parameter has its value in a paper's cells, in one of five words."""
    sources = method.origins.sources_of(name)
    stated = paper.states(method, name)
    if "print" in sources and not stated:
        return PRINT
    if "validation" in sources or name in method.grid:
        return VALIDATION
    if stated:
        return STATED
    if "code" in sources:
        return CODE
    return STATED if sources - NO_PAPERS else OURS


def all_looks(project: Project) -> Iterator[tuple[str, str, str, str]]:
    """Yield every choice by the print: whose, what was chosen, by which data sets, and how."""
    for method in project.methods:
        seen: dict[Look, list[str]] = {}
        base = {} if method.base == method.id else project.method(method.base).origins.print
        for parameter, look in method.origins.print.items():
            if base.get(parameter) != look:
                seen.setdefault(look, []).append(parameter)
        for look, parameters in seen.items():
            yield method.id, ", ".join(parameters), ", ".join(look.at) or "all", look.what
    for paper in project.papers:
        for entry in paper.chosen_by_print:
            whose = "; ".join(", ".join(names) for names in entry.named.values())
            data_sets = ", ".join(entry.named.get("datasets", ())) or "all"
            yield f"{paper.id}: {whose or 'all cells'}", entry.what, data_sets, entry.proof

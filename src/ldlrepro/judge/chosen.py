"""Why a setting is what it is: stated, released, chosen on validation rows or by the print, ours.

What was chosen because it fits the printed numbers, or after a look at test rows, explains these
numbers and reproduces nothing: it is marked wherever a number rests on it, and counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ldlrepro import config, plan

STATED, CODE, VALIDATION = "stated", "released code", "validation"
PRINT, OURS = "print", "ours"
NO_PAPERS = {"code", "validation", "print", "ours"}
"""Origins that are no papers."""


def chosen_by(name: str, spec: Mapping[str, Any], paper: str) -> str:
    """Return why a parameter has its value in a paper's cells, in one of five words."""
    sources = {source for source, names in spec.get("origins", {}).items() if name in names}
    if "print" in sources:
        return PRINT
    if "validation" in sources or name in spec.get("grid", {}):
        return VALIDATION
    if paper in sources:
        return STATED
    if "code" in sources:
        return CODE
    return STATED if sources - NO_PAPERS else OURS


def by_print(cell: plan.Cell) -> str:
    """Return what of a cell's setting was chosen by the print, and what was looked at."""
    looks = []
    if cell.unit is not None:
        origins = cell.unit.method.origins
        looks += [f"{name} ({look})" for name, look in origins.print.items()]
    for entry in _choices(cell.row["paper"]):
        if covers(entry, cell.row):
            looks.append(f"{entry['what']} ({entry['proof']})")
    return "; ".join(looks)


@cache
def _choices(paper: str) -> list[Mapping[str, Any]]:
    return list(config.load_paper(paper)["chosen_by_print"])


def is_by_print(method: str) -> bool:
    """Tell whether a method's setting was chosen by the print, wherever it runs."""
    return bool(config.load_method(method).get("origins", {}).get("print"))


SELECTORS = {
    "tables": "table",
    "datasets": "dataset",
    "settings": "setting",
    "methods": "method",
    "metrics": "metric",
}
"""Key of a YAML entry that selects cells -> column of the printed numbers."""


def covers(entry: Mapping[str, Any], row: Mapping[str, str]) -> bool:
    """Tell whether an entry of a YAML file speaks of a printed number; a key left out says all."""
    return all(row[column] in entry.get(key, [row[column]]) for key, column in SELECTORS.items())


def all_looks() -> Iterator[tuple[str, str, str]]:
    """Yield every choice by the print: whose it is, what was chosen, what was looked at."""
    for name in config.method_ids():
        seen: dict[str, list[str]] = {}
        for parameter, look in _own_looks(name).items():
            seen.setdefault(look.strip(), []).append(parameter)
        yield from ((name, ", ".join(parameters), look) for look, parameters in seen.items())
    for paper in config.paper_ids():
        for entry in config.load_paper(paper)["chosen_by_print"]:
            whose = [", ".join(entry[key]) for key in SELECTORS if key in entry]
            yield f"{paper}: {'; '.join(whose) or 'all cells'}", entry["what"], entry["proof"]


def _own_looks(method: str) -> dict[str, str]:
    """Return the looks that the file tells of this method or variant itself."""
    family, _, variant = method.partition("@")
    mine = config.load_method(method).get("origins", {}).get("print", {})
    base = config.load_method(family).get("origins", {}).get("print", {}) if variant else {}
    return {name: look for name, look in mine.items() if base.get(name) != look}

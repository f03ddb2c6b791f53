"""One-way stages: each folder imports only from those above it, and no modules import in a circle.

Imports count wherever they stand: at the top, inside functions, for type checkers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from ldlrepro import cli

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"

LAYERS = {
    "ldl": """
        errors folds datasets watch metrics base checks
        baselines linear neighbours kernels networks
        forests boosting cascade
        wrappers
        compositional
        soft_forests deep
        comparison
        plot precompile
    """,
    "ldlrepro": """
        core catalogue peers data lint folds plan train experiments
        judge arena report track audit doctor workflow cli entry
    """,
}
"""Folders and modules at the top of each package, from the ground up."""


def modules() -> dict[str, Path]:
    found = {}
    for package in LAYERS:
        for path in (SRC / package).rglob("*.py"):
            parts = path.relative_to(SRC).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(module: str) -> set[str]:
    """Return the modules of ours that a module imports."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    return {name for node in ast.walk(tree) for name in _named(node)} - {module}


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in MODULES)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            if inner in MODULES:
                yield inner
            elif node.module in MODULES:
                yield node.module


@pytest.fixture(scope="module")
def edges() -> dict[str, set[str]]:
    """Modules, and which of ours each imports."""
    return {module: imports(module) for module in MODULES}


def layer(module: str) -> int | None:
    """Return the floor of a module; None for the package itself and its private parts."""
    package, *rest = module.split(".")
    if not rest or (package == "ldl" and rest[0].startswith("_")):
        return None
    return LAYERS[package].split().index(rest[0])


def test_every_folder_has_its_place():
    for package, names in LAYERS.items():
        there = {m.split(".")[1] for m in MODULES if m.startswith(f"{package}.")}
        assert {name for name in there if not name.startswith("_")} == set(names.split())


@pytest.mark.parametrize("package", LAYERS)
def test_no_folder_imports_from_below_itself(package, edges):
    wrong = [
        f"{module} imports {other}"
        for module, others in edges.items()
        for other in others
        if module.split(".")[0] == other.split(".")[0] == package
        and layer(module) is not None
        and layer(other) is not None
        and layer(other) > layer(module)
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_modules_import_in_a_circle(edges):
    assert circles(edges) == []


def test_no_folders_import_in_a_circle_at_any_depth(edges):
    """Without circles there is an order in which no arrow goes up, inside every folder."""
    wrong = {package: circles(between_children(package, edges)) for package in packages(edges)}
    assert {package: found for package, found in wrong.items() if found} == {}


def packages(edges: dict[str, set[str]]) -> set[str]:
    names = [module.split(".") for module in edges]
    return {".".join(parts[:depth]) for parts in names for depth in range(1, len(parts))}


def between_children(package: str, edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Imports between the folders and modules that lie in a package, each taken as a whole."""
    depth = package.count(".") + 1
    inside = {module for module in edges if module.startswith(f"{package}.")}
    found: dict[str, set[str]] = {module.split(".")[depth]: set() for module in inside}
    for module in inside:
        child = module.split(".")[depth]
        found[child] |= {other.split(".")[depth] for other in edges[module] & inside} - {child}
    return found


def test_a_circle_of_folders_without_a_circle_of_modules_would_be_found():
    edges = {
        "p.data.a.read": {"p.data.b.draw"},
        "p.data.b.draw": set(),
        "p.data.b.make": {"p.data.a.look"},
        "p.data.a.look": set(),
    }
    assert circles(edges) == []
    assert packages(edges) == {"p", "p.data", "p.data.a", "p.data.b"}
    assert circles(between_children("p.data", edges)) == ["a", "b"]
    assert circles(between_children("p", edges)) == []


def test_a_paper_is_imported_by_nobody_else():
    """Not by the packages, not by other papers: its modules name each other by ``from .``."""
    wrong = [
        f"{path}: {ast.unparse(node)}"
        for path in [*MODULES.values(), *(ROOT / "papers").rglob("*.py")]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and (node.level > 1 or _top(node.module) == "papers"))
        or (isinstance(node, ast.Import) and "papers" in {_top(each.name) for each in node.names})
    ]
    assert not wrong, "\n".join(wrong)


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Return the modules of a circle; none where each can be loaded after what it imports."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return sorted(set(error.args[1]))
    return []


def test_only_the_command_line_parses_arguments():
    users = {m for m, p in MODULES.items() if "import argparse" in p.read_text(encoding="utf-8")}
    assert {m for m in users if not m.startswith("ldlrepro.cli")} <= set(), users


def test_verbs_call_stages_and_never_each_other(edges):
    names = {module.removeprefix("ldlrepro.cli.") for module in edges if ".cli." in module}
    shared = {"here", "openings", "output", "parser", "verb", "__main__"}
    handlers = {f"ldlrepro.cli.{name}" for name in names - shared}
    assert len(handlers) > 5
    for module in handlers:
        assert not edges[module] & handlers, module
        tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        verbs = {function.name for function in functions} & set(cli.verbs())
        for function in functions:
            called = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            local = {
                alias.asname or alias.name
                for node in ast.walk(function)
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            assert not called & (verbs - local), f"{module}.{function.name}"

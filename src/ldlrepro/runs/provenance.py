"""What a number was computed with: code, configuration, versions, machine."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ldlrepro import own
from ldlrepro.config import project_root

PACKAGE = Path(__file__).resolve().parents[1]
RECORDED_VERSIONS = ("numpy", "scipy", "scikit-learn", "xgboost-cpu", "xgboost", "torch", "numba")
# Modules whose changes cannot move a number; what they read is in the other digests.
NOT_DECISIVE = ("ldlrepro.errors", "ldlrepro.config", "ldlrepro.own")
SPEC_KEYS = ("class", "parameters", "grid", "scaling", "sees_test_labels")


def spec_digest(spec: Mapping[str, Any], select_by: str) -> str:
    """Of what decides the numbers: class, parameters, grid, scaling. Not of texts or resources.

    Where there is a grid, the measure that the protocol selects by decides too.
    """
    decisive = {key: spec[key] for key in SPEC_KEYS if spec.get(key)}
    if "grid" in decisive:
        decisive["select_by"] = select_by
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


@cache
def code_digest(class_path: str) -> str:
    """Of a method's source: its module, the runner of a fold, and what they import of ours.

    The module may be a user's own; then what it imports of its package, and of the modules beside
    its YAML, counts as well.

    Sources are compared as syntax trees without docstrings, so comments and layout do not count.
    """
    return module_digest(class_path.rpartition(".")[0], "ldlrepro.protocols.selection")


def method_digest(spec: Mapping[str, Any]) -> str:
    """Of the source of a method: its class, and an own class that its parameters name."""
    wrapped = own.modules_named(spec.get("parameters", {}))
    if not wrapped:
        return code_digest(spec["class"])
    module = spec["class"].rpartition(".")[0]
    return module_digest(module, "ldlrepro.protocols.selection", *wrapped)


@cache
def module_digest(*modules: str, without: tuple[str, ...] = ()) -> str:
    """Of modules and what they import of ours; ``without`` names packages not followed."""
    digests = {
        name: _source_digest(path)
        for start in modules
        for name, path in _closure(start, without).items()
    }
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _closure(start: str, without: tuple[str, ...] = ()) -> dict[str, Path]:
    """``start`` and what it imports of ours, or of its own where it is a user's."""
    left_out = tuple(f"{name}." for name in without)
    followed = ("ldlrepro.", start.partition(".")[0] + ".")
    found: dict[str, Path] = {}
    pending = [start]
    while pending:
        name = pending.pop()
        path = None if f"{name}.".startswith(left_out) else _module_path(name)
        if path is None or name in found:
            continue
        found[name] = path
        theirs = not name.startswith("ldlrepro.")
        pending += [
            n
            for n in _imports(name, path)
            if n.startswith(followed) or (theirs and own.module_file(n))
        ]
    return found


def _module_path(name: str) -> Path | None:
    """The source file of a module; None for what is not a module or has no source."""
    parts = name.split(".")
    if parts[0] == "ldlrepro":
        base = PACKAGE.joinpath(*parts[1:])
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path
        return None
    try:
        # Only the first part: looking for a module inside a package would import the package.
        spec = importlib.util.find_spec(parts[0])
    except ValueError:  # a module that was not imported in the ordinary way
        return None
    if spec is None:
        return None
    if len(parts) == 1:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder).joinpath(*parts[1:])
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path
    return None


@cache
def _imports(name: str, path: Path) -> list[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    names = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1] + ([base] if base else []))
            names.append(base)
            # `from package import module` names a module too.
            names += [f"{base}.{alias.name}" for alias in node.names]
    return [n for n in names if n not in NOT_DECISIVE]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _source_digest(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                s
                for s in body
                if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
            ]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def lock_digest() -> str:
    """Of the pinned requirements."""
    lock = project_root() / "envs" / "lock.txt"
    return hashlib.sha256(lock.read_bytes()).hexdigest() if lock.is_file() else ""


@cache
def git_commit() -> str:
    """The checkout's commit, with '+' if tracked files were changed; empty outside git."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=project_root(), capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def versions() -> dict[str, str]:
    from ldlrepro import __version__

    found = {"python": platform.python_version(), "ldlrepro": __version__}
    for name in RECORDED_VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """The processor and system, without names that tell whose machine it is."""
    return {"cpu": _cpu_name(), "system": platform.system(), "machine": platform.machine()}


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()

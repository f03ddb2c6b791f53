"""Papers, methods, data sets, measures and weights of a user's own, maybe outside the checkout.

Their paths come from ``extra_papers``, ``extra_methods``, ``extra_datasets``, ``extra_metrics`` and
``extra_weights`` of the run configuration, and from environment variables of the same names.
``announce`` copies the former into the latter, so that every process that a run starts, here or on
a cluster, knows them too. The folder of such a file is searched for the Python modules that the
file names.

A paper is a folder with ``paper.yaml`` and ``cells.csv``. Methods, data sets, measures and weights
whose files lie in it are found with it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from ldlrepro.config.files import project_root, read_yaml
from ldlrepro.core.checksums import sha256_of
from ldlrepro.core.errors import UserError

DECISIVE_KEY = {
    "paper": "protocols",
    "method": "class",
    "dataset": "reader",
    "metric": "function",
    "weight": "network",
}
"""The key that only a file of this kind has."""
PAPER = "paper.yaml"
OF_A_PAPER = (PAPER, "claims.yaml", "misses.yaml")
_ID = re.compile(r"[a-z0-9_]+")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def key(kind: str) -> str:
    """Return the key of the run configuration that lists own files of a kind."""
    return f"extra_{kind}s"


def variable(kind: str) -> str:
    """Return the environment variable that lists own files of a kind."""
    return f"LDLREPRO_EXTRA_{kind.upper()}S"


def announce(run: Mapping[str, Any]) -> None:
    """Tell this process, and all that it starts, where the own files of a run are."""
    for kind in DECISIVE_KEY:
        listed = run.get(key(kind), [])
        listed = [listed] if isinstance(listed, str) else listed
        paths = [str(absolute(path)) for path in listed]
        known = [*_announced(kind), *paths]
        if known:
            os.environ[variable(kind)] = os.pathsep.join(dict.fromkeys(known))


def absolute(path: str) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))


def files(kind: str) -> dict[str, Path]:
    """Return id -> YAML file of everything of this kind that is the user's own.

    The id is the file's name, that of a paper its folder's. A file that cannot be read stops
    whoever named it, and is left out where a folder of several was named.
    """
    return _files(kind, _announced(kind), _announced("paper"))


def beside_papers(kind: str) -> set[str]:
    """Return the ids that are known only because their files lie in the folder of a paper."""
    return files(kind).keys() - _files(kind, _announced(kind), ()).keys()


def is_named(kind: str, path: Path) -> bool:
    """Tell whether the user named this very file, not only a folder that has it among others."""
    named = set(_announced(kind))
    return bool(named & ({str(path), str(path.parent)} if kind == "paper" else {str(path)}))


@cache
def leave_out(path: Path, problem: str) -> None:
    """Warn, once, that a file in a folder of the user's is not used."""
    said = problem if str(path) in problem else f"{path}: {problem}"
    print(f"warning: left out: {said}", file=sys.stderr)


def kind_of(path: Path, tree: Mapping[str, Any]) -> str:
    """Return the kind that an own file describes, by its decisive key."""
    for kind, decisive in DECISIVE_KEY.items():
        if decisive in tree:
            return kind
    keys = ", ".join(f"`{decisive}` ({kind})" for kind, decisive in DECISIVE_KEY.items())
    raise UserError(
        f"{path}: this is neither paper, method, data set, metric nor weights. It needs one of "
        f"{keys}."
    )


def id_of(kind: str, path: Path) -> str:
    """Return the id that a file's name gives; it must do as a part of paths and addresses."""
    what, name, end = "file", path.stem, ".yaml"
    if kind == "paper":
        what, name, end = "folder", path.parent.name, "/"
    if not _ID.fullmatch(name):
        raise UserError(
            f"{path}: the {what}'s name is the id, so it may hold small letters, digits and _ "
            f"only. Rename it, for instance to {_suggested(name)}{end}."
        )
    return name


def completed(kind: str, tree: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return an own file's content with its defaults; check the modules beside it."""
    tree = dict(tree)
    for module in (tree.get("class"), tree.get("function")):
        if isinstance(module, str):
            check_module(module, path)
    if kind in ("dataset", "weight"):
        tree.setdefault("licence", "not told")
        listed = tree.get("files", [])
        listed = listed if isinstance(listed, list) else [listed]
        tree["files"] = [_with_checksum(entry, path) for entry in listed]
    return tree


def _with_checksum(entry: Any, path: Path) -> Any:
    """Add today's checksum to a file beside the YAML, so that changes are noticed."""
    entry = {"name": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict) or "name" not in entry or {"sha256", "git_blob"} & set(entry):
        return entry
    beside = path.parent / str(entry["name"])
    if not beside.is_file():
        raise UserError(
            f"{path}: files: {entry['name']} does not lie beside this file. Put it there, or give "
            "its `sha256` and where it can be had: docs/add-a-dataset.md."
        )
    return {**entry, "sha256": sha256_of(beside)}


def _suggested(stem: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_") or "mine"


def _announced(kind: str) -> tuple[str, ...]:
    named = os.environ.get(variable(kind), "")
    return _listed(named, os.getcwd()) if named else ()


@cache
def _listed(named: str, folder: str) -> tuple[str, ...]:
    """Return the paths in a variable; ``folder`` is the one that relative paths begin with."""
    return tuple(str(absolute(path)) for path in named.split(os.pathsep) if path)


@cache
def _files(kind: str, paths: tuple[str, ...], papers: tuple[str, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    listed = [path for named in map(Path, paths) for path in _of_kind(kind, named)]
    if kind != "paper":
        folders = dict.fromkeys(path.parent for path in files("paper").values() if papers)
        listed += [path for folder in folders for path in _in_folder(kind, folder)]
    for path in listed:
        name = id_of(kind, path)
        if name in found and found[name] != path:
            raise UserError(f"{path}: {found[name]} has the same id. Rename one.")
        found[name] = path
    _search_modules(found.values())
    return found


@cache
def of_papers_here(kind: str) -> dict[str, Path]:
    """Return id -> YAML file of what lies beside the checkout's papers."""
    papers = sorted((project_root() / "papers").glob(f"*/{PAPER}"))
    found = [path for paper in papers for path in _in_folder(kind, paper.parent)]
    _search_modules(found)
    return {id_of(kind, path): path for path in found}


def _search_modules(files: Iterable[Path]) -> None:
    """Let Python find the modules that lie beside these files."""
    for folder in dict.fromkeys(path.parent for path in files):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))  # behind all others: it must shadow nothing


def _of_kind(kind: str, named: Path) -> list[Path]:
    """Return the file itself, or the files of this kind in a folder; it may hold others as well."""
    if not named.exists():
        raise UserError(f"{named}: no such file or folder, but {key(kind)} names it.")
    if kind == "paper" and (named / PAPER).is_file():
        return [named / PAPER]
    if named.is_dir():
        return _in_folder(kind, named)
    other = kind_of(named, read_yaml(named))
    if other != kind:
        raise UserError(f"{named}: this describes a {other}. Give it as {key(other)}.")
    if kind == "paper" and named.name != PAPER:
        raise UserError(f"{named}: a paper is a folder. Rename this file to {PAPER}.")
    return [named]


def _in_folder(kind: str, folder: Path) -> list[Path]:
    found = []
    for path in sorted(folder.glob(f"*/{PAPER}" if kind == "paper" else "*.yaml")):
        if kind != "paper" and path.name in OF_A_PAPER:
            continue
        try:
            if DECISIVE_KEY[kind] in read_yaml(path):
                found.append(path)
        except UserError as error:
            leave_out(path, str(error))
    return found


# ---------------------------------------------------------------------- modules beside the files


def folders() -> set[Path]:
    """Return the folders that hold own files, or files beside the papers of the checkout."""
    beside = (files(kind) | of_papers_here(kind) for kind in DECISIVE_KEY if kind != "paper")
    named = [*files("paper").values(), *(path for found in beside for path in found.values())]
    return {path.parent for path in named}


def package_of(folder: Path) -> str:
    """Return the name of a package whose modules are those of a paper's folder.

    It says where the folder lies, because two papers may name their modules alike.
    """
    name = f"{folder.name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        importlib.invalidate_caches()  # its files may be newer than what Python knows of it
        sys.modules[name] = importlib.util.module_from_spec(spec)
    return name


def module_file(name: str) -> Path | None:
    """Return the file of a module that lies beside an own YAML; None for any other module."""
    top = name.partition(".")[0]
    for folder in folders():
        for path in (folder / f"{top}.py", folder / top / "__init__.py"):
            if path.is_file():
                return path
    return None


def check_module(name: str, yaml: Path) -> None:
    """Refuse a module beside ``yaml`` that Python would not find there."""
    top = name.partition(".")[0]
    beside = [yaml.parent / f"{top}.py", yaml.parent / top / "__init__.py"]
    mine = next((path for path in beside if path.is_file()), None)
    if mine is None:
        return
    spec = importlib.util.find_spec(top)
    origin = spec.origin if spec else None
    if origin and Path(origin).resolve() != mine.resolve():
        raise UserError(
            f"{mine}: Python finds another module '{top}' first, {origin}. Rename the file, and "
            f"the module in {yaml}."
        )


def classes_named(values: Any) -> list[str]:
    """Return the classes that parameters name by dotted paths, such as one to be wrapped.

    Estimators of ``ldl`` count, and own classes.
    """
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, list):
        return sorted({name for value in values for name in classes_named(value)})
    if isinstance(values, str) and _MODULE.fullmatch(values):
        return [values] if values.startswith("ldl.") or module_file(values) else []
    return []

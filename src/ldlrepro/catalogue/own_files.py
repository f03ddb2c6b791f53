"""Papers, methods, data sets, measures and weights of a user's own, maybe outside the checkout.

A path leads to a file or to a folder of files. What a file describes is told by the key that only
files of its kind have. A paper is a folder with ``paper.yaml`` and ``cells.csv``; methods, data
sets, measures and weights whose files lie in it are found with it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldlrepro.catalogue.yaml_files import read_yaml
from ldlrepro.core.checksums import sha256_of
from ldlrepro.core.errors import UserError, nearest

DECISIVE_KEY = {
    "paper": "protocols",
    "method": "class",
    "dataset": "reader",
    "measure": "function",
    "weight": "network",
}
"""The key that only a file of this kind has."""
PAPER = "paper.yaml"
OF_A_PAPER = (PAPER, "claims.yaml", "misses.yaml")
_ID = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True)
class OwnFile:
    """A file of the user's own: what it describes, and how it was found."""

    kind: str
    id: str
    path: Path
    named: bool
    """The user named this very file, and not only a folder that has it among others."""
    of_paper: bool
    """It is known only because it lies in the folder of a paper."""


@dataclass
class OwnFiles:
    """All files that some paths lead to, by kind and id."""

    found: dict[str, dict[str, OwnFile]] = field(
        default_factory=lambda: {kind: {} for kind in DECISIVE_KEY}
    )

    @property
    def folders(self) -> list[Path]:
        """Return the folders that hold them, in the order in which they were found."""
        files = (each.path.parent for of_kind in self.found.values() for each in of_kind.values())
        return list(dict.fromkeys(files))

    def add(self, file: OwnFile) -> None:
        other = self.found[file.kind].setdefault(file.id, file)
        if other.path != file.path:
            raise UserError(f"{file.path}: {other.path} has the same id. Rename one.")
        if file.named or not file.of_paper:
            named, of_paper = file.named or other.named, file.of_paper and other.of_paper
            self.found[file.kind][file.id] = OwnFile(file.kind, file.id, file.path, named, of_paper)


def absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))


def own_files(paths: Iterable[str | Path]) -> OwnFiles:
    """Find all own files that the paths lead to.

    A file that cannot be read stops whoever named it, and is left out where a folder was named.
    """
    files = OwnFiles()
    for path in dict.fromkeys(map(absolute, paths)):
        if not path.exists():
            raise UserError(f"{path}: no such file or folder, but own_files names it.")
        named = path / PAPER if (path / PAPER).is_file() else path
        if named.is_file():
            _add(files, named, kind_of(named, read_yaml(named)), named=True)
        else:
            _add_folder(files, path, of_paper=False)
    for paper in list(files.found["paper"].values()):
        _add_folder(files, paper.path.parent, of_paper=True)
    return files


def beside_papers(folders: Iterable[Path]) -> OwnFiles:
    """Find what lies in folders of papers beside the papers' own files."""
    files = OwnFiles()
    for folder in folders:
        _add_folder(files, folder, of_paper=True)
    return files


def _add_folder(files: OwnFiles, folder: Path, of_paper: bool) -> None:
    """Add the files in a folder, and the papers in folders inside it."""
    papers = [] if of_paper else sorted(folder.glob(f"*/{PAPER}"))
    others = [path for path in sorted(folder.glob("*.yaml")) if path.name not in OF_A_PAPER]
    for path in [*papers, *others]:
        try:
            tree = read_yaml(path)
        except UserError as error:
            leave_out(path, str(error))
            continue
        kind = next((kind for kind, key in DECISIVE_KEY.items() if key in tree), "")
        if kind and (kind == "paper") == (path.name == PAPER):
            _add(files, path, kind, named=False, of_paper=of_paper)


def _add(files: OwnFiles, path: Path, kind: str, named: bool, of_paper: bool = False) -> None:
    if kind == "paper" and path.name != PAPER:
        raise UserError(f"{path}: a paper is a folder. Rename this file to {PAPER}.")
    files.add(OwnFile(kind, id_of(kind, path), path, named, of_paper))


def leave_out(path: Path, problem: str) -> None:
    """Warn that a file in a folder of the user's is not used."""
    said = problem if str(path) in problem else f"{path}: {problem}"
    print(f"warning: left out: {said}", file=sys.stderr)


def kind_of(path: Path, tree: Mapping[str, Any]) -> str:
    """Return the kind that an own file describes, by its decisive key."""
    for kind, decisive in DECISIVE_KEY.items():
        if decisive in tree:
            return kind
    keys = ", ".join(f"`{decisive}` ({kind})" for kind, decisive in DECISIVE_KEY.items())
    meant = next(filter(None, (nearest(str(key), DECISIVE_KEY.values()) for key in tree)), "")
    raise UserError(
        f"{path}: this is neither paper, method, data set, measure nor weights. It needs one of "
        f"{keys}.{meant}"
    )


def id_of(kind: str, path: Path) -> str:
    """Return the id that a file's name gives; it must do as a part of paths and addresses."""
    what, name, end = "file", path.stem, ".yaml"
    if kind == "paper":
        what, name, end = "folder", path.parent.name, "/"
    if not _ID.fullmatch(name):
        suggested = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "mine"
        raise UserError(
            f"{path}: the {what}'s name is the id, so it may hold small letters, digits and _ "
            f"only, for instance {suggested}{end}."
        )
    return name


def completed(kind: str, tree: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return an own file's content with what only own files may leave out."""
    tree = dict(tree)
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
            "its `sha256` and where it can be had; see docs/my-data.md."
        )
    return {**entry, "sha256": sha256_of(beside)}

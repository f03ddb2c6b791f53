"""Python modules beside own files: loaded by their path, known by their plain name."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ldlrepro.core.errors import UserError, in_words, nearest

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class Modules:
    """Loads modules that lie beside own files, and those that they import from there.

    While a module of this kind is in use, this object is the last of Python's finders: it finds
    only what nobody else does, so it shadows nothing, and pickles find their classes.
    """

    def __init__(self, folders: Sequence[Path], papers: Path) -> None:
        self.folders = tuple(folders)
        self.papers = papers
        """The folder of the checkout's papers, whose measurements lie beside them."""

    def load(self, name: str) -> ModuleType:
        """Import a module by its dotted name."""
        if self.folders:
            self.take_turn()
        if mine := self.file_of(name):
            _forget_namesake(name.partition(".")[0], mine)
        return importlib.import_module(name)

    def named(self, path: str, yaml: Path, where: str) -> Any:
        """Return what a dotted path in a YAML file names; say what there is, if that is missing."""
        module_name, _, name = path.rpartition(".")
        try:
            module = self.load(module_name)
        except Exception as error:  # somebody else's code
            told = f"{where}: cannot import '{module_name}': {in_words(error, yaml)}"
            if not self.file_of(module_name):
                told += (
                    ". Write a dotted path such as ldl.AAKNN, or the name of a Python file beside "
                    f"{yaml.name}, without .py, then a dot and the name in it"
                )
            raise UserError(f"{told}.") from error
        if not hasattr(module, name):
            own = sorted(getattr(module, "__all__", _defined_in(module)))
            told = nearest(name, own) or f" It has: {', '.join(own) or 'nothing of its own'}"
            raise UserError(f"{where}: {module_name} has no '{name}'.{told}")
        return getattr(module, name)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module beside an own file; parts of a package are found as everywhere."""
        folders = None if path is not None else [str(folder) for folder in self.folders]
        return PathFinder.find_spec(name, folders, target) if folders else None

    def take_turn(self) -> None:
        """Become the last of Python's finders, in place of one of another project."""
        others = [finder for finder in sys.meta_path if not isinstance(finder, Modules)]
        sys.meta_path[:] = [*others, self]

    def of_papers(self) -> dict[str, list[Path]]:
        """Return package or module -> its files, for those beside the checkout's papers."""
        found: dict[str, list[Path]] = {}
        for path in sorted(self.papers.glob("*/*.py")):
            found[path.stem] = [path]
            found.setdefault(package_of(path.parent), []).append(path)
        return found

    def file_of(self, name: str) -> Path | None:
        """Return the file of a module that lies beside an own file; None for any other module."""
        top = name.partition(".")[0]
        for folder in self.folders:
            for path in (folder / f"{top}.py", folder / top / "__init__.py"):
                if path.is_file():
                    return path
        return None

    def check(self, name: str, yaml: Path) -> None:
        """Refuse a module beside ``yaml`` that Python would not find there."""
        top = name.partition(".")[0]
        beside = [yaml.parent / f"{top}.py", yaml.parent / top / "__init__.py"]
        mine = next((path for path in beside if path.is_file()), None)
        if mine is None:
            return
        first = _found_elsewhere(top) or self.file_of(top)
        if first and first.resolve() != mine.resolve():
            raise UserError(
                f"{mine}: Python finds another module '{top}' first, {first}. Rename the file, and "
                f"the module in {yaml}."
            )

    def classes_named(self, values: Any) -> list[str]:
        """Return the classes that parameters name by dotted paths, such as one to be wrapped.

        Estimators of ``ldl`` count, and own classes.
        """
        if isinstance(values, Mapping):
            values = list(values.values())
        if isinstance(values, list | tuple):
            return sorted({name for value in values for name in self.classes_named(value)})
        if isinstance(values, str) and _MODULE.fullmatch(values):
            return [values] if values.startswith("ldl.") or self.file_of(values) else []
        return []


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


def _defined_in(module: ModuleType) -> list[str]:
    """Return the public names of a module that it does not import."""
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    ]


def _found_elsewhere(top: str) -> Path | None:
    """Return the file of the module that Python finds by a name without any own files."""
    for finder in sys.meta_path:
        if not isinstance(finder, Modules) and (spec := finder.find_spec(top, None)):
            return Path(spec.origin) if spec.origin else None
    return None


def _forget_namesake(top: str, file: Path) -> None:
    """Drop a module of this name that was loaded from another place, for another project."""
    loaded = getattr(sys.modules.get(top), "__file__", None)
    if loaded and Path(loaded).resolve() != file.resolve():
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{top}.")]:
            del sys.modules[name]

"""Digests of what decides a method's numbers: its settings, and the code that it runs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro.core import code_digest
from ldlrepro.core.kept_digests import kept_digest

if TYPE_CHECKING:
    from ldlrepro.catalogue.methods import Method
    from ldlrepro.catalogue.modules import Modules

RUNNER = ("ldlrepro.train.selection:run_fold", "ldlrepro.folds.splits:Fold")
"""The code that fits one fold, whatever the method."""
NOT_DECISIVE = (
    "ldl._machine_code",
    "ldl.errors",
    "ldl.watch",
    "ldlrepro.catalogue",
    "ldlrepro.core.errors",
    "ldlrepro.core.files",
    "ldlrepro.core.progress",
)
"""Modules whose changes cannot move a number; the files they read have digests of their own."""
SAME_BITS = "reference/same_bits.json"
"""Digest of a method's code -> those of earlier code that predicts the same bits."""


def tree_digest(tree: Any) -> str:
    """Return the SHA-256 of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def spec_digest(method: Method, select_by: str) -> str:
    """Return the digest of class name, parameters, grid and scaling, without texts and resources.

    Where there is a grid, the measure that the protocol selects by counts as well. The class counts
    by its name alone: what it does is in the digest of the code, and where it lies decides nothing.
    """
    settings = {"parameters": dict(method.parameters), "grid": dict(method.grid)}
    for values in settings.values():
        if method.weights and "weights" in values:
            values["weights"] = _facts(values["weights"], method)
    decisive: dict[str, Any] = {key: values for key, values in settings.items() if values}
    decisive["scaling"] = method.scaling
    if method.sees_test_labels:
        decisive["sees_test_labels"] = True
    decisive["class"] = method.class_path.rpartition(".")[2]
    if method.grid:
        decisive["select_by"] = select_by
    return tree_digest(decisive)


def _facts(named: Any, method: Method) -> list[Any]:
    """Return what weights are, wherever their files lie."""
    listed = named if isinstance(named, list | tuple) else [named]
    return [name and method.weights[name].facts() for name in listed]


def method_digest(method: Method) -> str:
    """Return the digest of a method's code: its class, what runs a fold, and all that they use.

    An own class that its parameters name, such as one to be wrapped, counts as well.
    """
    modules = method.project.modules
    named = modules.classes_named(method.parameters)
    return class_digest(method.class_path, *named, modules=modules)


@cache
def codes_with_the_same_bits(root: Path) -> dict[str, list[str]]:
    """Return what tools/fit_digests.py found out; nothing outside a checkout."""
    path = root / SAME_BITS
    found: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def codes_as_good(method: Method) -> set[str]:
    """Return the digests of today's code of a method, and of earlier code with the same bits."""
    today = method_digest(method)
    return {today, *codes_with_the_same_bits(method.project.root).get(today, ())}


def class_digest(*paths: str, modules: Modules | None = None) -> str:
    """Return the digest of classes, by their dotted paths, and of what runs a fold."""
    starts = [":".join(path.rpartition(".")[::2]) for path in paths]
    return stage_digest(*RUNNER, *starts, modules=modules)


def stage_digest(
    *starts: str, without: tuple[str, ...] = (), modules: Modules | None = None
) -> str:
    """Return the digest of ``module:name`` or whole modules, and of all that they use.

    Parameters
    ----------
    starts : str
        Where the code begins.
    without : tuple of str
        Modules that decide nothing here, besides those that never do.
    modules : Modules, optional
        The modules beside own files, where some of the code may be the user's.
    """
    tops = {start.partition(":")[0].partition(".")[0] for start in starts}
    theirs = frozenset(tops - {*code_digest.OURS})
    without = (*NOT_DECISIVE, *without)
    if not theirs:
        return kept_digest(starts, without)
    if modules is not None:
        modules.take_turn()
        beside = modules.of_papers()
        if theirs <= beside.keys():
            files = sorted({path for files in beside.values() for path in files})
            return kept_digest(starts, without, _Theirs(theirs, modules), files)
    return code_digest.code_digest(*starts, without=without, follow=_Theirs(theirs, modules))


@dataclass(frozen=True)
class _Theirs:
    """Says which modules of users count: those of a class's own package, and beside its YAML."""

    packages: frozenset[str]
    modules: Modules | None

    def __call__(self, module: str) -> bool:
        if module.partition(".")[0] in self.packages:
            return True
        return self.modules is not None and self.modules.file_of(module) is not None

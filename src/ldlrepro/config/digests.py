"""Digests of what decides a method's numbers: its settings, and the code that it runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ldlrepro.config import plugins
from ldlrepro.config.files import project_root
from ldlrepro.core import code_digest
from ldlrepro.core.kept_digests import kept_digest
from ldlrepro.core.workspace import id_of_weights

SPEC_KEYS = ("parameters", "grid", "scaling", "sees_test_labels")
RUNNER = ("ldlrepro.train.selection:run_fold", "ldlrepro.folds.splits:Fold")
"""The code that fits one fold, whatever the method."""
NOT_DECISIVE = (
    "ldl._machine_code",
    "ldl.errors",
    "ldl.watch",
    "ldlrepro.config",
    "ldlrepro.core.errors",
    "ldlrepro.core.files",
    "ldlrepro.core.progress",
)
"""Modules whose changes cannot move a number; the files they read have digests of their own."""


def tree_digest(tree: Any) -> str:
    """Return the SHA-256 of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def spec_digest(spec: Mapping[str, Any], select_by: str) -> str:
    """Return the digest of class name, parameters, grid and scaling, without texts and resources.

    Where there is a grid, the measure that the protocol selects by counts as well. The class counts
    by its name alone: what it does is in the digest of the code, and where it lies decides nothing.
    """
    decisive = {key: spec[key] for key in SPEC_KEYS if spec.get(key)}
    if spec.get("weights"):
        decisive |= _with_weights(spec)
    decisive["class"] = spec["class"].rpartition(".")[2]
    if "grid" in decisive:
        decisive["select_by"] = select_by
    return tree_digest(decisive)


def _with_weights(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which weights are what they are, wherever their files lie."""
    found: dict[str, Any] = {}
    for key in ("parameters", "grid"):
        if "weights" in spec.get(key, {}):
            files = spec[key]["weights"]
            listed = files if isinstance(files, list) else [files]
            named = [file and spec["weights"][id_of_weights(file)] for file in listed]
            found[key] = {**spec[key], "weights": named}
    return found


def method_digest(spec: Mapping[str, Any]) -> str:
    """Return the digest of a method's code: its class, what runs a fold, and all that they use.

    An own class that its parameters name, such as one to be wrapped, counts as well.
    """
    named = (spec["class"], *plugins.classes_named(spec.get("parameters", {})))
    return stage_digest(*RUNNER, *(":".join(path.rpartition(".")[::2]) for path in named))


@cache
def stage_digest(*starts: str, without: tuple[str, ...] = ()) -> str:
    """Return the digest of ``module:name`` or whole modules, and of all that they use."""
    tops = {start.partition(":")[0].partition(".")[0] for start in starts}
    theirs = frozenset(tops - {*code_digest.OURS})
    without = (*NOT_DECISIVE, *without)
    if not theirs:
        return kept_digest(starts, without)
    if theirs <= _of_papers_here():
        papers = project_root() / "papers"
        return kept_digest(starts, without, _Theirs(theirs), sorted(papers.glob("*/*.py")))
    return code_digest.code_digest(*starts, without=without, follow=_Theirs(theirs))


def _of_papers_here() -> set[str]:
    """Return the packages and modules that lie in the folders of the checkout's papers."""
    folders = [path for path in (project_root() / "papers").iterdir() if path.is_dir()]
    packages = {plugins.package_of(folder) for folder in folders}
    return packages | {path.stem for folder in folders for path in folder.glob("*.py")}


@dataclass(frozen=True)
class _Theirs:
    """Says which modules of users count: those of a class's own package, and beside its YAML."""

    packages: frozenset[str]

    def __call__(self, module: str) -> bool:
        return module.partition(".")[0] in self.packages or bool(plugins.module_file(module))

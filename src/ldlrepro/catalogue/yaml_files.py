"""YAML files: where the checkout lies, and how a file is read and checked by its model."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ldlrepro.core.errors import UserError

if TYPE_CHECKING:
    from ldlrepro.catalogue.entries import Entry

E = TypeVar("E", bound="Entry")

SCHEMAS = Path("config") / "schemas"
"""The folder in which editors find the schemas of all files.

``python -m ldlrepro.doctor.config_docs`` writes them.
"""
MARKS = (SCHEMAS, Path("config") / "config.yaml")
"""Marks of a checkout, which other folders lack."""


def find_root(named: str | Path | None = None) -> Path:
    """Find the checkout: the one that is named, else here or a parent of here, else ours."""
    here, own = Path.cwd(), Path(__file__).resolve().parents[3]
    for folder in [Path(named)] if named else [here, *here.parents, own]:
        if all((folder / mark).exists() for mark in MARKS):
            return folder.resolve()
    lacking = next(mark for mark in MARKS if not (Path(named or here) / mark).exists())
    raise UserError(
        f"no ldlrepro checkout at {named or here}: there is no {lacking}. Go to the folder that "
        "you cloned, or set LDLREPRO_ROOT to it."
    )


@cache
def _loader() -> Any:
    """Return PyYAML's safe loader, but for keys that stand twice and numbers such as 1e-5.

    PyYAML takes the last of two keys, and a number without a dot and a sign for a word.
    """
    import yaml

    fastest: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(fastest):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            lines: dict[str, int] = {}
            for key, _ in node.value:
                line = key.start_mark.line + 1
                if isinstance(key, yaml.ScalarNode) and lines.setdefault(key.value, line) != line:
                    raise UserError(
                        f"line {line}: the key '{key.value}' stands in line {lines[key.value]} "
                        "already. Keep one of them."
                    )
            return super().construct_mapping(node, deep)

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), None
    )
    return Loader


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the keys and values of a file."""
    import yaml

    try:
        tree = yaml.load(path.read_text(encoding="utf-8"), Loader=_loader())
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file. Give a YAML file, such as ../mine/my_method.yaml"
        ) from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {_line_and_problem(error, path)}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: expected keys and values, found {type(tree).__name__}")
    return tree


def _line_and_problem(error: Any, path: Path) -> str:
    """Say where a file is not YAML, and why."""
    if mark := getattr(error, "problem_mark", None):
        return f"line {mark.line + 1}: not valid YAML: {error.problem}"
    place = error.start if isinstance(error, UnicodeDecodeError) else error.position
    line = path.read_bytes()[:place].count(b"\n") + 1
    return f"line {line}: not valid YAML: {error.reason}"


def checked(model: type[E], tree: dict[str, Any], shown: str) -> E:
    """Return what a file says; raise UserError with every violation on a line of its own."""
    from pydantic import ValidationError

    try:
        return model.model_validate(tree)
    except ValidationError as error:
        from ldlrepro.catalogue.complaints import complaints

        lines = complaints(error, tree)
        raise UserError("\n".join(f"{shown}: {line}" for line in lines)) from None

"""Says in words what is wrong with a file: the key, what is allowed, and the nearest name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ldlrepro.catalogue.schemas import schema
from ldlrepro.core.errors import nearest

if TYPE_CHECKING:
    from pydantic import ValidationError

    from ldlrepro.catalogue.entries import Entry

Path = tuple[Any, ...]
OF_KEYS = ("missing", "extra_forbidden")
APART = (*OF_KEYS, "literal_error", "keys")
"""Kinds that are not told as what a value should be."""


def complaints(error: ValidationError, model: type[Entry], tree: dict[str, Any]) -> list[str]:
    """Return one line for each mistake, sorted."""
    whole = schema(model)
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for each in error.errors(include_url=False):
        kind, loc = each["type"], each["loc"]
        path = _in_file(loc[:-1] if kind in OF_KEYS else loc, tree)
        # All unknown keys of a place are one complaint, and so is all that a value should be.
        groups.setdefault((path, kind if kind in APART else ""), []).append(each)
    lines = [_line(path, kind, group, whole) for (path, kind), group in groups.items()]
    return sorted(dict.fromkeys(lines))


def _line(path: Path, kind: str, group: list[Any], whole: dict[str, Any]) -> str:
    where = ".".join(map(str, path))
    prefix = f"{where}: " if where else ""
    if kind == "missing":
        return f"{prefix}missing key {', '.join(each['loc'][-1] for each in group)}"
    if kind == "extra_forbidden":
        known = [key for choice in _choices(path, whole) for key in choice.get("properties", {})]
        return "; ".join(
            f"{prefix}unknown key '{key}'.{nearest(str(key), known)} Allowed: {', '.join(known)}"
            for key in (each["loc"][-1] for each in group)
        )
    value = group[0]["input"]
    if kind == "literal_error":
        allowed = [str(word) for choice in _choices(path, whole) for word in _words(choice)]
        hint = nearest(str(value), allowed)
        return f"{prefix}'{value}' is not allowed.{hint} Allowed: {', '.join(allowed)}"
    if kind == "keys":
        return prefix + "; ".join(each["msg"] for each in group)
    return f"{prefix}{value!r} {' or '.join(dict.fromkeys(map(_should, group)))}"


def _should(error: Any) -> str:
    """Return what pydantic says a value should be, with YAML's words for kinds of values."""
    said = re.sub(r"^\w+ (?=should )| (or instance of|after validation).*", "", error["msg"])
    return said.replace("tuple", "list").replace("dictionary", "mapping")


def _words(node: dict[str, Any]) -> list[Any]:
    """Return the values that a place allows, where they are few."""
    return [*node.get("enum", []), *([node["const"]] if "const" in node else [])]


def _in_file(loc: Sequence[Any], tree: Any) -> Path:
    """Return the keys that lead to a place of the file.

    A location of pydantic's also names branches of its models, which the file does not have.
    """
    path = []
    for part in loc:
        try:
            tree = tree[part]
        except (LookupError, TypeError):
            continue
        path.append(part)
    return tuple(path)


def _choices(path: Path, whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a schema says of a place of the file, one part for each kind of value."""
    found = [whole]
    for part in path:
        below = (_below(part, choice) for choice in found)
        node = next(inner for inner in below if inner is not None)
        kinds = [choice for choice in node.get("anyOf", []) if {"type", "$ref"} & set(choice)]
        found = [_resolved(choice, whole) for choice in kinds or [node]]
    return found


def _below(part: Any, node: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(part, int):
        return node.get("items")
    inner: dict[str, Any] | None = node.get("properties", {}).get(part)
    return inner or node.get("additionalProperties") or None


def _resolved(node: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Return a node, or the shared part that it refers to."""
    return whole["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node

"""Says in words what is wrong with a file: the key, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ldlrepro.core.errors import nearest
from ldlrepro.core.groups import grouped

if TYPE_CHECKING:
    from pydantic import ValidationError

Path = tuple[Any, ...]
PATTERNS = {
    "class": "is no class. Write FILE.CLASS, such as my_method.MyMethod",
    "function": "is no function. Write FILE.FUNCTION, such as my_measure.my_measure",
    "code": "is no module. Write the name of a Python file, without .py",
    "name": "is no file name. Write it without folders",
    "sha256": "is no checksum. Write 8 to 64 hexadecimal digits, in small letters",
    "git_blob": "is no checksum. Write 40 hexadecimal digits, in small letters",
    "urls": "is no address. Write one that begins with https://",
    "reason": "has several lines. Write one",
}
"""Key whose text has a pattern -> what is wrong with another text, and what to write."""


def complaints(error: ValidationError, tree: dict[str, Any]) -> list[str]:
    """Return one line for each mistake, sorted."""

    def place(one: Any) -> tuple[Path, str]:
        """Return where a mistake is, and its kind where it is told apart from others there."""
        kind, loc = one["type"], one["loc"]
        path = _in_file(loc[:-1] if kind == "missing" else loc, tree)
        return path, kind if kind in ("missing", "literal_error", "keys") else ""

    found = grouped(error.errors(include_url=False), place)
    lines = (
        f"{'.'.join(map(str, path))}: {said}" if path else said
        for (path, kind), same in found.items()
        for said in _told(kind, same)
    )
    return sorted(dict.fromkeys(lines))


def _told(kind: str, same: Sequence[Any]) -> list[str]:
    value = same[0]["input"]
    if kind == "missing":
        return [f"missing key {', '.join(one['loc'][-1] for one in same)}"]
    if kind == "keys":
        return [one["msg"] for one in same]
    if kind == "literal_error":
        allowed = re.findall(r"'([^']+)'", " ".join(one["ctx"]["expected"] for one in same))
        hint = nearest(str(value), allowed)
        return [f"'{value}' is not allowed.{hint} Allowed: {', '.join(allowed)}"]
    return [f"{value!r} {' or '.join(dict.fromkeys(map(_should, same)))}"]


def _should(error: Any) -> str:
    """Return what pydantic says a value should be, with YAML's words for kinds of values."""
    if error["type"] == "string_pattern_mismatch":
        return next(said for key, said in PATTERNS.items() if key in error["loc"])
    said = re.sub(r"^\w+ (?=should )| (or instance of|after validation).*", "", error["msg"])
    return said.replace("tuple", "list").replace("dictionary", "mapping")


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

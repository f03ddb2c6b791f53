"""A reader of numpydoc docstrings: sections, and the items of those that have items."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

SECTIONS = (
    *("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes"),
    *("References", "Examples"),
)
ITEM = re.compile(r"^(\*{0,2}\w+(?:, \w+)*)(?: : (.*))?$")


@dataclass
class Item:
    """``name : type, default=default`` and the lines below it."""

    kind: str
    default: str | None
    text: str


@dataclass
class Docstring:
    """The parts of a docstring."""

    summary: str
    body: str
    sections: dict[str, str] = field(default_factory=dict)

    def items(self, section: str) -> dict[str, Item]:
        found: dict[str, Item] = {}
        entry: list[str] = []
        for line in [*self.sections.get(section, "").splitlines(), "end"]:
            if line and not line.startswith(" "):
                if entry:
                    found |= _items(entry)
                entry = []
            entry.append(line)
        return found


def read(documented: Any) -> Docstring:
    """Take apart the docstring of a class or function; it has to be its own."""
    own = documented.__dict__.get("__doc__") if inspect.isclass(documented) else documented.__doc__
    text = inspect.cleandoc(own or "")
    pattern = rf"^({'|'.join(SECTIONS)})\n-+\n"
    start, *rest = re.split(pattern, text, flags=re.MULTILINE)
    summary, _, body = start.strip().partition("\n")
    names, texts = rest[::2], rest[1::2]
    assert len(set(names)) == len(names), f"a section stands twice: {names}"
    return Docstring(summary, body, dict(zip(names, texts, strict=True)))


def _items(lines: list[str]) -> dict[str, Item]:
    match = ITEM.match(lines[0])
    if not match:
        raise AssertionError(f"not 'name : type, default=value': {lines[0]!r}")
    kind, _, default = (match[2] or "").partition(", default=")
    text = inspect.cleandoc("\n" + "\n".join(lines[1:]))
    return {name: Item(kind, default or None, text) for name in match[1].split(", ")}

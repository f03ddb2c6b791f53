"""Docstrings of classes: what they share is written once, in the class that it belongs to."""

from __future__ import annotations

import inspect
import re

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)
_DEFAULT = re.compile(r"(?<=default=).*")


def complete(cls: type) -> None:
    """Add what a class's bases say of parameters and attributes to its own docstring.

    Inherited parameters stand first, as in the signature, with the defaults that the class gives
    them; inherited attributes stand last.
    """
    start, sections = _parts(cls)
    if not start:
        return
    bases = [_parts(base)[1] for base in cls.__mro__[-2:0:-1]]
    parameters: dict[str, str] = {}
    for base in bases if "__init__" not in vars(cls) else ():  # else they are its own
        parameters |= _entries(base.get("Parameters", ""))
    for name in parameters.keys() & vars(cls).keys():
        default = vars(cls)[name]
        value = getattr(default, "default", default)  # of a field
        parameters[name] = _DEFAULT.sub(repr(value).replace("\\", r"\\"), parameters[name], 1)
    parameters |= _entries(sections.pop("Parameters", ""))
    attributes = _entries(sections.pop("Attributes", ""))
    for base in reversed(bases):
        inherited = _entries(base.get("Attributes", ""))
        attributes |= {name: text for name, text in inherited.items() if name not in attributes}
    shared = {
        "Parameters": "".join(parameters.values()),
        "Attributes": "".join(attributes.values()),
    }
    blocks = [
        f"{name}\n{'-' * len(name)}\n{text.rstrip()}"
        for name, text in (shared | sections).items()
        if text
    ]
    cls.__doc__ = "\n\n".join([start, *blocks]) + "\n"


def _parts(cls: type) -> tuple[str, dict[str, str]]:
    """Return the text before the first section of a class's own docstring, and all sections."""
    start, *rest = _HEADING.split(inspect.cleandoc(vars(cls).get("__doc__") or ""))
    return start.strip(), dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    """Return entries such as ``tol : float, default=0.1`` and the lines below by their names."""
    entries = [entry.rstrip() + "\n" for entry in _ENTRY.split(section) if entry.strip()]
    return {entry.partition(" : ")[0]: entry for entry in entries}

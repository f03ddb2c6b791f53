"""A line of ``ldlrepro doctor`` and of ``ldlrepro check``."""

from __future__ import annotations

from dataclasses import dataclass

GOOD, NOTE, BAD = "good", "note", "BAD"


@dataclass(frozen=True)
class Finding:
    what: str
    state: str
    found: str
    do: str = ""
    """Meaning of the finding and what to do, where the finding does not say so itself."""

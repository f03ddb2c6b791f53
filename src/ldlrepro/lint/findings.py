"""What a rule finds: cells, and why they cannot be as they stand."""

from __future__ import annotations

from dataclasses import dataclass

from ldlrepro.lint.tables import Cell

IMPOSSIBLE, SUSPICIOUS = "impossible", "suspicious"


@dataclass(frozen=True)
class Finding:
    rule: str
    state: str
    """``impossible``, where no distributions give these numbers, or ``suspicious``."""
    cells: tuple[Cell, ...]
    """The cell that is found, and before others what it cannot stand beside."""
    why: str
    """The two numbers, and why they cannot both be."""
    doubted: tuple[Cell, ...] = ()
    """The cells of which one at least is wrong, where it is not the first for certain."""
    std_alone: bool = False
    """Whether it is about the standard deviation and not the mean."""
    std_reads: str = ""
    """What the deviation may have read."""

    @property
    def cell(self) -> Cell:
        return self.cells[0]

    @property
    def suspects(self) -> tuple[Cell, ...]:
        return self.doubted or self.cells[:1]

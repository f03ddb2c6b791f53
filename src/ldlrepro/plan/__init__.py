"""What runs of a project, and for which cells: papers become units, units jobs."""

from __future__ import annotations

from ldlrepro.plan.planning import Plan, is_quoted
from ldlrepro.plan.units import Cell, Chunk, Unit

__all__ = ["Cell", "Chunk", "Plan", "Unit", "is_quoted"]

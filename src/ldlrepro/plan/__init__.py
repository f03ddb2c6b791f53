"""Decides what runs, and for which cells: papers become units, and units become jobs."""

from __future__ import annotations

from ldlrepro.plan.planning import Plan, is_quoted
from ldlrepro.plan.units import Cell, Chunk, Unit

__all__ = ["Cell", "Chunk", "Plan", "Unit", "is_quoted"]

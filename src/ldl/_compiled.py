"""Decorators of all functions that numba compiles.

Fast math is off, so sums keep their order, and results depend on no thread and on no processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from ldl._machine_code import keep

compiled = njit(nogil=True, error_model="numpy")
"""Compile a part, into whatever calls it."""


def cached(function: Callable[..., Any]) -> Any:
    """Compile an entry point, and keep its machine code for all processes and environments."""
    return keep(compiled(function))

"""Decorators of all functions that numba compiles.

Fast math is off, so sums keep their order, and results depend on no thread and on no processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from ldl._machine_code import keep

_WAYS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
compiled = njit(**_WAYS, no_cpython_wrapper=True)
"""Compile a part, into whatever calls it; Python cannot, for a way in takes time to compile."""

inlined = njit(**_WAYS, no_cpython_wrapper=True, inline="always")
"""Compile a part that one function alone calls, as a piece of it: that takes less time."""


def cached(function: Callable[..., Any]) -> Any:
    """Compile an entry point, and keep its machine code for all processes and environments."""
    return keep(njit(**_WAYS)(function))

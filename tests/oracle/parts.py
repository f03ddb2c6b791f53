"""Parts of compiled code that tests call one by one."""

from collections.abc import Callable
from typing import Any

from numba import njit


def open_to_python(part: Any) -> Callable[..., Any]:
    """Compile a part with a way in from Python, which it has not by itself."""
    return njit(part.py_func, error_model="numpy")

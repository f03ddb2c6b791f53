"""Independent parts of a fit on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def each(function: Callable[[Part], Answer], parts: Iterable[Part], n_jobs: int) -> list[Answer]:
    """Return the function's answers in the order of the parts, from up to ``n_jobs`` threads."""
    if n_jobs == 1:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(function, parts))

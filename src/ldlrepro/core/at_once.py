"""One function over several items, in as many processes as there are cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply ``function`` to every item; return the results in the order of the items.

    The function is one that a new process can import. A single item, or a single core, needs none.
    """
    items = list(items)
    if len(items) > 1:
        import joblib  # counts the cores that this process may use; jobs of one item wait for none

        if (workers := min(len(items), joblib.cpu_count())) > 1:
            with ProcessPoolExecutor(workers) as pool:
                return list(pool.map(function, items))
    return [function(item) for item in items]

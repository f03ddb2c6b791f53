"""Apply one function to several items, in as many processes as there are cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_handed: list[Callable[[Any], Any]] = []
"""The function that this process got once, for all of its items."""


def at_once(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    done: Callable[[int, int], None] = lambda done, total: None,
) -> list[Result]:
    """Apply ``function`` to every item; return the results in the order of the items.

    A forked process shares the function and all that it has read. Any other process gets the
    function pickled. A single item, or a single core, needs no process. ``done`` gets how many of
    how many items are done.
    """
    items = list(items)
    results: list[Result] = []

    def gathered(found: Iterable[Result]) -> list[Result]:
        for result in found:
            results.append(result)
            done(len(results), len(items))
        return results

    if len(items) > 1:
        import joblib  # counts the cores that this process may use; jobs of one item wait for none

        if (workers := min(len(items), joblib.cpu_count())) > 1:
            with ProcessPoolExecutor(workers, None, _handed.append, (function,)) as pool:
                return gathered(pool.map(_apply, items))
    return gathered(map(function, items))


def _apply(item: Any) -> Any:
    return _handed[-1](item)

"""Apply one function to several items, in as many processes as there are cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    """Return the results of all items in their order; ``done`` gets how many of how many are."""
    items = list(items)
    results: list[Result] = []
    done(0, len(items))
    for result in one_by_one(function, items):
        results.append(result)
        done(len(results), len(items))
    return results


def one_by_one(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int = 0, chunk: int = 1
) -> Iterator[Result]:
    """Yield the results in the order of the items, of which a process gets ``chunk`` at a time.

    A forked process shares the function and all that it has read. Any other process gets the
    function pickled. A single item, or a single core, needs no process. Without ``workers`` there
    are as many processes as cores. Whoever stops in between waits for nothing that is not begun.
    """
    items = list(items)
    if len(items) > 1 and not workers:
        import joblib  # counts the cores that this process may use; jobs of one item wait for none

        workers = joblib.cpu_count()
    if (workers := min(len(items), workers)) < 2:
        yield from map(function, items)
        return
    with ProcessPoolExecutor(workers, None, _hand, (function,)) as pool:
        try:
            yield from pool.map(_apply, items, chunksize=chunk)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _hand(function: Callable[[Any], Any]) -> None:
    _handed.append(function)  # in the list of this process, which a pickled method would not be


def _apply(item: Any) -> Any:
    return _handed[-1](item)

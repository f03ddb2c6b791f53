"""Watches over long trainings: they keep states, hand them back, and hear how it goes.

Estimators know nothing of files or trackers. Whoever runs one puts a ``Watch`` in place around a
fit, and a training that has steps finds it by ``current_watch``. Without one nothing is kept or
told.

>>> class Printer(Silent):
...     def report(self, step, values):
...         print(step, values)
>>> with watched_by(Printer()):
...     current_watch().report(20, {"loss": 0.5})
20 {'loss': 0.5}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Watch(Protocol):
    """Everything that a training asks of its watch."""

    def restore(self) -> dict[str, Any] | None:
        """Return the last state that was kept, or None; asked once, when a fit begins.

        The state may be that of another fit (other parameters, seed or data): states say whose they
        are, and a training ignores those of others.
        """

    def keep(self, state: dict[str, Any]) -> None:
        """Keep a state in place of the one before.

        It holds dictionaries with text keys, lists, tensors on the CPU, texts, integers of any
        size, floats, booleans and None. It may be written later or by another thread: its tensors
        are copies that nobody changes. The training decides how often (every few minutes).
        """

    def report(self, step: int, values: Mapping[str, float]) -> None:
        """Hear numbers after ``step`` steps: steps (in all), loss, mae, images_per_second, entropy.

        Some may be missing: a forest has no loss before its first leaf step. Called often, so it
        must be quick, and it must not raise.
        """


class Silent:
    """A watch that keeps nothing and tells nobody."""

    def restore(self) -> None:
        """Return None: there is no state."""
        return None

    def keep(self, state: dict[str, Any]) -> None:
        """Forget the state."""

    def report(self, step: int, values: Mapping[str, float]) -> None:
        """Ignore the numbers."""


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


def current_watch() -> Watch:
    """Return the watch in place.

    Returns
    -------
    Watch
        The watch of the innermost ``watched_by``, or a silent one.
    """
    return _watch.get() or Silent()


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """Put a watch in place for all fits inside the block.

    Parameters
    ----------
    watch : Watch
        An object with the methods of ``Watch``.
    """
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)

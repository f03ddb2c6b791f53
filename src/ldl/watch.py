"""What a long training asks of whoever runs it: to be kept, to be taken up again, to be heard.

Models know nothing of files or trackers. The runner puts a ``Watch`` in place around a fit:

    with watched_by(watch):
        estimator.fit(X, D)

and a training that has steps finds it by ``current_watch()``. Without one nothing is kept or told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Watch(Protocol):
    def restore(self) -> dict[str, Any] | None:
        """The last state that was kept, or None. Asked once, when a fit begins.

        A state of another fit (other parameters, seed or data) may be returned: states say whose
        they are, and a training ignores what is not its own.
        """

    def keep(self, state: dict[str, Any]) -> None:
        """Takes a state in place of the one before.

        It holds dictionaries with texts as keys, lists, tensors on the CPU, texts, integers of any
        size, floats, booleans and None. It may be written later or by another thread: its tensors
        are copies that nobody changes. The training decides how often (every few minutes).
        """

    def report(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers after ``step`` steps: steps (in all), loss, mae, images_per_second, entropy.

        Not all of them are always there: a forest has no loss before its first leaf step.

        Called often; must be quick, and must not raise.
        """


class Silent:
    """Keeps nothing and tells nobody."""

    def restore(self) -> None:
        return None

    def keep(self, state: dict[str, Any]) -> None:
        pass

    def report(self, step: int, values: Mapping[str, float]) -> None:
        pass


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


def current_watch() -> Watch:
    return _watch.get() or Silent()


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)

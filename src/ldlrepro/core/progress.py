"""Prints one line that says how far a long job is: rewritten on a terminal, repeated in a log.

tqdm counts one thing, where these lines say anything. In a log it rewrites one line with carriage
returns, where a few whole lines are wanted.
"""

from __future__ import annotations

import re
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

SECONDS_ON_A_TERMINAL, SECONDS_IN_A_LOG = 0.5, 15.0
SECONDS_OF_PATIENCE = 3.0
"""Silence after which work says on a terminal that it goes on; SECONDS_IN_A_LOG in a log."""
WIDTH = 110
COMMAND = re.compile(r"`[^`]*`")

_quiet: list[bool] = []
"""Not empty while nothing is said but answers and errors."""
_waiting: list[Waiting] = []
"""The silent work that goes on now, whose line other lines must not follow."""


@contextmanager
def silence() -> Iterator[None]:
    """Say nothing of progress."""
    _quiet.append(True)
    try:
        yield
    finally:
        _quiet.pop()


def say(line: str) -> None:
    """Print progress to stderr; stdout is for answers."""
    if _waiting:
        _waiting[-1].clear()
    if not _quiet:
        print(line, file=sys.stderr, flush=True)


def width() -> int:
    """Return the width of the terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def paragraph(text: str, indent: str = "") -> str:
    """Wrap paragraphs for the terminal; a `command` stays whole, and what has no space."""
    wrapper = textwrap.TextWrapper(
        width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    # textwrap breaks no line at a non-breaking space.
    parts = (COMMAND.sub(_kept_whole, part) for part in text.split("\n\n"))
    return "\n\n".join(map(wrapper.fill, parts)).replace("\xa0", " ")


def _kept_whole(command: re.Match[str]) -> str:
    return re.sub(r"\s", "\xa0", command[0])


def wrapped(message: str) -> str:
    """Wrap each line of a message for the terminal, and indent what follows as the line is."""
    lines = ((line.lstrip(), line) for line in message.split("\n"))
    return "\n".join(paragraph(text, line.removesuffix(text)) for text, line in lines)


class StatusLine:
    """A status line. Call ``show`` at any time; it prints when it is time."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self._last = -float("inf")
        self._open = False

    @property
    def on_terminal(self) -> bool:
        return self.stream.isatty()

    def show(self, line: str, at_once: bool = False) -> None:
        now = time.monotonic()
        pause = SECONDS_ON_A_TERMINAL if self.on_terminal else SECONDS_IN_A_LOG
        if now - self._last < pause and not at_once:
            return
        self._last = now
        self._open = self.on_terminal
        self._write(f"\r\x1b[K{line[:WIDTH]}" if self._open else f"{line}\n")

    def say(self, text: str) -> None:
        """Print another text on a line of its own."""
        self.close()
        self._write(f"{text}\n")

    def close(self) -> None:
        if self._open:
            self._write("\n")
            self._open = False

    def clear(self) -> None:
        """Take the line away from a terminal."""
        if self._open:
            self._write("\r\x1b[K")
            self._open = False

    def _write(self, text: str) -> None:
        if not _quiet:
            self.stream.write(text)
            self.stream.flush()


class ProgressLine(StatusLine):
    """A line that says how many items are done and how long the rest takes."""

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self.what = what
        self.begin(0)

    def begin(self, done: int) -> None:
        """Set where the work begins. After a kill this is not 0."""
        self.started, self.first = time.monotonic(), done

    def update(self, done: int, total: int, details: str = "") -> None:
        left = time_left(time.monotonic() - self.started, done - self.first, total - done)
        parts = [f"{done} of {total}", details, left]
        self.show(f"{self.what}: {', '.join(part for part in parts if part)}", done >= total)


class Waiting(StatusLine):
    """A line about work that says nothing itself."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what, self.done = what, ""
        self.started = time.monotonic()
        self.first = 0.0
        """When the first thing was done, which what comes before makes slower than the others."""

    def update(self, done: int, total: int) -> None:
        now = time.monotonic()
        self.first = self.first or now * bool(done)
        seconds = now - self.first
        left = time_left(seconds, done - 1, total - done) if seconds else ""
        self.done = f"{done} of {total}, {left and left + ', '}"

    def tick(self, *_: object) -> None:
        seconds = time.monotonic() - self.started
        if seconds >= (SECONDS_OF_PATIENCE if self.on_terminal else SECONDS_IN_A_LOG):
            self.show(f"{self.what}: {self.done}{seconds:.0f} s so far")


@contextmanager
def waiting(what: str) -> Iterator[Waiting]:
    """Say now and then that silent work goes on, and take the line away at its end."""
    line = Waiting(what)
    in_use = signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
    if in_use or threading.current_thread() is not threading.main_thread():
        yield line
        return
    _waiting.append(line)
    signal.signal(signal.SIGALRM, line.tick)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
    try:
        yield line
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        _waiting.pop()
        line.clear()


def time_left(seconds: float, done: int, to_do: int) -> str:
    """Say how long the rest takes at the speed so far; '' where that is unknown."""
    if done <= 0 or to_do <= 0:
        return ""
    return f"about {duration(seconds / done * to_do)} left"


def duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.0f} days"

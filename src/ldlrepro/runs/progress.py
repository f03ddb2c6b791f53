"""One line that says how far a long job is: rewritten on a terminal, now and then in a log."""

from __future__ import annotations

import sys
import time
from typing import TextIO

SECONDS_ON_A_TERMINAL, SECONDS_IN_A_LOG = 0.5, 15.0


class ProgressLine:
    """``update`` may be called as often as one likes; it prints when it is time."""

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self.what = what
        self.stream = stream or sys.stderr
        self.started = time.monotonic()
        self.first = 0
        """Where the work began, which is not 0 after a kill."""
        self._terminal = self.stream.isatty()
        self._last = -float("inf")
        self._open = False

    def begin(self, done: int) -> None:
        self.started, self.first = time.monotonic(), done

    def update(self, done: int, total: int, details: str = "") -> None:
        now = time.monotonic()
        pause = SECONDS_ON_A_TERMINAL if self._terminal else SECONDS_IN_A_LOG
        if now - self._last < pause and done < total:
            return
        self._last = now
        parts = [f"{done} of {total}", details, self._left(now, done, total)]
        line = f"{self.what}: {', '.join(part for part in parts if part)}"
        if self._terminal:
            self.stream.write(f"\r\x1b[K{line[:140]}")
            self._open = True
        else:
            self.stream.write(f"{line}\n")
        self.stream.flush()

    def close(self) -> None:
        if self._open:
            self.stream.write("\n")
            self.stream.flush()
            self._open = False

    def _left(self, now: float, done: int, total: int) -> str:
        gone = done - self.first
        if gone <= 0 or done >= total:
            return ""
        seconds = (now - self.started) / gone * (total - done)
        if seconds < 90:
            return f"about {seconds:.0f} s left"
        return (
            f"about {seconds / 60:.0f} min left"
            if seconds < 5400
            else (f"about {seconds / 3600:.1f} h left")
        )

"""Watches a unit's long training: keeps its state and loss curve, and reports progress.

A state is a file of tensors and plain values in the unit's journal. Its name holds a digest of
everything that decides the numbers, so changed code, settings or data never continue from it.
Nothing in it is executed. The loss curve grows in a small table beside the unit's record, which
includes it at the end. Where runs are tracked on a server, a separate process sends the table there
as it grows. Training never waits for that process.
"""

from __future__ import annotations

import contextlib
import csv
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from ldlrepro.core.files import atomically, write_text
from ldlrepro.core.progress import ProgressLine
from ldlrepro.folds.splits import name_of

CURVES = "curves"
ROWS_PER_FIT = 1000
SECONDS_BETWEEN_FLUSHES = 5.0
OF_THE_LINE = {"loss": "loss {:.4g}", "mae": "MAE {:.2f}", "images_per_second": "{:.0f} images/s"}

Say = Callable[[str], None]


@dataclass(frozen=True)
class FoldName:
    """The name of a watched fold, for file names and for people."""

    unit: str
    """Its key."""
    repeat: int
    fold: int

    @property
    def file(self) -> str:
        return name_of(self.repeat, self.fold)

    def __str__(self) -> str:
        return f"{self.unit} repeat {self.repeat} fold {self.fold}"


class FoldWatch:
    """The ``Watch`` of one fold. Fits are numbered in the order in which they begin.

    A method that searches a grid fits several times, and every fit has a state of its own.
    """

    def __init__(
        self,
        name: FoldName,
        states: Path,
        curves: Path,
        fresh: bool,
        tracking_uri: str,
        say: Say,
    ) -> None:
        self.name, self.states, self.say = name, states, say
        self.tracking_uri = tracking_uri
        self.fit = 0
        self.line = ProgressLine(str(name))
        if fresh:
            self.forget()
        self.curve = Curve(curves / f"{name.file}.csv", goes_on=bool(self._kept()))
        self._sender: subprocess.Popen[bytes] | None = None
        self._reported = self._goes_on = False

    # ------------------------------------------------------------------ what trainings call

    def restore(self) -> dict[str, Any] | None:
        """Return the state of this fit at the time the unit was killed."""
        self.fit += 1
        self._reported = self._goes_on = False
        self.line.begin(0)
        path = self._path(self.fit)
        if not path.is_file():
            return None
        import torch

        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except MemoryError:
            raise
        except Exception as error:  # a damaged file of any kind: the fit starts anew
            self.say(f"{self.name}: {path} cannot be read ({error}); this fit starts anew")
            return None
        self._goes_on = True
        return state

    def keep(self, state: dict[str, Any]) -> None:
        import torch

        atomically(self._path(max(self.fit, 1)), lambda part: torch.save(state, part))

    def report(self, step: int, values: Mapping[str, float]) -> None:
        steps = int(values.get("steps", step))
        if not self._reported:
            self._reported = True
            if self._goes_on:
                self.say(f"{self.name}: goes on at step {step} of {steps}")
                self.line.begin(step)
            self.curve.begin(max(self.fit, 1), step)
            self._start_sender()
        shown = [text.format(values[key]) for key, text in OF_THE_LINE.items() if key in values]
        with contextlib.suppress(OSError, ValueError):
            self.line.update(step, steps, ", ".join(shown))
            self.curve.add(step, steps, values)

    # ------------------------------------------------------------------ what the unit calls

    def forget(self) -> None:
        """Remove the kept states, once the fold is in the journal."""
        for path in self._kept():
            path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.line.close()
        self.curve.close()
        if self._sender is not None and self._sender.stdin is not None:
            # The end of its input: it sends the rest and leaves by itself.
            with contextlib.suppress(OSError):
                self._sender.stdin.close()

    # ------------------------------------------------------------------ plumbing

    def _path(self, fit: int) -> Path:
        return self.states / f"{self.name.file}.fit{fit:03d}.state"

    def _kept(self) -> list[Path]:
        return sorted(self.states.glob(f"{self.name.file}.fit*.state"))

    def _start_sender(self) -> None:
        """Start the sender where runs are tracked on a server. A local store is synced later."""
        uri = self.tracking_uri
        if self._sender is not None or not uri.startswith("http"):
            return
        command = [sys.executable, "-m", "ldlrepro.track.live", self.name.unit]
        command += [str(self.name.repeat), str(self.name.fold), str(self.curve.path)]
        with contextlib.suppress(OSError):
            self._sender = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "MLFLOW_TRACKING_URI": uri},
            )


class Curve:
    """Numbers of a training by fit and step, one line each; at most some hundred lines per fit."""

    def __init__(self, path: Path, goes_on: bool) -> None:
        self.path = path
        self._handle: TextIO | None = None
        self._names: list[str] = []
        self._fit, self._last = 1, 0
        self._flushed = time.monotonic()
        if not goes_on:
            path.unlink(missing_ok=True)

    def begin(self, fit: int, step: int) -> None:
        """Begin a fit, or continue at ``step``; what a killed one wrote after that is void."""
        self.close()
        self._fit, self._last = fit, step - 1
        header, rows = read_rows(self.path)
        kept = [row for row in rows if (int(row[0]), int(row[1])) < (fit, step)]
        self._names = header[2:]
        if self.path.is_file():
            text = "".join(",".join(row) + "\n" for row in [header, *kept])
            write_text(self.path, text)

    def add(self, step: int, steps: int, values: Mapping[str, float]) -> None:
        every = max(1, steps // ROWS_PER_FIT)
        before, self._last = self._last, step
        if step // every == before // every and step != steps:
            return
        if self._handle is None:
            self._open(values)
        assert self._handle is not None
        numbers = [f"{values[name]:.6g}" if name in values else "" for name in self._names]
        self._handle.write(",".join([str(self._fit), str(step), *numbers]) + "\n")
        if time.monotonic() - self._flushed > SECONDS_BETWEEN_FLUSHES:
            self.flush()

    def last_fit(self) -> str:
        """Return what the last fit reported, as the text of a small table; empty if nothing."""
        self.flush()
        header, rows = read_rows(self.path)
        last = [row for row in rows if row[0] == rows[-1][0]]
        return "".join(",".join(row) + "\n" for row in [header, *last]) if last else ""

    def flush(self) -> None:
        if self._handle is not None:
            self._handle.flush()
        self._flushed = time.monotonic()

    def close(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._handle.close()
            self._handle = None

    def _open(self, values: Mapping[str, float]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        begun = self.path.is_file()
        self._handle = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close
        if not begun:
            # A first report may lack what later ones have.
            self._names = [
                name for name in dict.fromkeys([*OF_THE_LINE, *values]) if name != "steps"
            ]
            self._handle.write(",".join(["fit", "step", *self._names]) + "\n")


def read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Read the header and the complete lines of a curve.

    A line that is being written, or that a kill cut off, is left out.
    """
    return parse_rows(path.read_text(encoding="utf-8")) if path.is_file() else parse_rows("")


def parse_rows(text: str) -> tuple[list[str], list[list[str]]]:
    lines = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
    if not lines:
        return ["fit", "step"], []
    header, *rows = lines
    return header, [row for row in rows if len(row) == len(header)]

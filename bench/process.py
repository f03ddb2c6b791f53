"""The harness's end of a worker process."""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class SideFailed(Exception):  # noqa: N818 - a side's failure is a row of the table, not ours
    """A side cannot do what it was asked; the text goes into the table."""


class Worker:
    """Asks one question at a time: ``ask('run', 60.0, spec=...)``."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log.open("a", encoding="utf-8")
        try:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
            )
        except OSError as error:
            self._log.close()
            raise SideFailed(f"cannot start {command[0]}: {error.strerror}") from error

    def ask(self, do: str, limit_s: float, **question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **question}) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise SideFailed(self._ended()) from error
        ready, _, _ = select.select([self._process.stdout], [], [], limit_s)
        if not ready:
            peak = self._peak()
            self._process.kill()
            raise SideFailed(f"stopped after {limit_s:.0f} s{peak}")
        line = self._process.stdout.readline()
        if not line:
            raise SideFailed(self._ended())
        answer: dict[str, Any] = json.loads(line)
        if not answer.pop("ok"):
            raise SideFailed(answer["error"])
        return answer

    def _peak(self) -> str:
        """What the process holds at most so far, where the system tells."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
            kilobytes = int(status.partition("VmHWM:")[2].split()[0])
        except (OSError, ValueError, IndexError):
            return ""
        return f", peak {kilobytes / 1024:.0f} MB by then"

    def _ended(self) -> str:
        return f"its process ended with code {self._process.wait()}; see {self._log.name}"

    def close(self) -> None:
        for channel in (self._process.stdin, self._process.stdout):
            if channel is not None:
                channel.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

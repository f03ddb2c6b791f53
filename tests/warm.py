"""Commands without the seconds of their start: forked from a process that has imported them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

MAIN = {"ldlrepro": "ldlrepro.entry", "snakemake": "snakemake.cli"}
"""Installed commands -> the module whose ``main`` they call."""
DEAR = (
    *("mlflow", "pandas", "pyarrow.parquet", "snakemake.cli", "snakemake.api"),
    *("ldlrepro.cli", "ldlrepro.judge.judging", "ldlrepro.track.sync", "ldlrepro.train.unit"),
    "ldlrepro.workflow.rules",
)
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([*DEAR])


class Started:
    """A command on its way, in a session of its own, so that all of it can be killed at once."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path
    ) -> None:
        given = (list(command), folder, dict(environment), output)
        self._process, self.output = FORKS.Process(target=_run, args=given), output
        self._process.start()
        with suppress(ProcessLookupError):  # it has ended
            while os.getpgid(self.pid) != self.pid:
                time.sleep(0.001)

    @property
    def pid(self) -> int:
        pid = self._process.pid
        assert pid is not None
        return pid

    def status(self, timeout: float | None = None) -> int | None:
        """Wait for its end and return its status; None where it has not ended in time."""
        self._process.join(timeout)
        return self._process.exitcode

    def kill(self) -> None:
        """Kill it with all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.status()


def call(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path
) -> int | None:
    """Run a command to its end and return its status."""
    started = Started(command, folder, environment, output)
    if started.status(300) is None:
        started.kill()
    return started.status()


def _run(command: list[str], folder: Path, environment: dict[str, str], output: Path) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with open(output, "wb") as said, open(os.devnull, "rb") as nothing:
        for stream, number in ((nothing, 0), (said, 1), (said, 2)):
            os.dup2(stream.fileno(), number)
    sys.argv = command
    sys.exit(import_module(MAIN[command[0]]).main())

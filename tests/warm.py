"""Commands without the seconds of their start: forked from a process that has imported them."""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing.connection import wait
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


# ---------------------------------------------------------------------- jobs of a workflow

ASKS = """#!{python} -SEs
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect("{address}")
    given = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(given).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(given)
    status = server.recv(1)
sys.exit(status[0] if status else 1)
"""
"""A program ``ldlrepro`` that has its work done by a fork of ``_serve``, which needs no start."""


@cache
def folder_of_jobs() -> Path:
    """Return a folder with such a program, to be the first in the PATH of a workflow's jobs."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "socket"))
    server.listen(64)
    FORKS.Process(target=_serve, args=(server,), daemon=True).start()
    program = folder / "ldlrepro"
    program.write_text(ASKS.format(python=sys.executable, address=folder / "socket"))
    program.chmod(0o755)
    return folder


def _serve(server: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    parent = multiprocessing.parent_process()
    assert parent
    while parent.sentinel not in wait([server, parent.sentinel]):  # until the tests are over
        client, _ = server.accept()
        if not os.fork():
            server.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer(client)
        client.close()


def _answer(client: socket.socket) -> None:
    """Do as the program was told, in its place and with its streams; say how it ended."""
    size, streams, *_ = socket.recv_fds(client, 8, 3)
    with client.makefile("rb") as given:
        sys.argv, folder, environment = json.loads(given.read(int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # A job may start processes of its own, which those of the server may not.
    multiprocessing.current_process()._config["daemon"] = False
    status = 1
    try:
        status = import_module(MAIN["ldlrepro"]).main() or 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    client.sendall(bytes([status]))
    os._exit(status)

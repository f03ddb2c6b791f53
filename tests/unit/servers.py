"""MLflow servers for tests, on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server of its own, whose store is a copy; dies with all its children."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        shutil.copy(store, folder / "served.db")

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1"]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--backend-store-uri", f"sqlite:///{self.folder}/served.db"]
        command += ["--artifacts-destination", str(self.folder / "served")]
        quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        with open(self.folder / "server.log", "wb") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=os.environ | quiet, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        self._wait_until_healthy()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _wait_until_healthy(self) -> None:
        log = self.folder / "server.log"
        for _ in range(600):
            assert self.process.poll() is None, log.read_text()
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(log.read_text())

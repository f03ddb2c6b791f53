"""An MLflow server of a test's own, which can be killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class MlflowServer:
    """Serves ``folder/served.db`` on loopback, or the database and artifacts that it is given."""

    def __init__(
        self,
        folder: Path,
        database: str = "",
        artifacts: str = "",
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.database = database or f"sqlite:///{folder}/served.db"
        self.artifacts = artifacts or str(folder / "served")
        self.options, self.environment = options, environment or {}
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1"]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--backend-store-uri", self.database]
        command += ["--artifacts-destination", self.artifacts, *self.options]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=os.environ | QUIET | self.environment,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        wait_until_healthy(self.address, self.process, self.log)

    def kill(self) -> None:
        """With all its children; a server that is down already stays down."""
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None


def wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())

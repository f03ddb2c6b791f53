"""A PostgreSQL of a test's own, from Debian's package: no service, one temporary folder, loopback.

PostgreSQL refuses to run as root, so root starts it as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mlflow_server import free_port

PASSWORD = "not-a-secret"


def program(name: str) -> str:
    """Return the path of one of PostgreSQL's programs, which Debian keeps out of the PATH."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, places)])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed; Debian's package postgresql has it")
    return found


class Postgres:
    """A database that can be killed and started again."""

    def __init__(self) -> None:
        self.port = free_port()
        self.initdb, self.postgres = program("initdb"), program("postgres")
        # Not below the folder of the tests, which others may not enter.
        self.folder = Path(tempfile.mkdtemp(prefix="ldlrepro-postgres-"))
        self.process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        if os.getuid() == 0:
            if not os.stat(os.devnull).st_mode & stat.S_IWOTH:
                pytest.skip(f"only root may write to {os.devnull}: sudo chmod 666 {os.devnull}")
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    @property
    def uri(self) -> str:
        return f"postgresql://lab:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """Make the files of a new database."""
        word = self.folder / "password"
        word.write_text(PASSWORD)
        word.chmod(0o644)
        command = [self.initdb, "--pgdata", str(self.folder / "data"), "--username", "lab"]
        command += ["--pwfile", str(word), "--auth", "scram-sha-256", "--no-sync"]
        command += ["--encoding", "UTF8", "--no-locale"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **self._as)

    def start(self) -> None:
        command = [self.postgres, "-D", str(self.folder / "data"), "-p", str(self.port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-k", str(self.folder), "-F"]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, **self._as
            )
        self._wait()

    def _wait(self) -> None:
        import sqlalchemy

        engine = sqlalchemy.create_engine(self.uri, poolclass=sqlalchemy.NullPool)
        for attempt in range(300):
            assert self.process
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                with engine.connect():
                    return
            except sqlalchemy.exc.OperationalError:
                if attempt == 299:
                    raise
                time.sleep(0.1)

    def kill(self) -> None:
        """End at once, as a machine that loses power does; the log repairs what was under way."""
        if self.process:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        self.process = None

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

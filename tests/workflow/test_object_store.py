"""Results on an object store, by Snakemake's own storage plug-in for S3."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ldlrepro.train.records import read_rows
from tests.object_store import BUCKET, KEYS, ObjectStore, without_proxies

if TYPE_CHECKING:
    from conftest import Project

pytestmark = pytest.mark.slow
CELLS = "results/compare/tiny/cells.csv"
UNITS = "results/units/"


@dataclass
class Remote:
    """A project whose results are on a store."""

    project: Project
    store: ObjectStore

    @property
    def command(self) -> list[str]:
        return [
            *("snakemake", "--cores", "2", CELLS, "--default-storage-provider", "s3"),
            *("--default-storage-prefix", f"s3://{BUCKET}/tiny"),
            *("--storage-s3-endpoint-url", self.store.address),
            *("--storage-s3-access-key", KEYS["AWS_ACCESS_KEY_ID"]),
            *("--storage-s3-secret-key", KEYS["AWS_SECRET_ACCESS_KEY"]),
        ]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command,
            cwd=self.project.root,
            env=without_proxies() | self.project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, status: int = 0) -> str:
        process = self.start()
        output, _ = process.communicate(timeout=550)
        assert process.returncode == status, output
        return output

    def predictions(self) -> dict[str, bytes]:
        found = self.store.objects(f"tiny/{UNITS}")
        return {name: content for name, content in found.items() if name.endswith(".npz")}

    def folds(self, folder: Path) -> dict[tuple[str, int], str]:
        """Return when each fold of the records that are stored was computed."""
        found = {}
        for name, content in self.store.objects(f"tiny/{UNITS}").items():
            if name.endswith(".parquet"):
                copy = folder / "record.parquet"
                copy.write_bytes(content)
                found |= {(name, row.fold): row.started_at for row in read_rows(copy)}
        return found


@pytest.fixture
def remote(project) -> Iterator[Remote]:
    pytest.importorskip(
        "snakemake_storage_plugin_s3",
        reason="snakemake-storage-plugin-s3 is not installed; `make stores` brings it",
    )
    store = ObjectStore()
    store.start()
    store.make_bucket()
    yield Remote(project, store)
    store.stop()


def test_a_killed_run_goes_on_a_second_does_nothing_and_bytes_are_those_of_a_disk(
    remote, undisturbed, tmp_path
) -> None:
    process = remote.start()
    until = time.monotonic() + 400
    while not remote.folds(tmp_path):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = remote.folds(tmp_path)
    remote.project.run("snakemake", "--unlock", CELLS)
    remote.run()
    after = remote.folds(tmp_path)
    assert {fold: after[fold] for fold in before} == before, "a finished fold was computed again"
    assert remote.predictions() == undisturbed.predictions()
    assert remote.store.objects(f"tiny/{CELLS}")[""] == (undisturbed.root / CELLS).read_bytes()
    assert "Nothing to be done" in remote.run()
    assert not list((remote.project.root / "results").rglob("*.parquet")), "copies are removed"


def test_results_of_a_disk_are_not_taken_for_copies(remote) -> None:
    mine = remote.project.root / "results" / "compare" / "mine.csv"
    mine.parent.mkdir(parents=True)
    mine.write_text("a number")
    said = remote.run(status=1)
    assert "Take an empty folder: --directory FOLDER" in said
    assert mine.read_text() == "a number"

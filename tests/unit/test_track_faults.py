"""Tracking when the disk, the database, the server or the crowd is against it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.track.sync import SyncCounts, sync
from tests.chaos.load import sync_at_once
from tests.mlflow_server import MlflowServer
from tests.tracked import PAPER, TITLE, contents, make_unit, many_units, runs_of

UNITS = 12


@pytest.fixture
def store(empty_store, tmp_path) -> Path:
    (tmp_path / "tracking").mkdir()
    return Path(shutil.copy(empty_store, tmp_path / "tracking" / "mlflow.db"))


@pytest.fixture
def record(tmp_path) -> Path:
    path = tmp_path / "folds_0-2.parquet"
    path.write_bytes(b"a record" * 5000)
    return path


def units_with(record: Path, count: int = UNITS, repeats: int = 1):
    return [make_unit(f"method_{i:02d}", files=(record,), repeats=repeats) for i in range(count)]


def refused(uri: str, units, *words: str) -> None:
    """The sync ends in one message that names the cause, the cure and the command to type."""
    with pytest.raises(UserError) as caught:
        sync(PAPER, TITLE, units, uri)
    told = str(caught.value)
    for word in (*words, "No record is lost", f"then type `ldlrepro sync {PAPER}`"):
        assert word in told, told
    assert "[SQL" not in told


def test_eight_syncs_at_once_to_a_server_lose_and_double_nothing(tmp_path):
    load = sync_at_once(tmp_path / "crowd", syncs=8, server=True)
    assert load.problems == []
    assert load.runs == 12


# ---------------------------------------------------------------------- disks


@pytest.mark.parametrize("what", ["database", "artifacts"])
def test_a_full_disk_is_told_and_the_next_sync_mends_it(store, disks, record, capfd, what):
    full = store.parent if what == "database" else store.parent / "mlartifacts"
    kept = store.read_bytes()
    disks.small(full, f"{len(kept) // 1024 + 60}k" if what == "database" else "100k")
    if what == "database":
        store.write_bytes(kept)
        record.write_bytes(b"")  # so that it is the database that takes the room
    units, before = units_with(record, repeats=20), record.read_bytes()
    capfd.readouterr()
    refused(f"sqlite:///{store}", units, f"Make room on the disk of {store}")
    assert "Traceback" not in "".join(capfd.readouterr())
    assert record.read_bytes() == before
    disks.resize(full, "20m")
    counts = sync(PAPER, TITLE, units, f"sqlite:///{store}")
    assert counts.new + counts.unchanged == UNITS
    assert counts.repaired == 1, "the run that was under way when the disk ran full"
    assert [run.info.status for run in runs_of(f"sqlite:///{store}")] == ["FINISHED"] * UNITS


def test_a_database_that_may_only_be_read_is_told(store, disks, record):
    disks.read_only(store)
    refused(
        f"sqlite:///{store}", units_with(record), "readonly", f"right to write to {store}",
        "or set MLFLOW_TRACKING_URI",
    )  # fmt: skip
    again = shutil.copy(store, store.with_name("again.db"))
    assert sync(PAPER, TITLE, units_with(record), f"sqlite:///{again}") == SyncCounts(new=UNITS)


def test_a_folder_that_may_only_be_read_is_told(store, disks, record):
    disks.read_only(store.parent)
    with pytest.raises(UserError, match=r"mlflow\.db\.lock: Read-only.*Set MLFLOW_TRACKING_URI"):
        sync(PAPER, TITLE, units_with(record), f"sqlite:///{store}")


# ---------------------------------------------------------------------- damaged databases


def garble(store: Path) -> None:
    content = store.read_bytes()
    middle = len(content) // 3
    store.write_bytes(content[:middle] + os.urandom(middle) + content[2 * middle :])


def lose_a_table(store: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("DROP TABLE metrics")
    connection.close()


@pytest.mark.parametrize("damage", [garble, lose_a_table])
def test_a_damaged_database_is_told_and_built_again_from_the_records(
    store, record, tmp_path, damage
):
    units = units_with(record, 3)
    sync(PAPER, TITLE, units, f"sqlite:///{store}")
    damaged = tmp_path / "damaged" / "mlflow.db"  # MLflow keeps open what it had open
    damaged.parent.mkdir()
    shutil.copy(store, damaged)
    damage(damaged)
    changed = [*units[:2], make_unit("method_02", shift=1.0, files=(record,))]
    refused(f"sqlite:///{damaged}", changed, f"move {damaged} away")
    assert record.read_bytes() == b"a record" * 5000
    shutil.copytree(damaged.parent, tmp_path / "moved")
    (tmp_path / "moved" / "mlflow.db").rename(tmp_path / "moved" / "mlflow.db.broken")
    again = f"sqlite:///{tmp_path}/moved/mlflow.db"
    assert sync(PAPER, TITLE, changed, again) == SyncCounts(new=3)
    assert len(runs_of(again, view=3)) == 3


# ---------------------------------------------------------------------- servers


def test_a_server_killed_in_the_middle_is_told_and_the_next_sync_gives_it_what_a_file_gets(
    empty_store, tmp_path, uri, record, monkeypatch
):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")  # at once; the second waits
    units = [*many_units(5), make_unit("lrr", failed=(0,), files=(record,))]
    shutil.copy(empty_store, tmp_path / "served.db")
    server = MlflowServer(tmp_path)

    def kill_after_three(done: int, _all: int) -> None:
        if done == 3:
            server.kill()

    try:
        server.start()
        with pytest.raises(UserError, match=r"No record is lost\. Start the server.*structrf"):
            sync(PAPER, TITLE, units, server.address, [record], on_progress=kill_after_three)
        server.start()
        counts = sync(PAPER, TITLE, units, server.address, [record])
        assert counts == SyncCounts(new=4, unchanged=3, failed=1)
        assert len(runs_of(server.address, view=3)) == 7
        sync(PAPER, TITLE, units, uri, [record])
        assert contents(server.address) == contents(uri)
        counts = sync(PAPER, TITLE, units, server.address, [record])
        assert counts == SyncCounts(unchanged=7, failed=1)
    finally:
        server.kill()

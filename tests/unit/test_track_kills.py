"""Tracking that is killed, crowded or robbed of its database: nothing lost, nothing twice."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.track.sync import SyncCounts, sync
from tests.tracked import (
    PAPER,
    TITLE,
    contents,
    make_unit,
    many_units,
    runs_of,
)
from tests.warm import FORKS


def in_processes(target, arguments: list[tuple]) -> list[int | None]:
    """Exit codes of processes that all start at once, and share no more than what is imported."""
    processes = [FORKS.Process(target=target, args=args) for args in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    return [process.exitcode for process in processes]


def sync_all(uri: str, count: int) -> None:
    sync(PAPER, TITLE, many_units(count), uri)


def sync_and_die(uri: str, call: str, nth: int) -> None:
    """Killed inside the nth run, at the named call to MLflow."""
    from mlflow import MlflowClient

    original, calls = getattr(MlflowClient, call), Counter()

    def dying(self, *args, **kwargs):
        calls[call] += 1
        if calls[call] == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *args, **kwargs)

    setattr(MlflowClient, call, dying)
    sync(PAPER, TITLE, many_units(4), uri)


def test_two_syncs_at_once_lose_and_double_nothing(uri):
    assert in_processes(sync_all, [(uri, 20), (uri, 20)]) == [0, 0]
    names = Counter(run.info.run_name for run in runs_of(uri, view=3))
    assert names == {f"method_{i:02d}": 1 for i in range(20)}


def test_four_first_contacts_with_a_fresh_store_all_succeed(tmp_path):
    uri = f"sqlite:///{tmp_path}/new/mlflow.db"
    assert in_processes(sync_all, [(uri, 2)] * 4) == [0] * 4
    assert len(runs_of(uri, view=3)) == 2


@pytest.mark.parametrize("call", ["log_batch", "set_terminated"])
def test_a_sync_killed_inside_a_run_is_mended_by_the_next(uri, call):
    assert in_processes(sync_and_die, [(uri, call, 3)]) == [-signal.SIGKILL]
    assert [run.info.status for run in runs_of(uri)].count("RUNNING") == 1
    assert sync(PAPER, TITLE, many_units(4), uri) == SyncCounts(new=2, unchanged=2, repaired=1)
    assert sorted(run.info.status for run in runs_of(uri)) == ["FINISHED"] * 4
    assert sync(PAPER, TITLE, many_units(4), uri) == SyncCounts(unchanged=4)


def test_a_sync_killed_before_the_old_run_is_put_away_leaves_no_double(uri):
    outdated = [make_unit(f"method_{i:02d}", shift=9) for i in range(4)]
    sync(PAPER, TITLE, outdated, uri)
    assert in_processes(sync_and_die, [(uri, "delete_run", 1)]) == [-signal.SIGKILL]
    assert len(runs_of(uri)) == 5
    sync(PAPER, TITLE, many_units(4), uri)
    assert len(runs_of(uri)) == 4
    assert max(run.data.metrics["kl"] for run in runs_of(uri)) < 1


def die_while_tables_are_made(uri: str) -> None:
    """Killed with a table copied and the original not yet replaced, which nothing recovers."""
    from sqlalchemy import Engine, event

    def after_statement(_connection, _cursor, statement, *_):
        if statement.strip().startswith("INSERT INTO _alembic_tmp"):
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "after_cursor_execute", after_statement)
    sync(PAPER, TITLE, [make_unit()], uri)


def test_a_store_whose_making_was_killed_is_made_again(tmp_path):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    assert in_processes(die_while_tables_are_made, [(uri,)]) == [-signal.SIGKILL]
    assert sync(PAPER, TITLE, [make_unit()], uri) == SyncCounts(new=1)


def test_a_lost_database_is_rebuilt_with_the_same_content(uri, tmp_path, empty_store):
    record = tmp_path / "folds.parquet"
    record.write_bytes(b"record")
    units = [*many_units(2), make_unit("lrr", failed=(0,)), make_unit(files=(record,))]
    sync(PAPER, TITLE, units, uri, [record])
    before = contents(uri)
    rebuilt = tmp_path / "rebuilt"
    rebuilt.mkdir()
    shutil.copy(empty_store, rebuilt / "mlflow.db")
    sync(PAPER, TITLE, units, f"sqlite:///{rebuilt}/mlflow.db", [record])
    assert len(before) == 5
    assert contents(f"sqlite:///{rebuilt}/mlflow.db") == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot write .*file.*Set MLFLOW_TRACKING_URI"):
        sync(PAPER, TITLE, [make_unit()], f"sqlite:///{tmp_path}/file/mlflow.db")

"""Tracking to a lab's server: PostgreSQL, artifacts in an S3 store, names and passwords."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.track.sync import SyncCounts, sync
from tests.mlflow_server import MlflowServer
from tests.object_store import BUCKET, ObjectStore, without_proxies
from tests.postgres import Postgres
from tests.tracked import PAPER, TITLE, make_unit, runs_of

pytestmark = pytest.mark.slow
UNITS, MIDDLE = 4, 2
ACCESS = """
[mlflow]
default_permission = EDIT
database_uri = {database}
admin_username = keeper
admin_password = a-longer-password
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
"""


class Lab:
    """One server with all that stands behind it."""

    def __init__(self, folder: Path) -> None:
        self.store, self.postgres = ObjectStore(), Postgres()
        self.store.start()
        self.store.make_bucket()
        self.postgres.make()
        self.postgres.start()
        (folder / "access.ini").write_text(ACCESS.format(database=self.postgres.uri))
        self.server = MlflowServer(
            folder,
            self.postgres.uri,
            f"s3://{BUCKET}/mlflow",
            ["--app-name", "basic-auth"],
            without_proxies()
            | {
                "MLFLOW_S3_ENDPOINT_URL": self.store.address,
                "MLFLOW_AUTH_CONFIG_PATH": str(folder / "access.ini"),
                "MLFLOW_FLASK_SERVER_SECRET_KEY": "of this test",
            },
        )
        self.server.start()

    @property
    def artifacts(self) -> dict[str, bytes]:
        return self.store.objects("mlflow/")

    def end(self) -> None:
        self.server.kill()
        self.postgres.remove()
        self.store.stop()


@pytest.fixture(scope="module")
def lab_running(tmp_path_factory) -> Iterator[Lab]:
    for package in ("psycopg2", "flask_wtf", "boto3"):
        pytest.importorskip(package, reason=f"no {package}; `make stores` brings it")
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.end()


@pytest.fixture
def lab(lab_running, monkeypatch) -> Lab:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "keeper")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "a-longer-password")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "60")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return lab_running


def units_of(when: str, folder: Path):
    """Units whose scores and records are of this time, so that each artifact can be told."""
    made, base = [], float(ord(when[0]))
    for number in range(UNITS):
        record = folder / f"folds_{number}.parquet"
        record.write_bytes(f"{when} {number} ".encode() * 2000)
        made.append(make_unit(f"method_{number:02d}", shift=base + number / 100, files=(record,)))
    return made


def told(uri: str) -> list:
    """Return what the visible runs say; in one request, for each hashes the password anew."""
    runs = [(run.info.run_name, run.info.status, run.data) for run in runs_of(uri)]
    return sorted((name, state, d.params, d.metrics, d.tags) for name, state, d in runs)


def told_of_a_file(units, empty_store: Path, folder: Path) -> list:
    """Return what a local store says of the same units."""
    (folder / "mlflow.db").write_bytes(empty_store.read_bytes())
    sync(PAPER, TITLE, units, f"sqlite:///{folder}/mlflow.db")
    return told(f"sqlite:///{folder}/mlflow.db")


def test_a_lab_gets_what_a_file_gets_and_a_second_sync_writes_nothing(lab, empty_store, tmp_path):
    units, uri = units_of("first", tmp_path), lab.server.address
    assert sync(PAPER, TITLE, units, uri) == SyncCounts(new=UNITS)
    assert sync(PAPER, TITLE, units, uri) == SyncCounts(unchanged=UNITS)
    assert told(uri) == told_of_a_file(units, empty_store, tmp_path)
    assert sorted(lab.artifacts.values()) == sorted(unit.files[0].read_bytes() for unit in units)


@pytest.mark.parametrize("what", ["database", "artifacts", "server"])
def test_what_dies_in_the_middle_is_told_and_the_next_sync_loses_and_doubles_nothing(
    lab, empty_store, tmp_path, monkeypatch, what
):
    units = units_of(what, tmp_path)  # other records than before, so all runs are superseded
    uri, before = lab.server.address, len(lab.artifacts)
    part = {"database": lab.postgres, "artifacts": lab.store, "server": lab.server}[what]
    end = lab.store.stop if what == "artifacts" else part.kill
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")

    def die(done: int, of: int) -> None:
        if done == MIDDLE:
            end()

    with pytest.raises(UserError) as caught:
        sync(PAPER, TITLE, units, uri, on_progress=die)
    assert "No record is lost" in str(caught.value)
    assert "a-longer-password" not in str(caught.value)
    part.start()
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "60")  # a busy machine is no dead server
    # The first request may take a connection that the server has closed in the meantime.
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
    counts = sync(PAPER, TITLE, units, uri)
    assert counts.unchanged == MIDDLE
    assert counts.new + counts.superseded == UNITS - MIDDLE
    assert sync(PAPER, TITLE, units, uri) == SyncCounts(unchanged=UNITS)
    assert told(uri) == told_of_a_file(units, empty_store, tmp_path)
    stored = list(lab.artifacts.values())
    for unit in units:
        assert unit.files[0].read_bytes() in stored
    assert len(stored) - before in (UNITS, UNITS + 1), "one may be of the run that was cut short"


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_wrong_password_or_none_is_told_and_nothing_is_written(
    lab, tmp_path, monkeypatch, password
):
    uri, before = lab.server.address, told(lab.server.address)
    if password is None:
        monkeypatch.delenv("MLFLOW_TRACKING_USERNAME")
        monkeypatch.delenv("MLFLOW_TRACKING_PASSWORD")
    else:
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
    with pytest.raises(UserError) as caught:
        sync(PAPER, TITLE, units_of("wrong", tmp_path), uri)
    assert "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD" in str(caught.value)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "keeper")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "a-longer-password")
    assert told(uri) == before

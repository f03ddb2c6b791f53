"""MLflow's store: its addresses, its locks, its errors in words."""

from __future__ import annotations

import logging
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ldlrepro.core.errors import NO_RIGHT, NO_ROOM, UserError
from ldlrepro.track.layout import sha256

DATABASES = ("postgresql", "mysql", "mssql")
QUICK_HTTP = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
PATIENT_HTTP = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "60", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
QUIET = {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
# SQLAlchemy's errors go on with the statement, its parameters and an address to read on.
SQL_DETAILS = re.compile(r"\(raised as a result of [^)]*\)|\[SQL: .*|\(Background on .*", re.DOTALL)


def connect(uri: str) -> Any:
    """Return a client whose store answers; find out fast."""
    import sqlalchemy
    from mlflow import MlflowClient

    database = sqlite_file(uri)
    if database:
        _create_sqlite_store(database)
    if not uri.startswith("http"):
        # MLflow would try ten times, for minutes, before it says what is wrong.
        engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool)
        with engine.connect() as connection:
            sqlalchemy.inspect(connection).get_table_names()
    with environment(QUICK_HTTP):
        client = MlflowClient(uri)
        client.search_experiments(max_results=1)
    return client


def _create_sqlite_store(database: Path) -> None:
    """Let MLflow make its tables in a file of another name, so nobody meets half of them."""
    from mlflow import MlflowClient

    if database.exists() and database.stat().st_size:
        return
    part = database.with_name(f"{database.name}.part")
    part.unlink(missing_ok=True)
    # MLflow's empty experiment "Default" would stand beside the papers.
    MlflowClient(f"sqlite:///{part}").delete_experiment("0")
    os.replace(part, database)


def artifact_root(uri: str, paper: str) -> str | None:
    """Return the folder beside a local database; None elsewhere, where the server knows."""
    database = sqlite_file(uri)
    return (database.parent / "mlartifacts" / paper).as_uri() if database else None


def checked_uri(uri: str) -> str:
    """Return a URI in one spelling: absolute path for SQLite, no slash at an address's end."""
    scheme = re.split(r"[:+]", uri, maxsplit=1)[0]
    if scheme in ("http", "https"):
        return uri.rstrip("/")
    if scheme in DATABASES:
        return uri
    if uri.startswith("sqlite:///") and len(uri) > len("sqlite:///"):
        return f"sqlite:///{Path(uri.removeprefix('sqlite:///')).absolute()}"
    raise UserError(
        f"cannot track to '{without_password(uri)}'. Set MLFLOW_TRACKING_URI to "
        "sqlite:///mlflow.db for a local file, or to http://host:port for a server."
    )


def sqlite_file(uri: str) -> Path | None:
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


@contextmanager
def only_writer(uri: str) -> Iterator[None]:
    """Hold the lock of this store; the system drops it when a process dies."""
    from filelock import FileLock

    database = sqlite_file(uri)
    if database:
        lock = database.with_name(database.name + ".lock")
    else:
        name = f"ldlrepro-{os.getuid()}-{sha256(uri.encode())[:16]}.lock"
        lock = Path(tempfile.gettempdir()) / name
    try:
        held = FileLock(lock, fallback_to_soft=False).acquire()
    except OSError as error:
        raise UserError(
            f"cannot write {lock}: {error.strerror}. Set MLFLOW_TRACKING_URI to a place you may "
            "write to, such as sqlite:////tmp/mlflow.db."
        ) from error
    with held:
        yield


@contextmanager
def environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Set what MLflow reads from the environment; what the user has set stays."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def told_to_the_user(uri: str, paper: str) -> Iterator[None]:
    """Turn what a store or server throws into words; records are never touched by it."""
    # It would log every such error with a long traceback before it raises it.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, ImportError, OSError) as error:
        reason = without_password(" ".join(SQL_DETAILS.sub("", str(error)).split()))[:400]
        raise UserError(
            f"tracking to {without_password(uri)} failed: {reason}\nNo record is lost. "
            f"{_cure(uri, error)}, then type `ldlrepro sync {paper}`."
        ) from error


def _cure(uri: str, error: Exception) -> str:
    database, said = sqlite_file(uri), str(error).lower()
    number = error.errno if isinstance(error, OSError) else None
    if "error code 401" in said or "not authenticated" in said:
        return "Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD to your name there"
    if "error code 403" in said:
        return "Ask whoever keeps the server for the right to write to it"
    if not database and number not in (*NO_ROOM, *NO_RIGHT):
        return "Start the server, or correct MLFLOW_TRACKING_URI"
    if number in NO_ROOM or "disk is full" in said or "disk i/o" in said:
        return f"Make room on the disk of {database or tempfile.gettempdir()}"
    if number in NO_RIGHT or "readonly" in said or "unable to open" in said:
        return (
            f"Give yourself the right to write to {database or tempfile.gettempdir()} and the "
            "folder it is in, or set MLFLOW_TRACKING_URI to a place you may write to"
        )
    return f"If the file is broken, move {database} away, for a sync builds it again"


def without_password(text: str) -> str:
    return re.sub(r"(://[^:/@\s]*):[^@/\s]+@", r"\1:***@", text)


def shell_word(uri: str) -> str:
    """Return a URI to type as an argument; one with a password is left to the environment."""
    return shlex.quote(uri) if without_password(uri) == uri else '"$MLFLOW_TRACKING_URI"'

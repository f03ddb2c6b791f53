"""Copies records into MLflow. The only module that imports it, and the only writer.

The records stay the truth: a lost database is built again by another `sync`, and a sync that finds
nothing new writes nothing. A run is accepted once it has an end state, which is the last thing
written to it; whatever is still RUNNING was left by a killed sync and is replaced.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shlex
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldlrepro.compare.collect import UnitScores
from ldlrepro.errors import NO_RIGHT, NO_ROOM, UserError
from ldlrepro.track_layout import (
    RunPlan,
    existing,
    is_unavailable,
    plan_artifacts,
    plan_unit,
    saved_views,
    sha256,
)

UNIT_TAG, CONTENT_TAG, SUPERSEDED_TAG = "ldlrepro.unit", "content_sha256", "superseded_by"
FINAL_STATES = {"FINISHED", "FAILED"}
DATABASES = ("postgresql", "mysql", "mssql")
RUNS_PER_PAGE = 1000
NOTE = "Each entry of **Views** (top right) is one table: every method on one data set."

QUICK_HTTP = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
PATIENT_HTTP = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "60", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
LOOPBACK = "127.0.0.1"
# SQLAlchemy's errors go on with the statement, its parameters and an address to read on.
SQL_DETAILS = re.compile(r"\(raised as a result of [^)]*\)|\[SQL: .*|\(Background on .*", re.DOTALL)
QUIET = {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}

Progress = Callable[[int, int], None]


@dataclass
class SyncCounts:
    """What one sync did; the first four add up to the units given and one for the artifacts."""

    new: int = 0
    unchanged: int = 0
    superseded: int = 0
    """Runs written in the place of an older one whose record has changed since."""
    not_run: int = 0
    """Units without data: nothing ran, so there is nothing to track."""
    failed: int = 0
    """Of the tracked units, those with a failed fold."""
    repaired: int = 0
    """Half-written or doubled runs that were put away."""


def sync(
    paper: str,
    title: str,
    units: Sequence[UnitScores],
    tracking_uri: str,
    artifacts: Sequence[Path] = (),
    on_progress: Progress | None = None,
) -> SyncCounts:
    """Bring the experiment of ``paper`` in line with the records; waits for a sync under way."""
    uri = _checked_uri(tracking_uri)
    plans = [plan_unit(unit) for unit in units if not is_unavailable(unit)]
    counts = SyncCounts(not_run=len(units) - len(plans), failed=sum(p.failed for p in plans))
    if artifacts:
        plans.append(plan_artifacts(paper, artifacts, plans))
    doubled = [key for key, times in Counter(plan.key for plan in plans).items() if times > 1]
    if doubled:
        raise ValueError(f"given twice: {', '.join(doubled)}")
    with _environment(QUIET), _only_writer(uri), _told_to_the_user(uri, paper):
        client = _connect(uri)
        with _environment(PATIENT_HTTP):
            experiment = _experiment(client, uri, paper, title, saved_views(units))
            found = _tracked_runs(client, experiment)
            for done, plan in enumerate(plans, start=1):
                _bring_in_line(client, experiment, plan, found.get(plan.key, []), counts)
                if on_progress:
                    on_progress(done, len(plans))
    return counts


def differences(
    paper: str, units: Sequence[UnitScores], tracking_uri: str
) -> dict[str, str] | None:
    """For every unit what the store says otherwise than its record, '' where nothing.

    Only reads; None where the paper was never tracked.
    """
    uri = _checked_uri(tracking_uri)
    database = _sqlite_file(uri)
    if database and not database.is_file():
        return None
    with _environment(QUIET), _told_to_the_user(uri, paper):
        client = _connect(uri)
        with _environment(PATIENT_HTTP):
            experiment = client.get_experiment_by_name(paper)
            if experiment is None:
                return None
            found = _tracked_runs(client, experiment.experiment_id)
    plans = [plan_unit(unit) for unit in units if not is_unavailable(unit)]
    return {plan.key: _difference(plan, found.get(plan.key, [])) for plan in plans}


def _difference(plan: RunPlan, present: Sequence[Any]) -> str:
    final = [run for run in present if run.info.status in FINAL_STATES]
    if len(final) != 1:
        return "not tracked" if not final else f"tracked {len(final)} times"
    run = final[0]
    if run.data.tags.get(CONTENT_TAG) != plan.content:
        return "tracked before the record changed"
    # Of values by fold the store gives the last one here.
    latest = {name: value for name, value, _, _ in plan.metrics}
    wrong = [name for name, value in latest.items() if run.data.metrics.get(name) != value]
    wrong += [name for name, value in plan.params.items() if run.data.params.get(name) != value]
    return f"other values of {', '.join(sorted(wrong))}" if wrong else ""


def open_hint(tracking_uri: str) -> str:
    """What to type to look at a store in the browser, served to this machine only."""
    uri = _checked_uri(tracking_uri)
    if uri.startswith("http"):
        return f"open {_without_password(uri)} in a browser"
    shown = shlex.quote(uri)
    if _without_password(uri) != uri:
        shown = '"$MLFLOW_TRACKING_URI"'
    return f"ldlrepro ui --tracking-uri {shown}"


def serve(tracking_uri: str, port: int, say: Callable[[str], None]) -> None:
    """Become MLflow's page for this store, for this machine alone; a server has a page already."""
    uri = _checked_uri(tracking_uri)
    if uri.startswith("http"):
        say(open_hint(uri))
        return
    database = _sqlite_file(uri)
    if database and not database.is_file():
        raise UserError(
            f"{database}: nothing is tracked there yet. Type `snakemake --cores all demo`, or "
            "`ldlrepro sync PAPER` for a paper that has results."
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise UserError(
                f"port {port}: {error.strerror}. Type `ldlrepro ui --port {port + 1}`."
            ) from None
    say(
        f"http://{LOOPBACK}:{port} shows {_without_password(uri)}, to this machine only. Ctrl-C "
        "ends it.\nFrom another machine, never by opening the port to the network: there, type\n"
        f"  ssh -N -L {port}:{LOOPBACK}:{port} USER@{os.uname().nodename}\n"
        "and open the same address."
    )
    # By the environment: the list of processes, which all can see, would show a password.
    place = {"MLFLOW_BACKEND_STORE_URI": uri, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    page = [sys.executable, "-m", "mlflow", "ui"]
    page += ["--host", LOOPBACK, "--port", str(port), "--workers", "1"]
    os.execve(sys.executable, page, {**os.environ, **QUIET, **place})


# ---------------------------------------------------------------------- talking to MLflow


def _bring_in_line(
    client: Any, experiment: str, plan: RunPlan, present: Sequence[Any], counts: SyncCounts
) -> None:
    """Leave one accepted run that says what the record says, and put every other one away.

    The new run is complete before an old one goes, so at no moment is there none.
    """
    final = [run for run in present if run.info.status in FINAL_STATES]
    same = [run for run in final if run.data.tags.get(CONTENT_TAG) == plan.content]
    # A run that was put away once and restored must not win over the one that replaced it.
    same.sort(key=lambda run: SUPERSEDED_TAG in run.data.tags)
    if same:
        counts.unchanged += 1
        current = same[0].info.run_id
    else:
        current = _write(client, experiment, plan)
        if final:
            counts.superseded += 1
        else:
            counts.new += 1
    for run in present:
        if run.info.run_id != current:
            counts.repaired += bool(same) or run not in final
            client.set_tag(run.info.run_id, SUPERSEDED_TAG, current)
            client.delete_run(run.info.run_id)


def _write(client: Any, experiment: str, plan: RunPlan) -> str:
    from mlflow.entities import Metric, Param

    for path in plan.files:
        existing(path)
    tags = plan.tags | {UNIT_TAG: plan.key, CONTENT_TAG: plan.content}
    run = client.create_run(experiment, plan.start_ms, tags, plan.name).info.run_id
    for path in plan.files:
        client.log_artifact(run, str(path))
    # The client splits what is more than one request may hold.
    metrics = [Metric(*item) for item in plan.metrics]
    client.log_batch(run, metrics, [Param(*item) for item in plan.params.items()])
    client.set_terminated(run, "FAILED" if plan.failed else "FINISHED", plan.end_ms)
    return run


def _tracked_runs(client: Any, experiment: str) -> dict[str, list[Any]]:
    """Every visible run of ours by what it tracks; other people's runs are left out."""
    found: dict[str, list[Any]] = {}
    token = None
    while True:
        page = client.search_runs([experiment], max_results=RUNS_PER_PAGE, page_token=token)
        for run in page:
            if UNIT_TAG in run.data.tags:
                found.setdefault(run.data.tags[UNIT_TAG], []).append(run)
        token = page.token
        if not token:
            return found


def _experiment(client: Any, uri: str, paper: str, title: str, views: dict[str, str]) -> str:
    """Id of the paper's experiment, made if need be; one that was deleted comes back."""
    # The kind keeps the page from offering what it has for language models.
    kind = {"mlflow.experimentKind": "custom_model_development"}
    tags = {"mlflow.note.content": f"{title}. {NOTE}"} | kind | views
    found = client.get_experiment_by_name(paper)
    if found is None:
        return client.create_experiment(paper, _artifact_root(uri, paper), tags)
    if found.lifecycle_stage != "active":
        client.restore_experiment(found.experiment_id)
    for name, value in tags.items():
        if found.tags.get(name) != value:
            client.set_experiment_tag(found.experiment_id, name, value)
    return found.experiment_id


def _connect(uri: str) -> Any:
    """A client whose store answers, found out fast."""
    import sqlalchemy
    from mlflow import MlflowClient

    database = _sqlite_file(uri)
    if database:
        _create_sqlite_store(database)
    if not uri.startswith("http"):
        # MLflow would try ten times, for minutes, before it says what is wrong.
        engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool)
        with engine.connect() as connection:
            sqlalchemy.inspect(connection).get_table_names()
    with _environment(QUICK_HTTP):
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
    MlflowClient(f"sqlite:///{part}")
    os.replace(part, database)


def _artifact_root(uri: str, paper: str) -> str | None:
    """Beside a local database; elsewhere the server knows where."""
    database = _sqlite_file(uri)
    return (database.parent / "mlartifacts" / paper).as_uri() if database else None


# ---------------------------------------------------------------------- where and how


def _checked_uri(uri: str) -> str:
    """The URI in one spelling: absolute path for SQLite, no slash at the end of an address."""
    scheme = re.split(r"[:+]", uri, maxsplit=1)[0]
    if scheme in ("http", "https"):
        return uri.rstrip("/")
    if scheme in DATABASES:
        return uri
    if uri.startswith("sqlite:///") and len(uri) > len("sqlite:///"):
        return f"sqlite:///{Path(uri.removeprefix('sqlite:///')).absolute()}"
    raise UserError(
        f"cannot track to '{_without_password(uri)}'. Set MLFLOW_TRACKING_URI to "
        "sqlite:///mlflow.db for a local file, or to http://host:port for a server."
    )


def _sqlite_file(uri: str) -> Path | None:
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


@contextmanager
def _only_writer(uri: str) -> Iterator[None]:
    """Hold the lock of this store; the system drops it when a process dies."""
    database = _sqlite_file(uri)
    if database:
        lock = database.with_name(database.name + ".lock")
    else:
        name = f"ldlrepro-{os.getuid()}-{sha256(uri.encode())[:16]}.lock"
        lock = Path(tempfile.gettempdir()) / name
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = open(lock, "w")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UserError(
            f"cannot write {lock}: {error.strerror}. Set MLFLOW_TRACKING_URI to a place you may "
            "write to, such as sqlite:////tmp/mlflow.db."
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Settings that MLflow reads from the environment; what the user has set stays."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def _told_to_the_user(uri: str, paper: str) -> Iterator[None]:
    """Turn what a store or server throws into words; records are never touched by it."""
    # It would log every such error with a long traceback before it raises it.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, ImportError, OSError) as error:
        reason = _without_password(" ".join(SQL_DETAILS.sub("", str(error)).split()))[:400]
        raise UserError(
            f"tracking to {_without_password(uri)} failed: {reason}\nNo record is lost. "
            f"{_cure(uri, error)}, then type `ldlrepro sync {paper}`."
        ) from error


def _cure(uri: str, error: Exception) -> str:
    database, said = _sqlite_file(uri), str(error).lower()
    number = error.errno if isinstance(error, OSError) else None
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


def _without_password(text: str) -> str:
    return re.sub(r"(://[^:/@\s]*):[^@/\s]+@", r"\1:***@", text)

"""Copies records into MLflow. The only module that imports it, and the only writer.

The records stay the truth: a lost database is built again by another `sync`, and a sync that finds
nothing new writes nothing. A run is accepted once it has an end state, which is the last thing
written to it; whatever is still RUNNING was left by a killed sync and is replaced.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.compare.collect import UnitScores
from ldlrepro.errors import UserError
from ldlrepro.runs.records import FAILED, OK, UNAVAILABLE, FoldRow

LAYOUT = 1
"""Part of every content hash: raise it when names or meanings below change, and all is resent."""

UNIT_TAG, CONTENT_TAG, SUPERSEDED_TAG = "ldlrepro.unit", "content_sha256", "superseded_by"
FINAL_STATES = {"FINISHED", "FAILED"}
DATABASES = ("postgresql", "mysql", "mssql")
PROVENANCE = ("data", "folds", "spec", "code", "lock")
LONGEST_PARAM, LONGEST_TAG = 6000, 8000
METRICS_PER_CALL, OTHERS_PER_CALL = 900, 90
RUNS_PER_PAGE = 1000

QUICK_HTTP = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
PATIENT_HTTP = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "60", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
QUIET = {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}

Progress = Callable[[int, int], None]


@dataclass
class SyncCounts:
    """What one sync did; `new`, `unchanged`, `superseded` and `not_run` add up to what was given."""

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
    plans = [_plan_unit(unit) for unit in units if not _is_unavailable(unit)]
    counts = SyncCounts(not_run=len(units) - len(plans), failed=sum(p.failed for p in plans))
    if artifacts:
        plans.append(_plan_artifacts(paper, artifacts, plans))
    doubled = [key for key, times in Counter(plan.key for plan in plans).items() if times > 1]
    if doubled:
        raise ValueError(f"given twice: {', '.join(doubled)}")
    with _environment(QUIET), _only_writer(uri), _told_to_the_user(uri):
        client = _connect(uri)
        with _environment(PATIENT_HTTP):
            experiment = _experiment(client, uri, paper, title)
            present = _tracked_runs(client, experiment)
            for done, plan in enumerate(plans, start=1):
                _bring_in_line(client, experiment, plan, present.get(plan.key, []), counts)
                if on_progress:
                    on_progress(done, len(plans))
    return counts


def open_hint(tracking_uri: str) -> str:
    """What to type to look at a store in the browser, served to this machine only."""
    uri = _checked_uri(tracking_uri)
    if uri.startswith("http"):
        return f"open {_without_password(uri)} in a browser"
    shown = shlex.quote(uri)
    if _without_password(uri) != uri:
        shown = '"$MLFLOW_TRACKING_URI"'
    return f"mlflow ui --backend-store-uri {shown} --host 127.0.0.1 --port 5000"


# ---------------------------------------------------------------------- what a run shall hold


@dataclass(frozen=True)
class _Plan:
    """All that one run holds, known before MLflow is asked for anything."""

    key: str
    content: str
    name: str
    files: list[Path]
    failed: bool = False
    start_ms: int | None = None
    end_ms: int | None = None
    params: dict[str, str] = field(default_factory=dict)
    metrics: list[tuple[str, float, int, int]] = field(default_factory=list)
    """Name, value, time stamp in ms, step."""
    tags: dict[str, str] = field(default_factory=dict)


def content_sha256(unit: UnitScores) -> str:
    """Hash of everything a record says, times and machine included, and of its scores."""
    content = {
        "layout": LAYOUT,
        "source": unit.source,
        "rows": [asdict(row) for row in unit.rows],
        "scores": unit.scores,
        "files": sorted(path.name for path in unit.files),
    }
    return _sha256(json.dumps(content, sort_keys=True, default=str).encode())


def _plan_unit(unit: UnitScores) -> _Plan:
    spans = [_span_ms(row) for row in unit.rows]
    start = min((s for s, _ in spans if s), default=None)
    end = max((e for _, e in spans if e), default=None)
    identity = {"protocol": unit.protocol, "dataset": unit.dataset, "method": unit.method}
    return _Plan(
        key="/".join(unit.key),
        content=content_sha256(unit),
        name=f"{unit.dataset} / {unit.method}",
        files=list(unit.files),
        failed=any(row.status == FAILED for row in unit.rows),
        start_ms=start,
        end_ms=end,
        params=identity | _params(unit.rows),
        metrics=_metrics(unit, [e or 0 for _, e in spans], end or 0),
        tags=identity | {"source": unit.source} | _tags(unit.rows),
    )


def _plan_artifacts(paper: str, artifacts: Sequence[Path], plans: Sequence[_Plan]) -> _Plan:
    """One more run that carries the tables and figures of the whole paper."""
    hashes = sorted(f"{path.name} {_sha256(_present(path).read_bytes())}" for path in artifacts)
    end = max((plan.end_ms for plan in plans if plan.end_ms), default=None)
    return _Plan(
        key=f"{paper}: tables and figures",
        content=_sha256("\n".join([str(LAYOUT), *hashes]).encode()),
        name=f"{paper}: tables and figures",
        files=list(artifacts),
        start_ms=end,
        end_ms=end,
    )


def _is_unavailable(unit: UnitScores) -> bool:
    return all(row.status == UNAVAILABLE for row in unit.rows)


def _params(rows: Sequence[FoldRow]) -> dict[str, str]:
    """Most frequent value of every parameter; where folds differ, also how often each was chosen."""
    params = {
        "folds": str(1 + max(row.fold for row in rows)),
        "repeats": str(1 + max(row.repeat for row in rows)),
    }
    for name in sorted({name for row in rows for name in row.params}):
        values = [_text(row.params[name]) for row in rows if name in row.params]
        ranked = Counter(values).most_common()
        params[f"param.{name}"] = _cut(ranked[0][0], LONGEST_PARAM)
        if len(ranked) > 1:
            shown = ", ".join(f"{value} ({times}x)" for value, times in ranked)
            params[f"chosen.{name}"] = _cut(shown, LONGEST_PARAM)
    return params


def _metrics(
    unit: UnitScores, ends_ms: Sequence[int], end_ms: int
) -> list[tuple[str, float, int, int]]:
    """Means, deviations, costs, and fold values as steps ``repeat * folds + fold``.

    A measure that lacks a fold gets no mean: the mean of nine folds in the column of means of ten
    would be compared with them.
    """
    rows = unit.rows
    folds = 1 + max(row.fold for row in rows)
    steps = [row.repeat * folds + row.fold for row in rows]
    summary: dict[str, float] = {
        "folds_ok": sum(row.status == OK for row in rows),
        "folds_failed": sum(row.status == FAILED for row in rows),
        "peak_mb": max(row.peak_mb for row in rows),
    }
    timed = [row for row in rows if row.status == OK]
    if timed:
        summary["fit_seconds"] = float(np.mean([row.fit_s for row in timed]))
        summary["predict_seconds"] = float(np.mean([row.predict_s for row in timed]))
    by_fold = []
    for name, values in unit.scores.items():
        by_fold += [
            (f"fold/{name}", float(value), at, step)
            for value, at, step in zip(values, ends_ms, steps, strict=True)
            if math.isfinite(value)
        ]
        if np.isfinite(values).all():
            summary[name] = float(np.mean(values))
            if len(values) > 1:
                summary[f"{name}_std"] = float(np.std(values, ddof=1))
    return [(name, float(value), end_ms, 0) for name, value in summary.items()] + by_fold


def _tags(rows: Sequence[FoldRow]) -> dict[str, str]:
    tags = {"git_commit": _joined(row.git_commit for row in rows)}
    for part in PROVENANCE:
        tags[f"{part}_sha256"] = _joined(getattr(row, f"{part}_sha256") for row in rows)
    tags["mlflow.source.git.commit"] = tags["git_commit"]
    tags["versions"] = _joined(_text(row.versions) for row in rows if row.versions)
    tags["threads"] = _joined(str(row.threads) for row in rows)
    for name in sorted({name for row in rows for name in row.machine}):
        tags[name] = _joined(_text(row.machine.get(name, "")) for row in rows)
    tags |= _error_tags(rows)
    return {name: _cut(value, LONGEST_TAG) for name, value in tags.items() if value}


def _error_tags(rows: Sequence[FoldRow]) -> dict[str, str]:
    broken = [row for row in rows if row.status == FAILED]
    if not broken:
        return {}
    first = broken[0]
    lines = first.error.strip().splitlines() or ["no error text"]
    where = f"repeat {first.repeat}, fold {first.fold}"
    return {
        "error": f"{len(broken)} of {len(rows)} folds failed; {where}: {lines[-1]}",
        # The end of a traceback says most, so the start is what gives way.
        "traceback": first.error[-LONGEST_TAG:],
    }


def _span_ms(row: FoldRow) -> tuple[int | None, int | None]:
    """Start and end of a fold; unknown where the row has no start."""
    if not row.started_at:
        return None, None
    started = datetime.fromisoformat(row.started_at)
    if started.tzinfo is None:
        started = started.replace(tzinfo=UTC)
    start = int(started.timestamp() * 1000)
    return start, start + int((row.fit_s + row.predict_s) * 1000)


def _joined(values: Iterable[str]) -> str:
    """Folds may come from several machines or commits: each different value once, in order."""
    return "; ".join(dict.fromkeys(value for value in values if value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 4] + " ..."


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _present(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path} is gone, so it cannot be tracked. Build it again, then sync.")
    return path


# ---------------------------------------------------------------------- talking to MLflow


def _bring_in_line(
    client: Any, experiment: str, plan: _Plan, present: Sequence[Any], counts: SyncCounts
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


def _write(client: Any, experiment: str, plan: _Plan) -> str:
    from mlflow.entities import Metric, Param

    for path in plan.files:
        _present(path)
    tags = plan.tags | {UNIT_TAG: plan.key, CONTENT_TAG: plan.content}
    run = client.create_run(experiment, plan.start_ms, tags, plan.name).info.run_id
    for path in plan.files:
        client.log_artifact(run, str(path))
    for part in _chunks([Param(*item) for item in plan.params.items()], OTHERS_PER_CALL):
        client.log_batch(run, params=part)
    for part in _chunks([Metric(*item) for item in plan.metrics], METRICS_PER_CALL):
        client.log_batch(run, metrics=part)
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


def _experiment(client: Any, uri: str, paper: str, title: str) -> str:
    """Id of the paper's experiment, made if need be; one that was deleted comes back."""
    tags = {"mlflow.note.content": title, "mlflow.experimentKind": "custom_model_development"}
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
        with sqlalchemy.create_engine(uri).connect() as connection:
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
    part = database.with_name(f".{database.name}.part")
    part.unlink(missing_ok=True)
    MlflowClient(f"sqlite:///{part}")
    os.replace(part, database)


def _artifact_root(uri: str, paper: str) -> str | None:
    """Beside a local database; elsewhere the server knows where."""
    database = _sqlite_file(uri)
    return (database.parent / "mlartifacts" / paper).as_uri() if database else None


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


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
        f"cannot track to '{uri}'. Set MLFLOW_TRACKING_URI to sqlite:///mlflow.db for a local "
        "file, or to http://host:port for a server."
    )


def _sqlite_file(uri: str) -> Path | None:
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


@contextmanager
def _only_writer(uri: str) -> Iterator[None]:
    """Hold the lock of this store; the system drops it when a process dies."""
    database = _sqlite_file(uri)
    if database:
        database.parent.mkdir(parents=True, exist_ok=True)
        lock = database.with_name(database.name + ".lock")
    else:
        name = f"ldlrepro-{os.getuid()}-{_sha256(uri.encode())[:16]}.lock"
        lock = Path(tempfile.gettempdir()) / name
    with open(lock, "w") as handle:
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
def _told_to_the_user(uri: str) -> Iterator[None]:
    """Turn what a store or server throws into words; records are never touched by it."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError) as error:
        reason = _without_password(" ".join(str(error).split()))[:400]
        if _sqlite_file(uri):
            cure = f"If the file is broken, move {_sqlite_file(uri)} away: a sync builds it again."
        else:
            cure = "Start the server or mend MLFLOW_TRACKING_URI, then sync again."
        raise UserError(
            f"tracking to {_without_password(uri)} failed: {reason}\n"
            f"No record is lost. {cure}"
        ) from error


def _without_password(text: str) -> str:
    return re.sub(r"(://[^:/@\s]*):[^@/\s]+@", r"\1:***@", text)

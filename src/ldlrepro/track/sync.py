"""Copies records into MLflow, after the training; nothing else writes there.

The records stay the truth: another `sync` builds a lost database again, and a sync that finds
nothing new writes nothing. A run is accepted once it has an end state, which is the last thing
written to it; whatever is still RUNNING was left by a killed sync and is replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.tallies import tally
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.track.layout import (
    FIRST_VIEW_TAG,
    TrackedRun,
    address_of,
    artifacts_run,
    cells_by_unit,
    content_sha256,
    existing,
    is_unavailable,
    saved_views,
    sha256,
    unit_run,
)
from ldlrepro.track.store import (
    PATIENT_HTTP,
    QUIET,
    artifact_root,
    checked_uri,
    connect,
    environment,
    only_writer,
    shell_word,
    sqlite_file,
    told_to_the_user,
    without_password,
)

UNIT_TAG, CONTENT_TAG, SUPERSEDED_TAG = "ldlrepro.unit", "content_sha256", "superseded_by"
LIVE_TAG = "ldlrepro.live"
FINAL_STATES = {"FINISHED", "FAILED"}
RUNS_PER_PAGE = 1000
NOTE = "The menu at the top right has all tables."

Progress = Callable[[int, int], None]
Found = dict[str, list[Any]]


@dataclass
class SyncCounts:
    """Counts of one sync; the first four add up to the units given and one for the artifacts."""

    new: int = 0
    unchanged: int = 0
    superseded: int = 0
    """Runs written in the place of an older one whose record has changed since."""
    not_run: int = 0
    """Units without data: nothing ran, so there is nothing to track."""
    failed: int = 0
    """Tracked units with a failed fold."""
    repaired: int = 0
    """Half-written or doubled runs that were put away."""
    content: str = field(default="", compare=False)
    """Digest of all that the runs hold."""

    @property
    def in_words(self) -> str:
        """Say what the sync did, without what it had no cause to do."""
        done = self.new + self.unchanged + self.superseded
        told = {name.replace("_", " "): number for name, number in vars(self).items()}
        parts = [f"{told[name]} {name}" for name in told if name != "content" and told[name]]
        return f"{done} runs in MLflow" + (f" ({', '.join(parts)})" if parts else "")


def sync(
    paper: str,
    title: str,
    units: Sequence[UnitScores],
    tracking_uri: str,
    artifacts: Sequence[Path] = (),
    on_progress: Progress | None = None,
    rows: Sequence[VerdictRow] = (),
    own: Collection[str] = (),
) -> SyncCounts:
    """Bring the experiment of ``paper`` in line with its records and with the verdicts of ``rows``.

    ``own`` are the ids of the user's methods. A sync that is under way is waited for.
    """
    plans = [unit_run(unit, rows, own) for unit in units if not is_unavailable(unit)]
    counts = SyncCounts(not_run=len(units) - len(plans), failed=sum(p.failed for p in plans))
    if artifacts:
        plans.append(artifacts_run(paper, artifacts, plans))
    found = tally(rows)
    holds = {"holds": f"{found.holds} of {found.judged} judged"} if found.judged else {}
    views = saved_views(units, rows) | holds
    sync_runs(paper, title, plans, views, tracking_uri, counts, on_progress)
    return counts


def sync_runs(
    experiment: str,
    title: str,
    plans: Sequence[TrackedRun],
    tags: dict[str, str],
    tracking_uri: str,
    counts: SyncCounts,
    on_progress: Progress | None = None,
) -> None:
    """Bring an experiment in line with the runs it should have, and count what that took."""
    uri = checked_uri(tracking_uri)
    counts.content = sha256("\n".join(sorted(run.content for run in plans)).encode())
    doubled = [key for key, times in Counter(plan.key for plan in plans).items() if times > 1]
    if doubled:
        raise ValueError(f"given twice: {', '.join(doubled)}")
    if on_progress:
        on_progress(0, len(plans))
    with environment(QUIET), only_writer(uri), told_to_the_user(uri, experiment):
        client = connect(uri)
        with environment(PATIENT_HTTP):
            place = experiment_of(client, uri, experiment, title, tags)
            found = tracked_runs(client, place)
            live = tracked_runs(client, place, LIVE_TAG)
            for done, plan in enumerate(plans, start=1):
                _bring_in_line(client, place, plan, found.get(plan.key, []), counts)
                for run in live.get(plan.key, []):
                    client.delete_run(run.info.run_id)
                if on_progress:
                    on_progress(done, len(plans))


def differences(
    paper: str,
    units: Sequence[UnitScores],
    tracking_uri: str,
    rows: Sequence[VerdictRow] = (),
    own: Collection[str] = (),
) -> dict[str, str] | None:
    """Return where the store differs from the record of each unit, '' where it does not.

    This only reads. It returns None where the paper was never tracked.
    """
    with _runs_to_read(paper, tracking_uri) as (client, found):
        if found is None:
            return None
        plans = [unit_run(unit, rows, own) for unit in units if not is_unavailable(unit)]
        return {p.key: _difference(client, p, found.get(p.key, [])) for p in plans}


def outdated(
    paper: str,
    units: Sequence[UnitScores],
    tracking_uri: str,
    rows: Sequence[VerdictRow] = (),
) -> list[str] | None:
    """Return the units whose run is older than their record or missing; else as `differences`.

    No value is compared, so that this is quick.
    """
    with _runs_to_read(paper, tracking_uri) as (_, found):
        if found is None:
            return None
        cells = cells_by_unit(rows)
        return [
            unit.key
            for unit in units
            if not is_unavailable(unit)
            and _age(content_sha256(unit, cells.get(unit.key, [])), found.get(unit.key, []))
        ]


@contextmanager
def _runs_to_read(paper: str, tracking_uri: str) -> Iterator[tuple[Any, Found | None]]:
    """Give a client and the paper's runs by unit; without runs where it was never tracked."""
    uri = checked_uri(tracking_uri)
    database = sqlite_file(uri)
    if database and not database.is_file():
        yield None, None
        return
    with environment(QUIET), told_to_the_user(uri, paper):
        client = connect(uri)
        with environment(PATIENT_HTTP):
            experiment = client.get_experiment_by_name(paper)
            yield client, experiment and tracked_runs(client, experiment.experiment_id)


def _age(content: str, present: Sequence[Any]) -> str:
    """Say what is wrong with the runs of a record before their values are looked at."""
    final = _final(present)
    if len(final) != 1:
        return "not tracked" if not final else f"tracked {len(final)} times"
    current = final[0].data.tags.get(CONTENT_TAG) == content
    return "" if current else "tracked before the record changed"


def _final(present: Sequence[Any]) -> list[Any]:
    return [run for run in present if run.info.status in FINAL_STATES]


def _difference(client: Any, plan: TrackedRun, present: Sequence[Any]) -> str:
    if age := _age(plan.content, present):
        return age
    (run,) = _final(present)
    planned: dict[str, list[tuple[float, int, int]]] = {}
    for name, value, at_ms, step in plan.metrics:
        planned.setdefault(name, []).append((value, at_ms, step))
    wrong = []
    for name, points in planned.items():
        told = client.get_metric_history(run.info.run_id, name)
        same = sorted((m.value, m.timestamp, m.step) for m in told) == sorted(points)
        # The run table shows the last of the values by fold, which the store keeps apart.
        if not same or run.data.metrics.get(name) != points[-1][0]:
            wrong.append(name)
    wrong += [name for name, value in plan.params.items() if run.data.params.get(name) != value]
    wrong += [name for name, value in plan.tags.items() if run.data.tags.get(name) != value]
    return f"other values of {', '.join(sorted(wrong))}" if wrong else ""


def open_hint(tracking_uri: str, paper: str = "", named: bool = True) -> str:
    """Return what to type to look at a store in the browser, served to this machine only.

    Where the store was not ``named``, the command finds it by itself.
    """
    uri = checked_uri(tracking_uri)
    if uri.startswith("http"):
        return f"open {without_password(uri)} in a browser"
    store = f"--tracking-uri {shell_word(uri)}" * named
    return " ".join(filter(None, ["ldlrepro ui", paper, store]))


# ---------------------------------------------------------------------- talking to MLflow


def _bring_in_line(
    client: Any, experiment: str, plan: TrackedRun, present: Sequence[Any], counts: SyncCounts
) -> None:
    """Leave one accepted run that says what the record says, and put every other one away.

    The new run is complete before an old one goes, so at no moment is there none.
    """
    final = _final(present)
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


def _write(client: Any, experiment: str, plan: TrackedRun) -> str:
    from mlflow.entities import Dataset, DatasetInput, Metric, Param

    for path in plan.files:
        existing(path)
    tags = plan.tags | {UNIT_TAG: plan.key, CONTENT_TAG: plan.content}
    info = client.create_run(experiment, plan.start_ms, tags, plan.name).info
    run = info.run_id
    for path in plan.files:
        client.log_artifact(run, str(path))
    # The client splits what is more than one request may hold.
    metrics = [Metric(*item) for item in plan.metrics]
    client.log_batch(run, metrics, [Param(*item) for item in plan.params.items()])
    if digest := plan.tags.get("data_sha256"):
        data = Dataset(plan.params["dataset"], digest[:36], "ldlrepro", plan.params["dataset"])
        client.log_inputs(run, datasets=[DatasetInput(data)])
    end_ms = info.start_time + int(1000 * plan.seconds)
    client.set_terminated(run, "FAILED" if plan.failed else "FINISHED", end_ms)
    return run


def tracked_runs(client: Any, experiment: str, tag: str = UNIT_TAG) -> dict[str, list[Any]]:
    """Return every visible run of ours by what it tracks; other people's runs are left out."""
    found: dict[str, list[Any]] = {}
    token = None
    while True:
        page = client.search_runs([experiment], max_results=RUNS_PER_PAGE, page_token=token)
        for run in page:
            if tag in run.data.tags:
                found.setdefault(run.data.tags[tag], []).append(run)
        token = page.token
        if not token:
            return found


def experiment_of(client: Any, uri: str, paper: str, title: str, more: dict[str, str]) -> str:
    """Return the id of the paper's experiment; make it if need be, and bring a deleted one back."""
    # The kind keeps the page from offering what it has for language models.
    tags = {"mlflow.experimentKind": "custom_model_development"} | more
    found = client.get_experiment_by_name(paper)
    if found is None:
        client.create_experiment(paper, artifact_root(uri, paper), tags)
        found = client.get_experiment_by_name(paper)
    elif found.lifecycle_stage != "active":
        client.restore_experiment(found.experiment_id)
    if view := (found.tags | more).get(FIRST_VIEW_TAG):
        title += f": [its first table]({address_of(found.experiment_id, view)})"
    for name, value in (tags | {"mlflow.note.content": f"{title}. {NOTE}"}).items():
        if found.tags.get(name) != value:
            client.set_experiment_tag(found.experiment_id, name, value)
    return found.experiment_id

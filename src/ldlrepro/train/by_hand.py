"""Computes a whole unit in one process: all its chunks, or the folds that were asked for."""

from __future__ import annotations

from ldlrepro.core.progress import paragraph, say
from ldlrepro.core.workspace import Workspace
from ldlrepro.plan import Chunk, Plan, Unit
from ldlrepro.train.inputs import check_inputs
from ldlrepro.train.records import FAILED, UNAVAILABLE, predictions_path
from ldlrepro.train.unit import UnitJob, process_age, run_unit


def run(
    plan: Plan,
    unit: Unit,
    workspace: Workspace,
    *,
    seed: int,
    folds: str = "",
    threads: int = 1,
    fresh: bool = False,
) -> tuple[int, str]:
    """Compute and record a unit; return how many folds failed, and why it could not run, or ''.

    Parameters
    ----------
    plan : Plan
        Tells into which chunks a unit is cut.
    unit : Unit
        Protocol, data set and method.
    workspace : Workspace
        Where its data and folds lie, and where the record goes.
    seed : int
        The workflow's seed.
    folds : str, default=''
        Positions of folds, such as '0-4', that make one record; all of them by default.
    threads : int, default=1
        Threads, which change no bit.
    fresh : bool, default=False
        Compute finished folds again.
    """
    check_inputs(unit.data_set, unit.protocol, unit.method.needs.images, workspace)
    chunks = [Chunk.parse(unit, folds)] if folds else plan.chunks(unit)
    since, failures, lacking = 0.0, 0, ""
    for chunk in chunks:
        job = UnitJob(
            chunk=chunk,
            ready=workspace.ready(unit.data_set.id),
            folds=workspace.folds(unit.protocol.id, unit.data_set.id),
            record=chunk.record(workspace.results),
            journal=workspace.journal(unit.key),
            seed=seed,
            threads=threads,
            fresh=fresh,
            since=since,
            tracking_uri=plan.project.tracking_uri,
        )
        rows = run_unit(job, say)
        since = process_age()
        failed = sum(row.status == FAILED for row in rows)
        failures += failed
        lacking = next((row.error for row in rows if row.status == UNAVAILABLE), "")
        done = f"{len(rows)} folds, {failed} failed; predictions in {predictions_path(job.record)}"
        if failed:
            done = (
                f"{len(rows)} folds, {failed} failed. Type the same with --fresh to run them again"
            )
            first = next(row for row in rows if row.status == FAILED)
            if "\n" in first.error:  # an exception that no message foresaw
                say(f"fold {first.fold} failed:\n{first.error}")
        say(paragraph(f"{job.record}: {'not run' if lacking else done}"))
    return failures, lacking

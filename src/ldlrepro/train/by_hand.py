"""Computes a whole unit in one process: every chunk of it, or the folds that were asked for."""

from __future__ import annotations

from ldlrepro import config, models, plan
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace
from ldlrepro.train.inputs import check_inputs, reads_images
from ldlrepro.train.records import FAILED, UNAVAILABLE
from ldlrepro.train.unit import UnitJob, process_age, run_unit


def run(
    unit: plan.Unit,
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
    check_names(unit)
    check_inputs(unit.dataset, unit.protocol, reads_images(unit), workspace)
    chunks = [plan.Chunk.parse(unit, folds)] if folds else plan.chunks(unit)
    since, failures, lacking = 0.0, 0, ""
    for chunk in chunks:
        job = UnitJob(
            chunk=chunk,
            ready=workspace.ready(unit.dataset),
            folds=workspace.folds(unit.protocol, unit.dataset),
            record=plan.record_path(workspace.results, chunk),
            journal=workspace.journal(unit.protocol, unit.dataset, unit.method),
            seed=seed,
            threads=threads,
            fresh=fresh,
            since=since,
        )
        rows = run_unit(job, say)
        since = process_age()
        failed = sum(row.status == FAILED for row in rows)
        failures += failed
        lacking = next((row.error for row in rows if row.status == UNAVAILABLE), "")
        say(f"{job.record}: {'not run' if lacking else f'{len(rows)} folds, {failed} failed'}")
    return failures, lacking


def check_names(unit: plan.Unit) -> None:
    """Refuse unknown names, and mistakes in a method's file: these are no failed folds."""
    plan.protocol(unit.protocol)
    config.load_dataset(unit.dataset)
    models.load(unit.method)

"""Verbs that say what there is, how far it is, and what this machine has."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ldlrepro.cli import openings
from ldlrepro.cli.here import HERE, judge_here, plan_here
from ldlrepro.cli.output import answer
from ldlrepro.cli.verb import IDS, PAPERS, count, flag, takes, verb
from ldlrepro.core.errors import UserError

if TYPE_CHECKING:
    from ldlrepro.plan import Plan
    from ldlrepro.workflow.schedule import Schedule

Row = dict[str, Any]


@verb(
    takes("kind", choices=["methods", "datasets", "weights", "papers"], help="which list"),
    json=True,
    examples=["ldlrepro list methods", "ldlrepro list datasets --json"],
)
def list_(args: argparse.Namespace) -> int:
    """List methods and their variants, data sets, weights of networks, or papers."""
    rows = LISTS[args.kind](plan_here())
    columns = [name for name in rows[0] if name not in LEFT_TO_JSON]
    return answer(args.json, rows, columns)


LEFT_TO_JSON = ("parameters", "grid", "scaling")


def _methods(plan: Plan) -> list[Row]:
    return [
        {
            "id": method.id,
            "title": method.title,
            "parameters": dict(method.parameters),
            "grid": dict(method.grid),
            "scaling": method.scaling,
        }
        for method in plan.project.methods
    ]


def _datasets(plan: Plan) -> list[Row]:
    from ldlrepro.data.fetch import default_mirrors
    from ldlrepro.doctor.machine import whereabouts

    mirrors = default_mirrors(plan.project, plan.project.run.mirrors)
    rows = []
    for data_set in plan.project.data_sets:
        shape = data_set.shape
        size = " x ".join(str(k or "?") for k in (shape.n, shape.q, shape.c)) if shape else ""
        where = whereabouts(data_set, HERE, mirrors)
        row = {"id": data_set.id, "where": where, "n x q x c": size, "title": data_set.title}
        rows.append(row)
    return rows


def _weights(plan: Plan) -> list[Row]:
    from ldlrepro.data.fetch import default_mirrors
    from ldlrepro.doctor.machine import whereabouts

    mirrors = default_mirrors(plan.project, plan.project.run.mirrors)
    return [
        {
            "id": weights.id,
            "where": whereabouts(weights, HERE, mirrors),
            "network": weights.network,
            "title": weights.title,
        }
        for weights in plan.project.all_weights
    ]


def _papers(plan: Plan) -> list[Row]:
    return [
        {
            "id": paper.id,
            "year": paper.year,
            "cells": len(plan.cells(paper)),
            "units": len(plan.units(paper)),
            "protocols": ", ".join(paper.protocols),
            "title": paper.title,
        }
        for paper in plan.project.papers
    ]


LISTS = {"methods": _methods, "datasets": _datasets, "weights": _weights, "papers": _papers}


@verb(PAPERS, json=True, examples=["ldlrepro status"])
def status(args: argparse.Namespace) -> int:
    """Say how far the results are, what failed, and how long the rest takes by the times of the
    reference.
    """
    from ldlrepro.judge.scores import Sources, is_complete
    from ldlrepro.train.records import FAILED, UNAVAILABLE, last_line
    from ldlrepro.workflow import schedule as schedules

    judge = judge_here()
    plan, project = judge.plan, judge.project
    rows, failures = [], []
    for paper in [project.paper(name) for name in args.paper] or project.papers:
        units = plan.units(paper)
        local, reference = judge.local_units(units), judge.reference
        done = {u for u in units if u.key in local and is_complete(u, local[u.key])}
        states = [{row.status for row in unit.rows} for unit in local.values()]
        absent = {key for key, unit in local.items() if unit.rows[0].status == UNAVAILABLE}
        to_do = [unit for unit in units if unit not in done and unit.key not in absent]
        jobs, unknown = schedules.jobs_of(plan, to_do, Sources({}, reference))
        seconds = sum(r.fit_s + r.predict_s + r.overhead_s for u in local.values() for r in u.rows)
        rows.append(
            {
                "paper": paper.id,
                "units": len(units),
                "done here": len(done),
                "failed": sum(FAILED in state for state in states),
                "no data": sum(UNAVAILABLE in state for state in states),
                "in reference": sum(
                    unit.key in reference and is_complete(unit, reference[unit.key])
                    for unit in units
                ),
                "compute min": round(seconds / 60, 1),
                "to do, core min": round(sum(job.wall * job.cores for job in jobs) / 60, 2),
                "of unknown length": len(unknown),
            }
        )
        for key, scored in local.items():
            if errors := [row.error for row in scored.rows if row.status == FAILED]:
                failures.append(f"FAILED {key}: {last_line(errors[0])}")
    answer(args.json, rows, rows[0])
    if failures and not args.json:
        print("\n".join(["", *failures]))
    return 0


@verb(
    takes("paper", nargs="*", help=f"{IDS['paper']}; default the five papers"),
    count("--cores", 32, "how many"),
    flag(
        "--printed",
        "count only the units that printed numbers are judged by, without controls and further "
        "variants: what `snakemake --config extra=False` computes",
    ),
    json=True,
    examples=["ldlrepro schedule", "ldlrepro schedule mslp drf --cores 8 --printed"],
)
def schedule(args: argparse.Namespace) -> int:
    """Say how long papers take on so many cores, together and each, longest jobs first, from the
    times of the records.
    """
    from ldlrepro.catalogue import FIVE
    from ldlrepro.workflow import schedule as schedules

    judge = judge_here()
    plan, project = judge.plan, judge.project
    papers = [project.paper(name) for name in args.paper] or project.real_papers(FIVE)
    wanted = {paper.id: plan.units(paper, extra=not args.printed) for paper in papers}
    everything = sorted({unit for units in wanted.values() for unit in units})
    if len(papers) > 1:
        # A unit of two papers is computed once.
        wanted = {"together" if args.paper else FIVE: everything, **wanted}
    sources = judge.sources(everything)
    found = {
        name: schedules.simulate(jobs, args.cores, missing)
        for name, units in wanted.items()
        for jobs, missing in [schedules.jobs_of(plan, units, sources)]
    }
    if not any(outcome.jobs for outcome in found.values()):
        names = " or ".join(paper.id for paper in papers)
        raise UserError(f"no unit of {names} has been measured, here or in reference/")
    if not args.json:
        if args.printed:
            print("Only what printed numbers are judged by:")
        said = [openings.of_schedule(name, outcome) for name, outcome in found.items()]
        print("\n".join(said), end="\n\n")
    rows = [_scheduled(name, outcome) for name, outcome in found.items()]
    return answer(args.json, rows, rows[0])


def _scheduled(name: str, found: Schedule) -> dict[str, Any]:
    longest = found.longest
    return {
        "paper": name,
        "cores": found.cores,
        "jobs": found.jobs,
        "core hours": round(found.core_seconds / 3600, 2),
        "wall minutes": round(found.wall_seconds / 60, 2),
        "efficiency": f"{found.efficiency:.0%}",
        "longest job": f"{longest.name}, {longest.seconds:.0f} s" if longest else "",
        "a twentieth": f"{found.twentieth:.0f} s",
        "jobs above it and a minute": len(found.too_long),
        "of these a single fold": sum(job.folds == 1 for job in found.too_long),
        "units without times": len(found.missing),
    }


@verb(json=True)
def doctor(args: argparse.Namespace) -> int:
    """Say what this machine has for the workflow, what each finding means, and what to do."""
    from ldlrepro.doctor.lines import BAD
    from ldlrepro.doctor.machine import examine

    lines = list(examine(plan_here(), HERE))
    answer(args.json, [asdict(line) for line in lines], ("what", "state", "found", "do"))
    return int(any(line.state == BAD for line in lines))

"""Verbs that say what there is, how far the results are, and what this machine has."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ldlrepro.cli import openings
from ldlrepro.cli.here import HERE, judge_here, plan_here
from ldlrepro.cli.output import RED, answer, coloured, counted, paragraph
from ldlrepro.cli.verb import IDS, PAPERS, count, flag, takes, verb
from ldlrepro.core.progress import waiting

if TYPE_CHECKING:
    from ldlrepro.catalogue import Paper
    from ldlrepro.judge.judging import Judge
    from ldlrepro.plan import Plan
    from ldlrepro.workflow.schedule import Schedule

Row = dict[str, Any]


@verb(
    takes("kind", choices=["methods", "datasets", "weights", "papers"], help="which list"),
    table=True,
    examples=["ldlrepro list methods", "ldlrepro list datasets --json"],
)
def list_(args: argparse.Namespace) -> int:
    """List methods and their variants, data sets, weights of networks, or papers."""
    return LISTS[args.kind](args, plan_here(args))


def _methods(args: argparse.Namespace, plan: Plan) -> int:
    methods = plan.project.methods
    if args.json or args.wide:
        rows = [
            {
                "id": method.id,
                "title": method.title,
                "parameters": dict(method.parameters),
                "grid": dict(method.grid),
                "scaling": method.scaling,
            }
            for method in methods
        ]
        return answer(args, rows)
    variants: dict[str, list[str]] = {}
    for method in methods:
        variants.setdefault(method.base, []).append(method.id.removeprefix(method.base))
    rows = [
        {"id": base, "title": plan.project.method(base).title, "variants": " ".join(mine[1:])}
        for base, mine in variants.items()
    ]
    said = (
        f"{counted(len(rows), 'method')}, and {len(methods) - len(rows)} variants of them. A "
        "variant's id is method@variant; settings work too: structrf@n_estimators=20."
    )
    return answer(args, rows, said)


def _datasets(args: argparse.Namespace, plan: Plan) -> int:
    from ldlrepro.data.fetch import default_mirrors
    from ldlrepro.doctor.machine import AT_HAND, DRAWN, whereabouts

    mirrors = default_mirrors(plan.project, plan.project.run.mirrors)
    rows = []
    for data_set in plan.project.data_sets:
        shape = data_set.shape
        row: Row = {"id": data_set.id, "title": data_set.title}
        for head, size in (("rows", "n"), ("features", "q"), ("labels", "c")):
            row[head] = getattr(shape, size) if shape else None
        rows.append(row | {"where": whereabouts(data_set, HERE, mirrors)})
    here = sum(row["where"] in AT_HAND for row in rows)
    drawn = sum(row["where"] == DRAWN for row in rows)
    said = (
        f"{counted(len(rows), 'data set')}: {here} here, {drawn} made on this machine when needed. "
        "`ldlrepro fetch ID` gets one, or says how to get it."
    )
    return answer(args, rows, said, first=6)


def _weights(args: argparse.Namespace, plan: Plan) -> int:
    from ldlrepro.data.fetch import default_mirrors
    from ldlrepro.doctor.machine import whereabouts

    mirrors = default_mirrors(plan.project, plan.project.run.mirrors)
    rows = [
        {
            "id": weights.id,
            "title": weights.title,
            "network": weights.network,
            "where": whereabouts(weights, HERE, mirrors),
        }
        for weights in plan.project.all_weights
    ]
    return answer(args, rows, f"Networks can begin with {counted(len(rows), 'set')} of weights.")


def _papers(args: argparse.Namespace, plan: Plan) -> int:
    rows: list[Row] = [
        {
            "id": paper.id,
            "year": paper.year,
            "cells": len(plan.cells(paper)),
            "units": len(plan.units(paper)),
            "title": paper.title,
            "protocols": ", ".join(paper.protocols),
        }
        for paper in plan.project.papers
    ]
    groups: dict[str, int] = {}
    for paper in plan.project.real_papers():
        groups[paper.group] = groups.get(paper.group, 0) + len(plan.cells(paper))
    told = (f"{name} print {counted(number, 'number')}" for name, number in groups.items())
    return answer(args, rows, f"{', and '.join(told).capitalize()}.")


LISTS = {"methods": _methods, "datasets": _datasets, "weights": _weights, "papers": _papers}


@verb(PAPERS, table=True, examples=["ldlrepro status"])
def status(args: argparse.Namespace) -> int:
    """Show how much is done, what failed, and how long the rest takes, by the times in the
    reference records.
    """
    judge = judge_here(args)
    rows, failures = [], []
    with waiting("reading records"):
        for paper in [judge.project.paper(name) for name in args.paper] or judge.project.papers:
            row, failed = _state_of(judge, paper)
            rows.append(row)
            failures += failed
    answer(args, rows, openings.of_status(rows))
    if failures and not args.json:
        print()
        for text in failures:
            print(coloured(paragraph(text), RED))
    return 0


def _state_of(judge: Judge, paper: Paper) -> tuple[Row, list[str]]:
    """Return how far a paper is, and a line about each unit that failed."""
    from ldlrepro.judge.scores import Sources, is_complete
    from ldlrepro.train.records import FAILED, UNAVAILABLE, last_line
    from ldlrepro.workflow import schedule as schedules

    units = judge.plan.units(paper)
    local, reference = judge.local_units(units), judge.reference
    done = {u for u in units if u.key in local and is_complete(u, local[u.key])}
    states = [{row.status for row in unit.rows} for unit in local.values()]
    absent = {key for key, unit in local.items() if unit.rows[0].status == UNAVAILABLE}
    to_do = [unit for unit in units if unit not in done and unit.key not in absent]
    jobs, unknown = schedules.jobs_of(judge.plan, to_do, Sources({}, reference))
    seconds = sum(r.fit_s + r.predict_s + r.overhead_s for u in local.values() for r in u.rows)
    known = (unit for unit in units if unit.key in reference)
    row = {
        "paper": paper.id,
        "units": len(units),
        "done here": len(done),
        "failed": sum(FAILED in state for state in states),
        "core minutes to do": round(sum(job.wall * job.cores for job in jobs) / 60, 2),
        "no data": sum(UNAVAILABLE in state for state in states),
        "in reference": sum(is_complete(unit, reference[unit.key]) for unit in known),
        "minutes computed": round(seconds / 60, 1),
        "never timed": len(unknown),
    }
    failures = [
        f"FAILED {key}: {last_line(errors[0])}"
        for key, scored in local.items()
        if (errors := [row.error for row in scored.rows if row.status == FAILED])
    ]
    return row, failures


@verb(
    takes("paper", nargs="*", help=f"{IDS['paper']}; default: the five papers"),
    count("--cores", 32, "number of cores"),
    flag(
        "--printed",
        "count only units that printed numbers are judged by, without controls and further "
        "variants, as `snakemake --config extra=False` does",
    ),
    table=True,
    examples=["ldlrepro schedule", "ldlrepro schedule mslp drf --cores 8 --printed"],
)
def schedule(args: argparse.Namespace) -> int:
    """Estimate how long papers take, each and together, from the times in the records."""
    from ldlrepro.catalogue import FIVE
    from ldlrepro.workflow import schedule as schedules

    judge = judge_here(args)
    plan, project = judge.plan, judge.project
    papers = [project.paper(name) for name in args.paper] or project.real_papers(FIVE)
    wanted = {paper.id: plan.units(paper, extra=not args.printed) for paper in papers}
    everything = sorted({unit for units in wanted.values() for unit in units})
    if len(papers) > 1:
        # A unit of two papers is computed once.
        wanted = {"all together" if args.paper else FIVE: everything, **wanted}
    with waiting("reading records"):
        sources = judge.sources(everything)
        found = {}
        for name, units in wanted.items():
            jobs, missing = schedules.jobs_of(plan, units, sources)
            bound = [*jobs, *schedules.longest_jobs_of(plan, missing)]
            found[name] = (
                schedules.simulate(jobs, args.cores, missing),
                schedules.simulate(bound, args.cores, []),
            )
    rows = [_scheduled(name, *outcome) for name, outcome in found.items()]
    if not args.json:
        rows = [_in_words(row) for row in rows]
    first, outcome = next(iter(found.items()))
    said = openings.of_schedule(first, *outcome)
    return answer(args, rows, "Counting what printed numbers are judged by: " * args.printed + said)


def _scheduled(name: str, found: Schedule, bound: Schedule) -> Row:
    longest = found.longest
    return {
        "paper": name,
        "wall minutes": round(found.wall_seconds / 60, 2),
        "jobs": found.jobs,
        "core hours": round(found.core_seconds / 3600, 2),
        "never timed": len(found.missing),
        "at most, with these": round(bound.wall_seconds / 60, 2),
        "cores": found.cores,
        "efficiency": f"{found.efficiency:.0%}",
        "longest job": f"{longest.name}, {longest.seconds:.0f} s" if longest else "",
        "long jobs": len(found.too_long),
        "of these a single fold": sum(job.folds == 1 for job in found.too_long),
    }


def _in_words(row: Row) -> Row:
    """Return a line of the schedule with its times as people say them."""
    minutes, bound = row.pop("wall minutes"), row.pop("at most, with these")
    told = {"paper": row.pop("paper"), "takes": openings.duration(60 * minutes) if minutes else ""}
    return told | row | {"at most, with these": openings.duration(60 * bound)}


@verb(table=True)
def doctor(args: argparse.Namespace) -> int:
    """Check whether this machine can run the workflow, and say what to do where it cannot."""
    from ldlrepro.doctor.lines import BAD
    from ldlrepro.doctor.machine import examine

    with waiting("looking around"):
        lines = list(examine(plan_here(args), HERE))
    bad = [line.what for line in lines if line.state == BAD]
    said = (
        f"{counted(len(bad), 'finding')} to mend first, marked BAD: {', '.join(bad)}."
        if bad
        else "The workflow can run on this machine."
    )
    answer(args, [asdict(line) for line in lines], said)
    return int(bool(bad))

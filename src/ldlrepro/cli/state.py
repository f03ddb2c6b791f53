"""Verbs that say what there is, how far the results are, and what this machine has."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ldlrepro.cli import openings
from ldlrepro.cli.here import HERE, judge_here, plan_here
from ldlrepro.cli.output import RED, answer, coloured, counted, paragraph
from ldlrepro.cli.verb import PAPERS, flag, positive, takes, verb
from ldlrepro.core.groups import grouped
from ldlrepro.core.progress import duration, waiting

if TYPE_CHECKING:
    from ldlrepro.catalogue import Project
    from ldlrepro.judge.judging import Judge
    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.plan import Plan, Unit

Row = dict[str, Any]


@verb(
    takes(
        "kind",
        nargs="?",
        choices=["methods", "datasets", "weights", "papers"],
        help="which list; default: what there is",
    ),
    table=True,
    examples=["ldlrepro list methods", "ldlrepro list datasets --json"],
)
def list_(args: argparse.Namespace) -> int:
    """List methods and their variants, data sets, weights of networks, or papers."""
    plan = plan_here(args)
    if args.kind:
        return LISTS[args.kind](args, plan)
    project = plan.project
    counts = {
        "methods": len({method.base for method in project.methods}),
        "datasets": len(project.data_set_ids),
        "weights": len(project.weights_ids),
        "papers": len(project.paper_ids),
    }
    rows = [{"kind": kind, "number": number} for kind, number in counts.items()]
    return answer(
        args, rows, f"`ldlrepro list KIND` lists one kind. {_without_publication(project)}"
    )


def _without_publication(project: Project) -> str:
    from ldlrepro.judge.verdicts import listed

    real = project.real_papers()
    others = [paper.id for paper in project.papers if paper not in real]
    return f"Of the papers, {listed(others)} are comparisons, not publications." if others else ""


def _methods(args: argparse.Namespace, plan: Plan) -> int:
    methods = plan.project.methods
    if args.json or args.wide:
        rows: list[Row] = [
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
    rows = [
        {
            "id": base,
            "title": mine[0].title,
            "class": mine[0].class_path.rpartition(".")[2],
            "variants": len(mine) - 1 or None,
        }
        for base, mine in grouped(methods, lambda method: method.base).items()
    ]
    said = (
        f"{counted(len(rows), 'method')}, and {len(methods) - len(rows)} variants of them: --wide "
        "lists these, as method@variant. Settings work too: structrf@n_estimators=20. Verbs take "
        "the id, Python and the arena the class."
    )
    return answer(args, rows, said, brief=rows)


def _datasets(args: argparse.Namespace, plan: Plan) -> int:
    from ldlrepro.data.fetch import default_mirrors
    from ldlrepro.doctor.machine import AT_HAND, whereabouts

    mirrors = default_mirrors(plan.project)
    rows = []
    for data_set in plan.project.data_sets:
        shape = data_set.shape
        row: Row = {"id": data_set.id, "title": data_set.title}
        for head, size in (("rows", "n"), ("features", "q"), ("labels", "c")):
            row[head] = getattr(shape, size) if shape else None
        rows.append(row | {"where": whereabouts(data_set, HERE, mirrors)})
    drawn = {data_set.id for data_set in plan.project.data_sets if data_set.is_drawn}
    here = sum(row["where"] in AT_HAND and row["id"] not in drawn for row in rows)
    said = (
        f"{counted(len(rows), 'data set')}: {here} here, {len(drawn)} made on this machine "
        "when needed. `ldlrepro fetch ID` gets one, or says how to get it."
    )
    return answer(args, rows, said, first=6)


def _weights(args: argparse.Namespace, plan: Plan) -> int:
    from ldlrepro.data.fetch import default_mirrors
    from ldlrepro.doctor.machine import whereabouts

    mirrors = default_mirrors(plan.project)
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
    real = plan.project.real_papers()
    numbers = counted(sum(len(plan.cells(paper)) for paper in real), "number")
    said = f"{counted(len(real), 'paper')} print {numbers}. {_without_publication(plan.project)}"
    return answer(args, rows, said)


LISTS = {"methods": _methods, "datasets": _datasets, "weights": _weights, "papers": _papers}


@verb(
    PAPERS,
    takes(
        "--cores",
        type=positive,
        default=os.cpu_count() or 1,
        help="cores that the rest is to run on; default: all of this machine",
    ),
    flag(
        "--printed",
        "count only units that printed numbers are judged by, without controls and further "
        "variants, as `snakemake --config extra=False` does",
    ),
    table=True,
    examples=["ldlrepro status", "ldlrepro status mslp drf --cores 32 --printed"],
)
def status(args: argparse.Namespace) -> int:
    """Show how much is done, what failed, and how long the rest takes, by the times in the
    reference records.
    """
    judge = judge_here(args)
    papers = [judge.project.paper(name) for name in args.paper] or judge.project.papers
    wanted = {paper.id: judge.plan.units(paper, extra=not args.printed) for paper in papers}
    everything = sorted({unit for units in wanted.values() for unit in units})
    if len(papers) > 1:
        wanted["all together"] = everything  # a unit of two papers is computed once
    with waiting("reading records"):
        local = judge.local_units(everything)
        rows = [_state_of(judge, local, *named, args.cores) for named in wanted.items()]
    said = openings.of_status(rows[-1], args.cores)
    answer(args, rows if args.json else [_in_words(row) for row in rows], said)
    failures = list(_failures(local))
    if failures and not args.json:
        print("", *(coloured(text, RED) for text in failures), sep="\n")
    return 0


def _state_of(
    judge: Judge, records: Mapping[str, UnitScores], name: str, units: Sequence[Unit], cores: int
) -> Row:
    """Return how far units are, and how long the rest takes."""
    from ldlrepro.judge.scores import Sources, is_complete
    from ldlrepro.train.records import FAILED, UNAVAILABLE
    from ldlrepro.workflow import schedule

    local = {unit.key: records[unit.key] for unit in units if unit.key in records}
    reference = judge.reference
    done = {u for u in units if u.key in local and is_complete(u, local[u.key])}
    states = [{row.status for row in unit.rows} for unit in local.values()]
    absent = {key for key, unit in local.items() if unit.rows[0].status == UNAVAILABLE}
    to_do = [unit for unit in units if unit not in done and unit.key not in absent]
    jobs, unknown = schedule.jobs_of(judge.plan, to_do, Sources({}, reference))
    rest = schedule.simulate(jobs, cores)
    bound = schedule.simulate([*jobs, *schedule.longest_jobs_of(judge.plan, unknown)], cores)
    known = [unit for unit in to_do if unit.key in reference]
    whole = sum(is_complete(unit, reference[unit.key]) for unit in known)
    return {
        "paper": name,
        "units": len(units),
        "done here": len(done),
        "failed": sum(FAILED in state for state in states),
        "minutes to do": round(rest.wall_seconds / 60, 2),
        "jobs to do": len(jobs),
        "never timed": len(unknown),
        "minutes at most, with these": round(bound.wall_seconds / 60, 2),
        "no data": sum(UNAVAILABLE in state for state in states),
        "in reference": whole,
        "timed in part": len(to_do) - len(unknown) - whole,
    }


def _in_words(row: Row) -> Row:
    """Return a line with its times as people say them; what takes none is left blank."""
    return {
        name.replace("minutes", "time"): (
            (duration(60 * value) if value else "") if name.startswith("minutes") else value
        )
        for name, value in row.items()
    }


def _failures(local: Mapping[str, UnitScores]) -> Iterator[str]:
    """Yield a line about each unit that failed."""
    from ldlrepro.train.records import FAILED, last_line

    for key, scored in local.items():
        if errors := [row.error for row in scored.rows if row.status == FAILED]:
            yield paragraph(f"FAILED {key}: {last_line(errors[0])}")


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

"""Verbs of MLflow: copy the records into it, and open it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro.cli.here import HERE, judge_here, plan_here
from ldlrepro.cli.output import counted, paragraph
from ldlrepro.cli.verb import IDS, OF_WORKFLOW, STORE, positive, takes, verb
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.core.progress import say, waiting

if TYPE_CHECKING:
    from ldlrepro.catalogue import Paper, Project
    from ldlrepro.judge.judging import Judge
    from ldlrepro.plan import Plan
    from ldlrepro.track.sync import SyncCounts

ARENA = "arena"
"""Stands where a paper may."""


@verb(
    takes("paper", nargs="+", help=f"{IDS['paper']}; or arena, for the records of the arena"),
    STORE,
    takes("--out", help=argparse.SUPPRESS),
    OF_WORKFLOW,
    examples=[
        "ldlrepro sync mslp",
        "ldlrepro sync arena",
        "ldlrepro sync mslp --tracking-uri http://localhost:5000",
    ],
)
def sync(args: argparse.Namespace) -> int:
    """Copy the records into MLflow. It is safe to repeat: nothing is written twice."""
    from ldlrepro.track import sync as tracking

    arena = ARENA in args.paper
    args.paper = [name for name in args.paper if name != ARENA]
    judge = judge_here(args)
    uri = args.tracking_uri or judge.project.tracking_uri
    for paper in [judge.project.paper(name) for name in args.paper]:
        units, counts = _sync_paper(judge, paper, uri, args.of_workflow)
        say(f"{paper.id}: {counts.in_words}")
        if args.out:
            told = {"paper": paper.id, "units": units, "content": counts.content}
            write_text(Path(args.out), json.dumps(told) + "\n")
    if arena:
        say(f"{ARENA}: {_sync_arena(judge.project, uri).in_words}")
    first = next(iter(args.paper), ARENA)
    say(f"To look at the runs: {tracking.open_hint(uri, first, bool(args.tracking_uri))}")
    return 0


def _sync_paper(
    judge: Judge, paper: Paper, uri: str, of_workflow: bool = False
) -> tuple[int, SyncCounts]:
    """Copy the records of a paper; return how many units it has, and what that took."""
    from ldlrepro.track.sync import sync

    with waiting(f"judging {paper.id}"):
        answer = judge.answer_of(paper, of_workflow)
    files = sorted(HERE.figures(paper.id).glob("*.svg"))
    files += sorted(HERE.answer(paper.id).parent.rglob("*.csv"))
    with waiting(f"copying {paper.id} into MLflow") as line:
        counts = sync(
            *(paper.id, paper.title, answer.units, uri, files, line.update, answer.rows),
            own=judge.project.own.found["method"],
        )
    return len(answer.units), counts


def _sync_arena(project: Project, uri: str) -> SyncCounts:
    from ldlrepro.arena import standings
    from ldlrepro.track.arena import sync_arena

    tables = standings.tables(HERE.results, project.root / "reference")
    if not tables:
        raise UserError("nothing has run in the arena yet: snakemake --cores all arena")
    with waiting("copying the arena into MLflow") as line:
        return sync_arena(tables, uri, HERE.results, line.update)


@verb(
    takes("paper", nargs="?", default="", help=f"{IDS['paper']}; or arena"),
    STORE,
    takes("--port", type=positive, default=5000, help="port of the page; default %(default)s"),
    takes(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="print the address and open no browser",
    ),
    examples=["ldlrepro ui structrf", "ldlrepro ui --port 5001"],
)
def ui(args: argparse.Namespace) -> int:
    """Open MLflow with the papers copied there, or with the tables of one, copied first if need be.

    It says how to reach MLflow safely from another machine. `ldlrepro sync PAPER` copies a paper.
    """
    from ldlrepro.track.page import serve
    from ldlrepro.track.sync import outdated

    uri = args.tracking_uri
    if not uri:
        plan = plan_here(args)
        uri = plan.project.tracking_uri
        if args.paper and not uri.startswith("http") and outdated(args.paper, [], uri) is None:
            judge, name = judge_here(args), args.paper
            paper = None if name == ARENA else judge.project.paper(name)
            say(f"MLflow has no runs of {name} yet: its records are copied first.")
            _ = _sync_paper(judge, paper, uri) if paper else _sync_arena(judge.project, uri)
        elif args.paper not in ("", ARENA) and (said := _outdated(plan, args.paper, uri)):
            say(paragraph(said))
    serve(uri, args.port, say, args.paper, args.browser)
    return 0


def _outdated(plan: Plan, name: str, uri: str) -> str:
    """Say how many runs are older than their records; '' where none is.

    A paper is not judged for that, which may take long.
    """
    from ldlrepro.judge.judging import Judge
    from ldlrepro.track import sync as tracking

    paper = plan.project.paper(name)
    answer = Judge(plan, HERE).kept(paper)
    units, rows = (answer.units, answer.rows) if answer else ([], [])
    found = tracking.outdated(paper.id, units, uri, rows)
    cure = f"Type `ldlrepro sync {paper.id}`."
    if found is not None and answer is None:
        return f"Records, settings or code of {paper.id} may be newer than these runs. {cure}"
    if not found:
        return ""
    of = counted(len(units), "run")
    return f"{len(found)} of {of} are missing or older than their records. {cure}"

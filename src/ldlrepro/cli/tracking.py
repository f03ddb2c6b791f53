"""Verbs of MLflow: copy the records into it, and open it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ldlrepro.cli.here import HERE, judge_here, plan_here
from ldlrepro.cli.verb import IDS, OF_WORKFLOW, SOME_PAPERS, STORE, positive, takes, verb
from ldlrepro.core.files import write_text
from ldlrepro.core.progress import say, waiting


@verb(
    SOME_PAPERS,
    STORE,
    takes("--out", help=argparse.SUPPRESS),
    OF_WORKFLOW,
    examples=["ldlrepro sync mslp", "ldlrepro sync mslp --tracking-uri http://localhost:5000"],
)
def sync(args: argparse.Namespace) -> int:
    """Copy the records into MLflow. It is safe to repeat: nothing is written twice."""
    from ldlrepro.track import sync as tracking

    judge = judge_here(args)
    uri = args.tracking_uri or judge.project.tracking_uri
    for paper in [judge.project.paper(name) for name in args.paper]:
        with waiting(f"copying {paper.id} into MLflow"):
            answer = judge.answer_of(paper, args.of_workflow)
            files = sorted(HERE.figures(paper.id).glob("*.svg"))
            files += sorted(HERE.answer(paper.id).parent.rglob("*.csv"))
            counts = tracking.sync(
                paper.id, paper.title, answer.units, uri, files, rows=answer.rows
            )
        say(f"{paper.id}: {counts.in_words}")
        if args.out:
            told = {"paper": paper.id, "units": len(answer.units), "content": counts.content}
            write_text(Path(args.out), json.dumps(told) + "\n")
    say(f"To look at the runs: {tracking.open_hint(uri)}")
    return 0


@verb(
    takes("paper", nargs="?", default="", help=IDS["paper"]),
    STORE,
    takes("--port", type=positive, default=5000, help="port; default %(default)s"),
    takes(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="print the address and open no browser",
    ),
    examples=["ldlrepro ui structrf", "ldlrepro ui --port 5001"],
)
def ui(args: argparse.Namespace) -> int:
    """Open MLflow with all papers, or with the tables of one, and say how to reach it safely from
    another machine.
    """
    from ldlrepro.track.sync import serve

    uri = args.tracking_uri or plan_here(args).project.tracking_uri
    serve(uri, args.port, say, args.paper, args.browser)
    return 0

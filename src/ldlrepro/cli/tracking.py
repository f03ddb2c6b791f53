"""Verbs of MLflow: bring it in line with the records, and look at it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from ldlrepro import config, plan
from ldlrepro.core.files import write_text
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace

HERE = Workspace()


def sync(args: argparse.Namespace) -> int:
    from ldlrepro.judge.judging import Judge
    from ldlrepro.track import sync as tracking

    uri = _uri(args)
    judge = Judge(plan.current(), HERE)
    for paper in args.paper:
        title = config.load_paper(paper)["title"]
        answer = judge.answer_of(config.current().paper(paper), args.of_workflow)
        files = sorted(HERE.figures(paper).glob("*.svg"))
        files += sorted(HERE.answer(paper).parent.rglob("*.csv"))
        counts = tracking.sync(paper, title, answer.units, uri, files, rows=answer.rows)
        say(f"{paper}: {asdict(counts)}")
        if args.out:
            told = {"paper": paper, "units": len(answer.units), "content": counts.content}
            write_text(Path(args.out), json.dumps(told) + "\n")
    say(f"To look at the runs: {tracking.open_hint(uri)}")
    return 0


def ui(args: argparse.Namespace) -> int:
    from ldlrepro.track import sync as tracking

    tracking.serve(_uri(args), args.port, say, args.paper, args.browser)
    return 0


def _uri(args: argparse.Namespace) -> str:
    return str(args.tracking_uri or config.tracking_uri(config.load_run_config()))

"""Verbs that write what a person reads: report, figures, notebooks, crates, citations."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro import config, plan
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldlrepro.judge.answer import PaperAnswer
    from ldlrepro.judge.judging import Judge

HERE = Workspace()
NEEDED_TO_DRAW = ("matplotlib.figure", "matplotlib.backends.backend_svg", "pandas", "scipy.stats")
"""Loaded once, before processes fork that would each load them."""


def report(args: argparse.Namespace) -> int:
    # Millions of records are read, and all of them stay: to search them for garbage, here and in
    # the processes that judge, would take a sixth of the time.
    with without_garbage_collection():
        return _report(args)


def _report(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import read_answer
    from ldlrepro.report import notebooks
    from ldlrepro.report.build import report_content
    from ldlrepro.report.html import write_report

    papers = args.paper or config.paper_ids()
    for paper in papers:
        config.load_paper(paper)  # a name that nobody knows is told before anything is judged
    folder, shown = HERE.results / "figures", args.notebooks
    if args.of_workflow:  # which has drawn the figures already, and names the notebooks
        answers = [read_answer(HERE.answer(paper)) for paper in papers]
    else:
        folder = HERE.results / "answers" / "figures"
        answers = _drawn(papers, folder)
        pages = HERE.results / "notebooks"
        shown = [name for name in notebooks.names() if (pages / f"{name}.html").is_file()]
    if not args.paper:  # a comparison that has not run has nothing to show
        answers = [answer for answer in answers if answer.rows or answer.units]
    path = write_report(report_content(answers, folder, shown), Path(args.out))
    say(f"report: {path}")
    return 0


def _judge() -> Judge:
    from ldlrepro.judge.judging import Judge

    return Judge(plan.current(), HERE)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _drawn(papers: Sequence[str], folder: Path) -> list[PaperAnswer]:
    """Return the answers of now, and see that all figures are as new as these."""
    from ldlrepro.core.at_once import at_once

    judge = _judge()
    kept = {
        paper: judge.kept(judge.project.paper(paper)) if _has_figures(paper, folder) else None
        for paper in papers
    }
    anew = [paper for paper, answer in kept.items() if answer is None]
    if anew:
        for package in NEEDED_TO_DRAW:
            import_module(package)
    drawn = dict(zip(anew, at_once(partial(_draw, folder=folder), anew), strict=True))
    return [answer or drawn[paper] for paper, answer in kept.items()]


def _has_figures(paper: str, folder: Path) -> bool:
    from ldlrepro.report.figures import LIST

    listed = folder / paper / LIST
    return listed.exists() and listed.stat().st_mtime_ns > _judge().answered_at(
        config.current().paper(paper)
    )


def _draw(paper: str, folder: Path) -> PaperAnswer:
    """Return a paper's answer of now, with its figures drawn."""
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.figures import write_figures

    judged = _judge().answer(config.current().paper(paper))
    if not _has_figures(paper, folder):
        write_figures(paper_page(judged), folder / paper)
    return judged


def figures(args: argparse.Namespace) -> int:
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.figures import write_figures

    page = paper_page(_judge().answer_of(config.current().paper(args.paper), args.of_workflow))
    for path in write_figures(page, HERE.figures(args.paper)):
        say(str(path))
    return 0


def notebook(args: argparse.Namespace) -> int:
    from ldlrepro.report.notebooks import write_notebook

    say(f"{args.name}: {write_notebook(args.name, args.paper, HERE)}")
    return 0


def export(args: argparse.Namespace) -> int:
    from ldlrepro.report.crate import write_crate

    out = args.crate or HERE.results / "crate" / args.paper
    count = write_crate(_judge().answer(config.current().paper(args.paper)), out, HERE)
    say(f"{args.paper}: {count} units in {out}; check it with `rocrate-validator validate`")
    return 0


def cite(args: argparse.Namespace) -> int:
    from ldlrepro.report.citation import entries

    print("\n\n".join(entries()))
    return 0

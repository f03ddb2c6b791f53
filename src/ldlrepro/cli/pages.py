"""Verbs that write what a person reads: report, figures, notebooks, crates, citations."""

from __future__ import annotations

import argparse
import gc
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro.cli import openings
from ldlrepro.cli.here import HERE, judge_here, plan_here
from ldlrepro.cli.output import counted, paragraph
from ldlrepro.cli.verb import FRONT_PAGE, OF_WORKFLOW, PAPER, PAPERS, takes, verb
from ldlrepro.core.progress import say, waiting

if TYPE_CHECKING:
    from ldlrepro.catalogue import Paper
    from ldlrepro.judge.answer import PaperAnswer
    from ldlrepro.judge.judging import Judge

NEEDED_TO_DRAW = ("matplotlib.figure", "matplotlib.backends.backend_svg", "pandas", "scipy.stats")
"""Loaded once, before processes fork that would each load them."""


@verb(
    PAPERS,
    takes(
        "--out",
        default=FRONT_PAGE,
        help="folder for the pages, or name of the first page; default %(default)s",
    ),
    takes("--notebooks", nargs="*", default=[], help=argparse.SUPPRESS),
    OF_WORKFLOW,
    examples=["ldlrepro report", "ldlrepro report mslp --out ../mslp"],
)
def report(args: argparse.Namespace) -> int:
    """Write the report of all papers, or of some: a folder of pages that work offline."""
    # Millions of records are read, and all of them stay: to search them for garbage, here and in
    # the processes that judge, would take a sixth of the time.
    with without_garbage_collection():
        return _report(args)


def _report(args: argparse.Namespace) -> int:
    from ldlrepro.arena.standings import tables
    from ldlrepro.judge.answer import read_answer
    from ldlrepro.report import notebooks
    from ldlrepro.report.build import report_content
    from ldlrepro.report.conclusions import of_papers
    from ldlrepro.report.html import write_report

    judge = judge_here(args)
    project = judge.project
    papers = [project.paper(name) for name in args.paper] or project.papers
    folder, shown = HERE.results / "figures", args.notebooks
    if args.of_workflow:  # which has drawn the figures already, and names the notebooks
        answers = [read_answer(HERE.answer(paper.id)) for paper in papers]
    else:
        folder = HERE.results / "answers" / "figures"
        answers = _drawn(judge, papers, folder)
        pages = HERE.results / "notebooks"
        shown = [name for name in notebooks.names(project) if (pages / f"{name}.html").is_file()]
    if not args.paper:  # a comparison that has not run has nothing to show
        answers = [answer for answer in answers if answer.rows or answer.units]
    arena = tables(HERE.results, project.root / "reference")
    out = Path(args.out)
    front = out if out.suffix == ".html" else out / "index.html"
    with waiting("writing pages"):
        path = write_report(report_content(project, answers, folder, shown, arena), front)
    if not (args.of_workflow or args.paper):
        real = {paper.id for paper in project.real_papers()}
        rows = [row for answer in answers if answer.paper in real for row in answer.rows]
        say(paragraph(openings.of_verdicts(rows, of_papers(real))))
    say(f"Report: {path.resolve().as_uri()}")
    return 0


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _drawn(judge: Judge, papers: Sequence[Paper], folder: Path) -> list[PaperAnswer]:
    """Return the answers of now, and see that all figures are as new as these."""
    from ldlrepro.core.at_once import at_once

    kept = {
        paper: judge.kept(paper) if _has_figures(judge, paper, folder) else None for paper in papers
    }
    anew = [paper.id for paper, answer in kept.items() if answer is None]
    if anew:
        for package in NEEDED_TO_DRAW:
            import_module(package)
    with waiting("judging papers and drawing figures") as line:
        found = at_once(partial(_draw, judge, folder=folder), anew, line.update)
    drawn = dict(zip(anew, found, strict=True))
    return [answer or drawn[paper.id] for paper, answer in kept.items()]


def _has_figures(judge: Judge, paper: Paper, folder: Path) -> bool:
    from ldlrepro.report.figures import LIST

    listed = folder / paper.id / LIST
    return listed.exists() and listed.stat().st_mtime_ns > judge.answered_at(paper)


def _draw(judge: Judge, name: str, folder: Path) -> PaperAnswer:
    """Return a paper's answer of now, with its figures drawn."""
    from ldlrepro.report.content import PaperPage
    from ldlrepro.report.figures import write_figures

    paper = judge.project.paper(name)
    judged = judge.answer(paper)
    if not _has_figures(judge, paper, folder):
        write_figures(PaperPage.of(judge.project, judged), folder / name)
    return judged


@verb(PAPER, OF_WORKFLOW)
def figures(args: argparse.Namespace) -> int:
    """Draw a paper's figures."""
    from ldlrepro.report.content import PaperPage
    from ldlrepro.report.figures import write_figures

    judge = judge_here(args)
    with waiting(f"drawing the figures of {args.paper}"):
        answer = judge.answer_of(judge.project.paper(args.paper), args.of_workflow)
        drawn = write_figures(PaperPage.of(judge.project, answer), HERE.figures(args.paper))
    for path in drawn:
        say(str(path))
    return 0


@verb(
    takes("name", help="name of its file in notebooks/, without .ipynb"),
    takes("--paper", default="mslp", help="the paper that it shows; default mslp"),
    examples=["ldlrepro notebook 01_one_number"],
)
def notebook(args: argparse.Namespace) -> int:
    """Run one of notebooks/ on the results here, and save it as results/notebooks/NAME.html."""
    from ldlrepro.report.notebooks import write_notebook

    project = plan_here(args).project
    with waiting(f"running the notebook {args.name}"):
        page = write_notebook(project, args.name, project.paper(args.paper), HERE)
    say(f"{args.name}: {page}")
    return 0


@verb(
    PAPER,
    takes("--crate", type=Path, help="folder to create; default results/crate/PAPER"),
    examples=["ldlrepro export mslp"],
)
def export(args: argparse.Namespace) -> int:
    """Pack a finished paper with workflow, settings, records and tables as an RO-Crate, a standard
    research archive.

    Data sets are named, never copied.
    """
    from ldlrepro.report.crate import write_crate

    judge = judge_here(args)
    out = args.crate or HERE.results / "crate" / args.paper
    with waiting(f"packing {args.paper}"):
        count = write_crate(judge, judge.project.paper(args.paper), out)
    say(f"{args.paper}: {counted(count, 'unit')} in {out}")
    say(f"To check the archive: rocrate-validator validate {shlex.quote(str(out))}")
    return 0


@verb(PAPERS, examples=["ldlrepro cite mslp"])
def cite(args: argparse.Namespace) -> int:
    """Print BibTeX entries of the project and of the papers."""
    from ldlrepro.report.citation import entries

    project = plan_here(args).project
    print("\n\n".join(entries(project, [project.paper(name).title for name in args.paper])))
    say("No release is out yet: add the address that you cloned, as url = {ADDRESS}.")
    return 0

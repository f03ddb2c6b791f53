"""Collects what the report shows about each paper."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ldlrepro import __version__, config, plan
from ldlrepro.judge.answer import PaperAnswer
from ldlrepro.judge.chosen import is_by_print
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.report import notebooks
from ldlrepro.report.content import Overhead, PaperPage, ReportContent
from ldlrepro.report.figures import read_figures
from ldlrepro.report.findings import source
from ldlrepro.train import provenance


def paper_page(answer: PaperAnswer) -> PaperPage:
    """Put what was judged of a paper beside what its file says of it."""
    paper = answer.paper
    tree = config.load_paper(paper)
    methods = {unit.method.id for unit in plan.paper_units(paper)}
    questions = [f"ldlrepro verdicts {paper}"]
    if not answer.rows:  # a comparison prints no number to judge
        questions = [f"ldlrepro leaderboard {protocol}" for protocol in tree["protocols"]]
    return PaperPage(
        id=paper,
        title=tree["title"],
        authors=tree["authors"],
        venue=tree["venue"],
        year=tree["year"],
        protocols=_protocols(tree["protocols"]),
        rows=answer.rows,
        tables={number: table["title"] for number, table in tree["tables"].items()},
        units=answer.units,
        leaks=answer.leaks,
        photographs=answer.photographs,
        printed_figures=tree.get("figures", {}),
        curves=answer.curves,
        experiments=answer.experiments,
        experiment_titles={
            name: (spec["title"], spec.get("text", ""))
            for name, spec in tree.get("experiments", {}).items()
        },
        persons=answer.persons,
        claims=answer.claims,
        commands=[f"snakemake --cores all {paper}", *questions],
        method_titles={method: _title(method) for method in methods},
        own_methods={name: _title(name) for name in config.own_ids("method")},
        sees_labels={method for method in methods if _sees_labels(method)},
        by_print={
            name
            for name in methods
            if config.method_exists(name) and is_by_print(config.current().method(name))
        },
        own=tree["own"],
        group=tree["group"],
        synthetic=tree["synthetic"],
    )


def report_content(
    answers: Iterable[PaperAnswer], figures: Path, notebooks_shown: Iterable[str] = ()
) -> ReportContent:
    """Return what the report shows: papers by year, synthetic ones last.

    A synthetic paper is shown where something of it has run here. ``figures`` is the folder that
    holds each paper's drawings; ``notebooks_shown`` names the notebooks whose pages exist.
    """
    pages = [paper_page(answer) for answer in answers]
    pages = [
        page
        for page in pages
        if not page.synthetic or any(unit.source == LOCAL for unit in page.units)
    ]
    for page in pages:
        page.figures = read_figures(figures / page.id)
    pages.sort(key=lambda page: (page.synthetic, page.group != config.FIVE, page.group, page.year))
    return ReportContent(
        pages=pages,
        generated_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
        git_commit=provenance.git_commit(config.project_root()),
        machine=f"{provenance.machine()['cpu']}, {platform.system()}",
        overhead=[Overhead.of(page) for page in pages if page.units],
        findings=source().is_file()
        and set(config.real_papers(config.FIVE)) <= {page.id for page in pages},
        further=[
            (Path("results/notebooks", f"{name}.html"), f"Notebook: {notebooks.title(name)}")
            for name in notebooks_shown
        ],
        logs={
            unit.ids: log_of(unit)
            for page in pages
            for unit in page.units
            if unit.source == LOCAL and unit.files
        },
    )


def log_of(unit: UnitScores) -> Path:
    """Return the log of a unit's first job."""
    return Path("logs", "units", *unit.ids, f"{min(unit.files).stem}.log")


def _protocols(definitions: Mapping[str, Any]) -> list[tuple[list[str], str]]:
    """Return each text once, with the names of the protocols that it describes."""
    names: dict[str, list[str]] = {}
    for name, definition in definitions.items():
        names.setdefault(definition["text"], []).append(name)
    return [(same, text) for text, same in names.items()]


def _title(method: str) -> str:
    return config.load_method(method)["title"] if config.method_exists(method) else method


def _sees_labels(method: str) -> bool:
    return config.method_exists(method) and bool(config.load_method(method)["sees_test_labels"])

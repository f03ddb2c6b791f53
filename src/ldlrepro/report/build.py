"""Collects what the report shows about each paper."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from ldlrepro import __version__
from ldlrepro.catalogue import Project
from ldlrepro.judge.answer import PaperAnswer
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.report import notebooks
from ldlrepro.report.content import PaperPage, ReportContent
from ldlrepro.report.figures import read_figures
from ldlrepro.report.written import sources
from ldlrepro.train import provenance


def report_content(
    project: Project,
    answers: Iterable[PaperAnswer],
    figures: Path,
    notebooks_shown: Iterable[str] = (),
    arena: Mapping[str, Path] | None = None,
) -> ReportContent:
    """Return what the report shows: papers by year, synthetic ones last.

    A synthetic paper is shown where something of it has run here. ``figures`` is the folder that
    holds each paper's drawings; ``notebooks_shown`` names the notebooks whose pages exist, and
    ``arena`` has the tables of the arena.
    """
    pages = [PaperPage.of(project, answer) for answer in answers]
    pages = [
        page
        for page in pages
        if not page.paper.synthetic or any(unit.source == LOCAL for unit in page.units)
    ]
    for page in pages:
        page.figures = read_figures(figures / page.id)
    pages.sort(key=_place)
    whole = {paper.id for paper in project.real_papers()} <= {page.id for page in pages}
    return ReportContent(
        pages=pages,
        project=project,
        generated_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
        git_commit=provenance.git_commit(project.root),
        machine=f"{provenance.machine()['cpu']}, {platform.system()}",
        written=sources(project) if whole else {},
        further=[
            (
                Path("results/notebooks", f"{name}.html"),
                f"Notebook: {notebooks.title(project, name)}",
            )
            for name in notebooks_shown
        ],
        logs={
            unit.key: log_of(unit)
            for page in pages
            for unit in page.units
            if unit.source == LOCAL and unit.files
        },
        arena=arena or {},
    )


def _place(page: PaperPage) -> tuple[bool, bool, int]:
    """Order pages: papers with printed numbers first, those on drawn data last, else by year."""
    return page.paper.synthetic, not page.rows, page.paper.year


def log_of(unit: UnitScores) -> Path:
    """Return the log of a unit's first job."""
    return Path("logs", "units", unit.key, f"{min(unit.files).stem}.log")

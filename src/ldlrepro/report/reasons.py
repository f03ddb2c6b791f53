"""Reasons and remarks as a reader sees them: plain sentences, with a link to what shows them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from ldlrepro.judge.misses import in_sentences
from ldlrepro.report.written import page_link, shown_by

if TYPE_CHECKING:
    from pathlib import Path

    from markupsafe import Markup

    from ldlrepro.report.content import ReportContent


def marked_up(text: str) -> Markup:
    """Return text as HTML; what stands between backticks is code."""
    from markupsafe import Markup, escape

    pieces = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if at % 2 else escape(piece)
        for at, piece in enumerate(pieces)
    )


def as_html(text: str, content: ReportContent, link: Callable[..., str], folder: Path) -> Markup:
    """Return a reason as HTML; its link leads to the place that shows it."""
    from markupsafe import Markup

    said, where = in_sentences(text)
    if not where:
        return marked_up(said)
    address = _address(where, content, link, folder)
    if not address:
        return Markup("{} ({})").format(marked_up(said), where)
    return Markup('{} <a href="{}">See {}</a>.').format(marked_up(said), address, _name(where))


def _name(where: str) -> str:
    if where.partition("#")[0].endswith(".md"):
        return "the evidence"
    if where.startswith(("ldlrepro ", "experiment ")):
        return where.replace("experiment", "the experiment", 1)
    return f"the record {where}"


def _address(where: str, content: ReportContent, link: Callable[..., str], folder: Path) -> str:
    papers = {page.id: page for page in content.pages}
    if where.partition("#")[0].endswith(".md"):
        return page_link(where, papers, link, folder)
    if where.startswith("ldlrepro "):
        cells = {row.cell for page in papers.values() for row in page.rows}
        parts = shown_by(shlex.split(where), papers, cells)
        return link(*parts) if parts else ""
    if where.startswith("experiment "):
        paper, name = where.removeprefix("experiment ").split("/")
        known = paper in papers and name in papers[paper].answer.experiments
        return link(paper, "experiment", name) if known else ""
    return link("record", where) if where in content.units() else ""

"""The findings of docs/findings.md as a part of the report.

Commands in the text lead to what they show: a cell, a paper's claims, its verdicts.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Project
from ldlrepro.core.errors import UserError
from ldlrepro.report.content import VERDICT_SIGNS, PaperPage
from ldlrepro.report.documents import file_link, relative


def source(project: Project) -> Path:
    """Return the file that the findings are written in."""
    return project.root / "docs" / "findings.md"


def findings(
    written: Path, pages: Iterable[PaperPage], link: Callable[..., str], folder: Path
) -> str:
    """Return the findings as HTML. Links are relative to ``folder``."""
    import mistune

    papers = {page.id: page for page in pages}
    cells = {row.cell for page in papers.values() for row in page.rows}
    docs = written.parent

    class Linking(mistune.HTMLRenderer):
        def heading(self, text: str, level: int, **_: Any) -> str:
            return "" if level == 1 else f"<h{level}>{text}</h{level}>\n"

        def codespan(self, text: str) -> str:
            code = super().codespan(text)
            parts = shown_by(shlex.split(text), papers, cells)
            return f'<a href="{mistune.escape(link(*parts))}">{code}</a>' if parts else code

        def link(self, text: str, url: str, title: str | None = None) -> str:
            address = page_link(docs, url, folder)
            return f'<a href="{mistune.escape(address)}">{text}</a>' if address else text

    try:
        text = written.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{written}: no such file. The report of all papers shows it.") from None
    return str(mistune.create_markdown(renderer=Linking())(text))


def shown_by(
    command: list[str], papers: Collection[str], cells: Collection[str]
) -> tuple[str, ...]:
    """Return the place in the report that shows what a command prints; nothing if there is none."""
    match command:
        case ["ldlrepro", "explain", cell, *_] if cell in cells:
            return ("cell", cell)
        case ["ldlrepro", "claims", paper] if paper in papers:
            return (paper, "claims")
        case ["ldlrepro", "verdicts", paper, *_, "--show", verdict] if paper in papers:
            return (paper, "show", VERDICT_SIGNS[verdict].slug)
        case ["ldlrepro", "verdicts", paper, *_] if paper in papers:
            return (paper,)
        case ["ldlrepro", "experiment", paper, name, *_] if paper in papers:
            return (paper, "experiment", name)
        case ["ldlrepro", "leaderboard", *_]:
            return ("leaderboard",)
    return ()


def page_link(docs: Path, url: str, folder: Path) -> str:
    """Return the link to a page of the documentation: in the site around the report, or a file."""
    target, mark, anchor = url.partition("#")
    if not target.endswith(".md"):  # a folder has no page
        return ""
    page = Path(target.removeprefix("docs/"))
    if page.name == "note.md":  # the site has it under the id of its paper
        page = Path("papers", f"{page.parent.name}.md")
    inside = folder.parent / page.with_suffix(".html")
    if inside.is_file():
        return relative(inside, folder) + mark + anchor
    address = file_link(docs / target, folder)[1]
    return address and address + mark + anchor

"""Pages that are written in Markdown as parts of the report: findings, errata, each paper's note.

Commands in the text lead to what they show: a cell, a paper's claims, its verdicts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Paper, Project
from ldlrepro.report.content import VERDICT_SIGNS, PaperPage
from ldlrepro.report.documents import anchor, relative

END_OF_HEADLINE = "<!-- end of headline -->"
NOTE = "reproduction"
"""The part of a paper's page that shows its note."""
PAGES = {"findings": "Findings", "errata": "Errata"}
"""Pages about all papers, with their titles."""
SHOWN = {
    "verdicts.md": (),
    "choosing.md": ("leaderboard",),
    "numbers.md": ("about", "verdicts"),
}
"""Page of the documentation -> the part of the report that has the same."""


def sources(project: Project) -> dict[str, Path]:
    """Return the files that the pages about all papers are written in."""
    files = {name: project.root / "docs" / f"{name}.md" for name in PAGES}
    return {name: file for name, file in files.items() if file.is_file()}


def note(paper: Paper) -> Path | None:
    """Return the file of a paper's note, if it has one."""
    written = paper.beside("note.md")
    return written if written.is_file() else None


def answer(text: str) -> str:
    """Return the paragraph of a note that follows its headline: what holds, and what does not."""
    return text.partition(END_OF_HEADLINE)[2].strip().partition("\n\n")[0]


def headings(text: str) -> list[str]:
    """Return the headings of written Markdown, and the sentences in bold that begin a paragraph."""
    found = re.findall(r"^#{2,} (.*)|^\*\*([^*]+)\*\*", text, re.MULTILINE)
    return [re.sub(r"[\\`*]", "", " ".join("".join(one).split())) for one in found]


def as_html(
    text: str,
    pages: Iterable[PaperPage],
    link: Callable[..., str],
    folder: Path,
    place: tuple[str, ...],
    top: int = 2,
) -> str:
    """Return written Markdown as HTML without its title.

    Links are relative to ``folder``; headings begin at ``top`` and lie below ``place``.
    """
    import mistune

    papers = {page.id: page for page in pages}
    cells = {row.cell for page in papers.values() for row in page.rows}

    def named(tag: str, title: str, text: str) -> str:
        own = mistune.escape(anchor(*place, slug(title)))
        return f'<{tag} id="{own}" tabindex="-1">{text}</{tag}>\n'

    class Linking(mistune.HTMLRenderer):
        def heading(self, text: str, level: int, **_: Any) -> str:
            return "" if level == 1 else named(f"h{level + top - 2}", text, text)

        def paragraph(self, text: str) -> str:
            bold = re.match("<strong>(.*?)</strong>", text, re.DOTALL)
            return named("p", bold[1], text) if bold else super().paragraph(text)

        def block_html(self, html: str) -> str:
            return ""  # the marks around what a command writes

        def table(self, text: str) -> str:
            return f'<div class="scroll"><table class="plain">\n{text}</table></div>\n'

        def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
            return f'<th scope="col">{text}</th>\n' if head and text else f"<td>{text}</td>\n"

        def codespan(self, text: str) -> str:
            code = re.sub(r"--[\w-]+", r'<span class="whole">\g<0></span>', super().codespan(text))
            parts = shown_by(shlex.split(text), papers, cells)
            return f'<a href="{mistune.escape(link(*parts))}">{code}</a>' if parts else code

        def link(self, text: str, url: str, title: str | None = None) -> str:
            address = page_link(url, papers, link, folder)
            if address:
                return f'<a href="{mistune.escape(address)}">{text}</a>'
            name = Path(url.partition("#")[0]).name
            told = f" (<code>docs/{mistune.escape(name)}</code>)" if name.endswith(".md") else ""
            return text + told

    return str(mistune.create_markdown(renderer=Linking(), plugins=["table"])(text))


def slug(title: str) -> str:
    """Return the anchor of a heading, as in a repository's pages."""
    from markupsafe import Markup

    words = str(Markup(title).striptags()).lower()
    return re.sub(r"[^\w -]", "", words).replace(" ", "-")


def shown_by(
    command: list[str], papers: Collection[str], cells: Collection[str]
) -> tuple[str, ...]:
    """Return the place in the report that shows what a command prints; nothing if there is none."""
    match command:
        case ["ldlrepro", "explain", cell, *_] if cell in cells:
            return ("cell", cell)
        case ["ldlrepro", "claims", paper] if paper in papers:
            return (paper, "claims")
        case ["ldlrepro", "verdicts", paper, *_, "--show", shown] if (
            paper in papers and shown in VERDICT_SIGNS
        ):
            return (paper, "show", VERDICT_SIGNS[shown].slug)
        case ["ldlrepro", "verdicts", paper, *_] if paper in papers:
            return (paper,)
        case ["ldlrepro", "experiment", paper, name, *_] if paper in papers:
            return (paper, "experiment", name)
        case ["ldlrepro", "leaderboard", *_]:
            return ("leaderboard",)
    return ()


def page_link(url: str, papers: Collection[str], link: Callable[..., str], folder: Path) -> str:
    """Return the link to a written page: a part of the report, or of the site around it.

    The report stays whole when it is moved, so nothing in it leads to files outside.
    """
    target, mark, heading = url.partition("#")
    page = Path(target)
    if page.name == "note.md" and page.parent.name in papers:
        return link(page.parent.name, NOTE, *[heading] * bool(heading))
    inside = folder.parent / page.with_suffix(".html").name
    if page.suffix == ".md" and inside.is_file():
        return relative(inside, folder) + mark + heading
    if page.name in SHOWN:
        return link(*SHOWN[page.name])
    return ""

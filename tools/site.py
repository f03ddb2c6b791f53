"""Adds to the documentation site what stands elsewhere: README, notes on papers, verbs.

A hook of MkDocs (mkdocs.yml). Links between these files are written for readers of the repository;
here they are turned to the pages of the site. A link to a file that is no page keeps its text.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation, Section

from ldlrepro import cli
from ldlrepro.catalogue import Project

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "index.md": "README.md",
    "configuration.md": "config/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
} | {
    f"papers/{note.parent.name}.md": note.relative_to(ROOT).as_posix()
    for note in sorted((ROOT / "papers").glob("*/note.md"))
}
"""Pages of the site by the files of the repository that they show."""
PAGE_OF = {source: page for page, source in ELSEWHERE.items()}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]*)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
WEIGHTS = {
    "choosing.md": 4.0,
    "my-data.md": 4.0,
    "doubt.md": 4.0,
    "add-a-": 2.0,
    "papers/": 0.7,
    "configuration.md": 0.5,
    "changes.md": 0.5,
}
"""How much a page counts in a search, by how its name begins: people look for what to do first."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    texts = {page: (ROOT / source).read_text() for page, source in ELSEWHERE.items()}
    texts |= {"commands.md": commands(), "report.md": report()}
    for page, text in texts.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Files, **_: Any) -> str:
    here = page.file.src_uri
    for name, weight in WEIGHTS.items():
        if here.startswith(name):
            page.meta["search"] = {"boost": weight}
    source = ELSEWHERE.get(here, f"docs/{here}")

    def turned(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.groups(default="")
        place = os.path.normpath(PurePosixPath(source).parent / target)
        uri = PAGE_OF.get(place, place.removeprefix("docs/"))
        if place.startswith("docs/") or place in PAGE_OF:
            known = files.get_file_from_path(uri)
            if known is not None or not (ROOT / place).exists():
                relative = os.path.relpath(uri, PurePosixPath(here).parent)
                return f"{picture}[{text}]({relative}{anchor})"
        if not (ROOT / place).exists():
            return match.group()  # strict mode complains of it
        return f"{text} (`{place}`)" if text != place else f"`{place}`"

    # Odd pieces are code, which stays as it is.
    pieces = CODE.split(markdown)
    return "".join(piece if at % 2 else LINK.sub(turned, piece) for at, piece in enumerate(pieces))


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Put the pages of the report into the menu, and the library's site beside them."""
    for at, item in enumerate(nav.items):
        if item.is_page and item.file.src_uri == "report.md":
            pages = [Link(title, address) for title, address in report_pages().items()]
            nav.items[at] = section = Section(item.title or "Report", list(pages))
            for page in pages:
                page.parent = section
    nav.items.append(Link("Library", "library/index.html"))
    return nav


def report_pages() -> dict[str, str]:
    """Return title and address of the report's pages; `make docs` writes them after the site."""
    papers = {p.title: f"report/{p.id}.html" for p in Project.open(ROOT).real_papers()}
    return {
        "What holds": "report/index.html",
        **papers,
        "Methods": "report/index.html#/methods",
        "Data sets": "report/index.html#/data",
        "Leaderboard": "report/leaderboard.html",
        "Contradictions between papers": "report/contradictions.html",
        "Records": "report/records.html",
        "How to read the report": "report/index.html#/about",
    }


def report() -> str:
    """Return a page that lists those of the report, so that the search finds them."""
    lines = [
        "# The report",
        "",
        "It shows every printed number beside the measured one, with its verdict and the reason.",
        "`ldlrepro report` writes the same pages from your own records.",
        "",
    ]
    pages = report_pages().items()
    lines += [f'- <a href="{address}">{title}</a>' for title, address in pages]
    return "\n".join(lines) + "\n"


def commands() -> str:
    """Return a page with the help of every verb."""
    lines = [
        "# Commands",
        "",
        "`ldlrepro --help` lists the verbs. What follows is the help of each.",
    ]
    for name, verb in cli.verbs().items():
        lines += ["", f"## {name}", "", "```text", verb.format_help().rstrip(), "```"]
    return "\n".join(lines) + "\n"

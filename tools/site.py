"""Adds to the documentation site what stands elsewhere: README, notes on papers, verbs, library.

A hook of MkDocs (mkdocs.yml). Links between these files are written for readers of the repository;
here they are turned to the pages of the site. A link to a file that is no page keeps its text.
"""

from __future__ import annotations

import os.path
import pkgutil
import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation, Section

import ldl
from ldl import metrics
from ldlrepro import cli
from ldlrepro.arena.standings import TIED
from ldlrepro.catalogue import Project

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "index.md": "README.md",
    "configuration.md": "config/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
    "library/changes.md": "packages/ldl/CHANGELOG.md",
} | {
    f"papers/{note.parent.name}.md": note.relative_to(ROOT).as_posix()
    for note in sorted((ROOT / "papers").glob("*/note.md"))
}
"""Pages of the site by the files of the repository that they show."""
PAGE_OF = {source: page for page, source in ELSEWHERE.items()}
EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th[^>]*></th>\s*)+</tr>\s*</thead>")
EMPTY_CELL = re.compile(r"<th([^>]*)></th>")
DIALOG = 'role="dialog"'
INNER_MENU = re.compile(r'(<nav class="md-nav" data-md-level="2") aria-labelledby="\w+"')
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]*)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
TITLES = {"metrics": "Measures", "datasets": "Data sets", "plot": "Pictures"}
WEIGHTS = {
    "choosing.md": 4.0,
    "my-data.md": 4.0,
    "doubt.md": 4.0,
    "add-a-": 2.0,
    "papers/": 0.7,
    "configuration.md": 0.5,
    "changes.md": 0.5,
    "library/": 0.3,
}
"""How much a page counts in a search, by how its name begins: people look for what to do first."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    texts = {page: (ROOT / source).read_text() for page, source in ELSEWHERE.items()}
    texts |= {"commands.md": commands(), "report.md": report(), "library/index.md": library()}
    for family, names in families().items():
        texts[f"library/{family}.md"] = estimators(family, names)
    modules = {"measures": "metrics", "datasets": "datasets", "plot": "plot"}
    for page, module in modules.items():
        shown = f"::: ldl.{module}\n    options: {{members: true, filters: ['!^_']}}\n"
        texts[f"library/{page}.md"] = f"# {TITLES[module]}\n\n{shown}"
    texts["library/measures.md"] += facts()
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
    """Put the pages of the report into the menu, in the place of the page that lists them."""
    for at, item in enumerate(nav.items):
        if item.is_page and item.file.src_uri == "report.md":
            pages = [Link(title, address) for title, address in report_pages().items()]
            nav.items[at] = section = Section(item.title or "Report", list(pages))
            for page in pages:
                page.parent = section
    return nav


def on_page_content(html: str, **_: Any) -> str:
    return EMPTY_CELL.sub(r"<td\1></td>", EMPTY_HEAD.sub("", html))


def on_post_page(output: str, **_: Any) -> str:
    """Name what the theme leaves without a name of its own for screen readers."""
    output = output.replace(DIALOG, f'{DIALOG} aria-label="Search"')
    return INNER_MENU.sub(r'\1 aria-label="Pages of this part"', output)


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


def families() -> dict[str, list[str]]:
    """Return the modules' paths of all estimators, by the families they belong to."""
    found: dict[str, list[str]] = {}
    for module, names in sorted(ldl._FAMILIES.items()):
        found.setdefault(module.split(".")[1], []).extend(f"{module}.{name}" for name in names)
    found["comparison"] += ["ldl.comparison.compare.Arena", "ldl.comparison.result.Comparison"]
    return found


def library() -> str:
    """Return a page that lists the estimators by families, with their first lines."""
    lines = [
        "# The library",
        "",
        "`pip install ./packages/ldl` brings `ldl`, which knows nothing of the workflow. Its",
        "estimators derive from `sklearn.base.BaseEstimator`: `fit(X, D)`, `predict(X)`, `score`.",
    ]
    for family, paths in families().items():
        lines += ["", f"## [{title(family)}]({family}.md)", "", "| | |", "|---|---|"]
        for path in paths:
            name = path.rpartition(".")[2]
            first = (pkgutil.resolve_name(path).__doc__ or "").strip().splitlines()[0]
            lines.append(f"| [{name}]({family}.md#{path}) | {first} |")
    return "\n".join(lines) + "\n"


def facts() -> str:
    """Return a table of all measures: direction, range, zeros and ties."""
    lines = [
        "",
        "## Facts",
        "",
        "| measure | better | range | zeros | ties |",
        "|---|---|---|---|---|",
    ]
    for name, fact in metrics.FACTS.items():
        lines.append(
            f"| {name} | {metrics.better(name)} | {fact.range} | {fact.zeros} | {fact.ties} |"
        )
    return "\n".join(lines) + "\n"


def estimators(family: str, paths: list[str]) -> str:
    """Return a page of directives, one for each estimator of a family."""
    lines = [f"# {title(family)}"]
    lost = lost_by_default()
    for path in paths:
        shown = "[fit, predict, score]" if family == "base" else "false"
        lines += ["", f"::: {path}", f"    options: {{members: {shown}}}"]
        if said := lost.get(path.rpartition(".")[2]):
            lines += ["", said]
    return "\n".join(lines) + "\n"


@cache
def lost_by_default() -> dict[str, str]:
    """Return what to say of estimators whose defaults lose to the training mean on some sets."""
    table = pd.read_csv(ROOT / "docs" / "defaults.csv")
    table["excess"] = table["kl"] / table["kl of TrainMean"] - 1.0
    sets = table["dataset"].nunique()
    found = {}
    for name, rows in table[table["excess"] > 10.0**-TIED].groupby("method"):
        found[str(name)] = (
            f"By default it is worse than the training mean on {len(rows)} of [{sets} public sets]"
            f"(../defaults.md#what-they-are-worth), by at most {rows['excess'].max():.2%}: "
            f"{', '.join(sorted(rows['dataset']))}. Where features tell little, a gain on held-out "
            "rows may be luck."
        )
    return found


def title(family: str) -> str:
    return family.replace("_", " ").capitalize()

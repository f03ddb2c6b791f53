"""Places that the jump box of the report finds: sections, questions, methods, tables, cells."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro.judge.tallies import tally
from ldlrepro.judge.verdicts import MISPRINT
from ldlrepro.report import written
from ldlrepro.report.content import PaperPage
from ldlrepro.report.documents import anchor, relative

if TYPE_CHECKING:
    from ldlrepro.report.tables import Grid, PageTables

ABOUT = {
    "reading": "How to read a cell",
    "measures": "What the measures are",
    "verdicts": "What the verdicts mean, and when a number holds",
    "cite": "Which numbers to cite",
    "own": "Your own method, your own CSV file",
    "doubt": "Doubt a number",
    "run": "How it was run",
}
"""Parts of the page about the report."""


def parts_of(page: PaperPage, tables: PageTables, whole: bool) -> dict[str, str]:
    """Return the parts that a paper's page has, with their titles."""
    answer = page.answer
    parts = {
        "tables": ("Tables", tables.grids),
        "claims": ("Claims", answer.claims),
        "figures": ("Figures", page.figures),
        written.NOTE: ("Reproduction note", written.note(page.paper)),
        "persons": ("Persons apart", answer.persons),
        "experiments": ("Experiments", answer.experiments),
        "seeds": ("Other seeds", any(row.fold_seeds for row in page.rows)),
        "beside": ("Other runs", tables.leftovers),
        "readings": ("Readings", answer.readings),
        "method": ("How it was run", True),
        "left-out": ("Left out", True),
        "leaks": ("Leak checks", answer.leaks),
        "photographs": ("Photographs", answer.photographs),
        "records": ("Records", page.units and not whole),
        "notes": ("Remarks", tables.notes),
    }
    return {name: title for name, (title, there) in parts.items() if there}


@dataclass(frozen=True)
class Place:
    """A place in the report as somebody may ask for it."""

    label: str
    place: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Names of it, which count more than other words. A sentence is no name."""
    also: str = ""
    """Words that find it, beside those of its label and its text."""


QUESTIONS = {
    "Which method should I use? Which does ldlrepro recommend as the best?": (
        ("leaderboard",),
        "method",
        "arena Elo tied gain ensemble fastest cheapest confidence bootstrap python-ldl PyLDL",
    ),
    "How do I add my own method, or use my own data?": (("about", "own"), "own add", "CSV file"),
    "What do the verdicts mean, and when does a number hold?": (
        ("about", "verdicts"),
        "holds misprint verdicts",
        "met quoted exact reproduced near trust",
    ),
    "Which papers are there?": ((), "papers", ""),
    "Which printed numbers hold?": ((), "", "reproduced"),
    "What are simpler answers, such as the training mean?": (
        ("about", "verdicts"),
        "mean uniform baseline",
        "distribution forest",
    ),
    "How are methods ranked, and when is a difference significant?": (
        ("leaderboard", "ranking"),
        "significance",
        "statistical test p-value Nemenyi critical",
    ),
    "Which folds, settings and seeds were used?": (
        ("about", "run", "folds"),
        "folds settings seeds",
        "split tuning search cross validation random parameters hyperparameters protocol",
    ),
    "Do printed numbers fit a leak?": (
        ("findings", "the-printed-numbers-of-sldlf-fit-a-leak"),
        "leak leakage",
        "data test rows",
    ),
    "How long does it take? How much time?": (
        ("about", "run", "time"),
        "time",
        "hours minutes runtime",
    ),
    "How do I run it on a cluster?": (("about", "run", "cluster"), "cluster", ""),
    "How do I install it? How do I reproduce a paper?": (
        ("about", "run", "again"),
        "install setup",
        "start docker conda windows pipeline deterministic requirements torch disk",
    ),
    "Under which licence?": (("about", "run", "licence"), "licence license", "MIT"),
    "Where do I get the data sets?": (("about", "run", "data"), "download data", "files"),
    "Where are the raw predictions?": (("about", "run", "predictions"), "predictions", "download"),
    "Can I use it in Python?": (
        ("about", "run", "python"),
        "Python",
        "API library package conformal notebooks",
    ),
    "How do I see the runs in MLflow?": (
        ("about", "run", "mlflow"),
        "MLflow",
        "tracking artifacts",
    ),
    "Does it use a GPU?": (("about", "run", "gpu"), "GPU", "card CUDA images"),
}
"""Question -> the place that answers, its names, and words that find it too."""

ALSO = {
    "Persons apart": "same people subjects independent training test overlap data leakage leak",
    "Claims": "fail better beat",
    "Left out": "not available unavailable missing data sets",
    "Misprints": "wrong impossible typo",
    "Errata": "errors mistakes corrections wrong",
    "Findings": "what came out results",
    "Contradictions between papers": "disagree differ conflict",
    "Data": "how many sets sizes rows features labels",
    "Doubt a number": "why worse better miss misses verdict bug",
    "How to read this report": "help glossary words faq",
    ABOUT["reading"]: "seeds standard deviation mean fitted predicted blind lower higher better",
    ABOUT["cite"]: "reference citations authors wrote export latex",
    ABOUT["run"]: "machine version commit provenance",
    ABOUT["measures"]: "Kullback-Leibler metric score loss divergence accuracy",
}
"""Page or section -> words that find it too."""

KIND_WORDS = {
    "with persons": "people groups faces facial expressions emotions subject independent apart",
    "of at most": "small few",
    "of more": "large many",
}
"""How a kind of data set begins -> words that find it too."""


OTHER_NAMES = {"sa_iis": "IIS-LLD IIS-LDL", "sa_bfgs": "BFGS-LLD BFGS-LDL"}
"""Method -> names that papers elsewhere give to it."""


def sections(context: Mapping[str, Any]) -> list[Place]:
    """Return all places but tables and cells. The script takes pages from the menu."""
    found = [
        Place(title, ("about", name), (name,), ALSO[title])
        for name, title in ABOUT.items()
        if name not in ("doubt", "own", "verdicts")
    ]  # the menu has the first, and questions the others
    found += [
        Place(f"What is {name}?", ("about", "measures", name), (name,))
        for name in context["measured"]
    ]
    written_pages = context["content"].written
    found += [
        Place(question, place, tuple(names.split()), also)
        for question, (place, names, also) in QUESTIONS.items()
        if place[:1] != ("findings",) or "findings" in written_pages
    ]
    for one in context["leaders"][1:]:
        also = " ".join(also for start, also in KIND_WORDS.items() if one.kind.startswith(start))
        label, names = f"Which method for data sets {one.kind}?", ("method", one.kind.split()[-1])
        found.append(Place(label, ("leaderboard", one.slug), names, also))
    for one in context["data_sets"]:
        label = f"Which method for {one.title}?" if one.lead else f"Data set {one.title}"
        names = (one.title, one.id, *["method"] * bool(one.lead))
        also = "best on data set" if one.lead else "why missing data set"
        found.append(Place(label, ("data", one.id), names, also))
    for one in context["methods"]:
        names = (one.title, *sorted(one.printed_as))
        also = f"which numbers hold {OTHER_NAMES.get(one.id, '')}"
        found.append(Place(one.title, ("methods", one.id), names, also))
    for one in context["leaders"][:1]:
        for name in one.methods:
            parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
            found.append(Place(f"{name} in the arena", ("leaderboard", name), (name, parted)))
    for name, file in written_pages.items():
        found += _sentences(file, (name,), "")
    for page, _, _ in context["pages"]:
        found += _of_paper(page, context["parts"][page.id])
    return found


def _sentences(file: Path, place: tuple[str, ...], start: str) -> list[Place]:
    """Return the headings of a written page."""
    return [
        Place(f"{start}{title}", (*place, written.slug(title)))
        for title in written.headings(file.read_text(encoding="utf-8"))
    ]


def _of_paper(page: PaperPage, parts: Mapping[str, str]) -> list[Place]:
    """Return the sections of a paper's page."""
    listed: dict[str, tuple[str, ...]] = {}
    if tally(page.rows).holds:
        listed["Which numbers hold?"] = (page.id, "show", "holds")
    if tally(page.rows).counts[MISPRINT]:
        listed["Misprints"] = (page.id, "show", MISPRINT)
    listed |= {title: (page.id, name) for name, title in parts.items()}
    listed |= {
        f"{parts['persons']}, {one.dataset}": (page.id, "persons", one.dataset)
        for one in page.answer.persons
    }
    found = [
        Place(f"{page.id} · {title}", place, (f"{page.id} {title}",), ALSO.get(title, ""))
        for title, place in listed.items()
    ]
    note = written.note(page.paper)
    return found + (_sentences(note, (page.id, written.NOTE), f"{page.id} · ") if note else [])


def words_of(texts: Iterable[str], found: Collection[Place]) -> dict[tuple[str, ...], str]:
    """Return the words of each place's own text, which goes to the next place or its page's end."""
    from markupsafe import Markup

    known = {anchor(*one.place): one.place for one in found}
    words = {}
    for text in texts:
        ids = re.finditer(r'id="(/[^"]*)"', text)
        starts = [(one.start(), known[one[1]]) for one in ids if one[1] in known]
        for (start, place), (end, _) in pairwise([*starts, (len(text), ())]):
            page_end = text.find("</section>", start)
            own = text[text.find(">", start) + 1 : min(end, page_end)]
            shown = re.sub(r"<script.*?</script>", "", own, flags=re.DOTALL)
            said = re.findall(r"[^\W\d_][\w-]+", Markup(shown).striptags())
            words[place] = " ".join(sorted({word.lower() for word in said}))
    return words


def places(
    context: Mapping[str, Any],
    found: Iterable[Place],
    words: Mapping[tuple[str, ...], str],
    link: Callable[..., str],
) -> list[Any]:
    """Return what the script needs: sections, and tables with their lines and cells."""
    titles = {one.id: one.title for one in context["data_sets"]}
    listed = [
        [
            one.label,
            one.names,
            f"{one.label} {one.also}",
            link(*one.place),
            words.get(one.place, ""),
        ]
        for one in found
    ]
    tables = [
        [
            page.id,
            grid.id,
            grid.title,
            link(page.id, "table", grid.id),
            [
                (column.metric, column.title, _printed(grid, at))
                for at, column in enumerate(grid.columns)
            ],
            [
                (block.dataset, line.method, line.setting, titles.get(block.dataset, ""))
                for block in grid.blocks
                for line in block.printed
            ],
        ]
        for page, tables, _ in context["pages"]
        for grid in tables.grids
    ]
    return [listed, tables]


def _printed(grid: Grid, column: int) -> str:
    """Return what is printed in a column, line by line; nothing where there is no cell."""
    return "|".join(
        " ".join(cell.row.printed or "–" for cell in line.cells[column])
        for block in grid.blocks
        for line in block.printed
    )


def pages_of(site: Path, folder: Path) -> list[Any]:
    """Return the documentation's pages, and the questions that stand on them, as places."""
    from markupsafe import Markup

    index = site / "search" / "search_index.json"
    listed = json.loads(index.read_text(encoding="utf-8"))["docs"] if index.is_file() else []
    known = {
        Markup(one["title"]).striptags(): one["location"]
        for one in listed
        if one["title"].endswith("?") or "#" not in one["location"]
    }
    return [
        [f"documentation · {title}", [title], "", f"{relative(site, folder)}/{address}", ""]
        for title, address in known.items()
        if not address.startswith(("papers/", "doubt."))  # the report's own
    ]

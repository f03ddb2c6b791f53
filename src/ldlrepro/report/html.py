"""The report as HTML: styles, scripts and records stand inside each file, drawings beside them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldl import metrics
from ldlrepro.core.files import write_text
from ldlrepro.judge.contradictions import contradictions
from ldlrepro.judge.tallies import tally
from ldlrepro.judge.verdicts import MISPRINT
from ldlrepro.report import conclusions, reasons, subjects, written
from ldlrepro.report.arena import leaders, standing
from ldlrepro.report.content import (
    CLAIM_SIGNS,
    MEASURE_TITLES,
    VERDICT_SIGNS,
    PaperPage,
    ReportContent,
)
from ldlrepro.report.documents import (
    Document,
    Documents,
    anchor,
    beside,
    file_link,
    relative,
)
from ldlrepro.report.figures import write_figure
from ldlrepro.report.leaderboard import all_standings, board_data, collect, kinds
from ldlrepro.report.record_views import record_data, shared
from ldlrepro.report.tables import Grid, PageTables, page_tables, percent
from ldlrepro.train.records import OK

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

    from ldlrepro.judge.verdicts import VerdictRow

TEMPLATES = Path(__file__).parent / "templates"
LED = 10
"""Methods of the arena that the leaderboard opens with."""


def write_report(content: ReportContent, path: Path) -> Path:
    """Write the report: its front page to ``path``, what else it has to the folder of that."""
    for page in content.pages:
        for name, figure in page.figures.items():
            write_figure(figure, beside(path) / "figures" / page.id / name)
    files = render_report(content, path)
    for place, text in reversed(files.items()):  # the front page when all it leads to is there
        write_text(place, text)
    return path


def render_report(content: ReportContent, path: Path) -> dict[Path, str]:
    """Return the report's files as HTML, the front page first."""
    board = collect(content.project, content.pages, content.arena)
    boards = all_standings(board)
    arena = standing(content.arena, content.project.families)
    papers = [page for page in content.pages if not page.paper.synthetic]
    pages = [(page, page_tables(page), tally(page.rows)) for page in content.pages]
    contradicting = contradictions(row for page in papers for row in page.rows)
    apart = ["leaderboard", *["contradictions"] * bool(contradicting), "records"]
    documents = Documents(content, path, apart)
    context = {
        "content": content,
        "pages": pages,
        "printing": [entry for entry in pages if entry[0] in papers and entry[0].rows],
        "total": tally(row for page in papers for row in page.rows),
        "own": conclusions.of_own_methods({page.paper: page.rows for page in papers}),
        "conclusions": conclusions,
        "methods": subjects.methods(papers),
        "data_sets": subjects.data_sets(papers, subjects.leads(arena) if arena else {}),
        "parts": {page.id: parts_of(page, tables, len(pages) == 1) for page, tables, _ in pages},
        "units": list(content.units().values()),
        "reasons": grouped_reasons(content.pages),
        "signs": VERDICT_SIGNS,
        "claim_signs": CLAIM_SIGNS,
        "claimed": [page for page in content.pages if page.answer.claims],
        "contradictions": contradicting,
        "boards": boards,
        "arena": arena,
        "leaders": leaders(arena, kinds(content.project, content.arena), LED) if arena else [],
        "board_data": packed(board_data(board, boards)),
    }
    context["sections"] = _sections(context)
    template = _environment().get_template("report.html.j2")
    return {doc.path: _rendered(template, context, documents, doc) for doc in documents.all}


def _rendered(
    template: jinja2.Template, context: Mapping[str, Any], documents: Documents, doc: Document
) -> str:
    content = context["content"]
    link = cache(lambda *parts: documents.link(doc, parts))

    def log_of(key: str) -> str:
        return relative(content.logs[key], doc.folder) if key in content.logs else ""

    def figure_link(page: PaperPage, name: str) -> str:
        return relative(documents.beside / "figures" / page.id / name, doc.folder)

    def as_html(text: str, place: tuple[str, ...], top: int = 2) -> str:
        return written.as_html(text, content.pages, link, doc.folder, place, top)

    def note(page: PaperPage, part: Callable[[str], str] = str) -> str:
        source = written.note(page.paper)
        text = source.read_text(encoding="utf-8") if source else ""
        return as_html(part(text), (page.id, written.NOTE), 3)

    early = "document.documentElement.classList.add('js');" + _asset("shared.js")
    drawn = {
        anchor(page.id, "figure", name): figure.image
        for page in doc.papers
        for name, figure in page.figures.items()
    }
    more = {"drawings.js": drawn, "leaderboard.js": "leaderboard" in doc.views}
    names = ["report.js", *(name for name, needed in more.items() if needed), "jump.js"]
    site = documents.beside.parent  # the documentation, where the report lies inside it
    inside = (site / "doubt.html").is_file()
    scripts = [_asset(name) for name in names]
    units = {unit.key: unit for page in doc.papers for unit in page.units}
    records = [record_data(unit, content, log_of, doc.folder) for unit in units.values()]
    return template.render(
        context,
        doc=doc,
        whole=len(documents.all) == 1,
        site=relative(site / "index.html", doc.folder) if inside else "",
        doubt=relative(site / "doubt.html", doc.folder) if inside else link("about", "doubt"),
        reason=cache(lambda text: reasons.as_html(text, content, link, doc.folder)),
        route=link,
        log_of=log_of,
        file_link=lambda path: file_link(path, doc.folder)[1],
        figure_link=figure_link,
        style=_asset("report.css"),
        early_script=early,
        scripts=scripts,
        script_hashes=[_content_hash(text) for text in (early, *scripts)],
        written={
            name: as_html(file.read_text(encoding="utf-8"), (name,))
            for name, file in content.written.items()
            if name in doc.views
        },
        note=note,
        found=lambda page: note(page, written.answer),
        drawings=packed(drawn) if drawn else "",
        records=packed(shared(records)) if records else "",
        places=packed(_places(context, link) + (_pages_of(site, doc.folder) if inside else [])),
    )


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


QUESTIONS = {
    "Which method should I use? Which does ldlrepro recommend as the best?": (
        ("leaderboard",),
        "arena Elo tuned ensemble default gain tied data fastest cheapest accurate choose",
    ),
    "Which printed numbers hold?": ((), "papers reproduced"),
    "How long does it take? How much time?": (
        ("about", "run", "time"),
        "hours minutes runtime cost",
    ),
    "How do I run it on a cluster?": (("about", "run", "cluster"), "SLURM"),
    "How do I install it? How do I reproduce a paper?": (
        ("about", "run", "again"),
        "setup start snakemake docker container",
    ),
    "Where do I get the data sets?": (("about", "run", "data"), "download files"),
    "Where are the raw predictions?": (("about", "run", "predictions"), "parquet download"),
    "Can I use it in Python?": (
        ("about", "run", "python"),
        "API library package import scikit-learn conformal notebooks",
    ),
    "How do I see the runs in MLflow?": (("about", "run", "mlflow"), "tracking artifacts"),
    "Does it use a GPU?": (("about", "run", "gpu"), "card CUDA photographs images"),
}
"""Question typed into the jump box -> the place that answers, and words that find it too."""

ALSO = {
    "Persons apart": "same people train training test leakage leak",
    "Claims": "statistical significance test Friedman Wilcoxon fail better beat",
    "Left out": "not available missing data sets",
    "Misprints": "wrong impossible",
    "Errata": "errors mistakes corrections wrong",
    "Findings": "what came out results",
    "Doubt a number": "why worse better miss misses verdict",
    ABOUT[
        "reading"
    ]: "standard deviation lower higher better mean seeds evidence predicted fitted B= R",
    ABOUT["own"]: "data table add compare",
    ABOUT["cite"]: "bibtex reference baselines citations authors wrote",
    ABOUT["verdicts"]: "misprints quoted exact reproduced near trust uniform baseline",
    ABOUT["run"]: "folds made splits seeds protocol settings hyperparameters machine CPU licence "
    "license version commit",
    ABOUT["measures"]: "Kullback-Leibler metric score loss distance divergence "
    + " ".join(MEASURE_TITLES[name] for name in metrics.BETTER),
}
"""Page or section -> words that find it too."""

KIND_WORDS = {
    "with persons": "people groups faces apart",
    "of at most": "small few",
    "of more": "large many",
}
"""How a kind of data set begins -> words that find it too."""


def measures() -> dict[str, str]:
    """Return what each measure is, as the library says it."""
    told = {}
    for name in metrics.BETTER:
        text, _, _ = (inspect.getdoc(getattr(metrics, name)) or "").partition("\n\nParameters")
        said = text.removeprefix("Return the mean ")
        told[MEASURE_TITLES[name]] = said[:1].upper() + said[1:]
    return told


Section = tuple[str, str, tuple[str, ...], str | None]


def _sections(context: Mapping[str, Any]) -> list[Section]:
    """Return the sections that the jump box finds: paper, title, place, and words beside the title.

    A title that is a sentence of a written page has none. The script takes pages from the menu.
    """
    sections: list[Section] = [
        ("", title, ("about", name), ALSO.get(title, ""))
        for name, title in ABOUT.items()
        if name != "doubt"
    ]
    sections += [("", question, *found) for question, found in QUESTIONS.items()]
    for one in context["leaders"][1:]:
        words = " ".join(also for start, also in KIND_WORDS.items() if one.kind.startswith(start))
        sections.append(
            ("", f"Which method for data sets {one.kind}?", ("leaderboard", one.slug), words)
        )
    for one in context["data_sets"]:
        if one.lead:
            sections.append(("", f"Which method for {one.title}?", ("data", one.id), one.id))
    for one in context["methods"]:
        sections.append(("", one.title, ("methods", one.id), "which numbers hold"))
    for one in context["leaders"][:1]:
        for name in one.methods:
            parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
            sections.append(("", f"{name} in the arena", ("leaderboard", name), parted))
    for name, file in context["content"].written.items():
        text = file.read_text(encoding="utf-8")
        for title in written.headings(text):
            sections.append(("", title, (name, written.slug(title)), None))
    for page, _, _ in context["pages"]:
        parts = context["parts"][page.id]
        if tally(page.rows).holds:
            sections.append((page.id, "Which numbers hold?", (page.id, "show", "holds"), ""))
        listed = {"Misprints": (page.id, "show", MISPRINT)}
        if not tally(page.rows).counts[MISPRINT]:
            listed = {}
        listed |= {title: (page.id, name) for name, title in parts.items()}
        sections += [
            (page.id, title, place, ALSO.get(title, "")) for title, place in listed.items()
        ]
        sections += [
            (page.id, f"{parts['persons']}, {one.dataset}", (page.id, "persons", one.dataset), "")
            for one in page.answer.persons
        ]
        source = written.note(page.paper)
        if source:
            for title in written.headings(source.read_text(encoding="utf-8")):
                place = (page.id, written.NOTE, written.slug(title))
                sections.append((page.id, title, place, None))
    return sections


def _places(context: Mapping[str, Any], link: Callable[..., str]) -> list[Any]:
    """Return what the jump box finds: sections, and each table with its lines and their cells.

    A section has no lines.
    """
    titles = {one.id: one.title for one in context["data_sets"]}
    return [
        [paper, "", title, link(*place), [], [], words]
        for paper, title, place, words in context["sections"]
    ] + [
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


def _printed(grid: Grid, column: int) -> str:
    """Return what is printed in a column, line by line; nothing where there is no cell."""
    return "|".join(
        " ".join(cell.row.printed or "–" for cell in line.cells[column])
        for block in grid.blocks
        for line in block.printed
    )


def _pages_of(site: Path, folder: Path) -> list[Any]:
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
        ["documentation", "", title, f"{relative(site, folder)}/{address}", [], []]
        for title, address in known.items()
        if not address.startswith(("library/", "papers/", "doubt."))  # classes, the report's own
    ]


def audit_page(found: Mapping[str, Any], told: Iterable[str] = ()) -> str:
    """Render the certificate of an audit, and sentences on it, as a page without script."""
    return page("audit.html.j2", audit=found, told=told)


def page(name: str, **values: object) -> str:
    """Render a template as a page in the report's style, without script."""
    return _environment().get_template(name).render(values, style=_asset("report.css"))


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(
        anchor=anchor, about=ABOUT, also=ALSO, holds_when=conclusions.HOLDS_WHEN
    )
    environment.globals["written_titles"] = written.PAGES
    environment.globals["measures"] = measures()
    environment.globals["evidence_means"] = conclusions.EVIDENCE_MEANS
    environment.filters.update(
        by_row=_by_row,
        percent=percent,
        share=lambda value: f"{100 * value:.0f}%",
        code=reasons.marked_up,
        breakable=breakable,
        count=conclusions.count,
        duration=duration,
        points_last=lambda units: sorted(units, key=lambda unit: "=" in unit.method),
        done=lambda unit: sum(row.status == OK for row in unit.rows),
        seconds=lambda unit: sum(row.fit_s + row.predict_s for row in unit.rows),
    )
    return environment


def breakable(name: str) -> Markup:
    """Return an id that a line may break after ``_`` and ``,`` and before ``@``, nowhere else."""
    from markupsafe import Markup, escape

    text = escape(name)
    for sign, parted in (("_", "_<wbr>"), (",", ",<wbr>"), ("@", "<wbr>@")):
        text = text.replace(sign, Markup(parted))
    return text


def _by_row(rows: Iterable[VerdictRow]) -> list[tuple[tuple[str, str], list[VerdictRow]]]:
    """Put cells of the same data set and method together, in printed order."""
    found: dict[tuple[str, str], list[VerdictRow]] = {}
    for row in rows:
        found.setdefault((row.dataset, row.method), []).append(row)
    return list(found.items())


@cache
def _asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _content_hash(script: str) -> str:
    """Return a script's hash as browsers compare it with the page's content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# ---------------------------------------------------------------------- text


def duration(seconds: float) -> str:
    """Put a duration in words."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def packed(value: Any) -> str:
    """Return JSON packed by gzip, as text: the records of all papers are ten million characters."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()


# ---------------------------------------------------------------------- left out


@dataclass(frozen=True)
class Reason:
    """The reason why some printed numbers of a paper have no judgement, and their number."""

    paper: str
    verdict: str
    text: str
    cells: int
    datasets: list[str]
    methods: list[str]


def grouped_reasons(pages: Iterable[PaperPage]) -> list[Reason]:
    """Group unjudged cells by paper, verdict and reason; the largest group of a paper first."""
    reasons = []
    for page in pages:
        groups: dict[tuple[str, str], list[VerdictRow]] = {}
        for row in page.rows:
            if row.verdict in ("not run", "quoted", "misprint"):
                groups.setdefault((row.verdict, row.reason or "no reason given"), []).append(row)
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        for (verdict, text), rows in ordered:
            datasets = list(dict.fromkeys(row.dataset for row in rows))
            methods = list(dict.fromkeys(row.method for row in rows))
            reasons.append(Reason(page.id, verdict, text, len(rows), datasets, methods))
    return reasons

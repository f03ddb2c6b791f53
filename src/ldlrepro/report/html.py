"""The report as HTML: styles, scripts and records stand inside each file, drawings beside them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldl import metrics
from ldlrepro.core.files import write_text
from ldlrepro.judge.contradictions import contradictions
from ldlrepro.judge.tallies import tally
from ldlrepro.report import conclusions, places, reasons, subjects, written
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
from ldlrepro.report.tables import page_tables, percent
from ldlrepro.train.records import OK

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

    from ldlrepro.judge.verdicts import VerdictRow

TEMPLATES = Path(__file__).parent / "templates"
PLACES = "@places@"
"""Stands for what the jump box finds, which is known when all pages are written."""
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
    ranked = set(arena.counted["method"]) if arena else set()
    papers = [page for page in content.pages if not page.paper.synthetic]
    pages = [(page, page_tables(page), tally(page.rows)) for page in content.pages]
    contradicting = contradictions(row for page in papers for row in page.rows)
    apart = ["leaderboard", *["contradictions"] * bool(contradicting), "records"]
    documents = Documents(content, path, apart)
    context: dict[str, Any] = {
        "content": content,
        "pages": pages,
        "printing": [entry for entry in pages if entry[0] in papers and entry[0].rows],
        "total": tally(row for page in papers for row in page.rows),
        "own": conclusions.of_own_methods({page.paper: page.rows for page in papers}),
        "conclusions": conclusions,
        "methods": subjects.methods(content.project, papers, ranked),
        "data_sets": subjects.data_sets(
            content.project, papers, subjects.leads(arena) if arena else {}
        ),
        "parts": {
            page.id: places.parts_of(page, tables, len(pages) == 1) for page, tables, _ in pages
        },
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
    context["measured"] = measures()
    context["printed"] = {one.arena: one for one in reversed(context["methods"]) if one.arena}
    template = _environment().get_template("report.html.j2")
    texts = {doc: _rendered(template, context, documents, doc) for doc in documents.all}
    found = places.sections(context)
    words = places.words_of(texts.values(), found)

    def with_places(doc: Document) -> str:
        sections, tables = places.places(
            context, found, words, lambda *place: documents.link(doc, place)
        )
        pages = places.pages_of(documents.site, doc.folder) if documents.site else []
        return texts[doc].replace(PLACES, packed([sections + pages, tables]))

    return {doc.path: with_places(doc) for doc in documents.all}


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
    site = documents.site
    scripts = [_asset(name) for name in names]
    units = {unit.key: unit for page in doc.papers for unit in page.units}
    records = [record_data(unit, content, log_of, doc.folder) for unit in units.values()]
    return template.render(
        context,
        doc=doc,
        whole=len(documents.all) == 1,
        site=relative(site / "index.html", doc.folder) if site else "",
        doubt=relative(site / "doubt.html", doc.folder) if site else link("about", "doubt"),
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
        places=PLACES,
    )


OF_AGES = {
    "mae": "Absolute error of the predicted age in years; lower is better.",
    "cs5": "Cumulative score: percent of ages that are off by at most 5 years; higher is better.",
}


def measures() -> dict[str, str]:
    """Return what each measure is, as the library says it."""
    told = {}
    for name in (*metrics.BETTER, *metrics.LABEL_BETTER):
        text, _, _ = (inspect.getdoc(getattr(metrics, name)) or "").partition("\n\nParameters")
        said = text.removeprefix("Return ").removeprefix("the mean ")
        told[MEASURE_TITLES[name]] = said[:1].upper() + said[1:]
    return told | {MEASURE_TITLES[name]: said for name, said in OF_AGES.items()}


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
        anchor=anchor, about=places.ABOUT, also=places.ALSO, holds_when=conclusions.HOLDS_WHEN
    )
    environment.globals["written_titles"] = written.PAGES
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

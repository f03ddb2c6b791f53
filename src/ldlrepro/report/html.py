"""The report as one HTML file: styles, script, drawings and records are inside."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ldl import metrics
from ldlrepro.core.files import write_text
from ldlrepro.judge.contradictions import contradictions
from ldlrepro.judge.tallies import WITHIN, Tally, tally
from ldlrepro.report.content import (
    CLAIM_SIGNS,
    VERDICT_SIGNS,
    Figure,
    PaperPage,
    ReportContent,
    in_words,
    measure_title,
    own_rows,
)
from ldlrepro.report.leaderboard import all_standings, board_data, collect
from ldlrepro.report.tables import (
    Grid,
    mean_and_std,
    page_tables,
    percent,
)
from ldlrepro.train.records import OK

if TYPE_CHECKING:
    import jinja2

    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.judge.verdicts import VerdictRow
    from ldlrepro.train.records import FoldRow

TEMPLATES = Path(__file__).parent / "templates"
LONGEST_VALUE = 400
"""Characters shown of one parameter or diagnostic; the rest stays in the record file."""
LONGEST_ERROR = 6000
MOST_CANDIDATES = 60


def write_report(content: ReportContent, path: Path) -> Path:
    """Write the report to ``path``; links to logs and records are relative to its folder."""
    write_text(path, render_report(content, path.parent))
    return path


def render_report(content: ReportContent, folder: Path) -> str:
    """Return the report as HTML; links are relative to ``folder``."""
    scripts = [_asset(name) for name in ("report.js", "leaderboard.js", "jump.js")]
    board = collect(content.pages)
    early_script = "document.documentElement.classList.add('js');" + _asset("shared.js")
    units = content.units()
    papers = [page for page in content.pages if not page.synthetic]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            content=content,
            pages=[(page, page_tables(page), tally(page.rows)) for page in content.pages],
            contradictions=contradictions(row for page in papers for row in page.rows),
            groups=[_group(papers, name) for name in dict.fromkeys(p.group for p in papers)],
            within=WITHIN,
            in_words=in_words,
            units=list(units.values()),
            reasons=grouped_reasons(content.pages),
            left_out=[(page.id, *item) for page in content.pages for item in page.left_out],
            signs=VERDICT_SIGNS,
            claim_signs=CLAIM_SIGNS,
            claimed=[page for page in content.pages if page.claims],
            file_link=lambda path: _file_link(path, folder)[1],
            style=_asset("report.css"),
            early_script=early_script,
            scripts=scripts,
            script_hashes=[_content_hash(text) for text in (early_script, *scripts)],
            boards=all_standings(board),
            board_data=packed(board_data(board)),
            records=packed(shared([record_data(unit, content, folder) for unit in units.values()])),
        )
    )


@dataclass(frozen=True)
class Group:
    """Papers that are counted together."""

    name: str
    pages: list[tuple[PaperPage, Tally]]
    total: Tally
    own: list[tuple[PaperPage, Tally]]
    """Counts of each paper's own methods."""
    printing: int
    """Number of papers of which printed numbers are at hand."""


def _group(papers: Iterable[PaperPage], name: str) -> Group:
    pages = [page for page in papers if page.group == name]
    return Group(
        name=name,
        pages=[(page, tally(page.rows)) for page in pages],
        total=tally([row for page in pages for row in page.rows]),
        own=[(page, tally(own_rows(page))) for page in pages if page.own and page.rows],
        printing=sum(bool(page.rows) for page in pages),
    )


def render_table(page: PaperPage, grid: Grid, notes: dict[str, int]) -> str:
    """Render one printed table as an HTML fragment without links, for use elsewhere."""
    template = _environment().get_template("grid.html.j2")
    used = {n for b in grid.blocks for p in b.printed for c in p.cells for x in c for n in x.notes}
    shown = {text: number for text, number in notes.items() if number in used}
    return str(template.module.fragment(page, grid, shown))  # type: ignore[attr-defined]


def audit_page(found: Mapping[str, Any]) -> str:
    """Render the certificate of an audit, as a page without script."""
    template = _environment().get_template("audit.html.j2")
    return template.render(audit=found, style=_asset("report.css"))


def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(route=route, anchor=anchor)
    environment.filters.update(
        measure=measure_title,
        by_row=_by_row,
        percent=percent,
        share=lambda value: f"{100 * value:.0f} %",
        count=lambda number: f"{number:,}".replace(",", "\u202f"),
        duration=duration,
        image=image_address,
        done=lambda unit: sum(row.status == OK for row in unit.rows),
        seconds=lambda unit: sum(row.fit_s + row.predict_s for row in unit.rows),
    )
    return environment


def _by_row(rows: Iterable[VerdictRow]) -> list[tuple[tuple[str, str], list[VerdictRow]]]:
    """Put cells of the same data set and method together, in printed order."""
    found: dict[tuple[str, str], list[VerdictRow]] = {}
    for row in rows:
        found.setdefault((row.dataset, row.method), []).append(row)
    return list(found.items())


def _asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _content_hash(script: str) -> str:
    """Return a script's hash as browsers compare it with the page's content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# ---------------------------------------------------------------------- addresses and text


def anchor(*parts: str) -> str:
    """Return the id of a place in the report: /structrf/table/16."""
    return "/" + "/".join(parts)


def route(*parts: str) -> str:
    """Return the link to a place. Without script it is an ordinary link inside the page."""
    return "#/" + "/".join(quote(part, safe="@") for part in parts)


def image_address(figure: Figure) -> str:
    """Return a figure as the address of an image.

    An image, unlike inline SVG, runs no scripts, and ids of several images cannot clash.
    """
    if isinstance(figure.image, str):  # as text, a quarter shorter than in base64
        return "data:image/svg+xml," + quote(
            " ".join(figure.image.split("\n")), safe=" !$&'()*+,/:;=?@[]{}~|^`"
        )
    return f"data:image/png;base64,{base64.b64encode(figure.image).decode()}"


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
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


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


# ---------------------------------------------------------------------- records

FOLD_FIELDS = (
    *("repeat", "fold", "status", "seed", "n_train", "n_test"),
    *("fit_s", "predict_s", "fit_cpu_s", "predict_cpu_s", "overhead_s", "peak_mb", "threads"),
    *("started_at", "predictions_sha256", "data_sha256", "folds_sha256", "spec_sha256"),
    *("code_sha256", "lock_sha256", "git_commit"),
)


DIGITS_OF_HASHES = 16
"""Shown of what is different in every fold and packs badly; the record file has all."""


def record_data(unit: UnitScores, content: ReportContent, folder: Path) -> dict[str, Any]:
    """Return what the record view of a unit shows; the script draws it when somebody asks."""
    measures = [name for name in unit.scores if any(map(math.isfinite, unit.scores[name]))]
    summaries = [mean_and_std(unit.scores[name]) or (None, None) for name in measures]
    return {
        "key": unit.key,
        "route": route("record", *unit.key),
        "source": unit.source,
        "log": content.log_of(unit.key),
        "files": [_file_link(path, folder) for path in unit.files],
        "command": f"ldlrepro run {' '.join(map(shlex.quote, unit.key))} --inputs --fresh",
        "measures": [[name, measure_title(name)] for name in measures],
        "mean": [_short(mean) for mean, _ in summaries],
        "std": [_short(std) for _, std in summaries],
        "scores": [[_short(value) for value in unit.scores[name]] for name in measures],
        "folds": _split([_fold_fields(row) for row in unit.rows]),
        "machine": _split([_readable(row.machine) for row in unit.rows]),
        "versions": _split([_readable(row.versions) for row in unit.rows]),
        "params": _split([_readable(_own_parameters(row.params)) for row in unit.rows]),
        "diagnostics": _split([_readable(row.diagnostics) for row in unit.rows]),
        "selection": _selection([row.selection for row in unit.rows]),
        "errors": [
            [row.repeat, row.fold, row.error[-LONGEST_ERROR:]] for row in unit.rows if row.error
        ],
    }


def shared(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the records with what many have in common kept once: a number points to it."""
    kept: dict[str, int] = {}
    parts: list[Any] = []
    for record in records:
        for name in ("measures", "machine", "versions"):
            text = json.dumps(record[name])
            if text not in kept:
                kept[text] = len(parts)
                parts.append(record[name])
            record[name] = kept[text]
    return {"records": records, "shared": parts}


def _fold_fields(row: FoldRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in FOLD_FIELDS}
    # Four digits say enough of times and memory.
    return {k: _short(v, 4) if isinstance(v, float) else v for k, v in values.items()} | {
        name: _cut(str(values[name])) for name in ("seed", "predictions_sha256")
    }


def _cut(digits: str) -> str:
    """Return the first digits, marked as such, so that nobody copies a part for the whole."""
    return digits if len(digits) <= DIGITS_OF_HASHES else f"{digits[:DIGITS_OF_HASHES]}…"


def _own_parameters(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters without seed and threads, which stand with the folds."""
    return {name: value for name, value in params.items() if name not in ("random_state", "n_jobs")}


def _readable(values: dict[str, Any]) -> dict[str, Any]:
    """Round numbers for reading and turn anything nested into text, nothing endless."""
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _short(value)
    if value is None or isinstance(value, bool | int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > LONGEST_VALUE:
        text = f"{text[:LONGEST_VALUE]} ... ({len(text)} characters; whole in the record file)"
    return text


def _short(value: float | None, digits: int = 6) -> float | str | None:
    """Round to some significant digits; the record file keeps all of them."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)


def _split(per_fold: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Split values into those the same in all folds, kept once, and lists over folds."""
    same: dict[str, Any] = {}
    each: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for values in per_fold for name in values):
        column = [values.get(name) for values in per_fold]
        if all(value == column[0] for value in column):
            same[name] = column[0]
        else:
            each[name] = column
    return {"same": same, "each": each}


def _selection(per_fold: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return validation scores: a line per candidate, a column per fold; the best ones only."""
    searched = [selection for selection in per_fold if selection.get("tried")]
    if not searched:
        return None
    by = searched[0]["by"]
    names = [name for name in searched[0]["tried"][0] if name != by]
    scores: dict[str, list[float | None]] = {}
    for index, selection in enumerate(per_fold):
        for tried in selection.get("tried", []):
            candidate = json.dumps([_plain(tried.get(name)) for name in names])
            scores.setdefault(candidate, [None] * len(per_fold))[index] = tried[by]
    lines = []
    for candidate, values in scores.items():
        summary = mean_and_std(value for value in values if value is not None)
        mean = _short(summary[0]) if summary else None
        lines.append([json.loads(candidate), mean, [_short(value) for value in values]])
    direction = -1.0 if metrics.BETTER.get(by) == "higher" else 1.0
    lines.sort(key=lambda line: (line[1] is None, direction * (line[1] or 0.0)))
    return {
        "by": measure_title(by),
        "names": names,
        "candidates": lines[:MOST_CANDIDATES],
        "total": len(lines),
    }


def _file_link(path: Path, folder: Path) -> list[str]:
    """Return text and relative link; no link to what lies outside the run's folder."""
    if not path.absolute().is_relative_to(Path.cwd()):
        return [path.name, ""]
    return [path.name, quote(Path(os.path.relpath(path, folder)).as_posix())]

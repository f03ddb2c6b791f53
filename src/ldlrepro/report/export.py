"""Tables as files: CSV for programs, Markdown for reading."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro.core.files import csv_text, write_text
from ldlrepro.judge.claims import ClaimRow, shares_in_words
from ldlrepro.judge.tallies import Tally
from ldlrepro.report.conclusions import in_words
from ldlrepro.report.content import VERDICT_SIGNS, PaperPage
from ldlrepro.report.tables import Cell, Column, Grid, PrintedLine, mean_and_std, page_tables
from ldlrepro.train.records import OK

if TYPE_CHECKING:
    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.judge.verdicts import VerdictRow

FILE_COLUMNS = (
    *("paper", "table", "dataset", "setting", "method", "metric", "better"),
    *("printed", "printed_std", "measured", "measured_std", "repeats_std", "std_over"),
    *("relative_difference", "band"),
    *("verdict", "reason", "folds", "expected_folds", "source", "same_bits"),
    *("protocol", "unit_dataset", "method_id", "note", "fold_seeds", "yardsticks_miss"),
    *("evidence", "holds", "other_settings"),
)
"""Columns of the CSV files: fields of a verdict row, some by a plainer name."""
RENAMED = {"relative_difference": "difference", "folds": "n_folds", "yardsticks_miss": "apart"}

TABLES = "tables"
"""Folder of the printed tables, beside the files of all cells, claims and scores."""
UNIT_COLUMNS = ("protocol", "dataset", "method", "source", "folds", "of_folds", "fit_s", "peak_mb")


def write_tables(page: PaperPage, folder: Path) -> list[Path]:
    """Write the tables of a paper; return the files."""
    texts = table_texts(page)
    (folder / TABLES).mkdir(parents=True, exist_ok=True)  # there may be no table
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def table_texts(page: PaperPage) -> dict[str, str]:
    """Return a CSV and Markdown file per printed table; cells, claims and scores as CSV."""
    tables = page_tables(page)
    texts = {
        "cells.csv": as_csv(page.rows),
        "claims.csv": claims_csv(page.answer.claims),
        "scores.csv": scores_csv(page.units),
    }
    for grid in tables.grids:
        rows = [row for row in page.rows if row.table == grid.id]
        name = f"{TABLES}/table_{grid.id}"
        texts[f"{name}.csv"] = as_csv(rows)
        texts[f"{name}.md"] = as_markdown(page, grid, tables.notes)
    return texts


def as_csv(rows: Sequence[VerdictRow]) -> str:
    """Write all digits that were measured, and the printed numbers as printed."""
    names = [RENAMED.get(name, name) for name in FILE_COLUMNS]
    lines = ([getattr(row, name) for name in names] for row in rows)
    stated = ([row.as_stated.verdict, row.as_stated.measured] for row in rows)
    told = ([*line, *more] for line, more in zip(lines, stated, strict=True))
    return csv_text([[*FILE_COLUMNS, "as_stated", "measured_as_stated"], *told])


def scores_csv(units: Iterable[UnitScores]) -> str:
    """Write a line per unit: mean and standard deviation of every measure, and its cost."""
    units = list(units)
    names = list(dict.fromkeys(name for unit in units for name in unit.scores))
    lines: list[list[object]] = [
        [*UNIT_COLUMNS, *(text for name in names for text in (name, f"{name}_std"))]
    ]
    for unit in units:
        rows = [row for row in unit.rows if row.status == OK]
        fit = statistics.fmean(row.fit_s for row in rows) if rows else ""
        peak = max((row.peak_mb for row in rows), default="")
        summaries = [mean_and_std(unit.scores.get(name, [])) or ("", "") for name in names]
        values = [value for pair in summaries for value in pair]
        lines.append([*unit.ids, unit.source, len(rows), len(unit.rows), fit, peak, *values])
    return csv_text(lines)


def claims_csv(claims: Iterable[ClaimRow]) -> str:
    """Return the claims as CSV."""
    names = [field.name for field in fields(ClaimRow)]
    lines = [[getattr(claim, name) for name in names] for claim in claims]
    told = ([shares_in_words(v) if isinstance(v, list) else v for v in line] for line in lines)
    return csv_text([names, *told])


def as_markdown(page: PaperPage, grid: Grid, notes: dict[str, int]) -> str:
    """Return a printed table as Markdown."""
    lines = [f"# {page.paper.title}: Table {grid.id}", ""]
    lines += [grid.title, ""] if grid.title else []
    lines += [_counts_in_words(grid.tally), ""]
    used: set[int] = set()
    for block in grid.blocks:
        lines += [f"## {block.dataset}", ""]
        lines += ["| method | measure | printed | measured | difference | verdict |"]
        lines += ["|---|---|---|---|---|---|"]
        for printed in block.printed:
            for column, cells in zip(grid.columns, printed.cells, strict=True):
                for cell in cells:
                    lines.append(_markdown_line(printed, column, cell))
                    used.update(cell.notes)
        for measured in block.measured:
            lines += [
                _pipes(f"{measured.label} ({measured.remark})", column.title, "", *cell)
                for column, cell in zip(grid.columns, _joined(measured.cells), strict=True)
            ]
        lines.append("")
    lines += [f"[{number}] {text}  " for text, number in notes.items() if number in used]
    return "\n".join(lines).rstrip() + "\n"


def _counts_in_words(counts: Tally) -> str:
    parts = [f"{counts.counts[name]} {name}" for name in VERDICT_SIGNS if counts.counts[name]]
    return " ".join([f"{counts.total:,} printed numbers: {', '.join(parts)}.", *in_words(counts)])


def _markdown_line(line: PrintedLine, column: Column, cell: Cell) -> str:
    method = f"{line.method} ({line.setting})" if line.setting else line.method
    notes = "".join(f" [{number}]" for number in cell.notes)
    folds = f" ({cell.row.n_folds} of {cell.row.expected_folds} folds)" * cell.incomplete
    verdict = f"{cell.sign.sign} {cell.sign.name}{notes}"
    return _pipes(
        method,
        f"{column.title} {column.arrow}".strip(),
        plus_minus(cell.row.printed, cell.row.printed_std),
        plus_minus(cell.measured, cell.measured_std) + folds,
        cell.difference,
        " ".join([verdict, *map("({})".format, cell.row.marks)]),
    )


def _joined(cells: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    return [(plus_minus(mean, std), "", "") for mean, std in cells]


def plus_minus(mean: str, std: str) -> str:
    return f"{mean} ± {std}" if mean and std else mean


def _pipes(*parts: str) -> str:
    escaped = (" ".join(part.split()).replace("\\", "\\\\").replace("|", "\\|") for part in parts)
    return "| " + " | ".join(part.replace("*", "\\*") for part in escaped) + " |"

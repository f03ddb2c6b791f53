"""Reads the printed numbers of a paper, ``cells.csv``, and refuses what it cannot understand.

Every complaint names the line, the column, and the nearest name that exists. ``ldlrepro check``
finds numbers that can be read but cannot be true, because papers do print such numbers.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from ldl import metrics
from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import UserError, nearest

NEEDED = ("table", "dataset", "method", "metric", "mean")
COLUMNS = (
    *("paper", "table", "dataset", "setting", "method", "metric", "mean", "std", "better"),
    *("quoted_from", "note"),
)
"""The columns of every row after reading. A file may leave out those that it does not need."""
RANK = "rank"
"""An optional column: the rank that is printed beside a number, or 1 where it is bold."""

OURS = {**metrics.BETTER, **metrics.LABEL_BETTER, **metrics.AGE_BETTER}
TIMES = ("time_s", "train_time_s", "test_time_s", "time_ms")
DELTA = "delta_"
"""Prefix of a measure whose difference to another method is printed."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SHOWN = 20

Row = dict[str, str]
Directions = Mapping[str, str]
"""Measure -> which direction is better."""


def read(path: Path, paper: Paper, project: Project) -> list[Row]:
    """Return the rows of a file of printed numbers as text, dashes included.

    The paper's own file lists the names that a row may use.
    """
    where = project.shown(path)
    lines = list(_lines(path, where))
    problems = list(_wrong_columns(lines[0][1]) if lines else ["line 1: there is no header"])
    if problems:
        raise UserError("\n".join(f"{where}: {problem}" for problem in problems))
    header, rows = lines[0][1], []
    directions = known_measures(project)
    seen: dict[tuple[str, ...], int] = {}
    for number, fields in lines[1:]:
        if len(fields) != len(header):
            problems.append(
                f"line {number}: {len(fields)} fields, but the header has {len(header)} columns"
            )
            continue
        given = dict(zip(header, (field.strip() for field in fields), strict=True))
        row = _completed(given, paper.id, directions)
        problems += [f"line {number}: {p}" for p in _problems(row, paper, directions)]
        first = seen.setdefault(cell_key(row), number)
        if first != number:
            problems.append(f"line {number}: the same cell as line {first}")
        rows.append(row)
    if problems:
        more = len(problems) - _SHOWN
        shown = [f"{where}: {problem}" for problem in problems[:_SHOWN]]
        raise UserError("\n".join([*shown, *[f"{where}: and {more} more"] * (more > 0)]))
    return rows


def printed_deviation(paper: Paper, row: Row) -> str:
    """Return the printed standard deviation, or the root of a printed variance above zero."""
    if not row["std"] or paper.spread != "variance":
        return row["std"]
    return f"{math.sqrt(float(row['std'])):.3f}" if float(row["std"]) else ""


def cell_key(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return what identifies a printed number among those of its paper."""
    return tuple(row[name] for name in ("table", "dataset", "setting", "method", "metric"))


def known_measures(project: Project) -> Directions:
    """Return measure -> which direction is better, for all measures that may be printed."""
    theirs = {measure.id: measure.better for measure in project.measures}
    return {**OURS, **theirs, **dict.fromkeys(TIMES, "lower")}


def _direction(metric: str, known: Directions) -> str | None:
    """Return which direction of a measure is better; None for an unknown measure."""
    if metric.startswith(DELTA):
        return "none" if metric.removeprefix(DELTA) in known else None
    return known.get(metric)


def _lines(path: Path, where: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not empty."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, strict=True)
            for fields in reader:
                if any(field.strip() for field in fields):
                    yield reader.line_num, fields
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8: {error}") from None
    except csv.Error as error:
        raise UserError(f"{where}: line {reader.line_num}: {error}") from None


def _wrong_columns(header: list[str]) -> Iterator[str]:
    if len(header) == 1:
        for separator, name in ((";", "semicolons"), ("\t", "tabs")):
            if separator in header[0]:
                yield f"line 1: columns are separated by {name}. Separate them by commas."
                return
    for name in NEEDED:
        if name not in header:
            others = set(header) - {*COLUMNS, RANK}
            yield f"line 1: there is no column '{name}'.{nearest(name, others)}"
    for name in header:
        if name not in (*COLUMNS, RANK):
            yield f"line 1: unknown column '{name}'.{nearest(name, (*COLUMNS, RANK))}"
        elif header.count(name) > 1:
            yield f"line 1: the column '{name}' stands there {header.count(name)} times"


def _completed(row: Row, paper: str, known: Directions) -> Row:
    """Return a row with all columns. A number that begins with a point gets its zero."""
    full = {name: row.get(name, "") for name in COLUMNS}
    full["paper"] = full["paper"] or paper
    full["better"] = full["better"] or _direction(full["metric"], known) or ""
    for name in ("mean", "std"):
        full[name] = re.sub(r"^(-?)\.(?=\d)", r"\g<1>0.", full[name])
    return full | ({RANK: row[RANK]} if RANK in row else {})


def _problems(row: Row, paper: Paper, directions: Directions) -> Iterator[str]:
    if row["paper"] != paper.id:
        yield f"paper: '{row['paper']}', but this is the file of {paper.id}"
    table, file = paper.tables.get(row["table"]), paper.shown_file
    datasets = [*paper.datasets, *paper.use_dataset, *paper.not_available]
    is_experiment = table is not None and bool(table.experiment)
    for column, known, where in (
        ("table", paper.tables, f"tables of {file}"),
        ("method", paper.methods, f"methods of {file}"),
        ("dataset", datasets if row["dataset"] else [""], f"datasets of {file}"),
        # Without its entry the row would be measured as if it were the paper's plain setting.
        ("setting", table.settings if table else {}, f"tables.{row['table']}.settings of {file}"),
    ):
        if known and row[column] not in known:
            yield _unknown(column, row[column], known, where)
    better = _direction(row["metric"], directions)
    if not row["dataset"] and not is_experiment:
        yield "dataset: empty"
    if better is None and not is_experiment:
        yield _unknown("metric", row["metric"], directions, "measures")
    elif better and row["better"] != better:
        yield f"better: '{row['better']}', but of {row['metric']} {better} is better"
    elif row["better"] not in ("lower", "higher", "none"):
        yield f"better: '{row['better']}' is none of lower, higher, none"
    for name in ("mean", "std"):
        if row[name] and not _NUMBER.fullmatch(row[name]):
            yield f"{name}: {_no_number(row[name])}"
    if row["std"].startswith("-"):
        yield f"std: '{row['std']}' is negative"
    if not row["mean"] and not row["note"]:
        yield "mean: empty. Say in `note` why the paper prints nothing here."
    if row.get(RANK) and not re.fullmatch(r"[1-9]\d*", row[RANK]):
        yield f"rank: '{row[RANK]}' is not a rank. Write 1, 2, 3 and so on, or nothing."


def _unknown(column: str, name: str, known: Collection[str], where: str) -> str:
    hint = (
        nearest(name, known) or nearest(name.lower(), known) or f" There are: {', '.join(known)}."
    )
    return f"{column}: '{name}' is not among the {where}.{hint}"


def _no_number(text: str) -> str:
    """Say what is wrong with a printed number and how to write it."""
    looks_like = text.translate(str.maketrans("OolI", "0011"))
    if _NUMBER.fullmatch(looks_like):
        return f"'{text}' has a letter in it. Did you mean {looks_like}?"
    if re.fullmatch(r"-?\d*,\d+", text):
        return f"'{text}' has a comma. Write {text.replace(',', '.')}."
    if text.endswith("%"):
        return f"'{text}' is in per cent. Write a fraction, and keep the printed digits."
    if re.fullmatch(r"-?\d+(\.\d+)?[eE][-+]?\d+", text):
        return f"'{text}' has an exponent. Write it out, with the printed digits: 3e-4 is 0.0003."
    if found := re.fullmatch(r"([\d.]+)\s*(?:±|\+-|\+/-|\(|\\pm)\s*([\d.]+)\)?", text):
        return f"'{text}' are two numbers. Write {found[1]} as mean and {found[2]} as std."
    return f"'{text}' is not a number"

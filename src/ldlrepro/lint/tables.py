"""Printed tables as typed cells, read from CSV files of any paper.

A file is long, a cell a line (``dataset, method, metric, mean, std``), or wide, a row a line with a
column for each measure. Numbers stay the strings that were printed, for their digits count.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from ldl import metrics
from ldlrepro.core import groups
from ldlrepro.core.errors import UserError, plain

BETTER = {
    **metrics.BETTER,
    **metrics.LABEL_BETTER,
    **metrics.AGE_BETTER,
    **dict.fromkeys(("mean_rank", "losses"), "lower"),
    **dict.fromkeys(("accuracy", "wins"), "higher"),
    "ties": "none",
}
"""Measures that rules know, and which direction is better."""
OTHER_NAMES = {
    "measure": "metric",
    "value": "mean",
    "bold": "rank",
    "labels": "c",
    "rows": "n",
    "kldiv": "kl",
    "kullbackleibler": "kl",
    "kldivergence": "kl",
    "intersec": "intersection",
    "cheb": "chebyshev",
    "averagerank": "mean_rank",
    "01loss": "zero_one_loss",
    "chi2": "squared_chi2",
    "soerensen": "sorensen",
}
"""Names of columns and measures as people write them, in small letters and digits -> ours."""
COLUMNS = (
    *("paper", "table", "dataset", "setting", "method", "metric", "mean", "std", "better"),
    *("quoted_from", "note", "rank", "c", "n"),
)
OURS = {plain(name): name for name in (*COLUMNS, *BETTER)}
NUMBER = re.compile(r"-?\d*\.?\d+")
GAPS = ("", "-", "–", "N/A")
SLACK = 1e-9


@dataclass(frozen=True)
class Printed:
    """A printed number."""

    text: str

    @cached_property
    def value(self) -> float:
        return float(self.text)

    @cached_property
    def decimals(self) -> int:
        return len(self.text.partition(".")[2])

    @property
    def digits(self) -> int:
        """Count the digits that say something: those after leading zeros."""
        return len(re.sub(r"\D", "", self.text).lstrip("0"))

    @property
    def half(self) -> float:
        """Return half a unit of the last digit, by which rounding can change a number."""
        return 0.5 * 10.0**-self.decimals + SLACK

    @property
    def low(self) -> float:
        return self.value - self.half

    @property
    def high(self) -> float:
        return self.value + self.half

    def agrees(self, other: Printed) -> bool:
        """Tell whether both may be one number, rounded to the digits of the shorter."""
        return self.low <= other.high + SLACK and other.low <= self.high + SLACK

    def same_digits(self, other: Printed) -> bool:
        """Tell whether both are the same in the digits of the shorter."""
        if self.decimals == other.decimals:
            return self.value == other.value
        digits = min(self.decimals, other.decimals)
        return round(self.value, digits) == round(other.value, digits)


@dataclass(frozen=True)
class Cell:
    """A number of a table, where it stands, and what is known of its data set."""

    source: str
    """The paper's id, or the file."""
    line: int
    table: str
    dataset: str
    setting: str
    method: str
    measure: str
    mean: Printed
    std: Printed | None = None
    better: str = ""
    rank: int | None = None
    """The rank that is printed beside it, 1 where it is bold."""
    note: str = ""
    quoted: bool = False
    labels: int | None = None
    """How many labels the data set has."""
    count: int | None = None
    """How many things the number counts: rows, or data sets of a mean rank."""

    @property
    def row(self) -> tuple[str, str, str, str]:
        return self.table, self.dataset, self.setting, self.method

    @property
    def place(self) -> str:
        table = f"Table {self.table}" if self.table else ""
        return ", ".join(part for part in (table, self.dataset, self.setting, self.method) if part)

    @property
    def has_better(self) -> bool:
        """Tell whether one direction of its measure is known to be better."""
        return self.better in ("lower", "higher")

    @property
    def is_gap(self) -> bool:
        """Tell whether a dash is printed, or nothing."""
        return not self.mean.text

    def __str__(self) -> str:
        std = f" ± {self.std.text}" if self.std else ""
        return f"{self.measure} {self.mean.text}{std}"


Rows = dict[tuple[str, str, str, str], dict[str, Cell]]
"""Table, data set, setting and method -> measure -> cell."""


def rows_of(cells: Iterable[Cell]) -> Rows:
    found: Rows = {}
    for cell in cells:
        found.setdefault(cell.row, {}).setdefault(cell.measure, cell)
    return found


def grouped(cells: Iterable[Cell], *names: str) -> dict[tuple[Any, ...], list[Cell]]:
    """Return cells by the values of some of their attributes."""
    return groups.grouped(cells, lambda cell: tuple(getattr(cell, name) for name in names))


def read_table(path: Path, source: str) -> list[Cell]:
    """Return the cells of a CSV file, dashes included; refuse what is no number."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, strict=True)
            lines = [(reader.line_num, fields) for fields in reader if any(fields)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a CSV file in UTF-8: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    header = [_our_name(name) for name in lines[0][1]] if lines else []
    measures = [name for name in header if name in BETTER]
    needed = ("dataset", "method") if measures else ("dataset", "method", "metric", "mean")
    for name in needed:
        if name not in header:
            raise UserError(
                f"{path}: line 1: there is no column '{name}'. Write the columns dataset, method, "
                "metric, mean and std, or dataset, method and one for each measure."
            )
    for name in header:
        if name not in OURS.values() and (meant := _meant(name)):
            raise UserError(
                f"{path}: line 1: the column '{name}' is not read. Did you mean '{meant}'? Rename "
                "it, or leave it out."
            )
    cells: list[Cell] = []
    for number, fields in lines[1:]:
        given = dict(zip(header, (field.strip() for field in fields), strict=False))
        for measure in measures or [given.get("metric", "")]:
            text = given.get(measure if measures else "mean", "")
            cells.append(_cell(given, measure, text, f"{path}: line {number}", source, number))
    for same in grouped(cells, "row", "measure").values():
        if len(same) > 1:
            raise UserError(f"{path}: line {same[1].line}: the same cell as line {same[0].line}")
    return cells


def _meant(name: str) -> str:
    """Return the column or measure whose name this one begins with or nearly is; '' if none."""
    word = plain(name)
    begun = [known for known in OURS if len(known) > 3 and word.startswith(known)]
    return next((OURS[k] for k in begun or get_close_matches(word, OURS, 1, 0.75)), "")


def _our_name(name: str) -> str:
    return OURS.get(plain(name), OTHER_NAMES.get(plain(name), name.strip()))


def _cell(
    given: Mapping[str, str], measure: str, text: str, where: str, source: str, line: int
) -> Cell:
    mean, _, beside = (part.strip() for part in text.replace("+-", "±").partition("±"))
    std = given.get("std") or beside
    measure = _our_name(measure)
    return Cell(
        source=source,
        line=line,
        table=given.get("table", ""),
        dataset=given.get("dataset", ""),
        setting=given.get("setting", ""),
        method=given.get("method", ""),
        measure=measure,
        mean=_number(mean, where),
        std=_number(std, where) if std not in GAPS else None,
        better=given.get("better") or BETTER.get(measure, ""),
        rank=_whole(given.get("rank", "")),
        note=given.get("note", ""),
        quoted=bool(given.get("quoted_from")),
        labels=_whole(given.get("c", "")),
        count=_whole(given.get("n", "")),
    )


def _number(text: str, where: str) -> Printed:
    if text in GAPS:
        return Printed("")
    if not NUMBER.fullmatch(text):
        raise UserError(f"{where}: '{text}' is not a number. Write a decimal point, and no %.")
    return Printed(text)


def _whole(text: str) -> int | None:
    """Return a whole number above zero."""
    return int(text) or None if text.isdecimal() else None

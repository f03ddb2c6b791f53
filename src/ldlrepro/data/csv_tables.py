"""Reads a CSV file with a header as features and label distributions.

The columns in ``labels`` are D. ``keys`` may name a column for the groups and one for the target.
All other columns are features, in their order. The separator is a comma, a semicolon or a tab,
whichever the header has most of. With semicolons or tabs, decimals may have a comma. ``gaps`` says
what happens to rows with gaps.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import DataSet
from ldlrepro.core.errors import nearest
from ldlrepro.core.progress import say

GAPS = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""Texts of cells without a value, in lower case."""
SEPARATORS = (",", ";", "\t")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


def read_csv(path: Path, data_set: DataSet) -> dict[str, Any]:
    """Return X, D, groups and target; raise ValueError for a table that breaks the rules."""
    header, lines, separator = _table(path)
    labels = data_set.labels
    if not labels:
        raise ValueError("`labels` has to name the columns that hold the label degrees")
    keys = {"groups": data_set.keys.groups, "target": data_set.keys.target}
    named = {part: name for part, name in keys.items() if name}
    for name in [*labels, *named.values()]:
        if name not in header:
            held = ", ".join(header)
            raise ValueError(f"there is no column '{name}'.{nearest(name, header)} It has: {held}")
    features = [name for name in header if name not in {*labels, *named.values()}]
    if not features:
        raise ValueError("every column is a label, a group or a target; no feature is left")
    if data_set.gaps == "drop":
        lines = _without_gaps(path, lines)
    numbers, rows = lines.keys(), lines.values()
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))

    def read(names: Sequence[str]) -> np.ndarray:
        return _numbers(columns, names, numbers, may_have_commas=separator != ",")

    parts: dict[str, Any] = {"X": read(features), "D": read(labels)}
    if "groups" in named:
        parts["groups"] = np.array(columns[named["groups"]])
    if "target" in named:
        parts["target"] = read([named["target"]])[:, 0]
    return parts


def _table(path: Path) -> tuple[list[str], dict[int, list[str]], str]:
    """Return the names of the columns, the rows by their line numbers, and the separator."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            separator = max(SEPARATORS, key=handle.readline().count)
            handle.seek(0)
            rows = list(csv.reader(handle, delimiter=separator))
    except (UnicodeDecodeError, csv.Error) as error:
        cure = f"Save it as UTF-8, or type `iconv -f latin1 -t utf-8 {path} > utf8{path.suffix}`"
        raise ValueError(f"not a CSV file in UTF-8 ({error}). {cure}") from None
    while rows and not rows[-1]:
        rows.pop()
    header = [name.strip() for name in rows[0]] if rows else []
    if len(rows) < 2:
        raise ValueError("it needs a line with the names of the columns, and rows below")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise ValueError(f"two columns are called '{twice[0]}'")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise ValueError(f"line {number} has {len(row)} values for {len(header)} columns")
    return header, dict(enumerate(rows[1:], start=2)), separator


def _without_gaps(path: Path, lines: Mapping[int, list[str]]) -> dict[int, list[str]]:
    """Leave out rows that lack a value, and name them."""
    whole = {n: row for n, row in lines.items() if not any(map(_is_gap, row))}
    if not whole:
        raise ValueError("every row has a gap; leave out the columns that have them")
    if gone := [str(number) for number in lines if number not in whole]:
        first = ", ".join(gone[:5]) + ", ..." * (len(gone) > 5)
        count = f"{len(gone)} of {len(lines)} rows"
        say(f"{path.name}: {count} have gaps and are left out (lines {first})")
    return whole


def _is_gap(text: str) -> bool:
    return text.strip().lower() in GAPS


def _numbers(
    columns: Mapping[str, Sequence[str]],
    names: Sequence[str],
    lines: Iterable[int],
    may_have_commas: bool,
) -> np.ndarray:
    """Return columns of numbers, all with decimal points or all with decimal commas."""
    texts = [text for name in names for text in columns[name]]
    commas = may_have_commas and any(DECIMAL_COMMA.fullmatch(text.strip()) for text in texts)
    values = np.empty((len(columns[names[0]]), len(names)))
    for index, name in enumerate(names):
        for row, (line, text) in enumerate(zip(lines, columns[name], strict=True)):
            try:
                values[row, index] = _number(text, "," if commas else ".")
            except ValueError as error:
                raise ValueError(f"line {line}, column '{name}': {error}") from None
    return values


def _number(text: str, decimal: str) -> float:
    if _is_gap(text):
        raise ValueError(
            f"'{text}' is not a value; write gaps: drop into the YAML to leave out such rows, or "
            "fill the gaps"
        )
    if decimal == "." and DECIMAL_COMMA.fullmatch(text.strip()):
        raise ValueError(f"'{text}' has a comma, but so have columns; write a decimal point")
    if decimal == "," and "." in text:
        raise ValueError(f"'{text}' has a point where others have a decimal comma")
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None

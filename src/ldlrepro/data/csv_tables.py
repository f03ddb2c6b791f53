"""Reads a CSV file with a header as features and label distributions.

The columns that ``labels`` names are D; ``keys`` may name a column for the groups and one for the
target; all others are features, in their order. ``csv`` says how the file is written: separator,
decimal point, and what becomes of rows with gaps.
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
"""Texts of cells without a value, in small letters."""
SEPARATORS = {",": ",", ";": ";", "tab": "\t"}
"""Characters between columns, by how the YAML writes them."""
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


def read_csv(path: Path, data_set: DataSet) -> dict[str, Any]:
    """Return X, D, groups and target; raise ValueError for a table not as it should be."""
    way, labels = data_set.csv, data_set.labels
    header, lines = _table(path, way.separator)
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
    if way.gaps == "drop":
        lines = _without_gaps(path, lines)
    numbers, rows = lines.keys(), lines.values()
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))

    def read(names: Sequence[str]) -> np.ndarray:
        return _numbers(columns, names, numbers, way.decimal)

    parts: dict[str, Any] = {"X": read(features), "D": read(labels)}
    if "groups" in named:
        parts["groups"] = np.array(columns[named["groups"]])
    if "target" in named:
        parts["target"] = read([named["target"]])[:, 0]
    return parts


def _table(path: Path, separator: str) -> tuple[list[str], dict[int, list[str]]]:
    """Return the names of the columns, and the rows by the numbers of their lines."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.reader(handle, delimiter=SEPARATORS[separator]))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"not a CSV file ({error})") from None
    while rows and not rows[-1]:
        rows.pop()
    header = [name.strip() for name in rows[0]] if rows else []
    if len(rows) < 2:
        raise ValueError("it needs a line with the names of the columns, and rows below")
    other = max(SEPARATORS, key=lambda name: header[0].count(SEPARATORS[name]))
    if len(header) == 1 and SEPARATORS[other] in header[0]:
        raise ValueError(
            f"its columns seem to be separated by '{other}'; write csv: {{separator: \"{other}\"}} "
            "into the YAML"
        )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise ValueError(f"two columns are called '{twice[0]}'")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise ValueError(f"line {number} has {len(row)} values for {len(header)} columns")
    return header, dict(enumerate(rows[1:], start=2))


def _without_gaps(path: Path, lines: Mapping[int, list[str]]) -> dict[int, list[str]]:
    """Leave out rows that lack a value, and say which."""
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
    columns: Mapping[str, Sequence[str]], names: Sequence[str], lines: Iterable[int], decimal: str
) -> np.ndarray:
    values = np.empty((len(columns[names[0]]), len(names)))
    for index, name in enumerate(names):
        for row, (line, text) in enumerate(zip(lines, columns[name], strict=True)):
            try:
                values[row, index] = _number(text, decimal)
            except ValueError as error:
                raise ValueError(f"line {line}, column '{name}': {error}") from None
    return values


def _number(text: str, decimal: str) -> float:
    if _is_gap(text):
        raise ValueError(
            f"'{text}' is no value; write csv: {{gaps: drop}} into the YAML to leave out "
            "such rows, or fill the gaps"
        )
    if decimal == "." and DECIMAL_COMMA.fullmatch(text.strip()):
        raise ValueError(
            f"'{text}' seems to have a decimal comma; write csv: {{decimal: \",\"}} into the YAML"
        )
    if decimal == "," and "." in text:
        raise ValueError(f"'{text}' has a point where decimals are written with a comma")
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None

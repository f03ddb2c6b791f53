"""Reads a CSV file with a header as features and label distributions.

The columns that ``labels`` names are D; ``keys`` may name a column for the groups and one for the
target; all others are features, in their order.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.core.errors import nearest


def read_csv(path: Path, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return X, D, groups and target; raise ValueError for a table not as it should be."""
    header, lines = _table(path)
    labels = list(map(str, spec.get("labels", [])))
    if not labels:
        raise ValueError("`labels` has to name the columns that hold the label degrees")
    named = {part: str(spec["keys"][part]) for part in _aside(spec)}
    for name in [*labels, *named.values()]:
        if name not in header:
            held = ", ".join(header)
            raise ValueError(f"there is no column '{name}'.{nearest(name, header)} It has: {held}")
    features = [name for name in header if name not in {*labels, *named.values()}]
    if not features:
        raise ValueError("every column is a label, a group or a target; no feature is left")
    columns = dict(zip(header, zip(*lines, strict=True), strict=True))
    parts: dict[str, Any] = {
        "X": _numbers(columns, features),
        "D": _numbers(columns, labels),
    }
    if "groups" in named:
        parts["groups"] = np.array(columns[named["groups"]])
    if "target" in named:
        parts["target"] = _numbers(columns, [named["target"]])[:, 0]
    return parts


def _aside(spec: Mapping[str, Any]) -> list[str]:
    return [part for part in ("groups", "target") if part in spec.get("keys", {})]


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.reader(handle))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"not a CSV file ({error})") from None
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
    return header, rows[1:]


def _numbers(columns: Mapping[str, Sequence[str]], names: Sequence[str]) -> np.ndarray:
    values = np.empty((len(columns[names[0]]), len(names)))
    for index, name in enumerate(names):
        for row, text in enumerate(columns[name]):
            try:
                values[row, index] = float(text)
            except ValueError:
                raise ValueError(
                    f"line {row + 2}, column '{name}': '{text}' is not a number"
                ) from None
    return values

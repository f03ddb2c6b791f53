"""Reads and writes folds as a small table: which rows are tested where.

The table has a line per tested row, with the columns ``row`` (from 0, in the order of the data
set), ``fold`` and, where there are several, ``repeat``. Rows that a fold does not name are its
training rows. A protocol's ``given`` reads such a file, ``ldlrepro baselines --folds`` writes one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.files import write_text
from ldlrepro.folds.splits import Fold, Part

COLUMNS = ("repeat", "fold", "row")


def read_parts(path: Path, n: int, expected: int | None) -> list[Part]:
    """Return the tested rows of every fold, for a data set of ``n`` rows and ``expected`` folds."""
    tested: dict[tuple[int, int], list[int]] = {}
    for line, (repeat, fold, row) in _lines(path):
        if row >= n:
            raise UserError(
                f"{path}: line {line}: row {row}, but the data set has {n} rows, 0 to {n - 1}"
            )
        rows = tested.setdefault((repeat, fold), [])
        rows.append(row)
    for (repeat, fold), rows in tested.items():
        if len(set(rows)) < len(rows):
            twice = next(row for row in rows if rows.count(row) > 1)
            raise UserError(f"{path}: row {twice} stands twice in repeat {repeat}, fold {fold}")
    if expected is not None and len(tested) != expected:
        raise UserError(f"{path}: {len(tested)} folds, but the protocol has {expected}")
    return list(_parts({key: np.sort(rows) for key, rows in sorted(tested.items())}))


def write_parts(path: Path, folds: Sequence[Fold]) -> None:
    """Write the tested rows of every fold."""
    lines = [",".join(COLUMNS)]
    for fold in folds:
        lines += [f"{fold.repeat},{fold.fold},{row}" for row in fold.test]
    write_text(path, "\n".join(lines) + "\n")


def _parts(tested: dict[tuple[int, int], np.ndarray]) -> Iterator[Part]:
    for (repeat, fold), rows in tested.items():
        others = [key for key in tested if key[0] == repeat]
        following = others[(others.index((repeat, fold)) + 1) % len(others)]
        yield repeat, fold, rows, tested[following]


def _lines(path: Path) -> Iterator[tuple[int, tuple[int, int, int]]]:
    if not path.is_file():
        raise UserError(f"{path}: no such file; the protocol's `given` names it")
    with open(path, encoding="utf-8-sig", newline="") as handle:
        reader = csv.DictReader(handle)
        header = reader.fieldnames or []
        for name in ("fold", "row"):
            if name not in header:
                raise UserError(f"{path}: there is no column '{name}'.{nearest(name, header)}")
        for line in reader:
            texts = [line.get("repeat") or "0", line["fold"] or "", line["row"] or ""]
            if not all(text.strip().isdecimal() for text in texts):
                shown = ", ".join(map(repr, texts))
                raise UserError(f"{path}: line {reader.line_num}: not whole numbers: {shown}")
            repeat, fold, row = map(int, texts)
            yield reader.line_num, (repeat, fold, row)

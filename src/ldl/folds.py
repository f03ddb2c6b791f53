"""Reads folds that somebody has published as a small table: which rows are tested where.

The table has a line per tested row, with the columns ``row`` (from 0, in the order of the data
set), ``fold`` and, where there are several, ``repeat``. Rows that a fold does not name are its
training rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np

from ldl.errors import UserError, nearest


def read_folds(path: str | PathLike[str], n_rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (training rows, tested rows) of every fold, as scikit-learn's ``cv=`` takes them.

    Parameters
    ----------
    path : str or path
        The table of tested rows.
    n_rows : int
        Number of rows of the data set.

    Returns
    -------
    list of pairs of integer arrays

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder) / "folds.csv"
    ...     _ = table.write_text("row,fold\\n0,0\\n1,1\\n2,0\\n")
    ...     [test.tolist() for train, test in read_folds(table, 3)]
    [[0, 2], [1]]
    """
    every = np.arange(n_rows)
    return [(np.setdiff1d(every, test), test) for test in read_tested(path, n_rows).values()]


def read_tested(path: str | PathLike[str], n_rows: int) -> dict[tuple[int, int], np.ndarray]:
    """Return the tested rows by (repeat, fold), both in their order."""
    tested: dict[tuple[int, int], list[int]] = {}
    for line, (repeat, fold, row) in _lines(Path(path)):
        if row >= n_rows:
            raise UserError(
                f"{path}: line {line}: row {row}, but the data set has {n_rows} rows, "
                f"0 to {n_rows - 1}"
            )
        tested.setdefault((repeat, fold), []).append(row)
    for (repeat, fold), rows in tested.items():
        if len(set(rows)) < len(rows):
            twice = next(row for row in rows if rows.count(row) > 1)
            raise UserError(f"{path}: row {twice} stands twice in repeat {repeat}, fold {fold}")
    return {key: np.sort(rows) for key, rows in sorted(tested.items())}


def _lines(path: Path) -> Iterator[tuple[int, tuple[int, int, int]]]:
    if not path.is_file():
        raise UserError(f"{path}: no such file; it should say which rows each fold tests")
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

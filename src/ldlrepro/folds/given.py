"""Reads and writes folds as a small table; ``ldl.folds`` defines its columns.

A protocol's ``given`` names such a file, and ``ldlrepro baselines --out`` writes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ldl.folds import read_tested
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.folds.splits import Fold, Part

COLUMNS = ("repeat", "fold", "row")


def read_parts(path: Path, n: int, expected: int | None) -> list[Part]:
    """Return the tested rows of every fold, for a data set of ``n`` rows and ``expected`` folds."""
    tested = read_tested(path, n)
    if expected is not None and len(tested) != expected:
        raise UserError(f"{path}: {len(tested)} folds, but the protocol has {expected}")
    parts = []
    for (repeat, fold), rows in tested.items():
        others = [key for key in tested if key[0] == repeat]
        following = others[(others.index((repeat, fold)) + 1) % len(others)]
        parts.append((repeat, fold, rows, tested[following]))
    return parts


def write_parts(path: Path, folds: Sequence[Fold]) -> None:
    """Write the tested rows of every fold."""
    lines = [",".join(COLUMNS)]
    for fold in folds:
        lines += [f"{fold.repeat},{fold.fold},{row}" for row in fold.test]
    write_text(path, "\n".join(lines) + "\n")

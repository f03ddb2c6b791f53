"""Writes files completely or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable
from pathlib import Path


def atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Call ``write`` with a temporary path, flush to disk, then give the file its final name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(temporary)
        with open(temporary, "rb+") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 with plain line ends, which gives the same bytes everywhere."""

    def write(temporary: Path) -> None:
        temporary.write_text(text, encoding="utf-8", newline="\n")

    atomically(path, write)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV with plain line ends."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()

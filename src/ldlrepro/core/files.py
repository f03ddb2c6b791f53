"""Writes files completely or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


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


def write_json(path: Path, tree: object) -> None:
    """Write values as JSON: the same bytes for the same values."""
    write_text(path, json.dumps(tree, indent=1, sort_keys=True) + "\n")


def write_npz(path: Path, arrays: Mapping[str, Any], compressed: bool = False) -> None:
    """Write arrays by their names."""
    import numpy as np

    save = np.savez_compressed if compressed else np.savez

    def write(temporary: Path) -> None:
        with open(temporary, "wb") as handle:  # a handle, or numpy would append .npz to the name
            save(handle, **arrays)

    atomically(path, write)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV with plain line ends."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()

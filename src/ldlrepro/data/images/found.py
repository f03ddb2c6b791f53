"""The table of eyes that ``ldlrepro images ID --find-eyes`` writes: ``data/eyes/<id>/eyes.csv``.

It lies apart from the images, so neither a fetch nor this program touches an ``eyes.csv`` of the
user. The user's table takes precedence.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ldlrepro.core.errors import UserError
from ldlrepro.core.files import csv_text, write_text
from ldlrepro.data.images.faces import Eyes, eyes_in
from ldlrepro.data.images.points import EYES_HEADER, EYES_TABLE

COLUMNS = [*EYES_HEADER, "confidence", "problems"]
BY_FINDING = "found"
"""Where the points of such a face come from."""


@dataclass(frozen=True)
class Found:
    """One line of the table."""

    file: str
    eyes: Eyes | None
    confidence: float
    problems: str
    """Complaints as ``ldlrepro.data.images.faces.in_words`` writes them."""

    @property
    def cells(self) -> list[str]:
        points = ["" if self.eyes is None else f"{value:.2f}" for value in self.eyes or (0.0,) * 4]
        return [self.file, *points, f"{self.confidence:.4f}", self.problems]


def found_table(images: Path) -> Path:
    """Return the table that belongs to ``data/raw/<id>/images``."""
    owner = images.parent
    return owner.parent.parent / "eyes" / owner.name / EYES_TABLE


def read_found(path: Path) -> dict[str, Found]:
    """Return file -> line."""
    if not path.is_file():
        return {}
    try:
        with open(path, encoding="utf-8", newline="") as handle:
            header, *rows = csv.reader(handle)
        if header != COLUMNS:
            raise ValueError(f"the columns must be {', '.join(COLUMNS)}")
        return {row[0]: _line(row) for row in rows}
    except (ValueError, IndexError, csv.Error) as error:
        raise UserError(
            f"{path}: not a table of eyes that were found ({error}). Mend it, or remove it and "
            f"type `ldlrepro images {path.parent.name} --find-eyes`."
        ) from None


def write_found(path: Path, lines: Iterable[Found]) -> None:
    write_text(path, csv_text([COLUMNS, *(line.cells for line in lines)]))


def eyes_found(images: Path) -> Mapping[str, Found]:
    """Return the lines of the table that belongs to a folder of images, if there is one."""
    return read_found(found_table(images))


def _line(row: list[str]) -> Found:
    file, *points, confidence, problems = row
    if len(points) != 4:
        raise ValueError(f"{file}: {len(row)} cells instead of {len(COLUMNS)}")
    return Found(file, eyes_in(points), float(confidence), problems)

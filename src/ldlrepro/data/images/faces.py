"""A face image and its facts; a set of them as one table, including the unusable ones."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.core.errors import UserError
from ldlrepro.core.files import csv_text, write_text
from ldlrepro.core.groups import grouped

MISSING, BROKEN, UNLABELLED, REPEATED = "missing", "broken", "unlabelled", "listed twice"
DUPLICATE, GREY, POINTS = "duplicate", "grayscale", "points"
ODD, TWIN = "odd file", "twin name"
NO_FACE, SEVERAL, TINY, UNSURE = "no face", "several faces", "tiny face", "unsure eyes"
KINDS = {
    MISSING: "named in the list, but there is no such file",
    BROKEN: "cannot be decoded",
    UNLABELLED: "nothing says who it is, how old, or how it was rated",
    REPEATED: "a second line of the list names the same file",
    DUPLICATE: "the same pixels as another file; both are used",
    GREY: "no colour; used, with three equal channels where a method wants colour",
    POINTS: "eye points are absent or impossible; used, cropped at the centre",
    ODD: "not a plain 8-bit picture; used as a person would see it",
    TWIN: "another name differs only in small and capital letters; both are files of their own",
    NO_FACE: "no face was found; used, cropped at the centre",
    SEVERAL: "several faces were found; the largest one counts",
    TINY: "the face that was found is tiny; used, its eyes may be off",
    UNSURE: "the eyes that were found may be off; used",
}
LEAVE_OUT = (MISSING, BROKEN, UNLABELLED, REPEATED)
FOUND = (NO_FACE, SEVERAL, TINY, UNSURE)
"""Complaints of `ldlrepro images ID --find-eyes`."""

Eyes = tuple[float, float, float, float]
"""x and y of the eye on the left of the picture, and of the other eye, in pixels.

(0, 0) is the middle of the first pixel.
"""


@dataclass(frozen=True)
class Face:
    """One image. ``file`` is relative to the folder of the images."""

    file: str
    person: str
    age: float | None = None
    sex: str = ""
    origin: str = ""
    subset: str = ""
    """The part of the data set in which its authors put the image, if they did."""
    ratings: tuple[float, ...] = ()
    eyes: Eyes | None = None
    points_from: str = ""
    """The file that the eye points come from."""


@dataclass(frozen=True)
class Problem:
    """A complaint about one image."""

    file: str
    kind: str
    detail: str


@dataclass
class FaceSet:
    """The usable images in a fixed order, and every complaint."""

    folder: Path
    """The folder of the images."""
    faces: list[Face]
    problems: list[Problem] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    """Names of the ratings."""
    notes: list[str] = field(default_factory=list)
    """Choices for the whole set."""

    def __len__(self) -> int:
        return len(self.faces)

    @property
    def paths(self) -> list[Path]:
        return [self.folder / face.file for face in self.faces]

    @property
    def persons(self) -> np.ndarray:
        return np.array([face.person for face in self.faces])

    @property
    def ages(self) -> np.ndarray:
        """Ages; NaN where the data set has ratings instead."""
        return np.array([np.nan if f.age is None else f.age for f in self.faces], dtype=float)

    @property
    def ratings(self) -> np.ndarray:
        return np.array([face.ratings for face in self.faces], dtype=float)

    def rows_of(self, subset: str) -> np.ndarray:
        """Return the positions of the images in one part of the data set."""
        return np.flatnonzero([face.subset == subset for face in self.faces])

    def chosen(self, rows: Iterable[int], note: str) -> FaceSet:
        """Return the same set with fewer faces, and a note that says why."""
        faces = [self.faces[row] for row in rows]
        return replace(self, faces=faces, notes=[*self.notes, note])

    def counts(self) -> dict[str, int]:
        """Count the complaints of each kind."""
        found = Counter(problem.kind for problem in self.problems)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    def summary(self) -> dict[str, Any]:
        """Return a summary for the data set's record, the report and the command line."""
        return {
            "used": len(self.faces),
            "persons": len(set(self.persons.tolist())),
            "eye_points": sum(face.eyes is not None for face in self.faces),
            "subsets": dict(sorted(Counter(f.subset for f in self.faces if f.subset).items())),
            "problems": self.counts(),
            "notes": self.notes,
        }

    # ------------------------------------------------------------------ as a table

    def write(self, path: Path) -> None:
        """Write one CSV table: first the usable images in order, then those left out."""
        rows: list[list[str]] = [[*COLUMNS, *(f"rating {name}" for name in self.labels)]]
        complaints = grouped(self.problems, lambda problem: problem.file)
        for face in self.faces:
            rows.append(_cells(face, complaints.pop(face.file, [])))
        for name, problems in complaints.items():
            said = in_words(problems)
            rows.append([name, "no", said] + [""] * (len(COLUMNS) - 3 + len(self.labels)))
        write_text(path, csv_text(rows))

    @classmethod
    def read(cls, path: Path, folder: Path) -> FaceSet:
        """Read what ``write`` wrote. The data set's record holds the notes."""
        try:
            with open(path, encoding="utf-8", newline="") as handle:
                rows = list(csv.reader(handle))
            header, *lines = rows
            if header[: len(COLUMNS)] != COLUMNS:
                raise ValueError("other columns")
            faces = [_face(line) for line in lines if line[1] == "yes"]
            problems = [p for line in lines for p in from_words(line[0], line[2])]
        except (ValueError, IndexError) as error:
            raise UserError(
                f"{path}: not a table of images ({error}). Remove it and type "
                f"`ldlrepro prepare {path.name.partition('.')[0]}`."
            ) from None
        labels = [name.removeprefix("rating ") for name in header[len(COLUMNS) :]]
        return cls(folder, faces, problems, labels)


COLUMNS = ["file", "used", "problems", "person", "age", "sex", "origin", "subset"]
COLUMNS += ["left_x", "left_y", "right_x", "right_y", "points_from"]


def _cells(face: Face, problems: Sequence[Problem]) -> list[str]:
    eyes = ["" if face.eyes is None else f"{v:.10g}" for v in face.eyes or (0.0,) * 4]
    age = "" if face.age is None else f"{face.age:.10g}"
    about = [face.person, age, face.sex, face.origin, face.subset]
    ratings = [f"{rating:.10g}" for rating in face.ratings]
    return [face.file, "yes", in_words(problems), *about, *eyes, face.points_from, *ratings]


def _face(line: list[str]) -> Face:
    file, _, _, person, age, sex, origin, subset, *rest = line
    eyes, (source, *ratings) = eyes_in(rest[:4]), rest[4:]
    rated = tuple(float(value) for value in ratings)
    years = float(age) if age else None
    return Face(file, person, years, sex, origin, subset, rated, eyes, source)


def eyes_in(cells: Sequence[str]) -> Eyes | None:
    """Return the points in four cells of a table; None where they are empty."""
    if not any(cells):
        return None
    left_x, left_y, right_x, right_y = map(float, cells)
    return left_x, left_y, right_x, right_y


def in_words(problems: Sequence[Problem]) -> str:
    """Return all complaints about one image as one cell of a table."""
    return "; ".join(f"{p.kind}: {p.detail}".replace(";", ",") for p in problems)


def from_words(file: str, said: str) -> list[Problem]:
    """Return the complaints in a cell that ``in_words`` wrote."""
    parts = [part.partition(": ") for part in said.split("; ") if part]
    return [Problem(file, kind, detail) for kind, _, detail in parts]

"""Finds the eyes in every image of a set without eye points.

Results are saved regularly beside the table, so a stopped run continues where it was. The table
gets its name when all images are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro.catalogue import DataSet
from ldlrepro.core.at_once import one_by_one
from ldlrepro.core.errors import UserError
from ldlrepro.data.fetch import locked
from ldlrepro.data.images import faces
from ldlrepro.data.images.checks import given_eyes
from ldlrepro.data.images.faces import FOUND, NO_FACE, SEVERAL, TINY, UNSURE, Eyes, Problem
from ldlrepro.data.images.found import Found, found_table, read_found, write_found
from ldlrepro.data.images.layouts import LAYOUTS, Folder
from ldlrepro.data.images.pictures import PictureError, open_picture
from ldlrepro.data.images.points import complaint
from ldlrepro.data.images.reading import images_folder

if TYPE_CHECKING:
    from ldlrepro.data.eyes.detector import Detector, Sighting

AT_ONCE = 16
"""Number of images that a process gets at a time."""
KEPT_EVERY = 1000
"""Number of images after which results are saved."""
SMALL = 12.0
"""Pixels between the eyes below which a face is tiny: its points are off by more than 5 %."""
CONFIDENT = 0.97
AGREED = 0.06
"""Largest spread of the second look, in eye distances, that counts as agreement."""
LEANING = 60.0
"""Degrees beyond which the picture more likely lies on its side than the face leans."""


@dataclass(frozen=True)
class Search:
    """Outcome of a search."""

    table: Path
    lines: list[Found]
    given: int
    """Number of images whose points are known already."""

    @property
    def without(self) -> int:
        """Count the images in which no eyes were found."""
        return sum(line.eyes is None for line in self.lines)

    @property
    def doubtful(self) -> int:
        """Count the lines with a complaint."""
        return sum(bool(line.problems) for line in self.lines)

    def counts(self) -> dict[str, int]:
        """Count the images with each kind of complaint."""
        said = [{p.kind for p in faces.from_words(line.file, line.problems)} for line in self.lines]
        return {kind: count for kind in FOUND if (count := sum(kind in kinds for kinds in said))}


def find_eyes(
    data_set: DataSet,
    data_dir: Path,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Search:
    """Search all images of a fetched set without points; existing lines of the table stay."""
    assert data_set.layout is not None  # photographs have one
    images = images_folder(data_set, data_dir)
    if not images.is_dir():
        raise UserError(f"{images}: there is no such folder. Type `ldlrepro fetch {data_set.id}`.")
    folder = Folder(images)
    listed = {face.file: face for face in LAYOUTS[data_set.layout](folder).faces}
    known, _ = given_eyes(folder, list(listed.values()), [])
    wanted = [face.file for face in known if face.eyes is None and (images / face.file).is_file()]
    table = found_table(images)
    beginning = table.with_name(f"{table.stem}.unfinished.csv")
    # Two searches at once would write over each other's beginnings.
    look = partial(found_in, images)
    with locked(f"{images.parent.name}.eyes", data_dir):
        lines = {**read_found(table), **read_found(beginning)}
        to_do = [file for file in wanted if file not in lines]
        try:
            for done, found in enumerate(one_by_one(look, to_do, workers, AT_ONCE), start=1):
                lines[found.file] = found
                progress(len(wanted) - len(to_do) + done, len(wanted))
                if done % KEPT_EVERY == 0:
                    write_found(beginning, lines.values())
        except BaseException:
            write_found(beginning, lines.values())
            raise
        if wanted:
            write_found(table, [lines[file] for file in wanted])
            beginning.unlink(missing_ok=True)
    given = sum(face.eyes is not None for face in known)
    return Search(table, [lines[file] for file in wanted], given)


@cache
def _detector() -> Detector:
    from ldlrepro.data.eyes.detector import Detector

    return Detector()


def found_in(images: Path, file: str) -> Found:
    """Return the line of one image."""
    try:
        image = open_picture(images / file).image
    except PictureError as error:
        return _line(file, None, 0.0, (NO_FACE, f"cannot be decoded: {error}"))
    sighting = _detector().find(image)
    if sighting is None:
        return _line(file, None, 0.0, (NO_FACE, "nothing looks like one"))
    left_x, left_y, right_x, right_y = sighting.points[:2].ravel().tolist()
    eyes = (left_x, left_y, right_x, right_y)
    if impossible := complaint(eyes, image.size):
        return _line(file, None, sighting.confidence, (UNSURE, impossible))
    return _line(file, eyes, sighting.confidence, *_doubts(sighting))


def _line(file: str, eyes: Eyes | None, confidence: float, *doubts: tuple[str, str]) -> Found:
    words = faces.in_words([Problem(file, kind, detail) for kind, detail in doubts])
    return Found(file, eyes, round(confidence, 4), words)


def _doubts(sighting: Sighting) -> Iterator[tuple[str, str]]:
    if sighting.faces > 1:
        yield SEVERAL, f"{sighting.faces} of about the same size"
    if sighting.distance < SMALL:
        yield TINY, f"its eyes are {sighting.distance:.1f} pixels apart"
    if sighting.confidence < CONFIDENT:
        yield UNSURE, f"confidence {sighting.confidence:.3f}"
    if sighting.spread > AGREED:
        yield UNSURE, f"six looks differ by {sighting.spread:.0%} of their distance"
    if abs(sighting.turn) > LEANING:
        yield UNSURE, f"the face is turned by {sighting.turn:.0f} degrees"

"""Finds the eyes in every image of a set that came without eye points.

What is found is written down at once, beside the table, so that a run that was stopped goes on
where it was. The table gets its name when all images were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro.config import load_dataset
from ldlrepro.core.errors import UserError
from ldlrepro.data.fetch import locked
from ldlrepro.data.images.checks import given_eyes
from ldlrepro.data.images.faces import (
    FOUND,
    NO_FACE,
    SEVERAL,
    TINY,
    UNSURE,
    Problem,
    from_words,
    in_words,
)
from ldlrepro.data.images.found import Found, as_text, found_table, read_found, write_found
from ldlrepro.data.images.layouts import LAYOUTS, Folder
from ldlrepro.data.images.pictures import PictureError, open_picture
from ldlrepro.data.images.points import complaint
from ldlrepro.data.images.reading import images_folder

if TYPE_CHECKING:
    from ldlrepro.data.eyes.detector import Detector, Sighting

AT_ONCE = 16
"""Images that a process looks at before it tells what it found."""
SMALL = 12.0
"""Pixels between the eyes below which a face is tiny: its points are off by more than 5 %."""
CONFIDENT = 0.97
AGREED = 0.06
"""Spread of the second look, in distances between the eyes, up to which it agrees with itself."""
LEANING = 60.0
"""Degrees beyond which a face hardly leans, but the picture lies on its side."""


@dataclass(frozen=True)
class Search:
    """Outcome of a search."""

    images: Path
    """The folder of the images."""
    table: Path
    lines: list[Found]
    given: int
    """Images whose points are known already."""

    @property
    def without(self) -> int:
        """Count the images in which no eyes were found."""
        return sum(line.eyes is None for line in self.lines)

    @property
    def doubtful(self) -> list[Found]:
        """Return the lines with a complaint."""
        return [line for line in self.lines if line.problems]

    def counts(self) -> dict[str, int]:
        """Count the images with each kind of complaint."""
        said = [{p.kind for p in from_words(line.file, line.problems)} for line in self.lines]
        return {kind: count for kind in FOUND if (count := sum(kind in kinds for kinds in said))}


def find_eyes(
    dataset_id: str,
    data_dir: Path,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Search:
    """Look at all images of a fetched set without points; those in the table stay as they are."""
    spec = load_dataset(dataset_id)
    images = images_folder(dataset_id, spec, data_dir)
    if not images.is_dir():
        raise UserError(f"{images}: there is no such folder. Type `ldlrepro fetch {dataset_id}`.")
    # Two searches at once would write over each other's beginnings.
    with locked(f"{images.parent.name}.eyes", data_dir):
        return _found(images, spec["layout"]["name"], workers, progress)


def _found(images: Path, layout: str, workers: int, progress: Callable[[int, int], None]) -> Search:
    folder = Folder(images)
    listed = {face.file: face for face in LAYOUTS[layout](folder).faces}
    known, _ = given_eyes(folder, list(listed.values()), [])
    wanted = [face.file for face in known if face.eyes is None and (images / face.file).is_file()]
    table = found_table(images)
    lines = {**read_found(table), **read_found(_beginning(table))}
    to_do = [file for file in wanted if file not in lines]
    if to_do:
        before = len(wanted) - len(to_do)
        searched = _kept(table, _searched(images, to_do, workers), list(lines.values()))
        for done, found in enumerate(searched, start=before + 1):
            lines[found.file] = found
            progress(done, len(wanted))
    given = sum(face.eyes is not None for face in known)
    search = Search(images, table, [lines[file] for file in wanted], given)
    if wanted:
        write_found(table, search.lines)
        _beginning(table).unlink(missing_ok=True)
    return search


def _beginning(table: Path) -> Path:
    """Return the file with what an unfinished search has found so far."""
    return table.with_name(f"{table.stem}.unfinished.csv")


def _kept(table: Path, searched: Iterator[list[Found]], before: list[Found]) -> Iterator[Found]:
    """Write down each piece of the search before it is handed on."""
    path = _beginning(table)
    # Written whole at first: what a kill cut short would else swallow the next line.
    write_found(path, before)
    with open(path, "a", encoding="utf-8", newline="") as handle:
        for piece in searched:
            handle.write(as_text(piece))
            handle.flush()
            yield from piece


def _searched(images: Path, files: list[str], workers: int) -> Iterator[list[Found]]:
    """Give what was found, piece by piece, in the order of the files."""
    pieces = [files[start : start + AT_ONCE] for start in range(0, len(files), AT_ONCE)]
    if workers == 1:
        yield from (_piece(images, piece) for piece in pieces)
        return
    with ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(_piece, images, piece) for piece in pieces]
        try:
            yield from (job.result() for job in jobs)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _piece(images: Path, files: list[str]) -> list[Found]:
    return [found_in(images / file, file, _detector()) for file in files]


@cache
def _detector() -> Detector:
    from ldlrepro.data.eyes.detector import Detector

    return Detector()


def found_in(path: Path, file: str, detector: Any) -> Found:
    """Return the line of one image."""
    try:
        image = open_picture(path).image
    except PictureError as error:
        return _line(file, None, 0.0, Problem(file, NO_FACE, f"cannot be decoded: {error}"))
    sighting = detector.find(image)
    if sighting is None:
        return _line(file, None, 0.0, Problem(file, NO_FACE, "nothing looks like one"))
    eyes = tuple(float(value) for value in sighting.points[:2].ravel())
    doubts = list(_doubts(file, sighting))
    if impossible := complaint(eyes, image.size):  # type: ignore[arg-type]
        return _line(file, None, sighting.confidence, Problem(file, UNSURE, impossible))
    return _line(file, eyes, sighting.confidence, *doubts)


def _line(file: str, eyes: Any, confidence: float, *doubts: Problem) -> Found:
    return Found(file, eyes, round(confidence, 4), in_words(doubts))


def _doubts(file: str, sighting: Sighting) -> Iterator[Problem]:
    if sighting.faces > 1:
        yield Problem(file, SEVERAL, f"{sighting.faces} of about the same size")
    if sighting.distance < SMALL:
        yield Problem(file, TINY, f"its eyes are {sighting.distance:.1f} pixels apart")
    if sighting.confidence < CONFIDENT:
        yield Problem(file, UNSURE, f"confidence {sighting.confidence:.3f}")
    if sighting.spread > AGREED:
        yield Problem(file, UNSURE, f"six looks differ by {sighting.spread:.0%} of their distance")
    if abs(sighting.turn) > LEANING:
        yield Problem(file, UNSURE, f"the face is turned by {sighting.turn:.0f} degrees")

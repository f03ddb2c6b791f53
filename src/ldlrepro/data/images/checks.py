"""Checks every file of a listing: does it exist, can it be decoded, is it grey or a copy?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ldlrepro.data.images.faces import (
    BROKEN,
    DUPLICATE,
    FOUND,
    GREY,
    MISSING,
    ODD,
    POINTS,
    REPEATED,
    TWIN,
    UNLABELLED,
    Face,
    Problem,
    from_words,
)
from ldlrepro.data.images.found import BY_FINDING, eyes_found
from ldlrepro.data.images.layouts import GREY_LAYOUTS, Folder, Listing, belongs
from ldlrepro.data.images.pictures import PictureError, open_picture
from ldlrepro.data.images.points import EYES_TABLE, PointsError, complaint, read_eyes_table

DECODERS = 4
"""Threads. Pillow decodes outside Python's lock."""


@dataclass(frozen=True)
class Look:
    """Facts about one decoded file."""

    error: str = ""
    odd: tuple[str, ...] = ()
    size: tuple[int, int] = (0, 0)
    grey: bool = False
    pixels: str = ""
    """SHA-256 of size and pixels."""


def look(path: Path) -> Look:
    """Decode an image and describe it."""
    try:
        picture = open_picture(path)
    except PictureError as error:
        return Look(str(error))
    size = picture.image.size
    array = np.asarray(picture.image.convert("RGB"))
    grey = bool((array[..., 0] == array[..., 1]).all() and (array[..., 1] == array[..., 2]).all())
    digest = hashlib.sha256(repr(size).encode() + array.tobytes()).hexdigest()
    return Look("", picture.odd, size, grey, digest)


def checked(layout: str, folder: Folder, listing: Listing) -> tuple[list[Face], list[Problem]]:
    """Return the usable faces in the order of the listing, and all complaints."""
    problems = list(listing.problems)
    problems += _unlisted(layout, folder, listing)
    problems += _badly_named(layout, folder)
    faces = _once(listing.faces, problems)
    faces, repaired = given_eyes(folder, faces, problems)
    problems = [p for p in problems if p.kind != POINTS or p.file not in repaired]
    faces, problems = _found_eyes(folder, faces, problems)
    usable: list[Face] = []
    first_with: dict[str, Face] = {}
    for face, found in zip(faces, _looks(folder.root, faces), strict=True):
        if found is None:
            link = (folder.root / face.file).is_symlink()
            said = "a link that leads nowhere" if link else "no such file"
            problems.append(Problem(face.file, MISSING, said))
        elif found.error:
            problems.append(Problem(face.file, BROKEN, found.error))
        else:
            usable.append(_judged(layout, face, found, first_with, problems))
    gone = {p.file for p in problems if p.kind in (MISSING, BROKEN)}
    of_points = (POINTS, *FOUND)
    return usable, [p for p in problems if p.kind not in of_points or p.file not in gone]


def _unlisted(layout: str, folder: Folder, listing: Listing) -> list[Problem]:
    known = {face.file for face in listing.faces} | {p.file for p in listing.problems}
    return [
        Problem(name, UNLABELLED, "no list names it, or its name says nothing")
        for name in folder.images()
        if name not in known and belongs(layout, name)
    ]


def _badly_named(layout: str, folder: Folder) -> list[Problem]:
    said = "its name is not UTF-8; give it another one"
    unnamable = [Problem(name, BROKEN, said) for name in folder.unnamable]
    twins = [
        Problem(name, TWIN, f"of {other}")
        for name, other in folder.twins()
        if belongs(layout, name)
    ]
    return unnamable + twins


def _once(faces: Iterable[Face], problems: list[Problem]) -> list[Face]:
    kept: dict[str, Face] = {}
    for face in faces:
        first = kept.setdefault(face.file, face)
        if first is not face:
            words = "the same" if first == face else "other"
            problems.append(Problem(face.file, REPEATED, f"{words} words; the first line counts"))
    return list(kept.values())


def given_eyes(
    folder: Folder, faces: list[Face], problems: list[Problem]
) -> tuple[list[Face], set[str]]:
    """Take points from the user's eyes.csv first; return also who got points there."""
    path = folder.find(EYES_TABLE)
    if path is None:
        return faces, set()
    try:
        eyes = read_eyes_table(folder.root / path)
    except PointsError as error:
        problems.append(Problem(path, POINTS, str(error)))
        return faces, set()
    given = {face.file: eyes.get(Path(face.file).name.lower()) for face in faces}
    named = [
        face
        if given[face.file] is None
        else replace(face, eyes=given[face.file], points_from=EYES_TABLE)
        for face in faces
    ]
    return named, {file for file, points in given.items() if points is not None}


def _found_eyes(
    folder: Folder, faces: list[Face], problems: list[Problem]
) -> tuple[list[Face], list[Problem]]:
    """Give the points that were found to faces without points, and say what was doubtful."""
    lines = eyes_found(folder.root)
    without = {face.file for face in faces if face.eyes is None and face.file in lines}
    named = [
        replace(face, eyes=lines[face.file].eyes, points_from=BY_FINDING)
        if face.file in without and lines[face.file].eyes is not None
        else face
        for face in faces
    ]
    others = [p for p in problems if p.kind != POINTS or p.file not in without]
    doubts = [p for file in sorted(without) for p in from_words(file, lines[file].problems)]
    return named, others + doubts


def _looks(root: Path, faces: list[Face]) -> Iterable[Look | None]:
    from tqdm import tqdm

    def one(face: Face) -> Look | None:
        path = root / face.file
        return look(path) if path.is_file() else None

    with ThreadPoolExecutor(DECODERS) as pool:
        # Progress is shown only where it takes long enough for somebody to wonder.
        quiet = len(faces) < 2000
        yield from tqdm(pool.map(one, faces), "images", len(faces), disable=quiet or None)


def _judged(
    layout: str, face: Face, found: Look, first_with: dict[str, Face], problems: list[Problem]
) -> Face:
    problems += [Problem(face.file, ODD, said) for said in found.odd]
    if found.grey and layout not in GREY_LAYOUTS:
        problems.append(Problem(face.file, GREY, "no colour"))
    first = first_with.setdefault(found.pixels, face)
    if first is not face:
        about = (first.person, first.age, first.ratings)
        same = about == (face.person, face.age, face.ratings)
        words = "the same person and labels" if same else "another person or other labels"
        problems.append(Problem(face.file, DUPLICATE, f"of {first.file}, {words}"))
    if face.eyes is not None and (wrong := complaint(face.eyes, found.size)):
        problems.append(Problem(face.file, POINTS, wrong))
        return replace(face, eyes=None, points_from="")
    return face

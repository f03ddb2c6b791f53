"""The folders of JAFFE, BU-3DFE, MORPH album 2, FG-NET, CACD and UTKFace, as they are delivered.

A layout says which faces should exist; whether they do is checked afterwards. Archives may put
everything some folders deeper, so files are found by their names.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldlrepro.core.checksums import sha256_of
from ldlrepro.core.errors import UserError
from ldlrepro.core.groups import grouped
from ldlrepro.data.images.faces import MISSING, POINTS, UNLABELLED, Face, Problem
from ldlrepro.data.images.pictures import ENDINGS
from ldlrepro.data.images.points import PointsError, eyes_of, read_points

IMAGE_ENDINGS = tuple(ending for endings in ENDINGS.values() for ending in endings)
EMOTIONS = ["happiness", "sadness", "surprise", "anger", "disgust", "fear"]

JAFFE_IMAGE = re.compile(
    r"(?P<person>[A-Z]{2})\.(?P<pose>[A-Z]{2}\d)\.(?P<number>\d+)\.tiff?$", re.I
)
JAFFE_LINE = re.compile(r"^\s*(\d+)\s+((?:\d+\.\d+\s+){6})([A-Z]{2})[-.][A-Z]{2}\d\s*$", re.I)
BU_IMAGE = re.compile(r"(?P<person>[FM]\d{4})_(?P<pose>[A-Z]{2}\d{2})[A-Z]*_F2D\.\w+$", re.I)
FGNET_IMAGE = re.compile(r"(?P<person>\d{3})A(?P<age>\d{2})[A-Z]?\.jpe?g$", re.I)
UTKFACE_IMAGE = re.compile(r"(?P<age>\d{1,3})_(?P<sex>[01])_.*\.jpe?g$", re.I)
MORPH_COLUMNS = ("id_num", "race", "gender", "age", "photo")
RATINGS_HEADER = ["file", "person"]


@dataclass
class Listing:
    """The faces and problems that a layout found."""

    faces: list[Face] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def unlabelled(self, file: str, detail: str) -> None:
        self.problems.append(Problem(file, UNLABELLED, detail))


class Folder:
    """The files below a folder, found by their names. The case matters only between twins."""

    def __init__(self, root: Path) -> None:
        self.root = root
        found = sorted(path for path in root.rglob("*") if path.is_file() or _dead_link(path))
        names = [p.relative_to(root).as_posix() for p in found if not _hidden(p, root)]
        self.files = [name for name in names if _is_text(name)]
        self.unnamable = [ascii(name)[1:-1] for name in names if not _is_text(name)]
        """Names whose bytes are no UTF-8, with those bytes spelt out; no table can hold them."""
        self._by_path = grouped(self.files, str.lower)
        self._by_name = grouped(self.files, lambda name: _last(name).lower())

    def find(self, name: str) -> str | None:
        """Return the file with this path, or the only one with this last part."""
        path = name.replace("\\", "/").strip("/")
        places = self._by_path.get(path.lower(), [])
        if path in places:
            return path
        named = self._by_name.get(_last(path).lower(), [])
        exactly = [place for place in named if _last(place) == _last(path)]
        return _the_only(places) or _the_only(named) or _the_only(exactly)

    def twins(self) -> Iterator[tuple[str, str]]:
        """Yield each image beside another whose name differs only in case."""
        for same in self._by_path.values():
            images = [name for name in same if name.lower().endswith(IMAGE_ENDINGS)]
            if len(images) > 1:
                yield from zip(images, [*images[1:], images[0]], strict=True)

    def only(self, what: str, fits: Callable[[str], bool]) -> Path:
        """Return the one file that fits; tell the user where none or several fit."""
        found = [name for name in self.files if fits(_last(name))]
        if len(found) != 1:
            several = f"{len(found)} files fit: {', '.join(found)}" if found else "there is none"
            raise UserError(f"{self.root}: it needs {what}, and {several}. See docs/images.md.")
        return self.root / found[0]

    def images(self) -> Iterator[str]:
        return (name for name in self.files if name.lower().endswith(IMAGE_ENDINGS))


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.relative_to(root).parts)


def _dead_link(path: Path) -> bool:
    """Tell whether a link leads nowhere, or in a circle."""
    return path.is_symlink() and not path.exists()


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _the_only(found: list[str]) -> str | None:
    return found[0] if len(found) == 1 else None


def _last(name: str) -> str:
    return name.rpartition("/")[2]


# ---------------------------------------------------------------------- faces with ratings


def jaffe(folder: Folder) -> Listing:
    """Read JAFFE: ``KA.AN1.39.tiff`` is person, posed expression and line of the rating table."""
    table = folder.only(
        "the README with the rating table",
        lambda name: re.match(r"read.?me.*", name, re.I) is not None,
    )
    listed = _jaffe_table(table)
    listing = Listing(labels=EMOTIONS)
    for name in folder.images():
        parts = JAFFE_IMAGE.match(_last(name))
        if not parts:
            continue
        person, ratings = listed.get(int(parts["number"]), ("", ()))
        if person != parts["person"].upper():
            number = parts["number"]
            listing.unlabelled(name, f"line {number} of {table.name} is " + (person or "absent"))
        else:
            listing.faces.append(Face(name, person, ratings=ratings))
            del listed[int(parts["number"])]
    for number, (person, _) in listed.items():
        said = Problem(f"{person}, number {number}", MISSING, f"a line of {table.name}, no image")
        listing.problems.append(said)
    return listing


def _jaffe_table(path: Path) -> dict[int, tuple[str, tuple[float, ...]]]:
    """Return number of a picture -> person and ratings, in the order of EMOTIONS."""
    lines = path.read_text(encoding="latin-1").splitlines()
    found = [match for line in lines if (match := JAFFE_LINE.match(line))]
    if not found:
        raise UserError(
            f"{path}: no lines like `1 2.87 2.52 2.10 1.97 1.97 2.06 KM-NE1`. See docs/images.md."
        )
    return {int(m[1]): (m[3].upper(), tuple(float(value) for value in m[2].split())) for m in found}


def rated(folder: Folder) -> Listing:
    """Read images that ratings.csv lists, such as those of BU-3DFE (``F0001_AN01WH_F2D.bmp``)."""
    table = folder.only("ratings.csv", lambda name: name.lower() == "ratings.csv")
    return _rated_by_table(folder, table)


def _rated_by_table(folder: Folder, table: Path) -> Listing:
    """Read lines ``file, person, rating, ...`` whose header names the labels."""
    header, *rows = _table(table)
    if [name.lower() for name in header[:2]] != RATINGS_HEADER or len(header) < 4:
        raise UserError(f"{table}: the columns must be file, person, and one for each label.")
    listing = Listing(labels=header[2:])
    for row in rows:
        name = folder.find(row[0]) or row[0]
        try:
            ratings = tuple(float(value) for value in row[2:])
        except ValueError:
            ratings = ()
        # Comparing this way also refuses NaN.
        if len(row) != len(header) or not row[1] or not all(0 <= r < 1e9 for r in ratings):
            listing.unlabelled(name, f"unusable line of {table.name}")
        elif not sum(ratings) > 0:
            listing.unlabelled(name, f"no rating above zero in {table.name}")
        else:
            listing.faces.append(Face(name, row[1], ratings=ratings))
    return listing


# ---------------------------------------------------------------------- faces with ages


def morph(folder: Folder) -> Listing:
    """Read MORPH's CSV with ``id_num, race, gender, age, photo``; photo is the image's path."""
    table = folder.only(
        "the CSV of album 2 (morph_2008_nonCommercial.csv)",
        lambda name: name.lower().endswith(".csv") and "morph" in name.lower(),
    )
    header, *rows = _table(table)
    columns = {name.strip().lower(): index for index, name in enumerate(header)}
    absent = [name for name in MORPH_COLUMNS if name not in columns]
    if absent:
        raise UserError(f"{table}: there is no column {', '.join(absent)}. See docs/images.md.")
    listing = Listing()
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            listing.unlabelled(row[-1], f"line {number} of {table.name} has {len(row)} cells")
            continue
        person, origin, sex, years, photo = (row[columns[name]].strip() for name in MORPH_COLUMNS)
        name, age = folder.find(photo) or photo, _age(years)
        if age is None or not person:
            listing.unlabelled(name, f"line {number} of {table.name}: id '{person}', age '{years}'")
        else:
            face = Face(name, person, age, sex[:1].upper(), origin[:1].upper())
            listing.faces.append(face)
    return listing


def fgnet(folder: Folder) -> Listing:
    """Read FG-NET: ``001A02.JPG`` is person and age; ``001a02.pts`` holds its points."""
    listing = Listing()
    for name in folder.images():
        parts = FGNET_IMAGE.match(_last(name))
        if not parts:
            continue
        stem = _last(name).rpartition(".")[0]
        face = Face(name, parts["person"], float(parts["age"]))
        points = folder.find(f"{stem}.pts")
        if points is None:
            listing.problems.append(Problem(name, POINTS, f"there is no {stem.lower()}.pts"))
        else:
            try:
                eyes = eyes_of(read_points(folder.root / points))
                face = Face(name, face.person, face.age, eyes=eyes, points_from=_last(points))
            except PointsError as error:
                listing.problems.append(Problem(name, POINTS, str(error)))
        listing.faces.append(face)
    return listing


def cacd(folder: Folder) -> Listing:
    """Read CACD: ``celebrity2000_meta.mat`` lists name, age and identity of every image.

    The rank of a celebrity among those born in the same year makes the three parts: 3 to 5 test
    (120 celebrities), 1 and 2 validation (80), the rest training (1800). The published evaluation
    code of CACD tests on 3 to 5; that validation is 1 and 2 follows from the counts.
    """
    from scipy.io import loadmat

    table = folder.only(
        "celebrity2000_meta.mat", lambda n: re.match(r"celebrity2000.*\.mat$", n, re.I) is not None
    )
    try:
        stored: Any = loadmat(table, simplify_cells=True)["celebrityImageData"]
        columns = [stored[key] for key in ("name", "identity", "age", "rank")]
        rows = list(zip(*columns, strict=True))
    except NotImplementedError:
        raise UserError(f"{table}: save it as MATLAB version 7, without the features.") from None
    except MemoryError:
        raise
    except Exception as error:  # scipy raises whatever the broken bytes lead to
        raise UserError(f"{table}: not CACD's list of images ({error!r}).") from None
    listing = Listing()
    for file, identity, years, rank in rows:
        name, age = folder.find(str(file)) or str(file), _age(str(years))
        if age is None:
            listing.unlabelled(name, f"age '{years}' in {table.name}")
        else:
            person = f"{int(identity):04d}"
            listing.faces.append(Face(name, person, age, subset=_cacd_subset(int(rank))))
    return listing


def _cacd_subset(rank: int) -> str:
    return "validation" if rank <= 2 else "test" if rank <= 5 else "train"


def utkface(folder: Folder) -> Listing:
    """Read UTKFace: ``26_1_2_20170116184724.jpg.chip.jpg`` begins with age and sex (0 is male).

    Nothing says who is shown. The bytes of the file stand for the person, so that an image and its
    repeats stay on one side of a split.
    """
    listing = Listing()
    for name in folder.images():
        parts = UTKFACE_IMAGE.match(_last(name))
        path = folder.root / name
        if parts and path.is_file():
            sex = "FM"[parts["sex"] == "0"]
            listing.faces.append(Face(name, sha256_of(path)[:16], _age(parts["age"]), sex))
    return listing


def _table(path: Path) -> list[list[str]]:
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as handle:
            rows = [row for row in csv.reader(handle) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise UserError(f"{path}: not a CSV table ({error}).") from None
    if len(rows) < 2:
        raise UserError(f"{path}: it holds no lines below a header.")
    return rows


def _age(text: str) -> float | None:
    try:
        age = float(text)
    except ValueError:
        return None
    return age if 0 <= age <= 120 else None


LAYOUTS: dict[str, Callable[[Folder], Listing]] = {
    "jaffe": jaffe,
    "bu_3dfe": rated,
    "morph": morph,
    "fgnet": fgnet,
    "cacd": cacd,
    "utkface": utkface,
    "rated": rated,
}
GREY_LAYOUTS = ("jaffe", "rated")
"""Layouts of images that may all be grey, for which no grey image is reported."""


def belongs(layout: str, name: str) -> bool:
    """Tell whether the layout's list should name an image file."""
    return BU_IMAGE.match(_last(name)) is not None if layout == "bu_3dfe" else True

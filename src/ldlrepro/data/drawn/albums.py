"""Synthetic portraits in the folders and lists of JAFFE, MORPH, FG-NET and CACD."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.core.files import atomically, csv_text, write_text
from ldlrepro.data.drawn.portraits import Person, Portrait, person, portrait
from ldlrepro.data.drawn.sketches import feelings_of
from ldlrepro.data.images.layouts import EMOTIONS
from ldlrepro.data.images.points import EYES_HEADER, EYES_TABLE

POSES = ("HA", "SA", "SU", "AN", "DI", "FE")
README = "README_DRAWN.txt"
MORPH_HEADER = ["id_num", "picture_num", "dob", "doa", "race", "gender", "facial_hair"]
MORPH_HEADER += ["age", "age_diff", "glasses", "photo"]
MAT_HEADER = b"MATLAB 5.0 MAT-file, drawn by ldlrepro"
MAT_TEXT_BYTES = 116


@dataclass(frozen=True)
class Sitting:
    """One picture to draw."""

    number: int
    """Number of the person, from 0."""
    picture: int
    """Number of the picture among this person's, from 0."""
    who: Person
    age: float
    feelings: np.ndarray
    rng: np.random.Generator

    @property
    def ratings(self) -> list[float]:
        noise = self.rng.normal(0, 0.08, len(EMOTIONS))
        return [float(r) for r in np.clip(1 + 4 * self.feelings + noise, 1, 5).round(2)]


def write_album(folder: Path, layout: str, persons: int, images_per_person: int, seed: int) -> None:
    """Fill ``folder/images`` with synthetic persons, in the form of ``layout``."""
    images = folder / "images"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    ages = {"fgnet": (0, 69), "cacd": (16, 62)}.get(layout, (16, 77))
    WRITERS[layout](images, list(_sittings(persons, images_per_person, seed, ages)))


def _sittings(persons: int, pictures: int, seed: int, ages: tuple[int, int]) -> Iterator[Sitting]:
    for number in range(persons):
        # A stream for each person: more persons leave the earlier pictures as they are.
        rng = np.random.default_rng([seed, number])
        who = person(rng)
        lived = np.sort(rng.integers(ages[0], ages[1] + 1, size=pictures))
        for picture, age in enumerate(lived):
            feelings = feelings_of(rng, strongest=picture % len(EMOTIONS))
            yield Sitting(number, picture, who, float(age), feelings, rng)


def _jaffe(images: Path, sittings: Sequence[Sitting]) -> None:
    lines, eyes = ["Drawn faces, no real persons", "#  HAP SAD SUR ANG DIS FEA PIC"], []
    for number, sitting in enumerate(sittings, start=1):
        code = f"Z{chr(ord('A') + sitting.number)}"
        pose = f"{POSES[sitting.picture % 6]}{1 + sitting.picture // 6}"
        rated = " ".join(f"{rating:.2f}" for rating in sitting.ratings)
        lines.append(f"{number} {rated} {code}-{pose}")
        drawn = _drawn(sitting, (256, 256), grey=True, feeling=True)
        name = f"{code}.{pose}.{number}.tiff"
        _save(drawn, images / name, "TIFF")
        eyes.append([name, *drawn.eyes])
    write_text(images / README, "\n".join(lines) + "\n")
    _write_eyes(images, eyes)


def _morph(images: Path, sittings: Sequence[Sitting]) -> None:
    """Draw MORPH: of eight persons four are Black and four White, two female and six male."""
    rows, eyes = [], []
    for sitting in sittings:
        who, picture, age = sitting.number + 1, sitting.picture, int(sitting.age)
        race, sex = "BW"[sitting.number % 2], "F" if sitting.number % 8 < 2 else "M"
        name = f"Album2/{who:06d}_{picture:02d}{sex}{age:02d}.JPG"
        drawn = _drawn(sitting, (200, 240))
        _save(drawn, images / name, "JPEG")
        years = [1950, 1950 + age]
        rows.append([f"{who:06d}", picture, *years, race, sex, "", age, 0, "", name])
        eyes.append([name, *drawn.eyes])
    write_text(images / "morph_2008_nonCommercial.csv", csv_text([MORPH_HEADER, *rows]))
    _write_eyes(images, eyes)


def _fgnet(images: Path, sittings: Sequence[Sitting]) -> None:
    """Draw FG-NET, with every seventh picture in grey, as its old pictures are."""
    taken: set[str] = set()
    for count, sitting in enumerate(sittings):
        stem = f"{sitting.number + 1:03d}A{int(sitting.age):02d}"
        suffix = next(letter for letter in ("", *"abcdefgh") if stem + letter not in taken)
        taken.add(stem + suffix)
        drawn = _drawn(sitting, (200, 260), grey=count % 7 == 6)
        _save(drawn, images / "images" / f"{stem}{suffix}.JPG", "JPEG")
        points = "\n".join(f"{x:.3f} {y:.3f}" for x, y in drawn.points)
        text = f"version: 1\nn_points: {len(drawn.points)}\n{{\n{points}\n}}\n"
        write_text(images / "points" / f"{stem.lower()}{suffix}.pts", text)


def _cacd(images: Path, sittings: Sequence[Sitting]) -> None:
    """Draw CACD: two persons for validation, the next three for the test, the rest for training."""
    listed: dict[str, list[Any]] = {key: [] for key in ("name", "identity", "age", "rank", "year")}
    for sitting in sittings:
        name = f"{int(sitting.age)}_Drawn_Person_{sitting.number + 1}_{sitting.picture:04d}.jpg"
        _save(_drawn(sitting, (250, 250)), images / "CACD2000" / name, "JPEG")
        values = (name, sitting.number + 1, int(sitting.age), sitting.number + 1)
        for key, value in zip(listed, (*values, 2004 + sitting.picture % 10), strict=True):
            listed[key].append(value)
    columns: dict[str, np.ndarray] = {
        key: np.array(values, dtype=object if key == "name" else float)[:, None]
        for key, values in listed.items()
    }
    atomically(images / "celebrity2000_meta.mat", lambda part: _save_mat(part, columns))


WRITERS: dict[str, Callable[[Path, Sequence[Sitting]], None]] = {
    "jaffe": _jaffe,
    "morph": _morph,
    "fgnet": _fgnet,
    "cacd": _cacd,
}


def _drawn(
    sitting: Sitting, size: tuple[int, int], grey: bool = False, feeling: bool = False
) -> Portrait:
    feelings = sitting.feelings if feeling else None
    return portrait(sitting.who, sitting.age, feelings, size, sitting.rng, grey)


def _save(drawn: Portrait, path: Path, kind: str) -> None:
    atomically(path, lambda part: drawn.picture.save(part, kind))


def _write_eyes(images: Path, rows: Sequence[Sequence[Any]]) -> None:
    rounded = [[name, *(f"{value:.2f}" for value in points)] for name, *points in rows]
    write_text(images / EYES_TABLE, csv_text([EYES_HEADER, *rounded]))


def _save_mat(path: Path, columns: dict[str, np.ndarray]) -> None:
    from scipy.io import savemat

    with open(path, "w+b") as handle:
        savemat(handle, {"celebrityImageData": columns})
        # SciPy writes the time into the text at the start; the same arguments give the same bytes.
        handle.seek(0)
        handle.write(MAT_HEADER.ljust(MAT_TEXT_BYTES))

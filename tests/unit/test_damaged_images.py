"""A hundred damaged and odd images in an album: none stops it, each has its line in the table."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ldlrepro import cli
from ldlrepro.data.drawn.albums import MORPH_HEADER, write_album
from ldlrepro.data.images.faces import BROKEN, LEAVE_OUT, MISSING
from ldlrepro.data.images.pictures import open_picture
from ldlrepro.data.images.reading import load_faces
from tests.here import known
from tests.unit.damaged_images import Damaged, write_damaged

DATA = Path("data")
PLACE = DATA / "manual" / "morph"
GOOD = 12


@pytest.fixture
def damaged(checkout, capsys) -> list[Damaged]:
    """Return what the album in data/manual/morph holds beside some sound images."""
    write_album(DATA / "sound", "morph", persons=6, images_per_person=2, seed=3)
    shutil.copytree(DATA / "sound" / "images", PLACE)
    (PLACE / "eyes.csv").unlink()
    files = write_damaged(PLACE)
    with open(PLACE / "morph_2008_nonCommercial.csv", "a", newline="") as handle:
        writer = csv.writer(handle)
        for number, file in enumerate(files):
            line = [f"{number:06d}", 1, 1950, 1990, "W", "M", "", 40, 0, "", file.name]
            assert len(line) == len(MORPH_HEADER)
            writer.writerows([line] * file.listed)
    return files


def table() -> list[dict[str, str]]:
    with open(DATA / "ready" / "morph.images.csv", newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_a_hundred_damaged_images_stop_nothing_and_all_stand_in_the_table(damaged, capsys):
    assert len([file for file in damaged if file.kind]) >= 100
    for verb in ("fetch", "prepare", "pixels"):
        assert cli.main([verb, "morph"]) == 0, capsys.readouterr().err
    rows = table()
    by_name = {row["file"]: row for row in rows}
    assert len(by_name) == len(rows) == len(damaged) + GOOD
    for file in damaged:
        row = by_name[file.name]
        kinds = dict(part.split(": ", 1) for part in row["problems"].split("; ") if part)
        if file.kind:
            assert file.words in kinds[file.kind], (file, row)
            # One clear line of words: no paths, no names of Python's classes alone.
            assert len(kinds[file.kind]) > 8, (file, row)
            assert "/" not in kinds[file.kind], (file, row)
            assert "Error" not in kinds[file.kind], (file, row)
        used = "no" if file.kind in (BROKEN, MISSING) else "yes"
        assert row["used"] == used, (file, row)
    unusable = sum(file.kind in (BROKEN, MISSING) for file in damaged)
    faces = load_faces(known("morph"), DATA)
    assert len(faces) == len(damaged) + GOOD - unusable
    assert sum(faces.counts().get(kind, 0) for kind in LEAVE_OUT) == unusable + 1
    about = json.loads((DATA / "ready" / "morph.pixels.json").read_text())
    assert about["shape"][0] == len(faces)
    capsys.readouterr()
    assert cli.main(["images", "morph", "--show", "odd file", "--all"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 3 + sum(file.kind == "odd file" for file in damaged)


# ---------------------------------------------------------------------- what a person sees


def gradient() -> np.ndarray:
    return np.add.outer(np.arange(60) * 2, np.arange(48)).astype(np.uint8)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_picture_is_shown_as_its_note_says(tmp_path, orientation):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(gradient()).save(tmp_path / "a.png", exif=exif)
    with Image.open(tmp_path / "a.png") as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened))
    np.testing.assert_array_equal(np.asarray(open_picture(tmp_path / "a.png").image), expected)


def test_sixteen_bits_keep_light_and_dark(tmp_path):
    levels = gradient()
    deep = levels.astype(np.uint16) * 257
    for ending in (".png", ".tif", ".pgm"):
        Image.fromarray(deep).save(tmp_path / f"a{ending}")
        shown = open_picture(tmp_path / f"a{ending}").image
        np.testing.assert_array_equal(np.asarray(shown), levels)


def test_what_is_transparent_shows_white_and_not_what_lies_below(tmp_path):
    layers = np.full((20, 20, 4), 255, np.uint8)
    layers[..., :3] = 10
    layers[:, 10:, 3] = 0
    Image.fromarray(layers).save(tmp_path / "a.png")
    shown = np.asarray(open_picture(tmp_path / "a.png").image)
    assert shown[:, :10].max() == 10
    assert shown[:, 10:].min() == 255


def test_the_first_frame_counts(tmp_path):
    first, second = (Image.new("RGB", (20, 20), colour) for colour in ("red", "blue"))
    first.save(tmp_path / "a.png", save_all=True, append_images=[second])
    picture = open_picture(tmp_path / "a.png")
    assert picture.image.getpixel((5, 5)) == (255, 0, 0)
    assert len(picture.odd) == 1

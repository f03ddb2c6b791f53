"""Eyes are found on a photograph whose pupils are known, turned, small and dark; and in albums."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ldlrepro import cli
from ldlrepro.core.errors import UserError
from ldlrepro.data.drawn.albums import MORPH_HEADER
from ldlrepro.data.features.align import similarity
from ldlrepro.data.images.faces import Eyes
from ldlrepro.data.images.found import COLUMNS
from ldlrepro.data.images.reading import load_faces
from tests.here import known


def installed() -> bool:
    try:
        distribution("mtcnn")
    except PackageNotFoundError:
        return False
    return find_spec("torch") is not None


pytestmark = pytest.mark.skipif(not installed(), reason="mtcnn or torch is not installed")

DATA = Path("data")
TABLE = DATA / "eyes" / "morph" / "eyes.csv"


@pytest.fixture(scope="module")
def detector():
    from ldlrepro.data.eyes.detector import Detector

    return Detector()


# ---------------------------------------------------------------------- single pictures


PUPILS = ((203.3, 99.9), (246.1, 102.4))
"""Those of scikit-image's astronaut, a photograph, read off an enlarged copy."""
BAR = 0.05
SIDE = 256

Scene = tuple[Any, Eyes]


def astronaut(turn: float, scale: float, light: float) -> Scene:
    """Return the astronaut's face, with the middle between the eyes a little above the centre."""
    from skimage import data

    left, right = np.array(PUPILS)
    ahead = np.array([np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))])
    down = np.array([-ahead[1], ahead[0]])
    distance = float(np.hypot(*(right - left)))
    between = np.array([SIDE, SIDE]) / 2 - 0.25 * distance * scale * down
    half = ahead * distance * scale / 2
    eyes = np.array([between - half, between + half])
    back = similarity(eyes, np.array(PUPILS))
    back[:, 2] += 0.5 - back[:, :2] @ [0.5, 0.5]
    moved = Image.fromarray(data.astronaut()).transform(
        (SIDE, SIDE), Image.Transform.AFFINE, tuple(back.ravel()), Image.Resampling.BICUBIC
    )
    lit = moved.point(lambda level: round(level * light))
    return lit, (eyes[0, 0], eyes[0, 1], eyes[1, 0], eyes[1, 1])


UPRIGHT = [(t, s, i) for t in range(-30, 31, 10) for s in (0.6, 1.0, 1.6) for i in (1, 0.4, 0.15)]
TURNED = [
    (turn, scale, light)
    for turn in (40, -50, 60, -70, 80, 90, -100, 120, -140, 160, 180)
    for scale in (0.8, 1.3)
    for light in (1.0, 0.3)
]
SCENES = {
    "up to 30 degrees": UPRIGHT[::4],
    "40 to 180 degrees": TURNED[::2],
    "13 to 21 pixels apart": [(turn, s, 1.0) for turn in (-10, 10) for s in (0.5, 0.3)],
}


def error(found: Any, eyes: Eyes) -> float:
    """Return the distance of the worse eye in distances between the eyes."""
    known = np.array(eyes).reshape(2, 2)
    off = np.hypot(*(np.asarray(found)[:2] - known).T).max()
    return float(off / np.hypot(*(known[1] - known[0])))


@pytest.mark.parametrize("kind", SCENES)
def test_eyes_are_within_five_percent_of_their_distance_on_95_of_100_faces(detector, kind):
    pictures = [astronaut(*how) for how in SCENES[kind]]
    sightings = [detector.find(image) for image, _ in pictures]
    errors = np.array(
        [
            np.inf if seen is None else error(seen.points, eyes)
            for seen, (_, eyes) in zip(sightings, pictures, strict=True)
        ]
    )
    assert (errors <= BAR).mean() >= 0.95
    assert np.median(errors) < 0.03


@pytest.mark.parametrize("name", ["chelsea", "text"])
def test_pictures_without_a_person_show_no_face(detector, name):
    from skimage import data

    assert detector.find(Image.fromarray(getattr(data, name)())) is None


def test_weights_that_are_not_there_or_others_are_refused(monkeypatch, tmp_path):
    from ldlrepro.data.eyes import networks

    class Elsewhere:
        def locate_file(self, name: str) -> Path:
            return tmp_path / name

    place = tmp_path / "mtcnn" / "assets" / "weights"
    place.mkdir(parents=True)
    (place / "pnet.lz4").write_bytes(b"a pickle that would run something")
    monkeypatch.setattr(networks, "distribution", lambda name: Elsewhere())
    for name in ("pnet", "onet"):
        with pytest.raises(UserError, match=r"not the weights of mtcnn 1\.0\.0.*pip install"):
            networks.weights(name)

    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(networks, "distribution", absent)
    with pytest.raises(UserError, match=r"needs the weights in the package mtcnn.*pip install"):
        networks.weights("pnet")


# ---------------------------------------------------------------------- albums


def face(number: int) -> Scene:
    return astronaut(3.0 * number, 1 + 0.1 * number, 1.0 - 0.1 * number)


def two_faces() -> Image.Image:
    both = Image.new("RGB", (2 * SIDE, SIDE))
    both.paste(face(1)[0], (0, 0))
    both.paste(face(2)[0], (SIDE, 0))
    return both


ALBUM = {
    **{f"{number:06d}_1M3{number}.JPG": face(number)[0] for number in range(6)},
    "000006_1F30.JPG": Image.new("RGB", (160, 160), "grey"),
    "000007_1F31.JPG": two_faces(),
    "000008_1F32.JPG": astronaut(0, 0.24, 1.0)[0],
    "000009_1F33.JPG": astronaut(180, 1.0, 1.0)[0],
}
DOUBTFUL = {
    "000006_1F30.JPG": "no face: nothing looks like one",
    "000007_1F31.JPG": "several faces: 2 of about the same size",
    "000008_1F32.JPG": "tiny face: its eyes are",
    "000009_1F33.JPG": "unsure eyes: the face is turned by",
}


@pytest.fixture
def album(checkout, capsys) -> Path:
    """Return the folder of a fetched MORPH of one photograph, without eye points."""
    place = DATA / "manual" / "morph"
    (place / "Album2").mkdir(parents=True)
    with open(place / "morph_2008_nonCommercial.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(MORPH_HEADER)
        for name, image in ALBUM.items():
            image.save(place / "Album2" / name, "JPEG", quality=95)
            age = int(name[9:11])
            photo = f"Album2/{name}"
            writer.writerow([name[:6], 1, 1950, 1990, "W", name[8], "", age, 0, "", photo])
    assert cli.main(["fetch", "morph"]) == 0
    capsys.readouterr()
    return DATA / "raw" / "morph" / "images"


def lines() -> dict[str, dict[str, str]]:
    with open(TABLE, newline="") as handle:
        return {Path(row["file"]).name: row for row in csv.DictReader(handle)}


def test_one_command_finds_the_eyes_and_prepare_uses_them(album, capsys):
    assert cli.main(["images", "morph", "--find-eyes"]) == 0
    said = capsys.readouterr().out
    assert "of 10 images, 0 have eye points, eyes were found in 9 more, and 1 have none." in said
    assert "Type `ldlrepro prepare morph`" in said
    found = lines()
    assert list(found) == list(ALBUM)
    for name, row in found.items():
        assert row["problems"].startswith(DOUBTFUL.get(name, "")), row
        assert bool(row["problems"]) == (name in DOUBTFUL), row
        assert (row["left_x"] == "") == (name == "000006_1F30.JPG")
    for number in range(6):
        row = found[f"{number:06d}_1M3{number}.JPG"]
        _, eyes = face(number)
        points = np.array([float(row[key]) for key in COLUMNS[1:5]]).reshape(2, 2)
        assert error(points, eyes) < BAR
        assert float(row["confidence"]) > 0.97

    assert cli.main(["prepare", "morph"]) == 0
    faces = load_faces(known("morph"), DATA)
    assert [f.points_from for f in faces.faces].count("found") == 9
    assert faces.counts() == dict.fromkeys(("no face", "several faces", "tiny face"), 1) | {
        "unsure eyes": 1,
        "grayscale": 1,
    }
    assert "the eyes of 9 images were found by a program, not given" in faces.notes
    assert cli.main(["pixels", "morph"]) == 0
    about = json.loads((DATA / "ready" / "morph.pixels.json").read_text())
    assert about["placed_by"] == {"centre": 1, "eyes": 9}


def test_a_search_that_was_killed_goes_on_from_what_it_wrote_down_last(album, monkeypatch):
    from ldlrepro.data.eyes import album as module

    monkeypatch.setattr(module, "KEPT_EVERY", 4)
    module.find_eyes(known("morph"), DATA)
    undisturbed = TABLE.read_bytes()
    TABLE.unlink()
    searched, written = module.one_by_one, module.write_found
    died = False

    def killed(*arguments: Any) -> Iterator[Any]:
        nonlocal died
        yield from islice(searched(*arguments), 6)
        died = True
        raise SystemExit

    def write(*arguments: Any) -> None:
        if not died:  # a process that is gone writes nothing
            written(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, "one_by_one", killed)
        patch.setattr(module, "write_found", write)
        with pytest.raises(SystemExit):
            module.find_eyes(known("morph"), DATA)
    assert not TABLE.exists()
    looked_at: list[str] = []

    def counted(look: Any, files: list[str], workers: int, chunk: int) -> Iterator[Any]:
        looked_at.extend(files)
        return searched(look, files, workers, chunk)

    monkeypatch.setattr(module, "one_by_one", counted)
    module.find_eyes(known("morph"), DATA)
    assert TABLE.read_bytes() == undisturbed
    assert not TABLE.with_name("eyes.unfinished.csv").exists()
    assert [Path(file).name for file in looked_at] == list(ALBUM)[4:]


def test_points_that_the_user_gave_go_first_and_are_never_overwritten(album, capsys):
    given = "file,left_x,left_y,right_x,right_y\n000001_1M31.JPG,50,60,90,61\n"
    for place in (DATA / "manual" / "morph", album):
        (place / "eyes.csv").write_text(given)
    assert cli.main(["images", "morph", "--find-eyes"]) == 0
    assert (album / "eyes.csv").read_text() == given
    assert "000001_1M31.JPG" not in lines()
    assert cli.main(["prepare", "morph"]) == 0
    first, second, *_ = load_faces(known("morph"), DATA).faces
    assert (first.points_from, second.points_from) == ("found", "eyes.csv")
    assert second.eyes == (50, 60, 90, 61)


def test_a_line_corrected_by_hand_stays_and_new_images_are_added(album, capsys):
    assert cli.main(["images", "morph", "--find-eyes"]) == 0
    before = TABLE.read_text().splitlines()
    corrected = "Album2/000006_1F30.JPG,40.00,50.00,80.00,51.00,0.0000,"
    kept = [corrected if "000006" in line else line for line in before if "000003" not in line]
    TABLE.write_text("\n".join(kept) + "\n")
    capsys.readouterr()
    assert cli.main(["images", "morph", "--find-eyes", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["eyes_found"], told["without"], told["doubtful"]) == (10, 0, 3)
    assert TABLE.read_text().splitlines() == [
        corrected if "000006" in line else line for line in before
    ]

"""Photographs in their owners' folders, on drawn faces: who is read, and what is reported."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ldlrepro.core.errors import UserError
from ldlrepro.data.drawn.albums import write_album
from ldlrepro.data.drawn.sketches import write_faces
from ldlrepro.data.images.faces import FaceSet
from ldlrepro.data.images.reading import read_faces
from tests.described import data_set

LAYOUTS = ("jaffe", "morph", "fgnet", "cacd")


@pytest.fixture(scope="module")
def albums(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small album in every layout; tests that break something take a copy."""
    folder = tmp_path_factory.mktemp("albums")
    for layout in LAYOUTS:
        write_album(folder / layout, layout, persons=8, images_per_person=2, seed=5)
    write_faces(folder / "rated", persons=8, images_per_person=2, seed=5)
    return folder


@pytest.fixture
def copy(albums: Path, tmp_path: Path) -> Callable[[str], Path]:
    def made(layout: str) -> Path:
        return Path(shutil.copytree(albums / layout / "images", tmp_path / layout))

    return made


def faces_in(layout: str, images: Path, **more: object) -> FaceSet:
    return read_faces(data_set({"reader": "images", "layout": layout, **more}), images)


def found(faces: FaceSet, kind: str) -> list[str]:
    return [problem.file for problem in faces.problems if problem.kind == kind]


def images_below(folder: Path) -> list[Path]:
    endings = (".jpg", ".png", ".tiff")
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in endings)


# ---------------------------------------------------------------------- what is read


def test_jaffe_images_find_their_line_by_number_and_person(albums: Path) -> None:
    images = albums / "jaffe" / "images"
    lines = (images / "README_DRAWN.txt").read_text().splitlines()[2:]
    rated = {int(line.split()[0]): [float(v) for v in line.split()[1:7]] for line in lines}
    faces = faces_in("jaffe", images)
    assert faces.labels[:2] == ["happiness", "sadness"]
    for face in faces.faces:
        person, _, number, _ = face.file.split(".")
        assert face.person == person
        assert list(face.ratings) == rated[int(number)]


def test_ages_and_persons_of_fgnet_stand_in_the_names(albums: Path) -> None:
    for face in faces_in("fgnet", albums / "fgnet" / "images").faces:
        name = Path(face.file).name
        assert (face.person, face.age) == (name[:3], float(name[4:6]))
        assert face.points_from.endswith(".pts")


def test_morph_takes_its_facts_from_the_csv(albums: Path) -> None:
    images = albums / "morph" / "images"
    with open(images / "morph_2008_nonCommercial.csv", newline="") as handle:
        rows = {row["photo"]: row for row in csv.DictReader(handle)}
    for face in faces_in("morph", images).faces:
        row = rows[face.file]
        assert face.person == row["id_num"]
        assert face.age == float(row["age"])
        assert (face.origin, face.sex) == (row["race"], row["gender"])


def test_names_of_utkface_hold_age_and_sex_and_equal_files_are_one_person(tmp_path: Path) -> None:
    names = ["26_1_2_20170116184724.jpg.chip.jpg", "80_0_0_20170111.jpg.chip.jpg"]
    odd, repeat = "39_1_20170116174525.jpg.chip.jpg", "27_1_2_20170116184725.jpg.chip.jpg"
    for shade, name in enumerate([*names, odd, "face.jpg"]):
        Image.new("RGB", (40, 40), (60 * shade, 9, 9)).save(tmp_path / name)
    shutil.copy(tmp_path / names[0], tmp_path / repeat)
    faces = faces_in("utkface", tmp_path)
    told = {face.file: (face.age, face.sex) for face in faces.faces}
    assert told == {names[0]: (26, "F"), names[1]: (80, "M"), odd: (39, "F"), repeat: (27, "F")}
    persons = {face.file: face.person for face in faces.faces}
    assert persons[names[0]] == persons[repeat]
    assert len(set(persons.values())) == 3
    assert found(faces, "unlabelled") == ["face.jpg"]


def test_the_rank_of_a_celebrity_makes_the_three_parts_of_cacd(albums: Path) -> None:
    faces = faces_in("cacd", albums / "cacd" / "images")
    parts = {
        part: sorted({faces.faces[row].person for row in faces.rows_of(part)})
        for part in ("validation", "test", "train")
    }
    assert parts == {
        "validation": ["0001", "0002"],
        "test": ["0003", "0004", "0005"],
        "train": ["0006", "0007", "0008"],
    }


# ---------------------------------------------------------------------- what is reported


@pytest.mark.parametrize("layout", ["rated", "morph", "fgnet"])
def test_broken_missing_copied_and_unknown_files_stand_in_one_table(
    copy: Callable[[str], Path], layout: str, tmp_path: Path
) -> None:
    images = copy(layout)
    empty, cut, gone, first, second, *_ = images_below(images)
    empty.write_bytes(b"")
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    gone.unlink()
    shutil.copyfile(first, second)
    Image.new("RGB", (30, 30), "red").save(images / "holiday.jpg")

    faces = faces_in(layout, images)
    assert len(faces) == 13
    names = [p.relative_to(images).as_posix() for p in (empty, cut)]
    assert found(faces, "broken") == names
    if layout != "fgnet":  # whose only list are the files
        assert len(found(faces, "missing")) == 1
    assert found(faces, "duplicate") == [second.relative_to(images).as_posix()]
    assert found(faces, "unlabelled") == ["holiday.jpg"]
    if layout == "rated":  # BU-3DFE comes with other images beside those of faces
        assert found(faces_in("bu_3dfe", images), "unlabelled") == []

    faces.write(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as handle:
        rows = {row["file"]: row for row in csv.DictReader(handle)}
    assert [rows[name]["used"] for name in names] == ["no", "no"]
    assert rows["holiday.jpg"]["problems"].startswith("unlabelled: ")
    assert sum(row["used"] == "yes" for row in rows.values()) == 13


@pytest.mark.parametrize("layout", ["jaffe"])
def test_the_table_gives_the_same_set_back(albums: Path, tmp_path: Path, layout: str) -> None:
    faces = faces_in(layout, albums / layout / "images")
    faces.write(tmp_path / "table.csv")
    again = FaceSet.read(tmp_path / "table.csv", faces.folder)
    assert again.labels == faces.labels
    assert again.problems == faces.problems
    for one, two in zip(faces.faces, again.faces, strict=True):
        assert (one.file, one.person, one.age, one.subset) == (
            two.file,
            two.person,
            two.age,
            two.subset,
        )
        assert one.ratings == two.ratings
        np.testing.assert_allclose(one.eyes or 0, two.eyes or 0, atol=1e-6)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "0 points instead of 68"),
        ("{\n" + "900 900\n" * 68 + "}\n", "outside the"),
        ("{\n" + "9 9\n" * 68 + "}\n", "less than two pixels apart"),
        ("{\n" + "nan 9\n" * 68 + "}\n", "not a number"),
    ],
)
def test_impossible_points_leave_the_image_in_use(
    copy: Callable[[str], Path], content: str, problem: str
) -> None:
    images = copy("fgnet")
    path = sorted(images.rglob("*.pts"))[0]
    path.write_text(content)
    faces = faces_in("fgnet", images)
    (said,) = (p for p in faces.problems if p.kind == "points")
    assert problem in said.detail
    assert len(faces) == 16
    assert sum(face.eyes is None for face in faces.faces) == 1


@pytest.mark.parametrize(
    ("layout", "file", "content", "problem"),
    [
        ("jaffe", "README_DRAWN.txt", "Hello\n", "no lines like"),
        ("rated", "ratings.csv", "name,who\n1,2\n", "the columns must be file, person"),
        ("morph", "morph_2008_nonCommercial.csv", "a,b\n1,2\n", "no column id_num"),
        ("cacd", "celebrity2000_meta.mat", "not a mat file", "not CACD's list"),
    ],
)
def test_an_unusable_list_is_one_line_for_people(
    copy: Callable[[str], Path], layout: str, file: str, content: str, problem: str
) -> None:
    images = copy(layout)
    (images / file).write_text(content)
    with pytest.raises(UserError, match=problem) as caught:
        faces_in(layout, images)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------- set-ups of MORPH


def test_the_list_of_a_paper_goes_before_the_rule(copy: Callable[[str], Path]) -> None:
    images = copy("morph")
    wanted = [path.name for path in images_below(images)[4:7]]
    (images / "demo.txt").write_text("\n".join([*wanted, "999999_00M20.JPG"]) + "\n")
    faces = faces_in("morph", images, setup={"rule": "white", "count": 5})
    assert [Path(face.file).name for face in faces.faces] == wanted
    assert "3 of the 4 names in demo.txt" in faces.notes[0]

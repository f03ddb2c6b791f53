"""Drawn photographs all the way: put where the user puts them, fetched, prepared, asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldlrepro.data import load_ready
from ldlrepro.data.drawn.albums import write_album
from ldlrepro.data.images.reading import load_faces
from tests.here import known

DATA = Path("data")
LICENSED = {
    "jaffe_images": "jaffe",
    "morph": "morph",
    "fgnet": "fgnet",
    "cacd": "cacd",
}


def put(dataset: str, layout: str, persons: int = 8, pictures: int = 2) -> Path:
    """What a user with a licence does, with drawn faces."""
    place = DATA / "manual" / dataset
    write_album(place / "album", layout, persons, pictures, seed=2)
    return place


def state(checkout, persons: int) -> None:
    """Of FG-NET, whose jobs are planned by this number."""
    checkout.edit("config/datasets/fgnet.yaml", "persons: 82", f"persons: {persons}")


@pytest.mark.parametrize("dataset", LICENSED)
def test_images_in_their_owners_layout_become_a_set(checkout, ask, dataset):
    put(dataset, LICENSED[dataset])
    if dataset == "fgnet":
        state(checkout, 8)
    assert ask("fetch", dataset)[0] == 0
    status, _, said = ask("prepare", dataset)
    assert status == 0, said
    faces = load_faces(known(dataset), DATA)
    assert len(faces) == 16
    assert all(path.is_file() for path in faces.paths)
    status, out, _ = ask("images", dataset)
    assert status == 0
    assert out.startswith(f"{dataset}: 16 images of 8 persons can be used")
    if known(dataset).features:
        data = load_ready(DATA / "ready" / f"{dataset}.npz")
        assert data.X.shape == (16, 243)
        assert data.meta["features"]["placed_by"] == {"eyes": 16}
        assert data.meta["features"]["order"] == "codes"
    else:
        data = load_ready(DATA / "ready" / f"{dataset}.npz")
        assert data.X.shape == (16, 0)
        assert len(set(data.groups)) == 8
        assert data.target.tolist() == faces.ages.tolist()


def test_another_number_of_persons_than_stated_is_refused_before_jobs_are_planned(
    checkout, ask, refused
):
    state(checkout, 7)
    put("fgnet", "fgnet")
    assert ask("fetch", "fgnet")[0] == 0
    said = refused("prepare", "fgnet")
    assert "fgnet: 8 persons found, 7 stated" in said
    assert not (DATA / "ready" / "fgnet.npz").exists()


def test_setups_of_morph_share_its_images(checkout, ask):
    put("morph", "morph")
    setups = ("morph_setup_1", "morph_setup_3", "morph_sub")
    for dataset in ("morph", *setups):
        assert ask("fetch", dataset)[0] == 0
        assert ask("prepare", dataset)[0] == 0
    sizes = {name: len(load_faces(known(name), DATA)) for name in ("morph", *setups)}
    assert sizes == {"morph": 16, "morph_setup_1": 8, "morph_setup_3": 16, "morph_sub": 16}
    assert {face.origin for face in load_faces(known("morph_setup_1"), DATA).faces} == {"W"}
    assert load_faces(known("morph_sub"), DATA).folder == DATA / "raw" / "morph" / "images"
    assert not (DATA / "raw" / "morph_sub" / "images").exists()
    _, out, _ = ask("images", "morph_setup_1")
    assert "8 images instead of 5492, drawn with seed 1 by the rule 'white'" in out


def test_one_command_leads_from_a_folder_to_the_comparison(checkout, ask, tmp_path):
    album = tmp_path / "my pictures"
    write_album(album, "jaffe", 8, 2, seed=2)
    command = ["images", "jaffe_images", "--from", str(album), "--compare", "jaffe_images"]
    status, out, err = ask(*command)
    assert status == 0, err
    assert "16 of 16 images have the labels" in out
    assert ask("images", "jaffe_images", "--from", "nowhere")[2] == (
        "ldlrepro: nowhere: no such folder\n"
    )

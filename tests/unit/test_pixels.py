"""Aligned faces in one file: the rows of the data set, read lazily, made by several processes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ldlrepro import cli
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import load_ready
from ldlrepro.data.drawn.albums import write_album
from ldlrepro.data.features.align import Crop, aligned
from ldlrepro.data.images.reading import load_faces
from ldlrepro.data.pixels import load_pixels, make_pixels
from ldlrepro.folds import parts
from tests.here import known
from tests.unit.protocols import protocol

DATA = Path("data")


def drawn(dataset: str, layout: str, persons: int = 5, pictures: int = 3) -> None:
    """A set of licensed photographs, with drawn ones in their place, prepared."""
    write_album(DATA / "manual" / dataset / "album", layout, persons, pictures, seed=3)
    assert cli.main(["fetch", dataset]) == 0
    assert cli.main(["prepare", dataset]) == 0


def small(checkout, dataset: str) -> None:
    checkout.edit(f"config/datasets/{dataset}.yaml", "crop: [224, 224]", "crop: [20, 24]")


@pytest.fixture
def morph(checkout):
    small(checkout, "morph")
    drawn("morph", "morph")
    return checkout


# ---------------------------------------------------------------------- the file


def test_every_row_is_the_aligned_image_of_the_same_row_of_the_data_set(morph):
    X, about = load_pixels(make_pixels(known("morph"), Workspace()))
    faces, ready = load_faces(known("morph"), DATA), load_ready(DATA / "ready" / "morph.npz")
    assert X.shape == (len(ready.D), 24, 20, 3) == tuple(about["shape"])
    for row in (0, 7, 14):
        image, _ = aligned(faces.faces[row], faces.paths[row], Crop(20, 24))
        np.testing.assert_array_equal(X.read([row])[0], np.asarray(image))
    assert about["data_sha256"] == ready.fingerprint["data_sha256"]
    assert sum(about["placed_by"].values()) == 15


def test_the_verb_says_how_far_it_is_and_leaves_no_half_file(morph, capsys):
    assert cli.main(["pixels", "morph"]) == 0
    assert "morph: images aligned: 15 of 15" in capsys.readouterr().err
    (load_faces(known("morph"), DATA).paths[3]).write_bytes(b"gone bad since it was looked at")
    before = Workspace().pixels("morph").read_bytes()
    with pytest.raises(UserError, match=r"no whole image of a known format.*ldlrepro prepare"):
        make_pixels(known("morph"), Workspace())
    assert Workspace().pixels("morph").read_bytes() == before
    assert not list((DATA / "ready").glob(".*.part"))


# ---------------------------------------------------------------------- folds on photographs


def test_parts_train_on_one_and_test_on_the_other(checkout):
    small(checkout, "cacd")
    drawn("cacd", "cacd", persons=20)
    faces = load_faces(known("cacd"), DATA)
    definition = {"scheme": "parts", "parts": ["validation", "test"]}
    (fold,) = parts.make_folds(protocol(definition), known("cacd"), DATA)
    assert {faces.faces[row].subset for row in fold.train} == {"validation"}
    assert fold.test.tolist() == faces.rows_of("test").tolist()
    assert cli.main(["folds", "drf_cacd_val", "cacd"]) == 0
    leaks = json.loads(Path("results/folds/drf_cacd_val/cacd.leaks.json").read_text())
    assert (leaks["folds"], leaks["shared_groups"]) == (1, 0)
    with pytest.raises(UserError, match="There are: test, train, validation"):
        parts.make_folds(
            protocol({**definition, "parts": ["validation", "holiday"]}), known("cacd"), DATA
        )


def test_a_copy_of_an_image_in_training_and_test_is_found(checkout):
    small(checkout, "fgnet")
    checkout.edit("config/datasets/fgnet.yaml", "persons: 82", "persons: 3")
    drawn("fgnet", "fgnet", persons=3)
    faces = load_faces(known("fgnet"), DATA)
    faces.paths[4].write_bytes(faces.paths[0].read_bytes())
    assert cli.main(["prepare", "fgnet"]) == 0
    assert cli.main(["folds", "drf_fgnet", "fgnet"]) == 0
    leaks = json.loads(Path("results/folds/drf_fgnet/fgnet.leaks.json").read_text())
    assert leaks["twin_features"] == 2

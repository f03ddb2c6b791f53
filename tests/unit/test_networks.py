"""VGG-16 and AlexNet: the names of the published weights, safe loading, features of drawn faces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ldl.deep import backbones, weights  # noqa: E402
from ldl.deep.backbones import BUILDERS, Sizes  # noqa: E402
from ldl.deep.weights import load_network  # noqa: E402
from ldl.errors import UserError  # noqa: E402
from ldlrepro.catalogue.data_sets import Features  # noqa: E402
from ldlrepro.core.checksums import sha256_of  # noqa: E402
from ldlrepro.data.dataset import DataUnavailable  # noqa: E402
from ldlrepro.data.features.deep import network_of, normalised  # noqa: E402
from ldlrepro.data.fetch import fetch  # noqa: E402
from ldlrepro.data.registry import load_ready, prepare, warning_of  # noqa: E402
from tests.described import data_set  # noqa: E402
from tests.traps import Trap  # noqa: E402

SMALL = {"vgg16": Sizes((2,) * 13, 6, 4), "alexnet": Sizes((3, 4, 3, 4, 2), 6, 4)}
CONVOLUTIONS = {
    "vgg16": [0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28],
    "alexnet": [0, 3, 6, 8, 10],
}
CONNECTED = {"vgg16": [0, 3, 6], "alexnet": [1, 4, 6]}
PARAMETERS = {"vgg16": 138_357_544, "alexnet": 61_100_840}

each_network = pytest.mark.parametrize("name", BUILDERS)


def saved(path: Path, stored: Any) -> tuple[Path, str]:
    torch.save(stored, path)
    return path, sha256_of(path)


# ---------------------------------------------------------------------- modules


@each_network
def test_names_and_sizes_are_those_of_the_published_weights(name: str) -> None:
    with torch.device("meta"):
        network = BUILDERS[name]()
    layers = [f"features.{i}" for i in CONVOLUTIONS[name]]
    layers += [f"classifier.{i}" for i in CONNECTED[name]]
    expected = [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]
    assert list(network.state_dict()) == expected
    assert sum(p.numel() for p in network.parameters()) == PARAMETERS[name]


# ---------------------------------------------------------------------- files of weights


@pytest.mark.parametrize("inside", [True, False])
def test_a_file_that_could_run_code_is_refused_and_runs_none(tmp_path: Path, inside: bool) -> None:
    trap = Trap(tmp_path / "it_ran")
    path, digest = saved(tmp_path / "weights.pth", {"weight": trap} if inside else trap)
    with pytest.raises(UserError, match=r"could run code\. Save only the state_dict"):
        load_network("vgg16", path, digest)
    assert not (tmp_path / "it_ran").exists()
    torch.load(path, weights_only=False)
    assert (tmp_path / "it_ran").exists(), "the trap works"


def test_without_weights_nothing_is_made_up(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"needs features\.weights.*weights: 0"):
        network_of(Features(extractor="vgg16"), tmp_path)
    with pytest.raises(DataUnavailable, match="needs weights: type `ldlrepro fetch vgg16`"):
        network_of(Features(extractor="vgg16", weights="vgg16"), tmp_path)


# ---------------------------------------------------------------------- features of faces


def test_preprocessing_by_hand() -> None:
    pixels = torch.tensor([[[[255, 0, 51]]]], dtype=torch.uint8)
    x = normalised(pixels, weights.PREPROCESSING["torchvision"])
    expected = [(1 - 0.485) / 0.229, -0.456 / 0.224, (0.2 - 0.406) / 0.225]
    np.testing.assert_allclose(x.ravel(), expected, rtol=1e-6)
    y = normalised(pixels, weights.PREPROCESSING["vgg_face"])
    np.testing.assert_allclose(y.ravel(), [125.8137, -104.7624, -42.594], rtol=1e-6)


def test_random_weights_are_said_in_the_record_and_when_preparing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(backbones.STANDARD, "alexnet", SMALL["alexnet"])
    spec = {
        "reader": "drawn_images",
        "layout": "cacd",
        "persons": 6,
        "images_per_person": 2,
        "crop": [224, 224],
        "ages": [14, 62],
        "features": {"extractor": "alexnet", "weights": 3},
    }
    demo = data_set(spec)
    assert fetch(demo, tmp_path, [], offline=True).available
    path = prepare(demo, tmp_path)
    assert warning_of(path).startswith("RANDOM WEIGHTS")
    record = json.loads(path.with_suffix(".json").read_text())
    assert record["meta"]["features"]["seed"] == 3
    assert record["images"]["subsets"] == {"test": 6, "train": 2, "validation": 4}
    data = load_ready(path)
    assert data.X.shape == (12, 6)
    assert data.D.shape == (12, 49)
    assert data.groups is not None
    assert len(set(data.groups)) == 6
    assert data.target is not None
    assert (data.D.argmax(axis=1) + 14 == data.target).all()

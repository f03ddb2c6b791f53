"""Weights as data: fetched, checked, written in one form, begun with, or refused in one line."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ldl.deep import backbones  # noqa: E402
from ldl.deep._networks import image_network  # noqa: E402
from ldl.deep.backbones import Sizes, vgg_face_names  # noqa: E402
from ldl.deep.weights import load_network, random_network  # noqa: E402
from ldlrepro.catalogue import Weights, digests  # noqa: E402
from ldlrepro.core.checksums import sha256_of  # noqa: E402
from ldlrepro.core.errors import UserError  # noqa: E402
from ldlrepro.core.workspace import Workspace  # noqa: E402
from ldlrepro.data.fetch import fetch  # noqa: E402
from ldlrepro.data.weights import (  # noqa: E402
    prepare_weights,
    weights_facts,
)
from tests import described, here  # noqa: E402
from tests.fetch_server import Server, send_from, web  # noqa: E402
from tests.onnx_files import model, tensor, wheel  # noqa: E402

SMALL = {
    "vgg16": Sizes((2, 2, 3, 3, *(4,) * 9), 6, 4),
    "alexnet": Sizes((3, 4, 3, 4, 2), 6, 4),
}
IMAGENET = {"colours": "rgb", "mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}
KERAS = {"colours": "bgr", "mean": [103.939, 116.779, 123.68], "std": [1, 1, 1]}


@pytest.fixture(autouse=True)
def small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, sizes in SMALL.items():
        monkeypatch.setitem(backbones.STANDARD, name, sizes)


def state_of(name: str = "vgg16", seed: int = 1, convolutions: bool = False) -> dict[str, Any]:
    """Random weights that are large enough for pool5 to be alive."""
    state = random_network(name, seed).network.state_dict()
    grown = {k: v * (3 if v.ndim == 4 else 1) for k, v in state.items()}
    return {k: v for k, v in grown.items() if not (convolutions and k.startswith("classifier"))}


def put(folder: Path, stored: Any, name: str = "w.pth") -> Path:
    """Put a file where the user would put it."""
    path = folder / "manual" / "mine" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(stored, bytes):
        path.write_bytes(stored)
    else:
        torch.save(stored, path)
    return path


def spec_of(path: Path, **changes: Any) -> dict[str, Any]:
    """Describe weights as a YAML would."""
    return {
        "network": "vgg16",
        "files": [{"name": path.name, "sha256": sha256_of(path)}],
        "layout": "torchvision",
        **IMAGENET,
    } | changes


def prepared(folder: Path, stored: Any, name: str = "w.pth", **changes: Any) -> Path:
    """Fetch and prepare a file as the workflow does."""
    mine = described.weights(spec_of(put(folder, stored, name), **changes))
    assert fetch(mine, folder, [], offline=True).available
    return prepare_weights(mine, folder)


# ---------------------------------------------------------------------- fetching


def served(server: Server, stored: bytes) -> Weights:
    """Describe a file of which the beginning of its checksum is known."""
    server.answer = lambda handler: send_from(handler, stored)
    entry = {"name": "w-12345678.pth", "sha256": "26cc73f9", "urls": [server.url]}
    return described.weights({"files": [entry], "how_to_get": "ask their authors."})


def test_a_download_is_checked_by_as_many_digits_as_are_known(
    tmp_path: Path, server: Server
) -> None:
    status = fetch(served(server, b"tensors"), tmp_path, [], web=web())
    assert status.available, status.reason
    assert status.files[0]["sha256"] == hashlib.sha256(b"tensors").hexdigest()
    status = fetch(served(server, b"others"), tmp_path / "anew", [], web=web())
    assert "expected SHA-256 26cc73f9, got " in status.reason
    assert status.reason.endswith("ask their authors.")
    assert [path.name for path in (tmp_path / "anew/raw/mine").iterdir()] == ["fetch.json"]


# ---------------------------------------------------------------------- one form


def vgg_face_state(state: dict[str, Any]) -> dict[str, Any]:
    theirs = {ours: face for face, ours in vgg_face_names().items()}
    parts = [(*key.rpartition("."), tensor) for key, tensor in state.items()]
    return {f"{theirs[layer]}.{part}": tensor for layer, _, part, tensor in parts}


def keras_tensors(state: dict[str, Any]) -> list[bytes]:
    theirs = {ours: face for face, ours in vgg_face_names().items()}
    stored = [tensor("model/dense/ReadVariableOp:0", np.ones((3, 2)))]
    for key, values in state.items():
        layer, _, part = key.rpartition(".")
        block = theirs[layer].replace("conv", "block").replace("_", "_conv")
        end = "convolution/ReadVariableOp:0" if part == "weight" else "Squeeze:0"
        stored.append(tensor(f"model/{block}_1/{end}", values.numpy()))
    return stored


def test_a_prepared_file_is_the_state_with_torchvisions_names(tmp_path: Path) -> None:
    state = state_of()
    path = prepared(tmp_path, {f"module.{key}": value for key, value in state.items()})
    stored = torch.load(path, weights_only=True)
    assert list(stored) == list(state)
    assert all(torch.equal(stored[key], state[key]) for key in state)
    facts = weights_facts("mine", tmp_path)
    assert facts["sha256"] == sha256_of(path)
    assert facts["source_sha256"] == sha256_of(tmp_path / "manual" / "mine" / "w.pth")
    assert facts["layers"] == "all"
    assert facts["preprocessing"]["mean"] == IMAGENET["mean"]
    before = path.read_bytes()
    assert prepared(tmp_path, state).read_bytes() == before, "the same bytes every time"


def test_the_network_of_a_prepared_file_is_told_its_checksum_and_preprocessing(tmp_path) -> None:
    path = prepared(tmp_path, state_of())
    loaded = load_network("vgg16", path)
    assert loaded.preprocessing == weights_facts("mine", tmp_path)["preprocessing"]
    assert loaded.record == {
        "network": "vgg16",
        "weights": "mine",
        "sha256": sha256_of(path),
        "source_sha256": sha256_of(tmp_path / "manual" / "mine" / "w.pth"),
        "layout": "torchvision",
    }
    with pytest.raises(UserError, match=r"weights of vgg16, not of alexnet\.$"):
        load_network("alexnet", path)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match=r"its SHA-256 is .*, not .*\. Get the file again"):
        load_network("vgg16", path)
    path.with_suffix(".json").write_text("{}")
    with pytest.raises(UserError, match=r"does not say the checksum of mine\.weights\.pth"):
        load_network("vgg16", path)


def test_blue_green_red_comes_out_as_red_green_blue_and_answers_the_same(tmp_path: Path) -> None:
    state = state_of()
    turned = {**state, "features.0.weight": state["features.0.weight"].flip(1)}
    rgb = {**KERAS, "colours": "rgb", "mean": KERAS["mean"][::-1]}
    one = prepared(tmp_path / "a", state, **rgb)
    two = prepared(tmp_path / "b", turned, **KERAS)
    assert one.read_bytes() == two.read_bytes()
    facts = [weights_facts("mine", tmp_path / side) for side in "ab"]
    assert facts[0]["preprocessing"] == facts[1]["preprocessing"]
    assert facts[0]["probe"] == facts[1]["probe"]
    assert max(facts[0]["probe"]) > 0


def test_vgg_faces_names_and_keras_onnx_give_the_same_network(tmp_path: Path) -> None:
    state = state_of(convolutions=True)
    plain = prepared(tmp_path / "a", state)
    face = prepared(tmp_path / "b", vgg_face_state(state), layout="vgg_face")
    content = model(keras_tensors(state))
    bare = prepared(tmp_path / "c", content, "w.onnx", layout="keras_onnx")
    boxed = wheel(tmp_path / "w.whl", {"a/b.py": b"raise SystemExit", "a/m.onnx": content})
    packed = prepared(tmp_path / "d", boxed.read_bytes(), "w.whl", layout="keras_onnx")
    assert plain.read_bytes() == face.read_bytes() == bare.read_bytes() == packed.read_bytes()
    assert weights_facts("mine", tmp_path / "d")["layers"] == "convolutions"


# ---------------------------------------------------------------------- convolutions alone


def begun(path: Path, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    network, record = image_network("vgg16", [5], str(path), None, False, seed)
    return network.trunk.state_dict(), record


def test_a_network_begins_with_convolutions_and_draws_the_rest_by_its_seed(tmp_path: Path) -> None:
    state = state_of(convolutions=True)
    path = prepared(tmp_path, state)
    (first, record), (again, _), (other, _) = begun(path, 1), begun(path, 1), begun(path, 2)
    assert record["layers"] == "convolutions alone; all other layers began at random"
    assert record["weights"] == "mine"
    for key, tensor_ in first.items():
        assert torch.equal(tensor_, again[key])
        if key in state:
            assert torch.equal(tensor_, state[key])
            assert torch.equal(tensor_, other[key])
        else:
            assert not torch.equal(tensor_, other[key])
            assert float(tensor_.abs().max()) > 0
    assert {key.split(".")[0] for key in first} == {"features", "classifier"}
    network, _ = image_network("vgg16", [5], str(path), None, False, 1)
    (found,) = network.eval()(torch.zeros((2, 32, 32, 3), dtype=torch.uint8))
    assert found.shape == (2, 5)


# ---------------------------------------------------------------------- bad files


def spoilt(change: str, folder: Path) -> Any:
    state = state_of()
    if change == "other network":
        return state_of("alexnet")
    if change == "cut off":
        return put(folder, state, "whole.pth").read_bytes()[:2000]
    return vgg_face_state(state)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("other network", "5 convolutions, but vgg16 has 13"),
        ("cut off", "not a readable file of weights"),
        ("other names", "its names are those of vgg_face; write layout: vgg_face"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, change: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem) as caught:
        prepared(tmp_path, spoilt(change, tmp_path))
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "raw" / "mine" / "w.pth") in str(caught.value)
    assert not Workspace(data=tmp_path).weights("mine").exists()


# ---------------------------------------------------------------------- colours


def test_the_order_of_colours_is_told_by_a_probe_of_activations(tmp_path: Path) -> None:
    state = state_of()
    prepared(tmp_path / "a", state)
    probe = weights_facts("mine", tmp_path / "a")["probe"]
    prepared(tmp_path / "b", state, probe=probe)
    turned = {**state, "features.0.weight": state["features.0.weight"].flip(1)}
    with pytest.raises(UserError, match="Write colours: bgr and turn mean and std"):
        prepared(tmp_path / "c", turned, probe=probe)
    backwards = {key: IMAGENET[key][::-1] for key in ("mean", "std")}
    with pytest.raises(UserError, match=r"the colours are turned round\. Write colours: bgr\.$"):
        prepared(tmp_path / "d", turned, probe=probe, **IMAGENET | backwards)
    with pytest.raises(UserError, match="other weights, or mean and std are others"):
        prepared(tmp_path / "e", state_of(seed=2), probe=probe)
    with pytest.raises(UserError, match="other weights, or mean and std are others"):
        prepared(tmp_path / "f", state, probe=probe, **KERAS)


# ---------------------------------------------------------------------- methods


def test_settings_have_another_digest_with_other_weights_and_not_elsewhere(
    checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def digest(weights: str) -> str:
        return digests.spec_digest(here.project().method(f"drf@weights={weights}"), "kl")

    first = digest("vgg16")
    assert digest("vgg16_conv") != first
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    there = here.project().method("drf@weights=vgg16").estimator().get_params()["weights"]
    assert there == str(Path("data/ready/vgg16.weights.pth").absolute())
    assert digest("vgg16") == first
    checkout.edit("config/weights/vgg16.yaml", "123.675", "123.0")
    assert digest("vgg16") != first


# ---------------------------------------------------------------------- a file of the user's

MINE = """
title: my weights
network: vgg16
files: [{name: w.pth}]
layout: torchvision
colours: rgb
mean: [123.675, 116.28, 103.53]
std: [58.395, 57.12, 57.375]
"""


@pytest.fixture
def own(checkout, tmp_path: Path) -> Path:
    """A user's own weights: a YAML with the file beside it, outside the checkout."""
    folder = tmp_path / "own weights"
    folder.mkdir()
    (folder / "mine.yaml").write_text(MINE)
    torch.save(state_of(), folder / "w.pth")
    here.own_files(folder)
    return folder


def test_own_weights_are_checked_and_their_probe_is_printed(own: Path, checkout, ask) -> None:
    status, told, _ = ask("check", str(own / "mine.yaml"))
    assert status == 0
    assert "mine  good  vgg16, all layers, SHA-256 " in told
    assert "mine  note  probe: [" in told
    assert "--config own_files=" in told.replace("'", "")
    probe = told.partition("probe: ")[2].partition("\n")[0]
    (own / "mine.yaml").write_text(f"{MINE}probe: {probe}\n")
    status, told, _ = ask("check", str(own / "mine.yaml"))
    assert status == 0
    assert "mine  good  probe: [" in told
    torch.save(state_of("alexnet"), own / "w.pth")
    status, told, _ = ask("check", str(own / "mine.yaml"))
    assert status == 1
    assert f"{own}/w.pth: 5 convolutions, but vgg16 has 13" in told

"""What networks get to see: order of images, squares and mirrors, memory, weights, learning."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ldl.deep import _memory, _networks
from ldl.deep._memory import activation_bytes, fixed_bytes
from ldl.deep._pixels import Order, Window
from ldl.deep.backbones import Sizes
from ldl.deep.weights import random_network
from ldl.errors import UserError
from ldlrepro.data.drawn.portraits import person, portrait
from ldlrepro.data.images.age_distributions import age_distributions, age_grid
from tests.oracle.images import KINDS, built, linear_network, pictures

SMALL = {"alexnet": Sizes((4, 4, 4, 4, 4), 8, 3), "vgg16": Sizes((2,) * 13, 8, 3)}

# ---------------------------------------------------------------------- order and squares


def test_every_epoch_shows_every_image_once_in_another_order():
    order = Order(10, 4, seed=1)
    seen = np.concatenate([order.batch(step) for step in range(1, 11)])
    for epoch in range(4):
        assert sorted(seen[10 * epoch : 10 * epoch + 10]) == list(range(10))
    assert list(seen[:10]) != list(seen[10:20])


def test_images_are_drawn_as_often_as_they_count():
    order = Order(10, 4, seed=1, weight=np.repeat([0.0, 1.0, 3.0], [2, 4, 4]))
    seen = np.concatenate([order.batch(step) for step in range(1, 1001)])
    counts = np.bincount(seen, minlength=10) / len(seen)
    np.testing.assert_allclose(counts, np.repeat([0.0, 1 / 16, 3 / 16], [2, 4, 4]), atol=0.02)
    assert counts[:2].sum() == 0


def test_squares_are_parts_of_the_image_and_may_lie_anywhere():
    pixels = torch.arange(200, dtype=torch.uint8).view(1, 10, 20, 1).repeat(64, 1, 1, 3)
    window = Window(10, 20, 6)
    found = window.draw(64, False, np.random.default_rng(0)).apply(pixels)
    assert found.shape == (64, 6, 6, 3)
    corners = set()
    for image in found:
        top, left = divmod(int(image[0, 0, 0]), 20)
        assert torch.equal(image, pixels[0, top : top + 6, left : left + 6])
        corners.add((top, left))
    assert {top for top, _ in corners} == set(range(5))
    assert min(left for _, left in corners) == 0
    assert max(left for _, left in corners) == 14
    middle = window.middle(pixels[:1])[0]
    assert torch.equal(middle, pixels[0, 2:8, 7:13])


def test_about_half_of_the_images_are_mirrored_and_nothing_else():
    pixels = torch.arange(12, dtype=torch.uint8).view(1, 2, 6, 1).repeat(200, 1, 1, 3)
    found = Window(2, 6).draw(200, True, np.random.default_rng(0)).apply(pixels)
    mirrored = [torch.equal(image, pixels[0].flip(1)) for image in found]
    kept = [torch.equal(image, pixels[0]) for image in found]
    assert sum(mirrored) + sum(kept) == 200
    assert 70 < sum(mirrored) < 130


# ---------------------------------------------------------------------- networks


def test_images_reach_the_network_as_its_weights_expect_them():
    network = linear_network([1])
    pixels = torch.randint(0, 256, (3, 2, 2, 3), dtype=torch.uint8)
    seen = []
    network.trunk.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    network(pixels)
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    expected = (pixels.numpy() / 255 - mean) / std
    np.testing.assert_allclose(seen[0].permute(0, 2, 3, 1).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(("name", "side"), [("vgg16", 32), ("alexnet", 63)])
def test_the_last_layer_alone_is_made_anew(monkeypatch, name, side):
    loaded = random_network(name, 0, SMALL[name])
    monkeypatch.setattr(_networks, "load_network", lambda *given: loaded)
    network, record = _networks.image_network(name, [5, 5], "w.pth", "0" * 64, False, 3)
    before = random_network(name, 0, SMALL[name]).network.state_dict()
    after = network.trunk.state_dict()
    assert set(before) - set(after) == {"classifier.6.weight", "classifier.6.bias"}
    assert all(torch.equal(before[key], tensor) for key, tensor in after.items())
    found = network.eval()(torch.zeros((2, side, side, 3), dtype=torch.uint8))
    assert [tuple(block.shape) for block in found] == [(2, 5), (2, 5)]
    assert record is loaded.record


def test_random_weights_are_asked_for_and_said():
    X, D = pictures()
    with pytest.raises(UserError, match=r"no weights.*set random_weights"):
        built("dldl", random_weights=False).fit(X, D)
    for weights in (None, "w.pth"):  # random weights are meant instead of others
        model = built("dldl", weights=weights).fit(X, D)
        assert model.diagnostics_["warning"].startswith("RANDOM START")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": "w.pth", "random_weights": False}, "tiny: nobody published weights"),
        (
            {"weights": "w.pth", "random_weights": False, "network": "alexnet"},
            "sha256 is missing.*sha256sum w.pth",
        ),
    ],
)
def test_wrong_demands_for_weights_are_refused(parameters, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("w.pth").write_bytes(b"anything")
    X, D = pictures(side=64)
    with pytest.raises(UserError, match=message):
        built("dldl", **parameters).fit(X, D)


# ---------------------------------------------------------------------- memory


def test_activations_are_counted_layer_by_layer():
    network = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(12, 5), torch.nn.ReLU(inplace=True)
    )
    network.forward = lambda x: torch.nn.Sequential.forward(network, x.float())
    assert activation_bytes(network, (2, 2)) == 4 * (12 + 5) + 2 * 4 * 12
    assert fixed_bytes(network, "sgd") == 3 * 4 * (12 * 5 + 5)
    assert fixed_bytes(network, "adam") == 4 * 4 * (12 * 5 + 5)


def test_too_little_memory_is_said_before_training_with_what_to_lower(monkeypatch):
    monkeypatch.setattr(_memory, "free_bytes", lambda device: 1000)
    with pytest.raises(MemoryError, match=r"Lower batch_size \(6\), or allow the process more"):
        built("dldl").fit(*pictures())


# ---------------------------------------------------------------------- learning


@pytest.fixture(scope="module")
def faces() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    ages = rng.integers(0, 70, 240)
    drawn = [portrait(person(rng), float(age), None, (32, 32), rng).picture for age in ages]
    return np.stack([np.asarray(picture) for picture in drawn]), ages


FEW_STEPS = {"max_iter": 120, "batch_size": 24, "solver": "adam", "learning_rate": 0.003}
FOREST = {"n_estimators": 5, "depth": 4, "units": 16, "leaf_batches": 10, "leaf_repeats": 10}


@pytest.mark.parametrize("kind", ["dldl", "dldlf", "drf"])
def test_ages_of_drawn_faces_are_told_better_than_by_their_mean(faces, kind):
    X, ages = faces
    D = age_distributions(ages, age_grid(0, 69), 2)
    forest = FOREST if "n_estimators" in KINDS[kind][1] else {}
    model = built(kind, **FEW_STEPS, **forest).fit(X[:180], D[:180])
    error = np.abs(model.predict_number(X[180:]) - ages[180:]).mean()
    assert error < 0.6 * np.abs(ages[180:] - ages[:180].mean()).mean()


# ---------------------------------------------------------------------- GPU


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU; this machine has none")
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("kind", ["dldl", "dldlf annealed", "dndf", "drf"])
def test_gpu_trains_as_the_processor_does(kind, mixed):
    X, D = pictures(n=64)
    processor = built(kind).fit(X, D).predict(X)
    gpu = built(kind, device="cuda", mixed_precision=mixed).fit(X, D)
    np.testing.assert_allclose(gpu.predict(X), processor, atol=0.05 if mixed else 2e-3)
    assert gpu.diagnostics_["device"] == "cuda:0"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_asking_for_a_gpu_where_there_is_none_is_said():
    with pytest.raises(UserError, match="no GPU that PyTorch can use; say auto or cpu"):
        built("dldl", device="cuda").fit(*pictures())

"""Training on images: the same as the linear forests', as if never stopped, whoever reads ahead."""

import copy
import io
import time

import numpy as np
import pytest
import torch

from ldl.deep import _networks, _training
from ldl.deep._hardware import Hardware
from ldl.deep._heads import ForestHead
from ldl.deep._images import InMemory
from ldl.deep._networks import ImageNetwork
from ldl.deep._pixels import Window
from ldl.deep._training import Targets, Training, TrainingSettings
from ldl.deep.estimators import DLDL
from ldl.deep.weights import PREPROCESSING, TORCHVISION
from ldl.soft_forests._leaves import DistributionLeaves, GaussianLeaves
from ldl.soft_forests._training import LinearForest
from ldl.soft_forests.ldlf import SLDLF
from ldl.watch import watched_by
from tests.oracle.formulas import sa_bfgs
from tests.oracle.images import KINDS, KilledError, Recorder, built, linear_network, pictures
from tests.oracle.settings import as_stated

TREES, DEPTH, UNITS, BATCH, STEPS = 3, 3, 4, 6, 17


@pytest.fixture
def every_step(monkeypatch):
    """States are kept and numbers told after every step."""
    monkeypatch.setattr(_training, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(_training, "REPORT_STEPS", 1)


def settings(**other) -> TrainingSettings:
    given = {
        "max_iter": STEPS,
        "batch_size": BATCH,
        "solver": "sgd",
        "learning_rate": 0.3,
        "momentum": 0.9,
        "weight_decay": 0.0,
        "drop_every": 5,
        "drop_factor": 0.5,
        "flip": False,
        "trees": TREES,
    }
    return TrainingSettings(**{**given, **other})


def two_leaves(kind: str, D: np.ndarray):
    """Leaves for the deep forest, and the same for the linear one."""
    if kind == "distributions":
        leaves = DistributionLeaves(TREES, 2 ** (DEPTH - 1), D.shape[1])
        return leaves, copy.deepcopy(leaves), D
    y = D.argmax(axis=1).astype(float)
    y = (y - y.mean()) / y.std()
    drawn = np.random.default_rng(1).choice(y, (TREES, 2 ** (DEPTH - 1)))
    leaves = GaussianLeaves(drawn, np.ones_like(drawn), 0.01, tau=0.5, tau_factor=0.9)
    return leaves, copy.deepcopy(leaves), y[:, None]


# ---------------------------------------------------------------------- against the linear forests


@pytest.mark.parametrize("kind", ["distributions", "numbers"])
@pytest.mark.parametrize("schedule", ["joint", "round_robin"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_forest_on_a_linear_network_trains_as_the_linear_forest(kind, schedule, temperature):
    X, D = pictures(side=2)
    ours, theirs, targets = two_leaves(kind, D)
    linear_model = as_stated(
        SLDLF,
        n_estimators=TREES,
        depth=DEPTH,
        units=UNITS,
        max_iter=STEPS,
        batch_size=BATCH,
        leaf_batches=4,
        leaf_repeats=3,
        queue="stale",
        standardise=False,
        learning_rate=0.3,
        drop_every=5,
        dtype="float64",
        schedule=schedule,
        temperature=temperature,
    )
    widths = [UNITS] * (1 if schedule == "joint" else TREES)
    network = linear_network(widths)
    flat = network.trunk((torch.from_numpy(X).permute(0, 3, 1, 2) - network.shift) * network.factor)
    linear = LinearForest(linear_model, flat.numpy(), targets, theirs, 0)
    head = ForestHead(linear.phi, ours, linear_model)
    for layer, f in zip(network.outputs, linear.maps, strict=True):
        layer.weight.data.copy_(f.W.t())
    wanted = Targets(targets, targets.argmax(axis=1).astype(float))
    deep = Training(
        network,
        head,
        InMemory(X),
        wanted,
        settings(schedule=schedule),
        Window(2, 2),
        Hardware(torch.device("cpu")),
        seed=0,
    )
    linear._batches = iter([deep.order.batch(step) for step in range(1, STEPS + 1)])
    before = network.outputs[0].weight.detach().clone()
    with torch.no_grad():
        linear.train()
    deep.run()
    assert (network.outputs[0].weight - before).abs().max() > 0.01
    for layer, f in zip(network.outputs, linear.maps, strict=True):
        np.testing.assert_allclose(layer.weight.detach().numpy(), f.W.t().numpy(), atol=1e-10)
        np.testing.assert_allclose(layer.bias.detach().numpy(), f.b.numpy(), atol=1e-10)
    np.testing.assert_allclose(ours.table(), theirs.table(), atol=1e-10)


def test_softmax_on_a_frozen_network_ends_where_the_maximum_entropy_model_does(monkeypatch):
    """DLDL by whole batches has one optimum then, and SA-BFGS finds it."""
    generator = np.random.default_rng(0)
    X = generator.integers(0, 256, (40, 2, 2, 3)).astype(np.uint8)
    D = generator.dirichlet(np.ones(5), 40)
    torch.manual_seed(1)
    trunk = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 4), torch.nn.Tanh())
    frozen = [parameter.requires_grad_(False).clone() for parameter in trunk.parameters()]
    network = ImageNetwork(trunk, 4, [5], PREPROCESSING[TORCHVISION]).double()
    monkeypatch.setattr(_networks, "image_network", lambda *_: (network, {}))
    monkeypatch.setitem(_networks.LEAST_SIDE, "tiny", 2)
    found = DLDL(
        network="tiny",
        max_iter=600,
        batch_size=len(X),
        learning_rate=1.0,
        weight_decay=0.0,
        drop_every=None,
        flip=False,
        device="cpu",
        random_state=0,
    ).fit(X, D)
    assert all(map(torch.equal, (p.float() for p in trunk.parameters()), frozen))
    pixels = (torch.from_numpy(X).permute(0, 3, 1, 2).double() - network.shift) * network.factor
    features = trunk(pixels).numpy()
    best = sa_bfgs(max_iter=1000, fit_intercept=True, init="zeros").fit(features, D)
    np.testing.assert_allclose(found.predict(X), best.predict(features), atol=1e-4)
    of_mean = np.tile(D.mean(0), (len(D), 1))
    assert np.abs(best.predict(features) - of_mean).max() > 0.1


# ---------------------------------------------------------------------- taken up again


def bits(model) -> list[np.ndarray]:
    found = [tensor.numpy() for tensor in model.network_.state_dict().values()]
    return found + ([model.head_.leaves.table()] if hasattr(model.head_, "leaves") else [])


@pytest.mark.parametrize("kind", KINDS)
def test_training_taken_up_ends_as_one_that_nobody_stopped(every_step, kind):
    X, D = pictures()
    straight = built(kind).fit(X, D)
    watch = Recorder(7)
    with watched_by(watch):
        with pytest.raises(KilledError):
            built(kind).fit(X, D)
        watch.kill_at = None
        resumed = built(kind).fit(X, D)
    assert resumed.diagnostics_["taken_up_at"] == 6
    for ours, theirs in zip(bits(resumed), bits(straight), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(resumed.predict(X), straight.predict(X))


def test_state_is_plain_and_survives_a_file(every_step):
    X, D = pictures()
    watch = Recorder(8)
    with watched_by(watch), pytest.raises(KilledError):
        built("drf").fit(X, D)
    assert_plain(watch.kept)
    file = io.BytesIO()
    torch.save(watch.kept, file)
    file.seek(0)
    watch.kept, watch.kill_at = torch.load(file, weights_only=True), None
    with watched_by(watch):
        resumed = built("drf").fit(X, D)
    assert resumed.diagnostics_["taken_up_at"] == 7
    np.testing.assert_array_equal(resumed.predict(X), built("drf").fit(X, D).predict(X))


def assert_plain(value) -> None:
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            assert_plain(inner)
    else:
        assert isinstance(value, torch.Tensor) or type(value) in (str, int, float, bool)


@pytest.mark.parametrize("other", [{"random_state": 4}, {"max_iter": 14}])
def test_state_of_another_fit_is_left_alone(every_step, other):
    X, D = pictures()
    watch = Recorder(8)
    with watched_by(watch), pytest.raises(KilledError):
        built("drf").fit(X, D)
    watch.kill_at = None
    with watched_by(watch):
        fitted = built("drf", **other).fit(X, D)
    assert fitted.diagnostics_["taken_up_at"] == 0
    np.testing.assert_array_equal(fitted.predict(X), built("drf", **other).fit(X, D).predict(X))


# ---------------------------------------------------------------------- reports


def test_loss_that_is_no_number_ends_the_training_with_advice():
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        built("deep_regression", learning_rate=1e6).fit(*pictures())


# ---------------------------------------------------------------------- reading


class Slow(InMemory):
    """Images that take a while, now longer and now shorter."""

    def read(self, rows):
        time.sleep(0.004 * (int(rows.sum()) % 3))
        return super().read(rows)


@pytest.mark.parametrize("readers", [1, 3])
def test_speed_and_number_of_readers_change_no_bit(readers):
    X, D = pictures()
    expected = built("drf").fit(X, D).predict(X)
    slow = Slow(X)
    found = built("drf", readers=readers).fit(slow, D).predict(slow)
    np.testing.assert_array_equal(found, expected)


def test_error_of_a_reader_reaches_the_caller():
    class Broken(InMemory):
        def read(self, rows):
            raise OSError("the disk is gone")

    X, D = pictures()
    with pytest.raises(OSError, match="the disk is gone"):
        built("dldl").fit(Broken(X), D)

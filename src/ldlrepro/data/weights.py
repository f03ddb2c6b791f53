"""Converts many kinds of weight files into one: ``data/ready/<id>.weights.pth``.

It is a state_dict with torchvision's names, for red, green and blue, with a description beside it.
Everything that can be wrong with a file of weights is reported here, before any training.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldlrepro.catalogue import Weights
from ldlrepro.core.checksums import mismatch, sha256_of
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import atomically, write_json
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.dataset import DataUnavailable
from ldlrepro.data.fetch import locked, read_status
from ldlrepro.data.onnx_tensors import OnnxError, onnx_tensors

if TYPE_CHECKING:
    from torch import Tensor

    from ldl.deep.backbones import Backbone

KERAS_ONNX = "keras_onnx"
MOST_BYTES = 1 << 30
"""Size of the largest ONNX file that is read from an archive."""
_BLOCK = re.compile(r"block([1-5])_conv([1-3])")
PROBED, PROBE_SIDE = 8, 224
"""Channels that a probe looks at, and the side of its picture."""
PROBE_TOLERANCE = 1e-3
"""A share of the largest value. Swapped colours change values by tens of per cent."""


def weights_facts(weights_id: str, data_dir: Path) -> dict[str, Any]:
    """Return the facts about prepared weights; raise DataUnavailable where there are none."""
    path = Workspace(data=data_dir).weights(weights_id).with_suffix(".json")
    if not path.is_file():
        raise DataUnavailable(
            f"needs weights: type `ldlrepro fetch {weights_id}` and `ldlrepro prepare {weights_id}`"
        )
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if not facts["available"]:
        raise DataUnavailable(f"needs weights: {weights_id} is not available: {facts['reason']}")
    return facts


def prepare_weights(weights: Weights, data_dir: Path) -> Path:
    """Read, check and convert fetched weights; without any, write the reason."""
    path = Workspace(data=data_dir).weights(weights.id)
    with locked(weights.id, data_dir):
        status = read_status(data_dir / "raw" / weights.id)
        if status.available:
            _write_tensors(weights, data_dir / "raw" / weights.id, path)
        else:
            write_json(path.with_suffix(".json"), {"available": False, "reason": status.reason})
            atomically(path, lambda part: part.write_bytes(b""))
    return path


def probe_of(network: Backbone, preprocessing: Mapping[str, Any]) -> list[float]:
    """Return the mean response of pool5's first channels to scikit-image's astronaut."""
    import torch
    from PIL import Image
    from skimage import data

    from ldl.deep.backbones import POOL5_MEAN

    side = (PROBE_SIDE, PROBE_SIDE)
    picture = Image.fromarray(data.astronaut()).resize(side, Image.Resampling.BILINEAR)
    pixels = torch.from_numpy(np.array(picture))[None].permute(0, 3, 1, 2).float()
    mean, std = (torch.tensor(preprocessing[key]).view(1, 3, 1, 1) for key in ("mean", "std"))
    with torch.inference_mode():
        answers = network.until((pixels * preprocessing["scale"] - mean) / std, POOL5_MEAN)
    return [float(f"{value:.6g}") for value in answers[0, :PROBED]]


# ---------------------------------------------------------------------- reading


def _write_tensors(weights: Weights, folder: Path, path: Path) -> None:
    import torch

    from ldl.deep.weights import lacks_classifier, with_tensors

    (entry,) = weights.files
    raw = folder / entry.name
    if not raw.is_file() or mismatch(raw, entry):
        again = f"Type `ldlrepro fetch {weights.id}`."
        raise UserError(f"{raw}: gone, or changed since it was fetched. {again}")
    tensors = _read(weights, raw)
    tensors = _turned(tensors) if weights.colours == "bgr" else tensors
    network = with_tensors(weights.network, raw, tensors)
    preprocessing = preprocessing_of(weights)
    _check_probe(raw, weights, network)
    state = {k: v.contiguous() for k, v in network.state_dict().items() if not v.is_meta}

    def write(part: Path) -> None:
        with open(part, "wb") as handle:  # a name would go into the file, and this one is chance
            torch.save(state, handle)

    atomically(path, write)
    facts = {
        "available": True,
        "weights": weights.id,
        "network": weights.network,
        "sha256": sha256_of(path),
        "source": entry.name,
        "source_sha256": sha256_of(raw),
        "layers": "convolutions" if lacks_classifier(network) else "all",
        "preprocessing": preprocessing,
        "probe": probe_of(network, preprocessing),
    }
    write_json(path.with_suffix(".json"), facts)


def _read(weights: Weights, raw: Path) -> dict[str, Tensor]:
    """Return the tensors of a fetched file under torchvision's names."""
    from ldl.deep.weights import named_layers, read_tensors

    if weights.layout == KERAS_ONNX:
        return convolutions_of_keras(raw)
    layout, state = named_layers(weights.network, raw, read_tensors(raw))
    if layout != weights.layout:
        raise UserError(f"{raw}: its names are those of {layout}; write layout: {layout}.")
    return state


def convolutions_of_keras(raw: Path) -> dict[str, Tensor]:
    """Return VGG-16's convolutions from a Keras ONNX file, which may be in an archive."""
    import torch

    from ldl.deep.backbones import vgg_face_names

    try:
        tensors = onnx_tensors(onnx_content(raw))
    except OnnxError as error:
        raise UserError(f"{raw}: not a readable ONNX file: {error}.") from None
    names, found = vgg_face_names(), {}
    for key, values in tensors.items():
        block = _BLOCK.search(key)
        if block and f"conv{block[1]}_{block[2]}" in names:
            part = "weight" if values.ndim == 4 else "bias"
            found[f"{names[f'conv{block[1]}_{block[2]}']}.{part}"] = torch.from_numpy(values.copy())
    if not found:
        first = next(iter(tensors))
        raise UserError(f"{raw}: names like '{first}' are not Keras' for VGG-16.")
    return found


def onnx_content(raw: Path) -> bytes:
    """Return the content of an ONNX file, or of the only one in a zip archive such as a wheel."""
    if not zipfile.is_zipfile(raw):
        return raw.read_bytes()
    try:
        with zipfile.ZipFile(raw) as archive:
            inside = [info for info in archive.infolist() if info.filename.endswith(".onnx")]
            if len(inside) != 1:
                raise UserError(f"{raw}: {len(inside)} ONNX files inside, one expected.")
            if inside[0].file_size > MOST_BYTES:
                raise UserError(f"{raw}: {inside[0].filename} has more than {MOST_BYTES} bytes.")
            return archive.read(inside[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise UserError(f"{raw}: damaged archive ({error}).") from None


# ---------------------------------------------------------------------- colours


def preprocessing_of(told: Weights) -> dict[str, Any]:
    """Return mean and deviation of red, green and blue in the form of ``ldl.deep``."""
    step = -1 if told.colours == "bgr" else 1
    return {
        "scale": 1.0,
        "mean": [float(value) for value in told.mean[::step]],
        "std": [float(value) for value in told.std[::step]],
    }


def _turned(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors with the colours of the first layer in the opposite order."""
    first = "features.0.weight"
    return {k: v.flip(1) if k == first and v.ndim == 4 else v for k, v in state.items()}


def _check_probe(raw: Path, weights: Weights, network: Backbone) -> None:
    """Refuse weights whose response to a picture differs from their description."""
    from ldl.deep.weights import with_tensors

    expected = list(weights.probe)
    if not expected or _fits(probe_of(network, preprocessing_of(weights)), expected):
        return
    other = "rgb" if weights.colours == "bgr" else "bgr"
    state = {k: v for k, v in network.state_dict().items() if not v.is_meta}
    turned = with_tensors(weights.network, raw, _turned(state))
    renamed = weights.model_copy(update={"colours": other})
    swapped = renamed.model_copy(update={"mean": weights.mean[::-1], "std": weights.std[::-1]})
    ways = {
        f"the colours are turned round. Write colours: {other}": renamed,
        f"the colours are turned round. Write colours: {other} and turn mean and std": swapped,
    }
    for problem, way in ways.items():
        if _fits(probe_of(turned, preprocessing_of(way)), expected):
            raise UserError(f"{raw}: {problem}.")
    raise UserError(
        f"{raw}: other activations than its description says, with either order of colours. "
        "These are other weights, or mean and std are others."
    )


def _fits(found: list[float], expected: list[float]) -> bool:
    return bool(np.allclose(found, expected, rtol=0, atol=PROBE_TOLERANCE * max(expected)))

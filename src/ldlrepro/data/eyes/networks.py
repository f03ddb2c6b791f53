"""The three small networks of MTCNN, with the weights that the package ``mtcnn`` ships.

K. Zhang, Z. Zhang, Z. Li and Y. Qiao, Joint face detection and alignment using multitask cascaded
convolutional networks, IEEE Signal Processing Letters 23 (2016). The package's own code needs
TensorFlow and is never run; its files are read only if they are the bytes that we know.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

import numpy as np
import torch
from torch.nn import functional

from ldlrepro.core.checksums import sha256_of
from ldlrepro.core.errors import UserError

PACKAGE = "mtcnn"
SHA256 = {
    "pnet": "ea6b0c3e685ebee3165326ad6484acc95f2ef78f1c94fbf40a55704fa989f7b5",
    "rnet": "cb00e6460f3c98b0bfafaba3c0a0ded4bdf6e62cee7174d969e8670d7e757fee",
    "onet": "94f6ea2f4cf985275ee958cdd762d17b6009348a4fb9d8c6be39ba73ffd22ca3",
}
INSTALL = "Type `pip install mtcnn==1.0.0`, or `make setup` in the checkout."

Pool = tuple[int, bool] | None
"""Side of a maximum over places, and whether it may reach over the border; None: no maximum."""


def weights(name: str) -> list[torch.Tensor]:
    """Return the arrays of one network in the order of its layers: kernel, bias, slopes."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError:
        raise UserError(f"finding eyes needs the weights in the package mtcnn. {INSTALL}") from None
    path = package.locate_file(f"mtcnn/assets/weights/{name}.lz4")
    # A pickle runs what stands in it, so only bytes that are known are opened.
    if not path.is_file() or sha256_of(path) != SHA256[name]:  # type: ignore[attr-defined, arg-type]
        raise UserError(f"{path}: not the weights of mtcnn 1.0.0. {INSTALL}")
    import joblib

    return [torch.from_numpy(np.ascontiguousarray(array)) for array in joblib.load(path)]


class Network:
    """Convolutions, each followed by a rectifier with slopes and some by a maximum; then heads."""

    def __init__(self, name: str, pools: list[Pool]) -> None:
        arrays = weights(name)
        self.pools = pools
        self.layers = [
            (_kernel(arrays[3 * i]), arrays[3 * i + 1], arrays[3 * i + 2].reshape(-1))
            for i in range(len(pools))
        ]
        self.rest = arrays[3 * len(pools) :]

    def trunk(self, x: torch.Tensor) -> torch.Tensor:
        for (kernel, bias, slopes), pool in zip(self.layers, self.pools, strict=True):
            x = functional.prelu(functional.conv2d(x, kernel, bias), slopes)
            if pool:
                x = functional.max_pool2d(x, pool[0], stride=2, ceil_mode=pool[1])
        return x


class Proposals(Network):
    """P-Net: scans a picture of any size in windows of 12 pixels, two pixels apart."""

    def __init__(self) -> None:
        super().__init__("pnet", [(2, True), None, None])

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Return for every window how its box should move, and the probability of a face."""
        x = self.trunk(x)
        move, move_bias, face, face_bias = self.rest
        moves = functional.conv2d(x, _kernel(move), move_bias)
        faces = functional.conv2d(x, _kernel(face), face_bias).softmax(1)[:, 1]
        return moves[0].permute(1, 2, 0).numpy(), faces[0].numpy()


class Judge(Network):
    """R-Net and O-Net: look at boxes of one size. The last output tells faces from no faces."""

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor) -> list[np.ndarray]:
        # The weights count places by column first.
        x = self.trunk(x).permute(0, 3, 2, 1).flatten(1)
        matrix, bias, slopes, *heads = self.rest
        x = functional.prelu(x @ matrix + bias, slopes)
        *outputs, faces = (x @ heads[i] + heads[i + 1] for i in range(0, len(heads), 2))
        return [*(output.numpy() for output in outputs), faces.softmax(1)[:, 1].numpy()]


def refinement() -> Judge:
    """Return R-Net: moves of the box, probability of a face."""
    return Judge("rnet", [(3, True), (3, False), None])


def landmarks() -> Judge:
    """Return O-Net: moves of the box, five points, probability of a face."""
    return Judge("onet", [(3, True), (3, False), (2, True), None])


def as_input(images: np.ndarray) -> torch.Tensor:
    """Turn grey levels (images, height, width, 3) into what the networks were trained on."""
    scaled = (images.astype(np.float32) - 127.5) / 128
    return torch.from_numpy(scaled).permute(0, 3, 1, 2).contiguous()


def _kernel(stored: torch.Tensor) -> torch.Tensor:
    """Return (height, width, in, out) as torch wants it."""
    return stored.permute(3, 2, 0, 1).contiguous()

"""The three small networks of MTCNN, with the weights that the package ``mtcnn`` ships.

K. Zhang, Z. Zhang, Z. Li and Y. Qiao, Joint face detection and alignment using multitask cascaded
convolutional networks, IEEE Signal Processing Letters 23 (2016). The package's own code needs
TensorFlow and is never run; its files are read only if they are the bytes that we know.
"""

from __future__ import annotations

import math
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
POOLS: dict[str, tuple[tuple[int, bool] | None, ...]] = {
    "pnet": ((2, True), None, None),
    "rnet": ((3, True), (3, False), None, None),
    "onet": ((3, True), (3, False), (2, True), None, None),
}
"""For each layer, the side of a maximum over places, and whether it may cross the border."""


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
    """Convolutions, each followed by a rectifier with slopes and some by a maximum; then heads.

    The first network scans a picture of any size in windows of 12 pixels, two pixels apart. The
    other networks see squares of 24 and 48 pixels.
    """

    def __init__(self, name: str) -> None:
        arrays = weights(name)
        self.pools = POOLS[name]
        self.layers = []
        channels = 3
        for _ in self.pools:
            kernel, bias, slopes, *arrays = arrays
            self.layers.append((_kernel(kernel, channels), bias, slopes.reshape(-1)))
            channels = len(bias)
        heads = zip(arrays[::2], arrays[1::2], strict=True)
        self.heads = [(_kernel(kernel, channels), bias) for kernel, bias in heads]

    @torch.inference_mode()
    def __call__(self, images: np.ndarray) -> list[np.ndarray]:
        """Return for grey levels (images, height, width, 3) what each head says at each place.

        The heads: how the box should move, from O-Net on five points, the probability of a face.
        """
        x = torch.from_numpy((images.astype(np.float32) - 127.5) / 128).permute(0, 3, 1, 2)
        for (kernel, bias, slopes), pool in zip(self.layers, self.pools, strict=True):
            x = functional.prelu(functional.conv2d(x, kernel, bias), slopes)
            if pool:
                x = functional.max_pool2d(x, pool[0], stride=2, ceil_mode=pool[1])
        *others, faces = (functional.conv2d(x, kernel, bias) for kernel, bias in self.heads)
        outputs = [*others, faces.softmax(1)[:, 1:]]
        return [output.permute(0, 2, 3, 1).numpy() for output in outputs]


def _kernel(stored: torch.Tensor, channels: int) -> torch.Tensor:
    """Return (out, in, height, width). A dense layer covers all places below it."""
    if stored.ndim == 4:
        return stored.permute(3, 2, 0, 1).contiguous()
    side = math.isqrt(len(stored) // channels)
    # Its weights count places by column first.
    return stored.reshape(side, side, channels, -1).permute(3, 2, 1, 0).contiguous()

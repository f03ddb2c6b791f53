"""Small images, networks and watches for the tests of the methods on images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import nn

from ldl.deep._networks import ImageNetwork
from ldl.deep.estimators import DLDL, DeepDRF, DeepLDLF, DeepRegression
from ldl.deep.weights import PREPROCESSING, TORCHVISION

SMALL_FOREST = {"n_estimators": 3, "depth": 3, "units": 6, "leaf_batches": 4, "leaf_repeats": 3}
KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "dldl": (DLDL, {}),
    "deep_regression": (DeepRegression, {}),
    "dldlf": (DeepLDLF, SMALL_FOREST),
    "dldlf annealed": (DeepLDLF, {**SMALL_FOREST, "temperature": 1.0}),
    "dndf": (DeepLDLF, {**SMALL_FOREST, "schedule": "random", "hard_labels": True}),
    "drf": (DeepDRF, {**SMALL_FOREST, "temperature": 1.0}),
    "drf nrf": (DeepDRF, {**SMALL_FOREST, "leaf_rule": "routing", "leaf_init": "kmeans"}),
}


def built(kind: str, **parameters: Any) -> Any:
    """A method on the small network, cheap enough for tests."""
    made, own = KINDS[kind]
    common = {
        "network": "tiny",
        "random_weights": True,
        "max_iter": 13,
        "batch_size": 6,
        "learning_rate": 0.02,
        "random_state": 3,
        "device": "cpu",
    }
    return made(**{**common, **own, **parameters})


def pictures(n: int = 20, side: int = 10, labels: int = 5, seed: int = 0) -> tuple:
    """Noise whose brightness tells the label, and distributions about it."""
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, labels, n)
    light = 30 + 190 * numbers / labels
    X = np.clip(light[:, None, None, None] + generator.normal(0, 20, (n, side, side, 3)), 0, 255)
    D = np.exp(-((np.arange(labels) - numbers[:, None]) ** 2))
    return X.astype(np.uint8), D / D.sum(axis=1, keepdims=True)


def linear_network(widths: list[int], pixels: int = 4, dropout: float = 0.0) -> ImageNetwork:
    """Outputs are linear in the pixels of a square of ``pixels``, in double precision."""
    trunk = nn.Sequential(nn.Flatten(), nn.Dropout(dropout))
    return ImageNetwork(trunk, 3 * pixels, widths, PREPROCESSING[TORCHVISION]).double()


class KilledError(Exception):
    pass


class Recorder:
    """A watch that keeps the last state and ends the training at a step."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.kill_at = kill_at
        self.kept: dict[str, Any] | None = None
        self.told: list[tuple[int, dict[str, float]]] = []

    def restore(self) -> dict[str, Any] | None:
        return self.kept

    def keep(self, state: dict[str, Any]) -> None:
        self.kept = state

    def report(self, step: int, values: Mapping[str, float]) -> None:
        self.told.append((step, dict(values)))
        if step == self.kill_at:
            raise KilledError

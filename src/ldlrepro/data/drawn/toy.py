"""The toy data of the MSLP paper, by its formula."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldlrepro.core.files import write_npz


def toy(n: int, noise_variance: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels by the formula of the MSLP paper.

    Noise is added to the features after the labels are computed, so the noisy set has the labels of
    the clean one.
    """
    rng = np.random.default_rng(seed)
    plane = rng.uniform(-1.0, 1.0, size=(n, 2))
    X = np.column_stack([plane, np.exp(-(plane**2).sum(axis=1))])
    t = X + 0.5 * X**2 + 0.2 * X**3 + 1.0
    first = (t @ [4.0, 2.0, 1.0]) ** 2
    second = (t @ [1.0, 2.0, 4.0] + 0.01 * first) ** 2
    third = (t @ [1.0, 4.0, 2.0] + 0.01 * second) ** 2
    phi = np.column_stack([first, second, third])
    D = phi / phi.sum(axis=1, keepdims=True)
    return X + rng.normal(0.0, np.sqrt(noise_variance), size=X.shape), D


def write_toy(folder: Path, n: int, noise_variance: float, seed: int) -> None:
    """Write the toy data as ``table.npz``."""
    X, D = toy(n, noise_variance, seed)
    write_npz(folder / "table.npz", {"X": X, "D": D})

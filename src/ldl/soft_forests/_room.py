"""Memory that is used again and again."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

NUMPY = {torch.float32: np.float32, torch.float64: np.float64}


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return fresh memory from NumPy, which asks for huge pages where there is much of it.

    Products of leaf probabilities are a quarter faster with these.
    """
    return torch.from_numpy(np.empty(shape, NUMPY[dtype]))


class Room:
    """Memory by name: fresh memory of this size costs more than filling it.

    What was written under a name is lost when the name is asked for again.
    """

    def __init__(self) -> None:
        self._whole: dict[str, Tensor] = {}
        self._views: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    def __call__(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Return contiguous memory of a shape, with whatever is in it."""
        view = self._views.get((name, shape))
        if view is None or view.dtype != dtype:
            size, whole = math.prod(shape), self._whole.get(name)
            if whole is None or whole.dtype != dtype or len(whole) < size:
                whole = self._whole[name] = empty((size,), dtype)
                self._views = {key: kept for key, kept in self._views.items() if key[0] != name}
            view = self._views[name, shape] = whole[:size].view(shape)
        return view

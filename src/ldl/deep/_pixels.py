"""Images for training: in an order that a seed fixes, read ahead, cropped at random.

Everything random depends on the seed and the number of the step alone. So a training can be taken
up at any step, and it does not matter which thread read what when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from ldl.deep._images import Images


class Order:
    """Row numbers of batch after batch: through all rows in a new order, again and again.

    Where rows have weights an epoch draws as many rows as there are, each as often as it counts.
    """

    def __init__(self, count: int, size: int, seed: int, weight: np.ndarray | None = None) -> None:
        self.count, self.size, self.seed = count, min(size, count), seed
        self.chance = None if weight is None else weight / weight.sum()
        self._epoch = lru_cache(maxsize=2)(self._drawn)

    def batch(self, step: int) -> np.ndarray:
        """Return the rows of a step, counted from 1; they may span the end of an epoch."""
        places = np.arange((step - 1) * self.size, step * self.size)
        epochs = places // self.count
        parts = [
            self._epoch(int(epoch))[places[epochs == epoch] % self.count]
            for epoch in np.unique(epochs)
        ]
        return np.concatenate(parts)

    def _drawn(self, number: int) -> np.ndarray:
        """Draw the order of an epoch."""
        generator = np.random.default_rng([self.seed, number])
        if self.chance is None:
            return generator.permutation(self.count)
        return generator.choice(self.count, self.count, p=self.chance)


@contextmanager
def read_ahead(
    images: Images, batches: Iterator[np.ndarray], readers: int, pin: bool
) -> Iterator[Iterator[Tensor]]:
    """Give the pixels of batches of row numbers, in their order.

    ``readers`` threads work at most two batches each ahead. ``pin`` puts pixels where a GPU can
    fetch them while the processor goes on.
    """

    def read(rows: np.ndarray) -> Tensor:
        pixels = torch.from_numpy(images.read(rows))
        return pixels.pin_memory() if pin else pixels

    pool = ThreadPoolExecutor(readers, thread_name_prefix="pixels")
    waiting: deque[Future[Tensor]] = deque()

    def results() -> Iterator[Tensor]:
        for rows in batches:
            waiting.append(pool.submit(read, rows))
            if len(waiting) > 2 * readers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    try:
        yield results()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class Window:
    """The part of an image that the network sees: all of it, or a square of ``side`` pixels."""

    height: int
    width: int
    side: int | None = None

    def __post_init__(self) -> None:
        if self.side is not None and not 0 < self.side <= min(self.height, self.width):
            raise ValueError(
                f"crop_side must be at most {min(self.height, self.width)}, the smaller side of "
                f"the images of {self.height} x {self.width}, got {self.side}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the part."""
        return (self.height, self.width) if self.side is None else (self.side, self.side)

    def middle(self, pixels: Tensor) -> Tensor:
        """Return the middle of every image."""
        height, width = self.shape
        top, left = (self.height - height) // 2, (self.width - width) // 2
        return pixels[:, top : top + height, left : left + width]

    def draw(self, count: int, flip: bool, generator: np.random.Generator) -> Crops:
        """Draw a part of each of ``count`` images; ``flip`` mirrors about half of them."""
        height, width = self.shape
        top = generator.integers(0, self.height - height + 1, count)
        left = generator.integers(0, self.width - width + 1, count)
        mirrored = (generator.random(count) < 0.5) & flip
        whole = self.shape == (self.height, self.width)
        return Crops(top, left, mirrored, height, width, whole)


@dataclass(frozen=True)
class Crops:
    """Parts of images, one each, some of them mirrored."""

    top: np.ndarray
    left: np.ndarray
    mirrored: np.ndarray
    height: int
    width: int
    whole: bool
    """Every image is seen from edge to edge."""

    def select(self, some: Callable[[np.ndarray], np.ndarray]) -> Crops:
        """Return the crops of some images, which a function takes out of an array."""
        top, left, mirrored = some(self.top), some(self.left), some(self.mirrored)
        return Crops(top, left, mirrored, self.height, self.width, self.whole)

    def apply(self, pixels: Tensor) -> Tensor:
        """Return the parts of these images, cut out where the pixels are."""
        if self.whole and not self.mirrored.any():
            return pixels
        columns = self.left[:, None] + np.arange(self.width)
        columns = np.where(self.mirrored[:, None], columns[:, ::-1], columns)
        lines = self.top[:, None] + np.arange(self.height)
        images = np.arange(len(pixels))
        index = (images[:, None, None], lines[:, :, None], columns[:, None, :])
        # Without waiting for what the GPU still has to do.
        there = (torch.from_numpy(part).to(pixels.device, non_blocking=True) for part in index)
        return pixels[tuple(there)]

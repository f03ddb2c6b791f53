"""One training on several GPUs: processes that torchrun starts, each with a part of every batch.

All of them fit, with the same arguments, and end with the same model. torchrun tells them who they
are by environment variables; without these there is one process, and nothing here does anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, distributed


class Ranks:
    """Processes that train together: their number, and which of them this one is."""

    def __init__(self, count: int = 1, own: int = 0) -> None:
        self.count, self.own = count, own

    def part(self, rows: np.ndarray) -> np.ndarray:
        """Return this process's rows of a batch."""
        return rows[self.own :: self.count]

    def whole(self, block: Tensor) -> Tensor:
        """Return the outputs for a whole batch, from those that each process has for its rows."""
        if self.count == 1:
            return block
        parts = [torch.empty_like(block) for _ in range(self.count)]
        distributed.all_gather(parts, block.contiguous())
        return torch.stack(parts, 1).flatten(0, 1)

    def average_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace gradients of the mean over parts of a batch by those of the mean over all."""
        if self.count == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        waiting = [distributed.all_reduce(gradient, async_op=True) for gradient in gradients]
        for each in waiting:
            each.wait()
        for gradient in gradients:
            gradient.div_(self.count)


def ranks_of_torchrun(cuda: bool) -> Ranks:
    """Join the other processes, where there are any."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return Ranks()
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if cuda else "gloo")
    return Ranks(count, distributed.get_rank())


def local_device() -> int:
    """Return the number of this process's GPU on this machine."""
    return int(os.environ.get("LOCAL_RANK", "0"))

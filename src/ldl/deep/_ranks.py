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
    def __init__(self, count: int = 1, own: int = 0) -> None:
        self.count, self.own = count, own

    def part(self, rows: np.ndarray) -> np.ndarray:
        """This process's rows of a batch."""
        return rows[self.own :: self.count]

    def whole(self, block: Tensor) -> Tensor:
        """Outputs for a whole batch, from those that each process has for its rows."""
        if self.count == 1:
            return block
        parts = [torch.empty_like(block) for _ in range(self.count)]
        distributed.all_gather(parts, block.contiguous())
        return torch.stack(parts, 1).flatten(0, 1)

    def share_slopes(self, parameters: Iterable[Tensor]) -> None:
        """Slopes of the mean over the whole batch, from means over the parts."""
        if self.count == 1:
            return
        slopes = [p.grad for p in parameters if p.grad is not None]
        waiting = [distributed.all_reduce(slope, async_op=True) for slope in slopes]
        for each in waiting:
            each.wait()
        for slope in slopes:
            slope.div_(self.count)


def ranks_of_torchrun(cuda: bool) -> Ranks:
    """Joins the other processes, where there are any."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return Ranks()
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if cuda else "gloo")
    return Ranks(count, distributed.get_rank())


def local_device() -> int:
    """Which of this machine's GPUs is ours."""
    return int(os.environ.get("LOCAL_RANK", "0"))

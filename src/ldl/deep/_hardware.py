"""The hardware that a network computes on: device, precision, reading threads, processes."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ldl.deep._ranks import Ranks, local_device, ranks_of_torchrun
from ldl.errors import UserError


@dataclass(frozen=True)
class Hardware:
    """Device and precision of the network, threads and processes that bring the pixels."""

    device: torch.device
    mixed_precision: bool = False
    readers: int = 2
    ranks: Ranks = field(default_factory=Ranks)

    @property
    def cuda(self) -> bool:
        """True on a GPU."""
        return self.device.type == "cuda"


def choose_hardware(device: str, mixed_precision: bool, readers: int) -> Hardware:
    """Return the hardware that the parameters ask for.

    Joins the other processes where torchrun started several. Mixed precision is for GPUs only.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device: cuda, but there is no GPU that PyTorch can use; say auto or cpu.")
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    ranks = ranks_of_torchrun(cuda)
    if not cuda:
        return Hardware(torch.device("cpu"), False, readers, ranks)
    torch.cuda.set_device(local_device())
    return Hardware(torch.device("cuda", local_device()), mixed_precision, readers, ranks)

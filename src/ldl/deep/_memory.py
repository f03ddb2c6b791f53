"""Whether the memory will do, said before hours are spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ldl.deep import free_memory as memory
from ldl.errors import UserError

if TYPE_CHECKING:
    from ldl.deep._networks import ImageNetwork
    from ldl.deep._training import Course, Place

GB = 1e9


def check_memory(
    network: ImageNetwork, shape: tuple[int, int], batch: int, course: Course, where: Place
) -> None:
    """Raises what ``too_little`` says if one batch cannot fit."""
    per_image = activation_bytes(network, shape)
    fixed = fixed_bytes(network, course.optimiser)
    if where.mixed_precision:
        per_image //= 2
    free = free_bytes(where.device)
    if fixed + batch * per_image > free:
        raise too_little(
            where,
            batch,
            f"weights, slopes and optimiser take {fixed / GB:.1f} GB, each image "
            f"{per_image / GB:.3f} GB, and {free / GB:.1f} GB are free",
        )


def too_little(where: Place, batch: int, why: str) -> Exception:
    """The processor's memory can be raised by the workflow, which tries again; a GPU's cannot."""
    text = f"{why}. Lower batch_size ({batch})"
    if where.cuda:
        return UserError(f"the memory of the GPU will not do: {text}, or take a larger GPU.")
    return MemoryError(f"the memory will not do: {text}, or give the job more mem_mb.")


def fixed_bytes(network: nn.Module, optimiser: str) -> int:
    """Weights, their slopes, and what the optimiser keeps for each."""
    copies = 2 + (2 if optimiser == "adam" else 1)
    return copies * sum(p.numel() * p.element_size() for p in network.parameters())


def activation_bytes(network: nn.Module, shape: tuple[int, int]) -> int:
    """What one image leaves on its way, measured by sending one; twice the largest for slopes."""
    sizes: list[int] = []

    def note(module: nn.Module, given: tuple[Tensor, ...], found: Tensor) -> None:
        if not getattr(module, "inplace", False):
            sizes.append(found.numel() * found.element_size())

    leaves = [module for module in network.modules() if not list(module.children())]
    hooks = [module.register_forward_hook(note) for module in leaves]
    training = network.training
    parameter = next(network.parameters())
    try:
        with torch.no_grad():
            network.eval()(torch.zeros((1, *shape, 3), dtype=torch.uint8, device=parameter.device))
    finally:
        network.train(training)
        for hook in hooks:
            hook.remove()
    return sum(sizes) + 2 * max(sizes)


def free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return memory.free_bytes()

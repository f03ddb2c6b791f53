"""Memory that a training needs and that is free, compared before hours are spent."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ldl._memory import GB
from ldl._memory import free_bytes as free_bytes_of_process
from ldl.deep._hardware import Hardware
from ldl.errors import UserError


def check_memory(
    network: nn.Module, shape: tuple[int, int], batch: int, optimiser: str, hardware: Hardware
) -> None:
    """Raise what ``too_little`` returns if one batch of images of this shape cannot fit."""
    per_image = activation_bytes(network, shape)
    fixed = fixed_bytes(network, optimiser)
    if hardware.mixed_precision:
        per_image //= 2
    free = free_bytes(hardware.device)
    if fixed + batch * per_image > free:
        raise too_little(
            hardware,
            batch,
            f"weights, gradients and optimiser take {fixed / GB:.1f} GB, each image "
            f"{per_image / GB:.3f} GB, and {free / GB:.1f} GB are free",
        )


def too_little(hardware: Hardware, batch: int, why: str) -> Exception:
    """Return the error that says what to lower.

    It is a MemoryError for the processor, whose memory the caller may raise before trying again,
    and a UserError for a GPU, whose memory nobody can raise.
    """
    text = f"{why}. Lower batch_size ({batch})"
    if hardware.cuda:
        return UserError(f"the memory of the GPU will not do: {text}, or take a larger GPU.")
    return MemoryError(f"the memory will not do: {text}, or allow the process more memory.")


# ---------------------------------------------------------------------- needed


def fixed_bytes(network: nn.Module, optimiser: str) -> int:
    """Return the bytes of the weights, their gradients and the optimiser's state."""
    copies = 2 + (2 if optimiser == "adam" else 1)
    return copies * sum(p.numel() * p.element_size() for p in network.parameters())


def activation_bytes(network: nn.Module, shape: tuple[int, int]) -> int:
    """Measure what one image leaves behind on its way, and twice the largest for its gradients."""
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


# ---------------------------------------------------------------------- free


def free_bytes(device: torch.device) -> float:
    """Return the bytes that are free on a device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return free_bytes_of_process()

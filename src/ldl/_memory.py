"""Memory that a fit is sure to need and that is free, compared before hours are spent."""

from __future__ import annotations

import math
import os
from pathlib import Path

GB = 1e9
CGROUPS = Path("/sys/fs/cgroup")
"""Folder in which Linux says how much memory a container or a cluster allows a job."""


def demand_memory(who: str, needed: float, advice: str) -> None:
    """Raise MemoryError if a fit needs more bytes than are free; ``advice`` says what to lower.

    ``needed`` is to be a lower bound, so that no fit is refused that could succeed.
    """
    free = free_bytes()
    if needed > free:
        raise MemoryError(
            f"{who} needs at least {needed / GB:.3g} GB of memory beside data of this size, and "
            f"{free / GB:.3g} GB are free. {advice}"
        )


def free_bytes() -> float:
    """Return how many bytes this process may still use; infinite where no system tells."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:  # another kind of system
        return math.inf
    sizes = dict(line.split(":", 1) for line in lines)
    return min([1024 * int(sizes["MemAvailable"].split()[0]), *_left_of_limits()])


def _left_of_limits() -> list[int]:
    """Return what is left of the limits on this process's control group and those above it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    group = next((line[3:] for line in lines if line.startswith("0::")), "/")
    folder = CGROUPS / group.strip("/")
    used = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    limits = []
    for each in (folder, *folder.parents):
        if not each.is_relative_to(CGROUPS):
            break
        try:
            limits.append(int((each / "memory.max").read_text()))
        except (OSError, ValueError):  # no file at the top, the word "max" without a limit
            continue
    return [limit - used for limit in limits]

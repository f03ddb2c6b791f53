"""How much memory this process may still use."""

from __future__ import annotations

from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")
"""Where Linux says what a container or a cluster allows a job."""


def free_bytes() -> int:
    return min([psutil.virtual_memory().available, *_left_of_limits()])


def _left_of_limits() -> list[int]:
    """For the job's group and those above it, where they have a limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:  # another kind of system
        return []
    group = next((line[3:] for line in lines if line.startswith("0::")), "/")
    folder = CGROUPS / group.strip("/")
    used = psutil.Process().memory_info().rss
    limits = []
    for each in (folder, *folder.parents):
        if not each.is_relative_to(CGROUPS):
            break
        try:
            limits.append(int((each / "memory.max").read_text()))
        except (OSError, ValueError):  # no file at the top, the word "max" without a limit
            continue
    return [limit - used for limit in limits]

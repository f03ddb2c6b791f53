"""Compares the three that must fit together on a GPU: its driver, torch's CUDA, the card itself.

Torch brings the CUDA libraries that it was built for; the driver is the machine's own, in a
container too. A driver runs programs of its own CUDA and of all before it, and, with fewer
features, later ones of the same major number.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass

from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding

LEAST_DRIVER = {11: 450, 12: 525, 13: 580}
"""Oldest driver for each CUDA: docs.nvidia.com, CUDA Compatibility, Minor Version Compatibility."""
SECONDS_FOR_DRIVER = 60

# Newer drivers name two versions, of the kernel's and of the programs' side.
_CUDA = re.compile(r"CUDA (?:UMD )?Version\s*:\s*(\d+)\.(\d+)")
_QUERY = "name,driver_version,compute_cap"
_ARCH = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")


@dataclass(frozen=True)
class Driver:
    """The driver and the first card that it shows."""

    card: str
    version: str
    capability: tuple[int, int]
    cuda: tuple[int, int]
    """The latest CUDA that it runs in full."""


@dataclass(frozen=True)
class TorchBuild:
    """The installed torch: the CUDA that it was built for, and the cards that it has code for."""

    version: str
    cuda: tuple[int, int] | None
    archs: tuple[str, ...]
    sees_card: bool


def examine() -> Finding:
    """Compare what is on this machine."""
    try:
        build = torch_build()
    except (ImportError, OSError) as error:  # a library of CUDA that is missing or cut
        found = f"torch cannot be imported: {error}"
        return Finding("CUDA", BAD, found, "rm -r .venv; make TORCH=gpu setup")
    return compare(driver(), build)


def driver() -> Driver | None:
    """Ask the driver's own tool; None where it does not answer or shows no card."""
    shown = _told("nvidia-smi")
    queried = _told("nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits")
    cuda = _CUDA.search(shown)
    fields = [field.strip() for field in queried.partition("\n")[0].split(",")]
    if cuda is None or len(fields) != 3:
        return None
    name, version, capability = fields
    major, _, minor = capability.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        return None
    return Driver(
        name,
        version,
        (int(major), int(minor)),
        (int(cuda[1]), int(cuda[2])),
    )


def _told(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_FOR_DRIVER)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout if found.returncode == 0 else ""


def torch_build() -> TorchBuild:
    """Look at the torch that is installed here."""
    import torch

    cuda = torch.version.cuda
    sees = torch.cuda.is_available()
    archs = tuple(torch.cuda.get_arch_list()) if sees else ()
    return TorchBuild(torch.__version__, _numbers(cuda) if cuda else None, archs, sees)


def compare(driver: Driver | None, build: TorchBuild) -> Finding:
    """Say whether driver, torch and card fit together, and what to do where they do not."""
    if build.cuda is None:
        found = f"torch {build.version} is built without CUDA"
        return Finding("CUDA", BAD, found, "make TORCH=gpu setup")
    torch = f"torch {build.version} for CUDA {_dotted(build.cuda)}"
    if driver is None:
        do = "see what nvidia-smi says: driver and CUDA cannot be compared"
        state = NOTE if build.sees_card else BAD
        return Finding("CUDA", state, f"{torch}, but the driver does not answer", do)
    found = f"{torch}, driver {driver.version} up to CUDA {_dotted(driver.cuda)}"
    if build.cuda[0] > driver.cuda[0]:
        least = LEAST_DRIVER.get(build.cuda[0])
        newer = f"driver {least} or newer" if least else "a newer driver"
        return Finding("CUDA", BAD, found, f"this torch needs {newer}; see docs/gpu.md")
    if not build.sees_card:
        do = (
            "the versions fit, but torch sees no card: is CUDA_VISIBLE_DEVICES empty? A container "
            "needs `docker run --gpus all` or `apptainer exec --nv`"
        )
        return Finding("CUDA", BAD, found, do)
    if build.archs and not has_code_for(driver.capability, build.archs):
        do = f"this torch has no code for {driver.card} (sm_{driver.capability[0]}"
        return Finding("CUDA", BAD, found, f"{do}{driver.capability[1]}): take another build")
    if build.cuda > driver.cuda:
        do = f"works, except for some features of CUDA {build.cuda[0]}; a newer driver has all"
        return Finding("CUDA", NOTE, found, do)
    return Finding("CUDA", GOOD, found, "they fit together")


def has_code_for(capability: tuple[int, int], archs: tuple[str, ...]) -> bool:
    """Tell whether a card runs the code of one of these architectures.

    Machine code runs on cards of its own major number from its minor number on, code that the
    driver still compiles (``compute_``) on all later cards, code for one card (``sm_90a``) there.
    """
    for kind, major, minor, special in (m.groups() for a in archs if (m := _ARCH.fullmatch(a))):
        asked = (int(major), int(minor))
        if special == "a":
            runs = capability == asked
        elif kind == "sm" or special == "f":
            runs = capability[0] == asked[0] and capability >= asked
        else:
            runs = capability >= asked
        if runs:
            return True
    return False


def _numbers(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))

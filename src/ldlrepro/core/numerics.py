"""Makes floating point the same everywhere; call it before NumPy is imported.

Sums in another order, or in wider vector registers, differ in the last bit, and an iterative method
turns a last bit into a visible digit. So every unit computes with single-threaded linear algebra
and one fixed kernel family (AVX2), on any machine that has it. Parallel work is split into parts,
and their results are combined in a fixed order. Loops that numba compiles keep their order of
additions on every processor, so they need no pin.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
KERNELS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
# Instruction sets that NumPy may dispatch to beyond AVX2 and FMA3.
WIDER_THAN_AVX2 = "X86_V4 AVX512_ICL AVX512_SPR"


def pin() -> dict[str, str]:
    """Set the environment of this process and its children; return what was set."""
    chosen = _pins()
    os.environ.update(chosen)
    return chosen


def kernels() -> dict[str, str | None]:
    """Return the kernel families of this process; refuse one that was not pinned."""
    if unset := [name for name, value in _pins().items() if os.environ.get(name) != value]:
        raise RuntimeError(
            f"this process computes other last bits than units do: {', '.join(unset)} not pinned. "
            "Call ldlrepro.core.numerics.pin() before NumPy is imported."
        )
    return {name: os.environ.get(name) for name in KERNELS}


def _pins() -> dict[str, str]:
    chosen = dict.fromkeys(THREAD_VARIABLES, "1")
    if platform.machine() == "x86_64" and _has_avx2():
        chosen |= {
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": WIDER_THAN_AVX2,
            "ATEN_CPU_CAPABILITY": "avx2",
        }
    return chosen


def _has_avx2() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return " avx2 " in flags and " fma " in flags

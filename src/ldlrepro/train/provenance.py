"""Provenance of a number: code, configuration, versions and machine."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

RECORDED_VERSIONS = ("numpy", "scipy", "scikit-learn", "xgboost-cpu", "xgboost", "torch", "numba")


def lock_digest(root: Path) -> str:
    """Return the digest of a checkout's pinned requirements."""
    lock = root / "envs" / "lock.txt"
    return hashlib.sha256(lock.read_bytes()).hexdigest() if lock.is_file() else ""


@cache
def git_commit(root: Path) -> str:
    """Return the commit of a checkout, with '+' if tracked files were changed; '' outside git."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def versions() -> dict[str, str]:
    """Return the versions of Python, ldlrepro and the libraries that are recorded."""
    from ldlrepro import __version__

    found = {"python": platform.python_version(), "ldlrepro": __version__}
    for name in RECORDED_VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return the processor and system, without names that identify the machine."""
    return {"cpu": _cpu_name(), "system": platform.system(), "machine": platform.machine()}


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()

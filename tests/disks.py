"""Disks for tests of faults: small ones that run full, and folders that may not be written to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


class Disks:
    """Mounts for one test; all are taken away at its end."""

    def __init__(self) -> None:
        self.mounted: list[Path] = []

    def small(self, folder: Path, size: str) -> None:
        """Put an empty disk of this size, such as ``64k``, in the place of ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        self._mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
        self.mounted.append(folder)

    def resize(self, folder: Path, size: str) -> None:
        self._mount("-o", f"remount,size={size}", str(folder))

    def read_only(self, path: Path) -> None:
        """Make an existing file or folder one that even root cannot write to."""
        self._mount("--bind", str(path), str(path))
        self.mounted.append(path)
        self._mount("-o", "remount,bind,ro", str(path))

    def _mount(self, *arguments: str) -> None:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"this machine lets us mount no disk: {done.stderr.strip()}")

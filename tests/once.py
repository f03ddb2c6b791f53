"""Things that are made once for all processes of the tests, which only read them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], str]
) -> tuple[Path, str]:
    """Return a folder, which the first process that asks for it makes, and what was said then."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = folder.with_suffix(".told")
        if not told.exists():
            told.write_text(make(folder))
    return folder, told.read_text()

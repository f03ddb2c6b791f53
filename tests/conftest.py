"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from ldlrepro.core import numerics
from tests.disks import Disks

# Before anything imports NumPy, so that tests compute as units do.
numerics.pin()

if TYPE_CHECKING:
    from ldlrepro.data import Dataset


@pytest.fixture(scope="session")
def real_data(tmp_path_factory) -> Callable[[str], Dataset]:
    """``real_data("sjaffe")``: the data set from a local mirror, or a skip that says what lacks."""
    from ldlrepro.data import DataUnavailable, load_ready, prepare
    from ldlrepro.data.fetch import default_mirrors, fetch

    folder = tmp_path_factory.mktemp("data")
    loaded: dict[str, Dataset] = {}

    def load(dataset_id: str) -> Dataset:
        if dataset_id not in loaded:
            fetch(dataset_id, folder, default_mirrors(), offline=True, progress=False)
            try:
                loaded[dataset_id] = load_ready(prepare(dataset_id, folder))
            except DataUnavailable as error:
                pytest.skip(f"real data: {error}")
        return loaded[dataset_id]

    return load


@pytest.fixture
def disks() -> Iterator[Disks]:
    if os.getuid() or not shutil.which("mount"):
        pytest.skip("only root can mount a small or read-only disk")
    own = Disks()
    yield own
    for path in reversed(own.mounted):
        subprocess.run(["umount", "-l", str(path)], check=False)

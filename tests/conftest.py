"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from ldlrepro.core import numerics
from tests.disks import Disks
from tests.once import made_once
from tests.site_pages import build_site

# Before anything imports NumPy, so that tests compute as units do.
numerics.pin()

# Each run draws the same examples, and a machine that stalls fails none of them.
settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")

if TYPE_CHECKING:
    from ldlrepro.data import Dataset


@pytest.fixture(scope="session")
def real_data(tmp_path_factory) -> Callable[[str], Dataset]:
    """``real_data("sjaffe")``: the data set from a local mirror, or a skip that says what lacks."""
    from ldlrepro.catalogue import Project
    from ldlrepro.data import DataUnavailable, load_ready, prepare
    from ldlrepro.data.fetch import default_mirrors, fetch

    folder, project = tmp_path_factory.mktemp("data"), Project.open()
    loaded: dict[str, Dataset] = {}

    def load(dataset_id: str) -> Dataset:
        if dataset_id not in loaded:
            data_set, mirrors = project.data_set(dataset_id), default_mirrors(project)
            fetch(data_set, folder, mirrors, offline=True, progress=False)
            try:
                loaded[dataset_id] = load_ready(prepare(data_set, folder))
            except DataUnavailable as error:
                pytest.skip(f"real data: {error}")
        return loaded[dataset_id]

    return load


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory) -> Path:
    """A store with its tables made, to be copied: making them takes MLflow seconds."""
    from ldlrepro.track.sync import sync

    def make(folder: Path) -> str:
        folder.mkdir()
        sync("other", "Another paper", [], f"sqlite:///{folder}/mlflow.db")
        return ""

    return made_once(tmp_path_factory, "store", make)[0] / "mlflow.db"


@pytest.fixture(scope="session")
def fresh_clone(tmp_path_factory) -> Path:
    """A folder without results, where all papers are judged by the reference; only to be read."""
    from ldlrepro.catalogue import Project
    from ldlrepro.core.workspace import Workspace
    from ldlrepro.judge.judging import Judge
    from ldlrepro.plan import Plan

    def judge(folder: Path) -> str:
        project = Project.open()
        (folder / "results").mkdir(parents=True)
        papers = [*project.real_papers(), project.paper("peers")]
        with chdir(folder):  # where a verb takes the answers as they are
            Judge(Plan(project), Workspace()).answers(papers)
        return ""

    return made_once(tmp_path_factory, "fresh_clone", judge)[0]


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The documentation site, with links that lead nowhere; what its build said lies beside it."""
    return made_once(tmp_path_factory, "site", build_site)[0]


@pytest.fixture
def disks() -> Iterator[Disks]:
    if os.getuid() or not shutil.which("mount"):
        pytest.skip("only root can mount a small or read-only disk")
    own = Disks()
    yield own
    for path in reversed(own.mounted):
        subprocess.run(["umount", "-l", str(path)], check=False)


LONGEST = (
    "unit/test_docs",
    "workflow/test_chain",
    "workflow/test_audit",
    "unit/test_contract",
    "workflow/test_hermetic",
    "workflow/test_chaos",
    "browser/test_report_browser",
    "workflow/test_same_bits",
    "ldl/test_defaults",
    "ldl/test_sklearn",
    "unit/test_track_faults",
    "unit/test_notebooks",
    "workflow/test_catalog",
    "workflow/test_workflow_faults",
    "workflow/test_object_store",
    "workflow/test_weights_chain",
    "unit/test_track_curves",
    "unit/test_track_kills",
    "unit/test_lint",
    "unit/test_peers",
    "browser/test_site_browser",
    "browser/test_search_browser",
    "unit/test_arena",
)
"""Files that take longest, about the longest first."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pictures", type=Path, help="folder for the pictures of docs/tracking.md")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that several processes end together.

    pytest-xdist hands files out in this order where it is told ``--no-loadscope-reorder``. Else it
    begins with those that hold most tests, and the longest tests come last, one after another.
    """
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(_short_name(item.path), len(places)))


def _short_name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"

"""A checkout of its own for tests that write into config/, data/ or results/."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ldlrepro import cli
from ldlrepro.catalogue import Project
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.fetch import fetch
from ldlrepro.data.registry import load_ready, prepare
from ldlrepro.folds.splits import folds_seed, make_folds, write_folds
from ldlrepro.judge.judging import Judge
from ldlrepro.plan import Plan
from ldlrepro.train.unit import UnitJob
from ldlrepro.workflow.rules import Rules
from tests import here
from tests.fetch_server import Server
from tests.mlflow_server import MlflowServer
from tests.unit.sources import forget

ROOT = Path(__file__).resolve().parents[2]

DATA, RESULTS = Path("data"), Path("results")


@pytest.fixture(autouse=True, scope="session")
def parsed_once() -> Iterator[None]:
    """Parse equal texts once, for most tests open the project many times."""
    parse, kept = yaml.load, dict[tuple[type, str], bytes]()

    def load(text: Any, Loader: type) -> Any:
        if not isinstance(text, str):
            return parse(text, Loader)
        if (Loader, text) not in kept:
            kept[Loader, text] = pickle.dumps(parse(text, Loader))
        return pickle.loads(kept[Loader, text])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "load", load)
        yield


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences of verbs are not wrapped, so that tests can look for words; test_width does."""
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture
def ask(capsys) -> Callable[..., tuple[int, str, str]]:
    """Ask ``ldlrepro ...`` for its exit status and what it writes to stdout and stderr."""

    def asked(*arguments: object) -> tuple[int, str, str]:
        try:
            status = cli.main([str(word) for word in arguments])
        except SystemExit as left:
            status = left.code
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return asked


@pytest.fixture
def refused(ask) -> Callable[..., str]:
    """Ask ``ldlrepro ...`` for what it refuses, and return what it says to that."""

    def asked(*arguments: object) -> str:
        status, _, told = ask(*arguments)
        assert status == 2, arguments
        assert "Traceback" not in told
        return told

    return asked


TINY_PAPER = """
title: A tiny paper for the tests
authors: nobody
venue: nowhere
year: 2026
synthetic: true
protocols:
  tiny: {scheme: kfold, folds: 4, validation: next_fold, text: four folds}
datasets: [toy]
methods:
  Near: near
  Mean: train_mean
tables: {"1": {title: one}}
"""

TINY_DATA = """
title: sixty rows
reader: drawn_table
shape: [60, 3, 3]
licence: free
"""

BROKEN = """
import numpy as np
from ldlrepro.core.errors import UserError
from ldl.base import LDLEstimator
class Broken(LDLEstimator):
    fits = 0
    def _fit(self, X, D):
        Broken.fits += 1
        if {always} or Broken.fits == 2:
            raise {error}
        self.mean_ = D.mean(axis=0)
    def _predict(self, X):
        return np.tile(self.mean_, (len(X), 1))
"""

TINY_METHOD = """
title: neighbours
class: ldl.AAKNN
parameters: {n_neighbors: 4}
resources: {threads: 1, mem_mb: 700}
variants:
  grid: {grid: {n_neighbors: [2, 4, 8]}}
"""


@dataclass
class Checkout:
    """The folder, and how a test changes what is in it."""

    root: Path

    @property
    def project(self) -> Project:
        """The checkout as its files are now."""
        return Project.open(self.root)

    @property
    def plan(self) -> Plan:
        """What runs of the checkout, as its files are now."""
        return Plan(self.project)

    @property
    def judge(self) -> Judge:
        """A judge of the papers, by the files as they are now."""
        return Judge(self.plan, Workspace())

    def rules(self, **changes) -> Rules:
        """What the Snakefile asks, with changes of the run configuration."""
        return Rules(self.plan, self.project.run.model_copy(update=changes))

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text, f"{path} does not hold {old!r}"
        self.write(path, text.replace(old, new, 1))

    def module(self, name: str, text: str) -> Path:
        """A module of a user's own, importable here."""
        sys.modules.pop(name, None)
        forget()  # what digests of code remember of it
        return self.write(f"own/{name}.py", text)

    def break_method(self, error: str, always: bool = False, more: str = "") -> None:
        """Add a method ``broken`` that fails always, or in its second fit alone."""
        self.module("broken_method", BROKEN.format(error=error, always=always))
        self.write("config/methods/broken.yaml", f"title: b\nclass: broken_method.Broken\n{more}")

    def make_data(self) -> None:
        """Draw the toy data as they are configured now."""
        toy = self.project.data_set("toy")
        fetch(toy, DATA, [], offline=True, progress=False)
        prepare(toy, DATA)

    def make_folds(self, seed: int = 2026) -> None:
        data = load_ready(DATA / "ready" / "toy.npz")
        folds = make_folds(
            self.project.protocol("tiny"), len(data.D), folds_seed(seed, "tiny", "toy")
        )
        meta = {"data_sha256": data.fingerprint["data_sha256"]}
        write_folds(RESULTS / "folds" / "tiny" / "toy.npz", folds, meta)

    def job(self, method: str = "near", folds: str = "0-3", **changes) -> UnitJob:
        return replace(here.job(self.plan.unit("tiny", "toy", method), folds), **changes)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """The project's configuration in a folder that is the working directory as well."""
    root = tmp_path / "checkout"
    for part in ("config", "papers"):
        shutil.copytree(ROOT / part, root / part)
    monkeypatch.setenv("LDLREPRO_ROOT", str(root))
    monkeypatch.setenv("LDLREPRO_DATA_MIRROR", "")
    monkeypatch.setenv(OWN_FILES, "")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(str(root / "own"))
    return Checkout(root)


@pytest.fixture
def tiny(checkout: Checkout) -> Checkout:
    """A checkout with a paper of four folds on sixty rows of toy data."""
    checkout.write("config/datasets/toy.yaml", TINY_DATA)
    checkout.write("papers/tiny/paper.yaml", TINY_PAPER)
    checkout.write("config/methods/near.yaml", TINY_METHOD)
    return checkout


@pytest.fixture
def ready(tiny: Checkout) -> Checkout:
    """The tiny paper with its data and folds."""
    tiny.make_data()
    tiny.make_folds()
    return tiny


@pytest.fixture
def uri(empty_store, tmp_path) -> str:
    """The address of a store of the test's own."""
    return f"sqlite:///{shutil.copy(empty_store, tmp_path / 'mlflow.db')}"


@pytest.fixture
def own_server(empty_store, tmp_path) -> Iterator[MlflowServer]:
    shutil.copy(empty_store, tmp_path / "served.db")
    started = MlflowServer(tmp_path)
    started.start()
    yield started
    started.kill()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of raw files."""
    running = Server()
    yield running
    running.close()

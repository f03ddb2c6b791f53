"""A checkout of its own for tests that write into config/, data/ or results/."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ldlrepro import config, plan
from ldlrepro.compare import collect
from ldlrepro.report import build
from ldlrepro.runs import provenance

ROOT = Path(__file__).resolve().parents[2]

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
  AA-kNN: aa_knn
  Mean: train_mean
tables: {"1": {title: one}}
"""


@dataclass
class Checkout:
    root: Path

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        forget()
        return file

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text, f"{path} does not hold {old!r}"
        self.write(path, text.replace(old, new, 1))

    def module(self, name: str, text: str) -> Path:
        """A module of a user's own, importable here."""
        sys.modules.pop(name, None)
        return self.write(f"own/{name}.py", text)


def forget() -> None:
    """Drop what modules remember of files, for a test changes them."""
    for module in (config, plan, collect, provenance, build):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    """The project's configuration in a folder that is the working directory as well."""
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "config", root / "config")
    monkeypatch.setenv("LDLREPRO_ROOT", str(root))
    monkeypatch.setenv("LDLREPRO_DATA_MIRROR", "")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(str(root / "own"))
    forget()
    yield Checkout(root)
    forget()


@pytest.fixture
def tiny(checkout: Checkout) -> Checkout:
    """A checkout with a paper of four folds on sixty rows of toy data."""
    checkout.edit("config/datasets/toy.yaml", "n: 3000, q", "n: 60, q")
    checkout.edit("config/datasets/toy.yaml", "n: 3000, noise", "n: 60, noise")
    checkout.write("config/papers/tiny.yaml", TINY_PAPER)
    return checkout

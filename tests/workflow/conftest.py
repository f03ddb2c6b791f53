"""A copy of the project in which a test may edit, kill and break things."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from tests import warm
from tests.once import made_once

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    "Snakefile",
    "rules",
    "workflow",
    "config",
    "papers",
    "profiles",
    "src",
    "envs",
    "notebooks",
    "README.md",
)


@dataclass
class Project:
    """A checkout of its own: its source, its configuration, its results."""

    root: Path
    forks_jobs: ClassVar[bool] = True
    """Whether the jobs of its workflows are spared their start, as the workflow itself is."""

    @property
    def environment(self) -> dict[str, str]:
        here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("LDLREPRO_")}
        # Bytecode may be unwanted in the checkout; a copy's jobs start faster with it.
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        return kept | {
            "PATH": here,
            "PYTHONPATH": str(self.root / "src"),
            "LDLREPRO_ROOT": str(self.root),
            "LDLREPRO_DATA_MIRROR": "",
            "MLFLOW_TRACKING_URI": "",
        }

    def copy(self, folder: Path) -> Project:
        """Copy it with all that was run in it."""
        return Project(Path(shutil.copytree(self.root, folder, symlinks=True)))

    def without_units(self, folder: Path) -> Project:
        """Copy it with data and folds, as if no unit had run."""
        copy = self.copy(folder)
        for part in ("units", "journal", "compare"):
            shutil.rmtree(copy.root / "results" / part)
        return copy

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Run in a session of its own, so that all of it can be killed at once."""
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def begin(self, *command: str) -> warm.Started:
        """Begin a command without the seconds of its start; no file of the source has changed."""
        output = self.root.with_suffix(".said")
        return warm.Started(command, self.root, self.environment, output)

    def run(self, *command: str, status: int | None = 0, **exported: str) -> str:
        """Run a command to its end; without its start, where that would import what we have."""
        environment = self.environment | exported
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as said:
            if command[0] in warm.MAIN and self.has_the_source_of_the_checkout():
                if self.forks_jobs:
                    places = (str(warm.folder_of_jobs()), environment["PATH"])
                    environment["PATH"] = os.pathsep.join(places)
                found = warm.call(command, self.root, environment, Path(said.name))
            else:
                found = subprocess.run(
                    command, cwd=self.root, env=environment, stdout=said, stderr=said, timeout=300
                ).returncode
            output = Path(said.name).read_text(encoding="utf-8")
        if status is not None:
            assert found == status, output
        return output

    def has_the_source_of_the_checkout(self) -> bool:
        """Tell whether no file of its source was changed or added since it was copied."""
        mine, theirs = (_states(root / "src") for root in (self.root, ROOT))
        return mine == theirs

    def snakemake(self, *arguments: str, cores: int = 2, status: int | None = 0) -> str:
        return self.run("snakemake", "--cores", str(cores), *arguments, status=status)

    def predictions(self) -> dict[str, bytes]:
        """Prediction files by their path below results/units."""
        folder = self.root / "results" / "units"
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.npz"))}

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text()
        assert old in text, f"{path} does not hold {old!r}"
        file.write_text(text.replace(old, new, 1))


def _states(source: Path) -> dict[Path, tuple[int, int]]:
    """Return size and time of each module; copies keep both."""
    states = ((path, path.stat()) for path in source.rglob("*.py"))
    return {path.relative_to(source): (at.st_size, at.st_mtime_ns) for path, at in states}


HALF_WRITTEN = shutil.ignore_patterns("*.pyc.*", "*.part")
"""Bytecode that another process of the tests is just writing."""


def copy_project(folder: Path) -> Project:
    """Copy the project; units in the copy find what was compiled for the original."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=HALF_WRITTEN)
        else:
            shutil.copyfile(source, folder / part)
    tiny = folder / "papers/tiny"
    tiny.mkdir()
    (tiny / "paper.yaml").write_text(TINY)
    head, *printed = (ROOT / "papers/demo/cells.csv").read_text().splitlines()
    faces = [line.replace("demo,2,", "tiny,1,") for line in printed if "drawn_faces" in line]
    mine = [line.replace("PT-Bayes", "Mean") for line in faces]
    (tiny / "cells.csv").write_text("\n".join([head, *mine]) + "\n")
    return Project(folder)


TINY = """
title: A tiny paper for the tests
authors: nobody
venue: nowhere
year: 2026
synthetic: true
protocols:
  tiny: {scheme: kfold, folds: 5, validation: next_fold, text: five folds}
datasets: [drawn_faces]
methods:
  AA-kNN: aa_knn@grid
  SA-BFGS: sa_bfgs
  RF: rf
  Mean: train_mean
tables: {"1": {title: faces}}
"""
CELLS = "results/compare/tiny/cells.csv"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return copy_project(tmp_path / "project")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory) -> Project:
    """The tiny paper, run from nothing to its tables; for reading only."""
    return Project(
        made_once(
            tmp_path_factory, "undisturbed", lambda folder: copy_project(folder).snakemake(CELLS)
        )[0]
    )


@pytest.fixture(scope="session")
def whole(undisturbed, tmp_path_factory) -> Project:
    """The same run, gone on to its end: figures, report, MLflow, gate; for reading only."""
    return Project(
        made_once(
            tmp_path_factory, "whole", lambda folder: undisturbed.copy(folder).snakemake("tiny")
        )[0]
    )

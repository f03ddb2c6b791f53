"""A copy of the project in which a test may edit, kill and break things."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

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

    def run(self, *command: str, status: int | None = 0) -> str:
        process = self.start(*command)
        output, _ = process.communicate(timeout=300)
        if status is not None:
            assert process.returncode == status, output
        return output

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
    (folder / "papers/tiny").mkdir()
    (folder / "papers/tiny/paper.yaml").write_text(TINY)
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
tables: {}
"""
CELLS = "results/compare/tiny/cells.csv"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return copy_project(tmp_path / "project")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory) -> Project:
    """The tiny paper, run once to its tables; for reading only."""
    done = copy_project(tmp_path_factory.mktemp("undisturbed") / "project")
    done.snakemake(CELLS)
    return done

"""A throw-away SLURM, and copies of the project that run on it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from ldlrepro.train.records import FoldRow, read_rows
from tests.cluster.slurm import Cluster, missing_programs
from tests.waiting import until
from tests.workflow.conftest import Project, copy_project

# Predicts the mean of the training labels, and can be told to take time or memory, or to die.
BURDEN = """
import os
import time

import numpy as np

from ldl.base import LDLEstimator


class Burden(LDLEstimator):
    def __init__(self, number=0):
        self.number = number

    def _fit(self, X, D):
        if str(self.number) in os.environ.get("BURDEN_DIES", "").split():
            os._exit(1)
        load = np.ones(int(os.environ.get("BURDEN_MB", 0)) << 17)
        time.sleep(float(os.environ.get("BURDEN_S", 0)) + len(load) / (100 << 17))
        self.mean_ = D.mean(axis=0)

    def _predict(self, X):
        return np.tile(self.mean_, (len(X), 1))
"""
BURDEN_METHOD = """
title: Burden
class: ldlrepro.train.burden.Burden
resources: {mem_mb: 100, runtime: 10}
"""
UNIT = "units/tiny/toy/burden/folds_0-4"
RECORD = f"results/{UNIT}.parquet"


@dataclass
class ClusterProject(Project):
    """A checkout whose `snakemake` submits to the cluster."""

    cluster: Cluster
    burden: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        ours, slurm = super().environment, self.cluster.environment
        return ours | slurm | self.burden | {"PATH": f"{ours['PATH']}:/usr/sbin"}

    def submit(self, *arguments: str) -> subprocess.Popen[str]:
        """As a user calls it, but looking every second."""
        return self.start(
            "snakemake",
            "--profile",
            "profiles/slurm",
            "--ldlrepro-slurm-init-seconds-before-status-checks",
            "1",
            "--latency-wait",
            "20",
            "--nolock",
            *arguments,
        )

    def jobs(self) -> list[dict[str, str]]:
        """What SLURM says of this project's jobs, in the order of their submission."""
        told = self.cluster.call("scontrol", "show", "job", "-o").splitlines()
        jobs = [dict(re.findall(r"([\w/:]+)=(\S*)", line)) for line in told]
        mine = [job for job in jobs if job.get("WorkDir") == str(self.root)]
        return sorted(mine, key=lambda job: int(job["JobId"]))

    def wait_for_folds(self, count: int = 1) -> dict[int, str]:
        """Until so many folds are in the journal: which, and when each was started."""
        until(lambda: len(self.journal()) >= count, "a fold in the journal")
        return self.journal()

    def journal(self, method: str = "burden") -> dict[int, str]:
        found = {}
        for path in sorted((self.root / "results/journal/tiny/toy" / method).rglob("r*_f*.npz")):
            with np.load(path) as stored:
                row = json.loads(str(stored["row"]))
            found[row["fold"]] = row["started_at"]
        return found

    def rows(self) -> list[FoldRow]:
        return read_rows(self.root / RECORD)

    def burden_bytes(self) -> bytes:
        return (self.root / f"results/{UNIT}.npz").read_bytes()


def pretend_measured(root: Path, protocol: str, methods: list[str]) -> None:
    """A reference that says of these methods that they are short on toy's five folds."""
    folder = root / "reference" / protocol
    folder.mkdir(parents=True)
    lines = [f'"{method}",toy,0,{fold},0.1,0.1,150' for method in methods for fold in range(5)]
    head = "method,dataset,repeat,fold,fit_s,predict_s,peak_mb"
    base = methods[0].partition("@")[0]
    (folder / f"{base}.csv").write_text("\n".join([head, *lines, ""]))
    spec = {method: {"toy": {"spec_sha256": ""}} for method in methods}
    (folder / f"{base}.json").write_text(json.dumps(spec))


def finish(process: subprocess.Popen[str], status: int = 0, seconds: float | None = 600) -> str:
    output, _ = process.communicate(timeout=seconds)
    assert process.returncode == status, output
    return output


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if missing := missing_programs():
        pytest.skip(f"no SLURM here ({', '.join(missing)}); tests/cluster/install.sh brings it")
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # short, for it holds a socket
    cluster = Cluster(folder)
    cluster.start()
    yield cluster
    cluster.call("scancel", "--me")
    cluster.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def local(tmp_path_factory, cluster) -> Project:
    """The tiny paper and the burden, undisturbed and without the cluster; for reading only."""
    project = _copy(tmp_path_factory)
    project.snakemake("results/compare/tiny/cells.csv", RECORD)
    project.run("ldlrepro", "record", "tiny")
    return project


@pytest.fixture(scope="session")
def prepared(tmp_path_factory, cluster, local) -> Callable[..., ClusterProject]:
    """A checkout with data and folds, in which no unit has run."""

    def make(**burden: str) -> ClusterProject:
        project = _copy(tmp_path_factory)
        for part in ("data", "results/folds", ".snakemake"):
            shutil.copytree(local.root / part, project.root / part)
        return ClusterProject(project.root, cluster, burden)

    return make


def _copy(tmp_path_factory) -> Project:
    project = copy_project(tmp_path_factory.mktemp("cluster") / "project")
    (project.root / "src/ldlrepro/train/burden.py").write_text(BURDEN)
    (project.root / "config/methods/burden.yaml").write_text(BURDEN_METHOD)
    return project

"""What submission costs: CPU seconds beside fitting and predicting, per unit. It takes long.

    python -m tests.cluster.cost 500              units that share jobs
    python -m tests.cluster.cost 500 --alone      each unit a job of its own

CPU seconds do not depend much on who else uses the machine. All are counted that the workflow and
its jobs take, Snakemake itself included; not those of SLURM's daemons, which tick in any case.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import tempfile
import time
from pathlib import Path

import psutil

from ldlrepro.train.records import read_rows
from tests.cluster.conftest import ClusterProject, finish, pretend_measured
from tests.cluster.slurm import Cluster
from tests.workflow.conftest import copy_project

PAPER = """
title: Many short units
authors: nobody
venue: nowhere
year: 2026
group: made up
protocols:
  many: {scheme: kfold, folds: 5, text: five folds}
datasets: [toy]
methods:
"""

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("units", type=int)
    parser.add_argument("--alone", action="store_true", help="each unit a job of its own")
    args = parser.parse_args()
    # Whoever loses its parent becomes ours, so that its seconds are counted when it ends.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="cost-") as folder:
        cluster = Cluster(Path(folder) / "slurm", nodes=3, cpus=1)
        project = make_project(Path(folder) / "project", cluster, args.units)
        project.snakemake("results/folds/many/toy.npz")
        if not args.alone:
            pretend_measured(project.root, "many", names(args.units))
        before, started = cpu_seconds(), time.monotonic()
        cluster.start()
        try:
            finish(
                project.submit("results/compare/many/cells.csv", "--until", "train"), seconds=None
            )
            jobs, wall = len(project.jobs()), time.monotonic() - started
            idle = daemons_seconds(cluster)
        finally:
            cluster.stop()
        spent = cpu_seconds() - before - idle
        rows = [row for path in project.root.rglob("folds_*.parquet") for row in read_rows(path)]
    work = sum(row.fit_cpu_s + row.predict_cpu_s for row in rows)
    print(f"{args.units} units in {jobs} jobs: {wall:.0f} s of wall time, {spent:.0f} CPU s")
    print(f"beside {work:.0f} CPU s of work: {(spent - work) / args.units:.2f} CPU s per unit")


def make_project(folder: Path, cluster: Cluster, units: int) -> ClusterProject:
    project = ClusterProject(copy_project(folder).root, cluster)
    methods = "".join(f"  {name}: {name}\n" for name in names(units))
    (folder / "papers/many").mkdir()
    (folder / "papers/many/paper.yaml").write_text(f"{PAPER}{methods}tables: {{}}\n")
    return project


def names(units: int) -> list[str]:
    return [f"aa_knn@n_neighbors={n}" for n in range(1, units + 1)]


def daemons_seconds(cluster: Cluster) -> float:
    pids = [int(path.read_text()) for path in cluster.folder.glob("*.pid")]
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def cpu_seconds() -> float:
    """Of all processes below this one that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

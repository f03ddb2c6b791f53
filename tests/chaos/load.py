"""Many workflows finish at once and sync to one MLflow store."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.train.records import OK, FoldRow
from tests.chaos.kills import tracked_once
from tests.mlflow_server import MlflowServer
from tests.warm import FORKS

PAPERS = ("first", "second", "third", "fourth")
UNITS, FOLDS = 3, 5


@dataclass
class Load:
    """So many syncs at once, and what went wrong."""

    syncs: int
    place: str
    seconds: float = 0.0
    runs: int = 0
    problems: list[str] = field(default_factory=list)

    def summary(self) -> str:
        return (
            f"{self.syncs} syncs at once to one {self.place}: {self.runs} runs, each once, "
            f"{self.seconds:.0f} s, {len(self.problems)} errors"
        )


def units_of(paper: str) -> list[UnitScores]:
    return [_unit(paper, f"method_{number}") for number in range(UNITS)]


def _unit(paper: str, method: str) -> UnitScores:
    rows = [
        FoldRow(paper, "toy", method, 0, fold, OK, params={"k": fold}, fit_s=1.0)
        for fold in range(FOLDS)
    ]
    return UnitScores(paper, "toy", method, rows, {"kl": [0.1 + r.fold for r in rows]}, LOCAL)


def sync_at_once(folder: Path, syncs: int, server: bool) -> Load:
    """Every paper is synced by several processes; the store does not exist before."""
    folder.mkdir(parents=True)
    load = Load(syncs, "server" if server else "SQLite file")
    service = MlflowServer(folder)
    uri = service.address if server else f"sqlite:///{folder}/mlflow.db"
    try:
        if server:
            service.start()
        _all_at_once(uri, load, folder)
        for paper in PAPERS:
            tracked = tracked_once(uri, paper)
            load.runs += tracked.total()
            expected = {f"{paper}/toy/method_{number}" for number in range(UNITS)}
            load.problems += [
                f"{load.place}: {key} is there {tracked[key]} times"
                for key in sorted(expected | tracked.keys())
                if tracked[key] != (key in expected)
            ]
    finally:
        service.kill()
    return load


def _all_at_once(uri: str, load: Load, folder: Path) -> None:
    start = FORKS.Barrier(load.syncs + 1)
    processes = [
        FORKS.Process(target=_sync, args=(uri, PAPERS[i % len(PAPERS)], start, folder / f"{i}.txt"))
        for i in range(load.syncs)
    ]
    for process in processes:
        process.start()
    start.wait()
    started = time.monotonic()
    for process in processes:
        process.join()
    load.seconds = time.monotonic() - started
    for number, process in enumerate(processes):
        said = (folder / f"{number}.txt").read_text()
        if process.exitcode or said:
            load.problems.append(f"{load.place}: sync {number}: exit {process.exitcode}: {said}")


def _sync(uri: str, paper: str, start: Any, told: Path) -> None:
    """One workflow's sync; what a user would see goes into ``told``."""
    import mlflow  # noqa: F401 - all have it in memory before the start

    from ldlrepro.track import sync as track

    said = io.StringIO()
    start.wait()
    try:
        with contextlib.redirect_stderr(said):
            track.sync(paper, f"The {paper} paper", units_of(paper), uri)
    except Exception as error:
        print(repr(error), file=said)
        raise
    finally:
        told.write_text(said.getvalue())
        sys.stderr = io.StringIO()

"""Commands without the seconds of their start: forked from a process that has imported them."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

MAIN = {"ldlrepro": "ldlrepro.entry", "snakemake": "snakemake.cli"}
"""Installed commands -> the module whose ``main`` they call."""
DEAR = (
    *("mlflow", "pandas", "pyarrow.parquet", "snakemake.cli", "snakemake.api"),
    *("ldlrepro.cli", "ldlrepro.judge.judging", "ldlrepro.track.sync", "ldlrepro.train.unit"),
    "ldlrepro.workflow.rules",
)
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([*DEAR])


def call(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path
) -> int | None:
    """Run a command to its end and return its status."""
    process = FORKS.Process(target=_run, args=(list(command), folder, dict(environment), output))
    process.start()
    process.join(300)
    if process.is_alive():
        process.kill()
    return process.exitcode


def _run(command: list[str], folder: Path, environment: dict[str, str], output: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with open(output, "wb") as said, open(os.devnull, "rb") as nothing:
        for stream, number in ((nothing, 0), (said, 1), (said, 2)):
            os.dup2(stream.fileno(), number)
    sys.argv = command
    sys.exit(import_module(MAIN[command[0]]).main())

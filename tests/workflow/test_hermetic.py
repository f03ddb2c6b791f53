"""True edges: a job in an empty folder with its declared inputs gives the same bytes.

Each input is needed, too: without it the job fails, or gives something else.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from ldlrepro.train.records import read_rows
from tests import warm
from tests.workflow.conftest import Project

RULES = (
    "fetch",
    "ready",
    "folds",
    "train",
    "compare",
    "tidy",
    "figures",
    "report",
    "track",
    "gate",
)
MEASURED = {"fit_s", "predict_s", "fit_cpu_s", "predict_cpu_s", "peak_mb", "overhead_s"}
MEASURED |= {"started_at", "git_commit"}
"""Columns of a record that tell of the moment it was made."""


@dataclass(frozen=True)
class Job:
    """One job as a dry run lists it."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    command: str


@pytest.fixture(scope="module")
def jobs(whole) -> dict[str, Job]:
    """One job of each rule, by its name."""
    listed = whole.snakemake("-n", "-p", "--forceall", "tiny")
    pattern = re.compile(
        r"rule (?P<rule>\w+):\n(?:\s+input: (?P<input>.*)\n)?\s+output: (?P<output>.*)\n"
        r"(?:.*\n)*?Shell command: (?P<command>.*)"
    )
    found = {}
    for match in pattern.finditer(listed):
        inputs, outputs = (tuple((match[part] or "").split(", ")) for part in ("input", "output"))
        found[match["rule"]] = Job(
            match["rule"], tuple(filter(None, inputs)), outputs, match["command"]
        )
    return found


def test_every_rule_of_the_chain_is_looked_at(jobs):
    assert set(RULES) <= set(jobs)


@pytest.mark.parametrize("rule", RULES)
def test_the_declared_inputs_are_enough(whole, jobs, rule, tmp_path, empty_store):
    job = jobs[rule]
    shutil.copy(empty_store, tmp_path)
    assert run(job, whole, tmp_path) == 0, (tmp_path / "output").read_text()
    for name in job.outputs:
        assert content(tmp_path / name) == content(whole.root / name), name


@pytest.mark.parametrize("rule", RULES)
def test_each_declared_input_is_needed(whole, jobs, rule, tmp_path, empty_store):
    job = jobs[rule]
    for number, left_out in enumerate(one_of_each_kind(job.inputs)):
        place = tmp_path / str(number)
        place.mkdir()
        shutil.copy(empty_store, place)
        status = run(job, whole, place, left_out)
        same = status == 0 and all(
            content(place / name) == content(whole.root / name) for name in job.outputs
        )
        assert not same, f"{rule} gives the same without {left_out}"


def one_of_each_kind(inputs: tuple[str, ...]) -> list[str]:
    """Return the first input in each folder of the workspace with each ending."""
    kinds = {}
    for name in inputs:
        if is_of_the_run(name):
            kinds.setdefault((Path(name).parts[:2], "".join(Path(name).suffixes)), name)
    return list(kinds.values())


def is_of_the_run(name: str) -> bool:
    """Tell what a run made from configuration and the maintainers' records, which stay."""
    settings = ("config", "papers", "reference")
    return not os.path.isabs(name) and Path(name).parts[0] not in settings


def run(job: Job, whole: Project, place: Path, left_out: str = "") -> int | None:
    """Run a job in a folder that holds its inputs alone; configuration and packages stay."""
    for name in job.inputs:
        if name != left_out and is_of_the_run(name):
            bring(whole.root / name, place / name)
    for name in job.outputs:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
    words, _, _ = job.command.partition(" 2>")
    status = warm.call(shlex.split(words), place, whole.environment, place / "output")
    if not status and job.rule in ("gate", "tidy"):  # whose output Snakemake touches
        (place / job.outputs[0]).touch()
    return status


def bring(source: Path, target: Path) -> None:
    """Copy an input; what was fetched comes along with the list of it, which has the checksums."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.name == "fetch.json":
        shutil.copytree(source.parent, target.parent, dirs_exist_ok=True)
    elif source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def content(path: Path) -> object:
    """Return what a file says, without the moment it was made."""
    if path.is_dir():
        return {p.name: content(p) for p in sorted(path.iterdir()) if p.name[0] != "."}
    if not path.is_file():
        return None
    if path.suffix == ".parquet":
        rows = [vars(row).items() for row in read_rows(path)]
        return [{name: value for name, value in row if name not in MEASURED} for row in rows]
    if path.suffix == ".html":
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", path.read_text(encoding="utf-8"))
    if path.name == "fetch.json":
        told = json.loads(path.read_text(encoding="utf-8"))
        return {name: value for name, value in told.items() if not name.endswith("_at")}
    return path.read_bytes()

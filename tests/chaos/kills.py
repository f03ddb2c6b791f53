"""A small paper is run while its processes are killed with signal 9, then finished and compared.

Rounds of some twenty kills, each in a fresh copy of the project. In a round, the next command is
drawn among those that a user or Snakemake could give now, and is killed with its whole process
group: half of them after a random time, half at a random step of writing, see ``dying.py``; the
whole workflow always after a random time. What a kill hits depends on the machine's pace; which
commands and moments are drawn depends on the seed.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ldlrepro.core.errors import UserError, damage_told
from ldlrepro.train.records import OK, FoldRow, read_rows
from tests.workflow.conftest import Project, copy_project

DYING = Path(__file__).with_name("dying.py")
KILLS_PER_ROUND = 25
FOLDS = 5
FEW = """
title: a few rows
reader: drawn_table
shape: [200, 3, 3]
noise_variance: 0.1
licence: free
"""
# The last step that keeps anything; the report after it can be made again at any time.
TRACKED = "results/track/chaos.json"
TIDY = "results/tidy/chaos.ok"
TABLES = ("compare", "figures", "tidy")
# How often a kind of command is drawn where it is possible.
WEIGHTS = {"inputs": 3.0, "run": 6.0, "sync": 1.0, "tables": 1.0, "snakemake": 0.7}


@dataclass(frozen=True)
class Paper:
    """What is run: every method on every data set."""

    datasets: tuple[str, ...] = ("drawn_faces", "few")
    methods: tuple[str, ...] = ("aa_knn@grid", "sa_bfgs", "pt_bayes", "rf", "aa_bp", "train_mean")

    @property
    def units(self) -> list[tuple[str, str]]:
        return [(dataset, method) for dataset in self.datasets for method in self.methods]

    def text(self) -> str:
        return f"""
title: A small paper to be killed
authors: nobody
venue: nowhere
year: 2026
synthetic: true
protocols:
  chaos: {{scheme: kfold, folds: {FOLDS}, validation: next_fold, text: five folds}}
datasets: [{", ".join(self.datasets)}]
methods: {{{", ".join(f"M{i}: {method}" for i, method in enumerate(self.methods))}}}
tables: {{}}
"""

    def project(self, folder: Path) -> Project:
        project = copy_project(folder)
        project.forks_jobs = False  # a kill is to hit them at any moment, also of their start
        (folder / "papers/chaos").mkdir()
        (folder / "papers/chaos/paper.yaml").write_text(self.text())
        (folder / "config/datasets/few.yaml").write_text(FEW)
        return project


WHOLE = Paper()


@dataclass
class Tally:
    """What was killed, and what went wrong because of it."""

    killed: Counter[str] = field(default_factory=Counter)
    """Kind and moment -> kills that found the process alive."""
    rounds: int = 0
    restarts_that_failed: list[str] = field(default_factory=list)
    predictions_changed: list[str] = field(default_factory=list)
    records_lost_or_doubled: list[str] = field(default_factory=list)
    finished_folds_computed_again: list[str] = field(default_factory=list)
    runs_not_tracked_once: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        return self.killed.total()

    @property
    def losses(self) -> dict[str, list[str]]:
        return {k.replace("_", " "): v for k, v in vars(self).items() if isinstance(v, list)}

    def summary(self) -> str:
        parts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.killed.items()))
        lost = ", ".join(f"{len(found)} {what}" for what, found in self.losses.items())
        return f"{self.kills} kills in {self.rounds} rounds ({parts}): {lost}"


@dataclass
class Pace:
    """How long a command takes undisturbed, and how many steps of writing it has."""

    seconds: float
    steps: int = 0


def kill_and_compare(
    folder: Path, kills: int, seed: int, say: Callable[[str], None], paper: Paper = WHOLE
) -> Tally:
    """Kill so many processes; every file of the project copies is below ``folder``."""
    draw, tally = random.Random(seed), Tally()
    say("the undisturbed run ...")
    undisturbed = paper.project(folder / "undisturbed")
    paces = measured_paces(paper, undisturbed)
    expected = undisturbed.predictions()
    while tally.kills < kills:
        project = paper.project(folder / f"round_{tally.rounds}")
        try:
            to_kill = min(KILLS_PER_ROUND, kills - tally.kills)
            Round(paper, project, paces, draw, tally).play(to_kill)
            finish_and_check(paper, project, expected, tally)
        except UserError as error:
            tally.records_lost_or_doubled.append(f"round {tally.rounds}: {error}")
            return tally
        tally.rounds += 1
        say(f"round {tally.rounds}: {tally.summary()}")
        shutil.rmtree(project.root)
    return tally


def measured_paces(paper: Paper, project: Project) -> dict[str, Pace]:
    """Each kind of command once, by hand and undisturbed; the workflow takes about all of them."""
    paces: dict[str, Pace] = {}
    for dataset in paper.datasets:
        for verb in ("fetch", "prepare", "folds"):
            paces[f"{verb} {dataset}"] = pace_of(project, *input_command(verb, dataset))
    for dataset, method in paper.units:
        paces[f"run {dataset} {method}"] = pace_of(project, "run", "chaos", dataset, method)
    for verb in ("compare", "figures", "sync", "tidy"):
        paces[verb] = pace_of(project, verb, "chaos")
    return paces | {"snakemake": Pace(sum(pace.seconds for pace in paces.values()))}


def pace_of(project: Project, *arguments: str) -> Pace:
    started = time.monotonic()
    output = project.run(sys.executable, str(DYING), "0", *arguments)
    steps = re.search(r"^steps (\d+)$", output, re.MULTILINE)
    assert steps, output
    return Pace(time.monotonic() - started, int(steps[1]))


def input_command(verb: str, dataset: str) -> list[str]:
    return ["folds", "chaos", dataset] if verb == "folds" else [verb, dataset]


def inputs(project: Project, dataset: str) -> dict[str, Path]:
    """What each verb makes, in the order in which they are given."""
    return {
        "fetch": project.root / "data/raw" / dataset / "fetch.json",
        "prepare": project.root / "data/ready" / f"{dataset}.npz",
        "folds": project.root / "results/folds/chaos" / f"{dataset}.npz",
    }


def record(project: Project, dataset: str, method: str) -> Path:
    folder = project.root / "results/units/chaos" / dataset / method
    return folder / f"folds_0-{FOLDS - 1}.parquet"


@dataclass
class Round:
    """Draws commands for one project and kills them."""

    paper: Paper
    project: Project
    paces: dict[str, Pace]
    draw: random.Random
    tally: Tally

    def play(self, kills: int) -> None:
        finished: dict[tuple[str, str, int], str] = {}
        target = self.tally.kills + kills
        for _ in range(4 * kills):  # some end before their kill
            if self.tally.kills >= target:
                break
            kind, arguments = self._next_command()
            if kind == "tables":
                # Tidying throws the finished folds of whole units away: look before.
                self._none_again(finished)
                finished.clear()
            self._kill(kind, arguments)
            finished |= finished_folds(self.project)
        self._none_again(finished)

    def _next_command(self) -> tuple[str, list[str]]:
        possible: dict[str, list[list[str]]] = {kind: [] for kind in WEIGHTS}
        for dataset in self.paper.datasets:
            missing = [verb for verb, p in inputs(self.project, dataset).items() if not p.exists()]
            if missing:
                possible["inputs"].append(input_command(missing[0], dataset))
        undone = [unit for unit in self.paper.units if not record(self.project, *unit).exists()]
        possible["run"] = [["run", "chaos", *unit, "--inputs"] for unit in undone]
        if len(undone) < len(self.paper.units):
            possible["sync"] = [["sync", "chaos"]]
        if not undone:
            possible["tables"] = [[verb, "chaos"] for verb in TABLES]
        possible["snakemake"] = [[TRACKED]]
        kinds = [kind for kind, commands in possible.items() if commands]
        (kind,) = self.draw.choices(kinds, [WEIGHTS[kind] for kind in kinds])
        return kind, self.draw.choice(possible[kind])

    def _kill(self, kind: str, arguments: list[str]) -> None:
        name = " ".join(word for word in arguments if word not in ("chaos", "--inputs"))
        pace = self.paces[kind if kind == "snakemake" else name]
        inside = kind != "snakemake" and self.draw.random() < 0.5
        if kind == "snakemake":
            command = ["snakemake", "--cores", "2", "--nolock", *arguments]
        else:
            # Early steps more often: a command that finds work done has fewer of them.
            step = round(pace.steps ** self.draw.random()) if inside else 10**9
            command = [sys.executable, str(DYING), str(step), *arguments]
        process = self.project.start(*command)
        if not inside:
            try:
                process.wait(timeout=self.draw.uniform(0, pace.seconds))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        if process.returncode == -signal.SIGKILL:
            moment = "inside a write" if inside else "at a random time"
            self.tally.killed[f"{kind} {moment}"] += 1
        elif process.returncode:
            self.tally.restarts_that_failed.append(f"{' '.join(arguments)}: {output[-2000:]}")

    def _none_again(self, finished: dict[tuple[str, str, int], str]) -> None:
        now = finished_folds(self.project)
        self.tally.finished_folds_computed_again += [
            f"{key}: {started}, then {now[key]}"
            for key, started in finished.items()
            if now.get(key, started) != started
        ]


def finished_folds(project: Project) -> dict[tuple[str, str, int], str]:
    """(data set, method, fold) -> when it was started, from journals and records."""
    found = {}
    for path in [
        *(project.root / "results/journal").rglob("r*_f*.npz"),
        *(project.root / "results/units").rglob("folds_*.parquet"),
    ]:
        with damage_told(path, "Half a file has a final name."):
            rows = read_rows(path) if path.suffix == ".parquet" else [saved_row(path)]
        found |= {(row.dataset, row.method, row.fold): row.started_at for row in rows}
    return found


def saved_row(path: Path) -> FoldRow:
    with np.load(path) as stored:
        return FoldRow(**json.loads(str(stored["row"])))


def finish_and_check(
    paper: Paper, project: Project, expected: dict[str, bytes], tally: Tally
) -> None:
    """The command that a user gives after a kill; then every byte and every count."""
    before = finished_folds(project)
    project.snakemake("--unlock", status=None)
    # A kill inside a write leaves its half file, under a name of its own, until tidying.
    output = project.run("snakemake", "--cores", "2", TRACKED, TIDY, status=None)
    if not (project.root / TRACKED).is_file():
        tally.restarts_that_failed.append(f"snakemake {TRACKED}: {output[-3000:]}")
        return
    found = project.predictions()
    tally.predictions_changed += [
        f"round {tally.rounds}: {name}"
        for name in sorted(expected.keys() | found.keys())
        if expected.get(name) != found.get(name)
    ]
    rows = Counter(
        (row.dataset, row.method, row.fold)
        for path in (project.root / "results/units").rglob("*.parquet")
        for row in read_rows(path)
        if row.status == OK
    )
    wanted = {(*unit, fold) for unit in paper.units for fold in range(FOLDS)}
    tally.records_lost_or_doubled += [
        f"round {tally.rounds}: {key}" for key in sorted(wanted | rows.keys()) if rows[key] != 1
    ]
    half = list((project.root / "results/units").rglob("*.part"))
    tally.records_lost_or_doubled += [f"round {tally.rounds}: half a file: {p}" for p in half]
    after = finished_folds(project)
    tally.finished_folds_computed_again += [
        f"round {tally.rounds}: {key}" for key, at in before.items() if after.get(key) != at
    ]
    tracked = tracked_once(f"sqlite:///{project.root}/mlflow.db", "chaos")
    units = {f"chaos/{dataset}/{method}" for dataset, method in paper.units}
    wrong = {key for key in units | tracked.keys() if tracked[key] != 1} - {
        "chaos: tables and figures"
    }
    tally.runs_not_tracked_once += [f"round {tally.rounds}: {key}" for key in sorted(wrong)]


def tracked_once(uri: str, paper: str) -> Counter[str]:
    """How many visible, ended runs there are of each unit; whatever else is there counts as two."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(paper)
    assert experiment is not None, f"{uri} has no experiment '{paper}'"
    found: Counter[str] = Counter()
    for run in client.search_runs([experiment.experiment_id], max_results=5000):
        key = run.data.tags.get("ldlrepro.unit", run.info.run_id)
        found[key] += 1 if run.info.status == "FINISHED" else 2
    return found

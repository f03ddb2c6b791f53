"""`ldlrepro doctor` and `ldlrepro cite`: what is found, what it means, what to do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import namedtuple

import pytest

from ldlrepro.catalogue import Project
from ldlrepro.cli import main
from ldlrepro.doctor import machine as doctor
from ldlrepro.report import citation
from tests.unit.judged import PROJECT


@pytest.fixture
def told(capsys, monkeypatch, tmp_path):
    """The answer in a folder without data, by what it is about."""
    monkeypatch.setenv("LDLREPRO_ROOT", str(PROJECT.root))
    monkeypatch.setattr("ldlrepro.data.fetch.default_mirrors", lambda *_: [])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/none.db")
    monkeypatch.chdir(tmp_path)

    def ask(status: int) -> dict[str, dict[str, str]]:
        assert main(["doctor", "--json"]) == status
        return {line["what"]: line for line in json.loads(capsys.readouterr().out)}

    return ask


def test_every_line_says_what_it_means_or_what_to_do(told) -> None:
    lines = told(0)
    assert {"Python", "packages", "cores", "memory", "SLURM", "GPU", "weights"} < set(lines)
    assert all(line["do"] for line in lines.values())


NO_CONTROLLER = (doctor.NOTE, "installed, but no controller answers", "--cores all")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((0, "cpu*\ngpu\n"), (doctor.GOOD, "partitions cpu* gpu", "--profile profiles/slurm")),
        ((1, ""), NO_CONTROLLER),
        (subprocess.TimeoutExpired("sinfo", 5), NO_CONTROLLER),
        (FileNotFoundError("sinfo"), NO_CONTROLLER),
    ],
)
def test_slurm_is_a_cluster_where_its_controller_names_partitions(
    told, monkeypatch, answer, expected
) -> None:
    """SLURM's programs are here; ``answer`` is what `sinfo` does, a nvidia-smi is not."""
    monkeypatch.setattr(doctor.shutil, "which", lambda tool: "/x" if tool == "sbatch" else None)

    def run(command, **settings):
        assert command[0] == "sinfo"
        assert settings["timeout"] <= 10
        if isinstance(answer, Exception):
            raise answer
        return subprocess.CompletedProcess(command, *answer)

    monkeypatch.setattr(doctor.subprocess, "run", run)
    line = told(0)["SLURM"]
    state, found, command = expected
    assert (line["state"], line["found"]) == (state, found)
    assert command in line["do"]


def test_a_citation_names_the_last_commit_and_its_year(checkout) -> None:
    shutil.copy(PROJECT.root / "CITATION.cff", checkout.root)
    project = Project.open(checkout.root)
    outside, *papers = citation.entries(project)
    assert "year" not in outside
    who = "git -c user.name=me -c user.email=me@there"
    commit = f"{who} commit --allow-empty -m x --date 2031-05-06T00:00:00Z"
    told = {"GIT_COMMITTER_DATE": "2031-05-06T00:00:00Z", **os.environ}
    subprocess.run(f"git init -q; {commit} -q", shell=True, cwd=checkout.root, env=told, check=True)
    inside, *same = citation.entries(project)
    assert inside.startswith("@software{ldlrepro2031,")
    assert re.search(r"note = \{commit [0-9a-f]{7,}\},\n  year = \{2031\},", inside)
    assert same == papers


def test_a_full_disk_is_bad_and_changes_the_exit_status(told, monkeypatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage(10, 10, 1e8))
    assert told(1)["data/"]["do"].startswith("make room")


PINS = dict(
    line.split("==")
    for line in (PROJECT.root / "envs" / "lock.txt").read_text().splitlines()
    if "==" in line
)


def test_a_card_that_this_torch_cannot_use_is_bad(told, monkeypatch) -> None:
    found = doctor.shutil.which
    monkeypatch.setattr(
        doctor.shutil, "which", lambda tool: "/x" if tool == "nvidia-smi" else found(tool)
    )
    listed = subprocess.CompletedProcess([], 0, "GPU 0: NVIDIA H200 (UUID: GPU-1)\n")
    monkeypatch.setattr(doctor.subprocess, "run", lambda *a, **k: listed)
    monkeypatch.setattr(
        doctor, "_installed", lambda name: "2.13.0+cpu" if name == "torch" else PINS.get(name, "")
    )
    line = told(1)["GPU"]
    assert line["found"] == "GPU 0: NVIDIA H200"
    assert "TORCH=gpu" in line["do"]


@pytest.mark.parametrize(
    ("error", "state", "said"),
    [
        (None, doctor.GOOD, "for CUDA 13.0"),
        (
            RuntimeError("the driver is too old\nmore"),
            doctor.BAD,
            "for CUDA 13.0: the driver is too old",
        ),
        (
            AssertionError("Torch not compiled with CUDA enabled"),
            doctor.BAD,
            "not compiled with CUDA",
        ),
    ],
)
def test_torch_itself_says_whether_it_computes_on_the_card(monkeypatch, error, state, said) -> None:
    import torch

    def ones(count: int, device: str) -> torch.Tensor:
        assert device == "cuda"
        if error:
            raise error
        return torch.zeros(count) + 1

    monkeypatch.setattr(torch, "ones", ones)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    found = doctor.cuda()
    assert found.state == state
    assert said in found.found
    assert "more" not in found.found
    assert ("make TORCH=gpu setup" in found.do) == (state == doctor.BAD)

"""The two container definitions against each other, the lock files and the project; no image is
built here."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKER = (ROOT / "envs" / "Dockerfile").read_text()
APPTAINER = (ROOT / "envs" / "ldlrepro.def").read_text()


def base_image(text: str) -> str:
    return re.search(r"^F(?:ROM|rom:) (\S+)$", text, re.MULTILINE)[1]


def setup_command(text: str) -> str:
    command = re.search(r"^(?:RUN +| +)(make setup .*)$", text, re.MULTILINE)[1]
    return re.sub(r"TORCH=\S+(?: TORCH }})?", "TORCH=cpu", command).replace("{{ TORCH }}", "cpu")


def system_packages(text: str) -> list[str]:
    return re.search(r"--no-install-recommends ([^\\\n]+)", text)[1].split()


def section(name: str) -> list[str]:
    body = re.search(rf"^%{name}\n((?: .*\n|\n)*)", APPTAINER, re.MULTILINE)[1]
    return [line.strip() for line in body.splitlines() if line.strip()]


def test_both_start_from_the_same_image_and_it_has_the_python_of_the_conda_environment():
    assert base_image(DOCKER) == base_image(APPTAINER)
    tree = yaml.safe_load((ROOT / "envs" / "ldlrepro.yaml").read_text())
    (python,) = (d for d in tree["dependencies"] if str(d).startswith("python="))
    assert base_image(DOCKER) == f"python:{python.removeprefix('python=')}-slim"


def test_both_install_the_same():
    assert system_packages(DOCKER) == system_packages(APPTAINER)
    assert setup_command(DOCKER) == "make setup TORCH=cpu VENV=/opt/ldlrepro"
    assert setup_command(APPTAINER) == setup_command(DOCKER)


@pytest.mark.parametrize("torch", ["cpu", "gpu"])
def test_their_setup_installs_the_lock_and_nothing_unpinned(torch, tmp_path):
    command = setup_command(DOCKER).replace("TORCH=cpu", f"TORCH={torch}")
    command = command.replace("/opt/ldlrepro", str(tmp_path / "venv"))
    planned = subprocess.run(
        [*command.split(), "-n"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.replace("\\\n", " ")
    installs = [line for line in planned.splitlines() if "pip install" in line]
    assert any("-r envs/lock.txt" in line for line in installs)
    chosen = [line for line in planned.splitlines() if f"[ {torch} = {torch} ]" in line]
    assert [f"-r envs/{torch}.txt" in line for line in chosen] == [True]
    for line in installs:
        assert "-r envs/" in line or line.strip().endswith("-e ."), line


def planned_setup(venv: Path, *arguments: str) -> str:
    """What `make setup` would do for an environment."""
    command = ["make", "-n", "setup", f"VENV={venv}", *arguments]
    clean = {
        name: value for name, value in os.environ.items() if name not in ("TORCH", "MAKEFLAGS")
    }
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=True)
    return done.stdout


def test_setup_keeps_the_torch_that_was_asked_for_once_and_another_takes_its_place(tmp_path):
    stamp = tmp_path / ".ready-gpu"
    stamp.touch()
    assert "Nothing to be done" in planned_setup(tmp_path)
    assert "Nothing to be done" in planned_setup(tmp_path, "TORCH=gpu")
    # Changed pins: the same build again, and nothing is taken out.
    os.utime(stamp, (0, 0))
    renewed = planned_setup(tmp_path)
    assert "[ gpu = gpu ]" in renewed
    assert '[ "gpu" != gpu ]' in renewed
    stamp.touch()
    other = planned_setup(tmp_path, "TORCH=cpu")
    assert "[ cpu = cpu ]" in other
    assert '[ "gpu" != cpu ]' in other
    taken_out = other.index("uninstall -q -y --disable-pip-version-check torch xgboost xgboost-cpu")
    forgotten = other.index(f"rm -f {tmp_path}/.ready-*")
    assert taken_out < forgotten < other.index("-r envs/lock.txt")
    # Of two stamps the older is void.
    os.utime(stamp, (1, 1))
    (tmp_path / ".ready-cpu").touch()
    assert "Nothing to be done" in planned_setup(tmp_path)
    assert '[ "cpu" != gpu ]' in planned_setup(tmp_path, "TORCH=gpu")


def test_the_apptainer_image_gets_all_that_setup_and_the_workflow_read():
    copied = dict(line.split() for line in section("files"))
    assert copied == {name: f"/ldlrepro/{name}" for name in copied}
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {"Makefile", "pyproject.toml", "envs", "src", "packages", project["readme"]}
    needed |= {*project["license-files"], "Snakefile", "rules", "profiles", "config"}
    needed |= {"papers", "reference"}
    assert needed <= set(copied)


def test_the_docker_image_gets_no_environment_results_or_data_of_this_checkout():
    left_out = set((ROOT / ".dockerignore").read_text().split())
    assert {".venv", "results", "data", ".git"} <= left_out
    for name in ("Makefile", "envs", "src", "config", "papers", "Snakefile"):
        assert name not in left_out

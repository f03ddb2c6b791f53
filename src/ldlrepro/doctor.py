"""What this machine has for the workflow: each line says what it means and what to do."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from ldlrepro import config, plan
from ldlrepro.errors import UserError
from ldlrepro.questions import answer
from ldlrepro.stages import DATA, RESULTS

GOOD, NOTE, BAD = "good", "note", "BAD"
ROOM_GB = 5
"""Raw and prepared data of everything public, results and MLflow of all papers: below 4 GB."""


@dataclass(frozen=True)
class Line:
    what: str
    state: str
    found: str
    do: str = ""
    """What to do, or what the finding means; empty where all is well."""


def doctor(args: argparse.Namespace) -> int:
    looks = (_python, _packages, _room, _machine, _slurm, _gpu, _data, _weights, _tracking)
    lines = [line for look in looks for line in look()]
    answer(args, [asdict(line) for line in lines], ("what", "state", "found", "do"))
    return int(any(line.state == BAD for line in lines))


def _python() -> Iterator[Line]:
    found = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    yield Line("Python", GOOD if good else BAD, found, "" if good else "3.11 or newer is needed")


def _packages() -> Iterator[Line]:
    lock = config.project_root() / "envs" / "lock.txt"
    pins = re.findall(r"(?m)^([A-Za-z0-9_.-]+)==(\S+)", lock.read_text(encoding="utf-8"))
    wrong = [name for name, version in pins if _installed(name) != version]
    if not wrong:
        yield Line("packages", GOOD, f"all {len(pins)} as in envs/lock.txt")
        return
    shown = ", ".join(wrong[:4]) + (" ..." if len(wrong) > 4 else "")
    yield Line(
        "packages",
        NOTE,
        f"{len(wrong)} of {len(pins)} missing or of another version: {shown}",
        "bits may differ from the reference; `make setup` installs the pinned ones in .venv",
    )


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _room() -> Iterator[Line]:
    for folder in (DATA, RESULTS):
        place = folder if folder.exists() else Path()
        free = shutil.disk_usage(place).free / 1e9
        writable = os.access(place, os.W_OK)
        state = GOOD if free > ROOM_GB and writable else BAD
        do = "" if free > ROOM_GB else f"make room: everything takes up to {ROOM_GB} GB"
        yield Line(f"{folder}/", state, f"{free:.0f} GB free", do if writable else "not writable")


def _machine() -> Iterator[Line]:
    cores = len(os.sched_getaffinity(0))
    do = "" if cores > 1 else "`ldlrepro schedule PAPER --cores 1` tells how long a paper takes"
    yield Line("cores", GOOD if cores > 1 else NOTE, str(cores), do)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    units = {unit for paper in config.paper_ids() for unit in plan.paper_units(paper)}
    most, unit = max((plan.resources(unit)["mem_mb"], unit) for unit in units)
    enough = have > most
    yield Line(
        "memory",
        GOOD if enough else NOTE,
        f"{have / 1000:.0f} GB",
        "" if enough else f"{unit.method} on {unit.dataset} asks for {most / 1000:.0f} GB",
    )


def _slurm() -> Iterator[Line]:
    tools = [tool for tool in ("sbatch", "sacct", "squeue") if shutil.which(tool)]
    if "sbatch" not in tools:
        yield Line("SLURM", NOTE, "none", "units run on this machine: snakemake --cores all")
    else:
        yield Line("SLURM", GOOD, ", ".join(tools), "snakemake --profile profiles/slurm")


def _gpu() -> Iterator[Line]:
    if not shutil.which("nvidia-smi"):
        yield Line("GPU", NOTE, "none", "only the deep image methods want one")
        return
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.split("\n")
    cards = [line.partition(" (")[0] for line in listed if line.startswith("GPU")]
    torch = _installed("torch")
    if "+cpu" in torch:
        do = f"torch {torch} cannot use it: make TORCH=gpu setup"
        yield Line("GPU", BAD, "; ".join(cards), do)
    else:
        yield Line("GPU", GOOD if cards else BAD, "; ".join(cards) or "nvidia-smi lists none")


def _data() -> Iterator[Line]:
    from ldlrepro.data.fetch import default_mirrors, local_sources

    mirrors = default_mirrors(config.load_run_config()["mirrors"])
    here, public, licensed = [], [], []
    for name in config.dataset_ids():
        spec = config.load_dataset(name)
        if spec["reader"].startswith(("drawn", "toy", "synthetic")) or "generator" in spec:
            continue
        if _fetched(name) or local_sources(name, DATA, mirrors):
            here.append(name)
        elif any(file.get("urls") for file in spec.get("files", [])):
            public.append(name)
        else:
            licensed.append(name)
    do = " ".join(here) or "a workflow fetches what it needs"
    yield Line("data here", GOOD if here else NOTE, str(len(here)), do)
    if public:
        yield Line("to download", NOTE, str(len(public)), f"ldlrepro fetch {' '.join(public)}")
    if licensed:
        do = f"docs/images.md and how_to_get of {', '.join(licensed)}"
        yield Line("to apply for", NOTE, str(len(licensed)), do)


def _fetched(dataset: str) -> bool:
    from ldlrepro.data.fetch import read_status

    try:
        return read_status(DATA / "raw" / dataset).available
    except UserError:  # not fetched yet
        return False


def _weights() -> Iterator[Line]:
    folder = DATA / "manual" / "weights"
    files = sorted(path.name for path in folder.glob("*") if path.is_file())
    if files:
        yield Line("weights", GOOD, ", ".join(files), "their SHA-256 is compared before use")
    else:
        yield Line("weights", NOTE, "none", f"only deep methods want them, in {folder}/")


def _tracking() -> Iterator[Line]:
    from ldlrepro.track import open_hint

    uri = config.tracking_uri(config.load_run_config())
    database = Path(uri.removeprefix("sqlite:///"))
    if uri.startswith("sqlite:///") and not database.is_file():
        yield Line("MLflow", NOTE, "nothing tracked yet", "every finished paper is, by itself")
    else:
        yield Line("MLflow", GOOD, "tracked runs", open_hint(uri))

"""Findings about this machine: each says what it means and what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from ldlrepro.catalogue import DataSet, Project, Weights
from ldlrepro.core.errors import ELSEWHERE
from ldlrepro.core.groups import grouped
from ldlrepro.core.workspace import Workspace
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.plan.planning import Plan
from ldlrepro.train.cards import listed
from ldlrepro.train.inputs import is_fetched

ROOM_GB = 5
"""Raw and prepared public data, results and MLflow of all papers take less than 4 GB."""
SECONDS_FOR_SLURM = 5
READY, FETCHED, IN_A_FOLDER = "ready", "fetched", "local folder"
AT_HAND = (READY, FETCHED, IN_A_FOLDER)
DRAWN, PUBLIC, LICENSED = "synthetic", "to download", "not public"
UNSURE = "download uncertain"


def examine(plan: Plan, workspace: Workspace) -> Iterator[Finding]:
    """Yield a finding for everything that the workflow needs."""
    project = plan.project
    yield from _python()
    yield from _packages(project)
    yield from _room(workspace)
    yield from _machine(plan)
    yield from _slurm()
    yield from _gpu()
    yield from _missing_mirrors(project)
    yield from _data(project, workspace)
    yield from _weights(project, workspace)
    yield from _tracking(project)


def _python() -> Iterator[Finding]:
    found = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    do = "new enough" if good else "3.11 or newer is needed: `make setup PYTHON=...`"
    yield Finding("Python", GOOD if good else BAD, found, do)


def _packages(project: Project) -> Iterator[Finding]:
    lock = project.root / "envs" / "lock.txt"
    pins = re.findall(r"(?m)^([A-Za-z0-9_.-]+)==(\S+)", lock.read_text(encoding="utf-8"))
    wrong = [name for name, version in pins if _installed(name) != version]
    if not wrong:
        do = "results can match the reference to the last bit"
        yield Finding("packages", GOOD, f"all {len(pins)} as in envs/lock.txt", do)
        return
    shown = ", ".join(wrong[:4]) + (" ..." if len(wrong) > 4 else "")
    yield Finding(
        "packages",
        NOTE,
        f"{len(wrong)} of {len(pins)} missing or of another version: {shown}",
        "results may differ from the reference in the last bits; `make setup` installs the pinned "
        "versions in .venv",
    )


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _room(workspace: Workspace) -> Iterator[Finding]:
    for folder in (workspace.data, workspace.results):
        place = folder if folder.exists() else Path()
        free = shutil.disk_usage(place).free / 1e9
        writable = os.access(place, os.W_OK)
        state = GOOD if free > ROOM_GB and writable else BAD
        do = f"{'enough' if free > ROOM_GB else 'make room'}: everything needs up to {ROOM_GB} GB"
        if not writable:
            do = f"you may not write here: work in another folder, {ELSEWHERE}"
        yield Finding(f"{folder}/", state, f"{free:.0f} GB free", do)


def _machine(plan: Plan) -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0))
    do = f"`ldlrepro status --cores {cores}` says how long the papers take on them"
    yield Finding("cores", GOOD if cores > 1 else NOTE, str(cores), do)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    units = {unit for paper in plan.project.papers for unit in plan.units(paper)}
    most, unit = max((unit.resources.mem_mb, unit) for unit in units)
    asks = f"the largest, {unit.method.id} on {unit.data_set.id}, needs {most / 1000:.0f} GB"
    do = f"every unit fits: {asks}" if have > most else f"not every unit fits: {asks}"
    yield Finding("memory", GOOD if have > most else NOTE, f"{have / 1000:.0f} GB", do)


def _slurm() -> Iterator[Finding]:
    here = "units run on this machine: snakemake --cores all PAPER"
    if not shutil.which("sbatch"):
        yield Finding("SLURM", NOTE, "none", here)
    elif partitions := _partitions():
        do = "snakemake --profile profiles/slurm PAPER sends units there; see docs/cluster.md"
        yield Finding("SLURM", GOOD, f"partitions {' '.join(partitions)}", do)
    else:
        yield Finding(
            "SLURM", NOTE, "installed, but no controller answers", f"{here}; or ask `sinfo`"
        )


def _partitions() -> list[str]:
    """Return the partitions that the controller names; none where none answers in time."""
    ask = ["sinfo", "-h", "-o", "%P"]
    try:
        told = subprocess.run(ask, capture_output=True, text=True, timeout=SECONDS_FOR_SLURM)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return told.stdout.split() if told.returncode == 0 else []


def _gpu() -> Iterator[Finding]:
    if not shutil.which("nvidia-smi"):
        yield Finding("GPU", NOTE, "none", "only deep methods on photographs need one")
        return
    cards = [f"GPU {c.index}: {c.name}" if c.index else c.name for c in listed()]
    torch = _installed("torch")
    if "+cpu" in torch:
        do = f"torch {torch} cannot use it: make TORCH=gpu setup"
        yield Finding("GPU", BAD, "; ".join(cards), do)
        return
    do = "deep image methods train on it" if cards else "see what nvidia-smi says"
    yield Finding("GPU", GOOD if cards else BAD, "; ".join(cards) or "nvidia-smi lists none", do)
    if cards and torch:
        yield cuda()


def cuda() -> Finding:
    """Let torch compute on a card: it says itself which of driver, CUDA and card do not fit."""
    again = "make TORCH=gpu setup"
    try:
        import torch
    except (ImportError, OSError) as error:  # a library of CUDA that is missing or cut
        return Finding("CUDA", BAD, f"torch cannot be imported: {error}", f"rm -r .venv; {again}")
    found = f"torch {torch.__version__} for CUDA {torch.version.cuda or 'none'}"
    try:
        torch.ones(2, device="cuda").sum().item()
    except (AssertionError, RuntimeError) as error:  # an assertion in builds without CUDA
        do = (
            f"docs/training.md lists what fits together, `{again}` installs it; a container needs "
            "`docker run --gpus all` or `apptainer exec --nv`"
        )
        return Finding("CUDA", BAD, f"{found}: {str(error).partition(chr(10))[0]}", do)
    return Finding("CUDA", GOOD, found, "computes on the card")


def whereabouts(source: DataSet | Weights, workspace: Workspace, mirrors: Sequence[Path]) -> str:
    """Say in a few words where a data set or weights are, or where they come from."""
    from ldlrepro.data.fetch import local_sources

    is_table = isinstance(source, DataSet)
    ready = workspace.ready(source.id) if is_table else workspace.weights(source.id)
    fetched = is_fetched(source.id, workspace)
    if fetched and ready.with_suffix(".json").is_file():
        return READY
    if isinstance(source, DataSet) and source.is_drawn:
        return DRAWN
    if fetched:
        return FETCHED
    if local_sources(source, workspace.data, mirrors):
        return IN_A_FOLDER
    if not any(file.urls for file in source.files):
        return LICENSED
    return UNSURE if source.how_to_get else PUBLIC


def _data(project: Project, workspace: Workspace) -> Iterator[Finding]:
    from ldlrepro.data.fetch import default_mirrors

    mirrors = default_mirrors(project)
    real = [data_set for data_set in project.data_sets if not data_set.is_drawn]
    found = grouped(real, lambda data_set: whereabouts(data_set, workspace, mirrors))
    places = {place: [data_set.id for data_set in there] for place, there in found.items()}
    here = sorted(name for place in AT_HAND for name in places.get(place, ()))
    do = "a run fetches what it needs"
    yield Finding("data here", GOOD if here else NOTE, str(len(here)), ", ".join(here) or do)
    if public := places.get(PUBLIC):
        do = "a run downloads what it needs; `ldlrepro fetch ID` gets one now"
        yield Finding("to download", NOTE, str(len(public)), do)
    if unsure := places.get(UNSURE):
        do = f"`ldlrepro fetch ID` tries {', '.join(unsure)}; we could not get them"
        yield Finding(UNSURE, NOTE, str(len(unsure)), do)
    if licensed := places.get(LICENSED):
        do = f"`ldlrepro fetch ID` says how to get {', '.join(licensed)}"
        yield Finding("to apply for", NOTE, str(len(licensed)), do)


def _weights(project: Project, workspace: Workspace) -> Iterator[Finding]:
    from ldlrepro.data.fetch import default_mirrors

    mirrors = default_mirrors(project)
    known = project.all_weights
    here = [w.id for w in known if whereabouts(w, workspace, mirrors) in AT_HAND]
    if here:
        yield Finding(
            "weights", GOOD, ", ".join(here), "networks on photographs can start from them"
        )
    else:
        do = "only networks on photographs need them; `ldlrepro list weights` lists them"
        yield Finding("weights", NOTE, "none", do)


def _missing_mirrors(project: Project) -> Iterator[Finding]:
    from ldlrepro.data.fetch import MIRRORS, missing_mirrors

    for path in missing_mirrors(project):
        do = f"correct {MIRRORS}, or `mirrors` in config/config.yaml"
        yield Finding("mirror", BAD, f"{path} does not exist", do)


def _tracking(project: Project) -> Iterator[Finding]:
    from ldlrepro.track.sync import open_hint

    uri = project.tracking_uri
    database = Path(uri.removeprefix("sqlite:///"))
    if uri.startswith("sqlite:///") and not database.is_file():
        yield Finding("MLflow", NOTE, "nothing tracked yet", "a finished paper is tracked")
    else:
        yield Finding("MLflow", GOOD, "tracked runs", open_hint(uri))

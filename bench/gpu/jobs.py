"""The installation, and processes on a card: the suite's tests, jobs in turn, a killed one."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from bench.gpu.steps import IMPOSSIBLE, Outcome, Place, judged
from bench.process import ROOT

MARK = "pytest.mark.gpu"
JOBS = 3
SECONDS_HELD = 1.0
DIES_AT = 25
APART = 0.01
"""A training that loses its optimiser's state, its leaves' queue or a step ends 0.06 apart or more,
one whose layers round at 1e-4 less than 0.01 (tried on a processor)."""
STAND_IN = '#!/bin/sh\necho "GPU 0: Stand-in (UUID: {uuid})"\n'


def pairing(place: Place) -> Outcome:
    """Compare driver, torch and card as `ldlrepro doctor` does, then compute on the card."""
    import torch

    from ldlrepro.doctor.lines import BAD
    from ldlrepro.doctor.pairing import examine

    ones = torch.ones(64, 64, device=place.device)
    total = float((ones @ ones).sum())
    if place.rehearsal:
        return judged(total == 64.0**3, f"torch {torch.__version__} computes; no card to compare")
    finding = examine()
    return judged(finding.state != BAD and total == 64.0**3, f"{finding.found}: {finding.do}")


def suite(place: Place) -> Outcome:
    """Run the tests that are marked as wanting a GPU."""
    marked = sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if MARK in path.read_text(encoding="utf-8")
    )
    report = place.folder / "suite.xml"
    command = [sys.executable, "-m", "pytest", "-m", "gpu", f"--junitxml={report}", *marked]
    told = _run(command, place)
    if not report.is_file():
        if "No module named pytest" in told.stderr:
            return Outcome(IMPOSSIBLE, "pytest is not installed: make TORCH=gpu setup")
        return judged(False, f"pytest ended with {told.returncode}: {told.stderr[-300:]}")
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for part in ElementTree.parse(report).getroot().iter("testsuite"):
        for name in counts:
            counts[name] += int(part.get(name, 0))
    bad, ran = counts["failures"] + counts["errors"], counts["tests"] - counts["skipped"]
    if not (bad or ran):
        return Outcome(IMPOSSIBLE, f"all {counts['skipped']} tests were skipped", counts)
    met = not (bad or counts["skipped"])
    skipped = counts["skipped"]
    return judged(met, f"{ran - bad} passed, {bad} failed, {skipped} skipped", **counts)


def cards(place: Place) -> Outcome:
    """Start three jobs at once that want the same card, and see when each had it."""
    from ldlrepro.train.cards import SCHEDULED, VISIBLE, usable

    # Where a scheduler gives out cards, nobody takes locks; here the locks are what is checked.
    env = {name: value for name, value in os.environ.items() if name not in SCHEDULED}
    command = [sys.executable, "-m", "bench.gpu.child", "hold", str(SECONDS_HELD), place.device]
    if place.rehearsal:
        _stand_in(place.folder)
        env["PATH"] = f"{place.folder}{os.pathsep}{env['PATH']}"
        env.pop(VISIBLE, None)
        command.append(f"--locks={place.folder}")
    else:
        env[VISIBLE] = usable()[0].uuid
    started = [
        subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(JOBS)
    ]
    try:
        told = [process.communicate(timeout=max(1.0, place.left() - 2))[0] for process in started]
    finally:
        for process in started:
            process.kill()
    if any(process.returncode for process in started):
        return judged(False, "a job failed; its error is in the log")
    held: list[dict[str, Any]] = sorted(map(json.loads, told), key=lambda job: job["begun"])
    meetings = sum(
        early["card"] == late["card"] and late["begun"] < early["ended"]
        for early, late in itertools.combinations(held, 2)
    )
    same = len({job["card"] for job in held}) == 1
    alone = all(job["cards_seen"] == 1 for job in held) or place.rehearsal
    waited = held[-1]["begun"] - held[0]["begun"]
    said = f"{JOBS} jobs, {meetings} meetings; the last one waited {waited:.1f} s for its turn"
    return judged(same and alone and not meetings, said, jobs=held)


def _stand_in(folder: Path) -> None:
    """Put a tool there that lists one card as the driver's does, for machines without any."""
    tool = folder / "nvidia-smi"
    tool.write_text(STAND_IN.format(uuid=f"GPU-{uuid.uuid4()}"), encoding="utf-8")
    tool.chmod(0o755)


def resume(place: Place) -> Outcome:
    """Kill a training in the middle, start it again, and compare with one that nobody killed."""
    whole, killed = place.folder / "whole", place.folder / "killed"
    _trained(whole, place)
    died = _trained(killed, place, f"--die-at={DIES_AT}")
    again = _trained(killed, place)
    if died.returncode != -signal.SIGKILL or again.returncode:
        codes = f"{died.returncode} and {again.returncode}"
        return judged(False, f"the killed training and its second start ended with {codes}")
    taken_up = json.loads((killed / "told.json").read_text(encoding="utf-8"))["taken_up_at"]
    first, second = (np.load(folder / "predictions.npy") for folder in (whole, killed))
    apart = float(np.abs(first - second).max())
    met = taken_up == DIES_AT and apart <= (0.0 if place.rehearsal else APART)
    said = f"killed after step {DIES_AT}, gone on with after step {taken_up}, {apart:.1e} apart"
    return judged(met, said, apart=apart, taken_up_at=taken_up)


def _trained(folder: Path, place: Place, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.gpu.child", "train", str(folder), place.device, *more]
    return _run(command, place)


def _run(command: list[str], place: Place) -> subprocess.CompletedProcess[str]:
    """Run a command in the checkout and put what it says into the log."""
    told = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=max(1.0, place.left() - 2)
    )
    print(told.stdout + told.stderr, flush=True)
    return told

"""Runs the check: ``make gpu-check``, or ``python -m bench.gpu``. See docs/gpu.md.

Every step is a process of its own with a time of its own, and its result is kept as soon as it is
there: a second call goes on with what is missing. Without a card it says what it would do.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.gpu import page
from bench.gpu.steps import FAILED, IMPOSSIBLE, PASSED, STEPS, Outcome, Step
from bench.process import ROOT
from ldlrepro.audit.seals import refuse_changed_reference, seal_reference
from ldlrepro.core import numerics
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.doctor import pairing
from ldlrepro.doctor.lines import BAD
from ldlrepro.train import cards, provenance

SOURCES = ("src/ldl", "src/ldlrepro/train", "bench/gpu", "bench/forest_share.py", "tests/oracle")
"""Code whose change makes kept results void."""
COMMAND = "make gpu-check"


@dataclass(frozen=True)
class Target:
    """Where results go: into the project after a run on a card, elsewhere after a rehearsal."""

    device: str
    kept: Path
    """Results and logs of the steps, as they end."""
    records: Path
    """All results, when the last step has ended."""
    page: Path

    @classmethod
    def of(cls, rehearsal: Path | None) -> Target:
        if rehearsal is None:
            kept = ROOT / "results" / "gpu-check"
            return cls("cuda", kept, ROOT / "reference" / "gpu", ROOT / "docs" / "gpu.md")
        return cls("cpu", rehearsal / "kept", rehearsal / "records", rehearsal / "gpu.md")

    def file(self, step: Step) -> Path:
        return self.kept / f"{step.name}.json"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="do again what is done")
    parser.add_argument(
        "--rehearse",
        type=Path,
        metavar="FOLDER",
        help="every step on the processor, at a tiny size, with its results in FOLDER",
    )
    given = parser.parse_args(arguments)
    if given.rehearse is None and (missing := lack()):
        print(plan(missing))
        return 1
    target = Target.of(given.rehearse and given.rehearse.resolve())
    numerics.pin()
    about = circumstances(target.device)
    begun = time.monotonic()
    records = []
    for number, step in enumerate(STEPS, start=1):
        kept = None if given.fresh else finished(target.file(step), about)
        record = kept or measured(step, target, about)
        if kept is None:
            write_text(target.file(step), json.dumps(record, indent=1) + "\n")
        records.append(record)
        again = "kept, " if kept else ""
        line = f"{step.name}: {record['state']} ({again}{record['seconds']:.0f} s): "
        print(f"[{number}/{len(STEPS)}] {line}{record['found']}", file=sys.stderr, flush=True)
    publish(target, records)
    states = [record["state"] for record in records]
    took = time.monotonic() - begun
    print(
        f"{states.count(PASSED)} of {len(STEPS)} passed in {took:.0f} s. Read {target.page}; what "
        f"the steps said is in {target.kept}/.",
        file=sys.stderr,
    )
    fine = {PASSED, IMPOSSIBLE} if target.device == "cpu" else {PASSED}
    return int(not fine.issuperset(states))


# ---------------------------------------------------------------------- without a card


def lack() -> str:
    """Say what is missing for a run on a card; '' where nothing is."""
    if not cards.listed():
        return "this machine shows no NVIDIA card: `nvidia-smi -L` lists none."
    if not cards.usable():
        return f"{cards.VISIBLE} hides every card: unset it, or name one."
    finding = pairing.examine()
    return f"{finding.found}: {finding.do}." if finding.state == BAD else ""


def plan(missing: str) -> str:
    """Return what a run would do, for people who cannot have one yet."""
    rows = [f"  {step.name:<13} {step.checks} ({step.bar})" for step in STEPS]
    minutes = sum(step.seconds for step in STEPS) / 60
    return "\n".join(
        [
            f"Not run: {missing}",
            "",
            f"On a machine with one, this would take at most {minutes:.1f} minutes and check:",
            *rows,
            "",
            "It would write docs/gpu.md and reference/gpu/. Nothing was written now.",
            "A rehearsal on the processor: python -m bench.gpu --rehearse FOLDER",
        ]
    )


# ---------------------------------------------------------------------- one step


def finished(path: Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a result that is kept, if it came to its end under the same circumstances.

    What was not possible may be by now, so it is tried again.
    """
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # cut by a kill of the machine
        return None
    same = all(record["about"].get(key) == value for key, value in about.items() if key != "commit")
    return record if same and record["state"] in (PASSED, FAILED) else None


def measured(step: Step, target: Target, about: Mapping[str, Any]) -> dict[str, Any]:
    """Run a step in a process of its own; what becomes of it is its result."""
    target.kept.mkdir(parents=True, exist_ok=True)
    answer = target.kept / f"{step.name}.outcome.json"
    answer.unlink(missing_ok=True)
    command = [sys.executable, "-m", "bench.gpu.steps", step.name, str(answer)]
    command += [f"--device={target.device}", f"--seconds={limit(step, target)}"]
    started, begun = datetime.now(UTC), time.monotonic()
    with open(target.kept / f"{step.name}.log", "w", encoding="utf-8") as log:
        ended = run_within(command, limit(step, target), log)
    if answer.is_file():
        outcome = Outcome(**json.loads(answer.read_text(encoding="utf-8")))
        answer.unlink()
    else:
        outcome = Outcome(FAILED, ended)
    return {
        "step": step.name,
        "checks": step.checks,
        "bar": step.bar,
        **asdict(outcome),
        "seconds": round(time.monotonic() - begun, 1),
        "started": started.isoformat(timespec="seconds"),
        "command": COMMAND if target.device == "cuda" else "python -m bench.gpu --rehearse FOLDER",
        "about": dict(about),
    }


def limit(step: Step, target: Target) -> float:
    """Return the seconds that a step may take; a rehearsal on a busy machine may take longer."""
    return step.seconds if target.device == "cuda" else 20.0 * step.seconds


def run_within(command: Sequence[str], seconds: float, log: Any) -> str:
    """Run a command and everything that it starts no longer than that; say how it ended."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        status = process.wait(seconds)
        ended = f"ended with status {status} and no result; see its log"
        if status < 0:
            ended = f"died of {signal.Signals(-status).name}; see its log"
    except subprocess.TimeoutExpired:
        ended = f"did not end within {seconds:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the children of one that died, too
        process.wait()
    return ended


def circumstances(device: str) -> dict[str, Any]:
    """Return what a result depends on: card, driver, versions, code."""
    build = pairing.torch_build()
    driver, card = None, "none: a rehearsal on the processor"
    if device == "cuda":
        driver, card = pairing.driver(), cards.usable()[0].name
    return {
        "card": card,
        "memory_mb": driver.memory_mb if driver else None,
        "driver": driver.version if driver else None,
        "driver_cuda": ".".join(map(str, driver.cuda)) if driver else None,
        "torch": build.version,
        "torch_cuda": ".".join(map(str, build.cuda)) if build.cuda else None,
        "python": platform.python_version(),
        "versions": provenance.versions(),
        "cpu": provenance.machine()["cpu"],
        "code": code_digest(),
        "commit": provenance.git_commit(),
    }


def code_digest() -> str:
    """Return a digest of the code that a result depends on."""
    digest = hashlib.sha256()
    for source in SOURCES:
        path = ROOT / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


# ---------------------------------------------------------------------- the end


def publish(target: Target, records: Sequence[Mapping[str, Any]]) -> None:
    """Write results and page; the reference, which they are a part of, gets checksums, too."""
    project = target.device == "cuda"
    if project:
        refuse_changed_reference(ROOT)
    for record in records:
        write_text(target.records / f"{record['step']}.json", json.dumps(record, indent=1) + "\n")
    text = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    write_text(target.page, page.with_results(text, records))
    if project:
        seal_reference(ROOT)


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except UserError as error:
        raise SystemExit(f"gpu-check: {error}") from None

"""The steps of the check, and one of them as a process: ``python -m bench.gpu.steps NAME FILE``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ldlrepro.core import numerics

PASSED, FAILED, IMPOSSIBLE = "passed", "failed", "not possible here"

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """Where a step runs, how much it does there, and until when."""

    device: str
    """'cuda', or 'cpu' in a rehearsal."""
    folder: Path
    """Room for files, which goes with the step."""
    deadline: float
    """Reading of ``time.monotonic`` at which the step is ended."""

    @property
    def rehearsal(self) -> bool:
        return self.device == "cpu"

    def pick(self, on_card: T, in_rehearsal: T) -> T:
        """Return the size of something: on a card, or in a rehearsal on the processor."""
        return in_rehearsal if self.rehearsal else on_card

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.deadline - time.monotonic()


@dataclass
class Outcome:
    """Outcome of a step."""

    state: str
    found: str
    """A sentence with the numbers that the bar is about; the reason where there are none."""
    numbers: dict[str, Any] = field(default_factory=dict)


def judged(met: bool, found: str, **numbers: Any) -> Outcome:
    """Return the outcome of a step that came to its end."""
    return Outcome(PASSED if met else FAILED, found, numbers)


@dataclass(frozen=True)
class Step:
    """A step: what it checks, what it must reach, and how long it may take."""

    name: str
    checks: str
    bar: str
    seconds: int
    module: str
    holds: bool = True
    """The step holds the card; one whose own processes want it does not."""

    def function(self) -> Callable[[Place], Outcome]:
        """Return the function in ``module`` that has the step's name."""
        function: Callable[[Place], Outcome] = getattr(
            importlib.import_module(f"bench.gpu.{self.module}"), self.name
        )
        return function


STEPS = (
    Step("pairing", "driver, torch's CUDA and the card", "they fit together", 20, "jobs"),
    Step("suite", "the GPU tests of the suite", "all pass", 50, "jobs"),
    Step(
        "forest_layer",
        "loss and gradient of the forest layer, in float64",
        "GPU and CPU within 1e-9",
        20,
        "arithmetic",
    ),
    Step(
        "leaf_update",
        "leaf steps of DLDLF and DRF, in float64",
        "GPU and CPU within 1e-9",
        20,
        "arithmetic",
    ),
    Step(
        "heads",
        "trainings with heads of DLDLF and DRF, in float64",
        "GPU and CPU within 1e-9",
        35,
        "arithmetic",
    ),
    Step(
        "bfloat16",
        "training in bfloat16 beside float32, drawn faces",
        "error at most a tenth above",
        45,
        "arithmetic",
    ),
    Step("forest_share", "what a forest adds to a step of VGG-16", "at most 5 %", 70, "speed"),
    Step(
        "throughput",
        "images per second and memory beside bare VGG-16, batches of 16 to 256",
        "0.9 of its speed from batches of 64 on",
        85,
        "speed",
    ),
    Step(
        "data_path",
        "pixels from a file beside pixels in memory",
        "the card waits at most 5 % of the time",
        40,
        "speed",
    ),
    Step(
        "features",
        "sLDLF and DRF on 100,000 rows of features",
        "GPU and CPU within 1e-6",
        45,
        "speed",
    ),
    Step(
        "boosting",
        "LDLDF's boosted trees by xgboost on the card",
        "KL at most 1 % above the CPU's",
        25,
        "speed",
    ),
    Step("cards", "three jobs that want the same card", "never two at once", 30, "jobs", False),
    Step(
        "resume",
        "a training killed without warning, then gone on with",
        "the same predictions within 0.01; on a CPU the same bits",
        40,
        "jobs",
        False,
    ),
)


def by_name(name: str) -> Step:
    (step,) = (step for step in STEPS if step.name == name)
    return step


def run(step: Step, device: str, deadline: float) -> Outcome:
    """Run a step in this process, whatever happens in it."""
    from ldlrepro.train.cards import held

    try:
        with (
            tempfile.TemporaryDirectory(prefix="gpu-check-") as folder,
            held(int(device == "cuda"), f"gpu-check {step.name}", say)
            if step.holds
            else nullcontext(),
        ):
            return step.function()(Place(device, Path(folder), deadline))
    except ModuleNotFoundError as error:
        return Outcome(IMPOSSIBLE, f"{error.name} is not installed: make TORCH=gpu setup")
    except Exception as error:
        traceback.print_exc()
        return Outcome(FAILED, f"{type(error).__name__}: {error}")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.gpu.steps", description=__doc__)
    parser.add_argument("name", choices=[step.name for step in STEPS])
    parser.add_argument("file", type=Path, help="where the outcome goes")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, help="time until it is ended")
    given = parser.parse_args(arguments)
    numerics.pin()
    step = by_name(given.name)
    outcome = run(step, given.device, time.monotonic() + (given.seconds or step.seconds))
    given.file.write_text(json.dumps(asdict(outcome)), encoding="utf-8")


if __name__ == "__main__":
    main()

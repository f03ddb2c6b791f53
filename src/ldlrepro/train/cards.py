"""GPUs: a unit that uses one holds it alone, by a lock on a file that all workflows share.

The operating system releases the lock when the process ends, for whatever reason. Where a scheduler
assigns the GPUs, it also keeps them apart.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ldlrepro.core.errors import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"
DEVICE = "LDLREPRO_DEVICE"
SCHEDULED = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
LOCKS = Path("/tmp")
"""Not the temporary folder of a user or a job, because others may not share it."""
SECONDS_BETWEEN_TRIES = 2.0
SECONDS_BETWEEN_LINES = 300.0

_GPU = re.compile(r"^GPU (\d+): (.+) \(UUID: (\S+)\)$")
_LACK = re.compile(r"needs (a GPU|\d+ GPUs), and there is ")
_PART = re.compile(r"^\s+MIG (.+?)\s+Device\s+\d+: \(UUID: (\S+)\)$")

Say = Callable[[str], None]


class NoCardError(UserError):
    """The unit needs more GPUs than there are."""


def is_lack(reason: str) -> bool:
    """Tell whether a record says that there were too few GPUs."""
    return _LACK.match(reason) is not None


@dataclass(frozen=True)
class Card:
    index: str
    """Its number on this machine; empty for a part of a divided GPU."""
    uuid: str
    name: str


@contextmanager
def held(count: int, who: str, say: Say = lambda line: None) -> Iterator[list[str]]:
    """Hold ``count`` GPUs for this process alone; yield their names, for the record.

    It sets CUDA_VISIBLE_DEVICES, so it must come before PyTorch looks for GPUs. A process that
    takes none sees none.
    """
    scheduled = VISIBLE in os.environ and any(name in os.environ for name in SCHEDULED)
    if count == 0 or on_cpu():
        with _visible(""):
            yield []
    elif scheduled and os.environ[VISIBLE]:
        yield [card.name for card in usable()]
    else:
        cards = usable()
        if len(cards) < count:
            asked = "a GPU" if count == 1 else f"{count} GPUs"
            raise NoCardError(
                f"needs {asked}, and there is {len(cards) or 'none'} here. Where there are more, "
                f"remove its record and run it again; {DEVICE}=cpu takes the CPU, which may take "
                "weeks"
            )
        with ExitStack() as stack:
            mine = _take(cards, count, who, say, stack)
            stack.enter_context(_visible(",".join(card.uuid for card in mine)))
            yield [card.name for card in mine]


def on_cpu() -> bool:
    """Tell whether the user asked for the CPU."""
    chosen = os.environ.get(DEVICE, "auto")
    if chosen not in ("auto", "cpu"):
        raise UserError(f"{DEVICE}={chosen}: write auto (a GPU where there is one) or cpu")
    return chosen == "cpu"


def usable() -> list[Card]:
    """Return the GPUs of this machine that CUDA_VISIBLE_DEVICES does not hide."""
    cards = listed()
    if VISIBLE not in os.environ:
        return cards
    chosen = [name.strip() for name in os.environ[VISIBLE].split(",") if name.strip()]
    return [
        card
        for card in cards
        if any(name == card.index or card.uuid.startswith(name) for name in chosen)
    ]


def listed() -> list[Card]:
    """List GPUs as the driver's own tool does; for a divided GPU list its parts.

    The tool comes with the driver, and its call can be stopped when it hangs. nvidia-ml-py would
    have to be installed to see any GPU, even one that PyTorch for CPUs leaves idle.
    """
    if shutil.which("nvidia-smi") is None:
        return []
    try:
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    cards: list[Card] = []
    for line in found.stdout.splitlines():
        if whole := _GPU.match(line):
            cards.append(Card(*(whole[k] for k in (1, 3, 2))))
        elif part := _PART.match(line):
            divided = cards[-1]
            if divided.index:
                cards.pop()
            cards.append(Card("", part[2], f"{divided.name.partition(' MIG ')[0]} MIG {part[1]}"))
    return cards


def _take(cards: list[Card], count: int, who: str, say: Say, stack: ExitStack) -> list[Card]:
    """Wait until ``count`` are free at once: holding some while waiting could wait forever."""
    said = -float("inf")
    while True:
        with ExitStack() as attempt:
            mine: list[Card] = []
            for card in cards:
                if len(mine) < count and _locked(card, who, attempt):
                    mine.append(card)
            if len(mine) == count:
                stack.enter_context(attempt.pop_all())
                return mine
        if time.monotonic() - said > SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            holders = "; ".join(f"{card.name} ({_holder(card)})" for card in cards)
            say(f"{who}: waits for {count} free GPU(s) of: {holders}")
        time.sleep(SECONDS_BETWEEN_TRIES)


def _locked(card: Card, who: str, stack: ExitStack) -> bool:
    from filelock import FileLock, Timeout

    def sign(handle: int) -> None:
        os.truncate(handle, 0)
        os.write(handle, f"{who}, process {os.getpid()}".encode())

    # Whatever the umask: others must be able to lock it, too.
    lock = FileLock(
        _lock_file(card), mode=0o666, blocking=False, fallback_to_soft=False, on_acquired=sign
    )
    try:
        stack.enter_context(lock)
    except Timeout:
        return False
    return True


def _holder(card: Card) -> str:
    try:
        return _lock_file(card).read_text(encoding="utf-8") or "in use"
    except OSError:
        return "in use"


def _lock_file(card: Card) -> Path:
    return LOCKS / f"ldlrepro-{card.uuid.replace('/', '_')}.lock"


@contextmanager
def _visible(cards: str) -> Iterator[None]:
    before = os.environ.get(VISIBLE)
    os.environ[VISIBLE] = cards
    try:
        yield
    finally:
        if before is None:
            del os.environ[VISIBLE]
        else:
            os.environ[VISIBLE] = before

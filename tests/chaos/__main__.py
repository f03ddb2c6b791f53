"""``python -m tests.chaos``: see ``make chaos`` and docs/reliability.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.kills import kill_and_compare
from tests.chaos.load import sync_at_once


def say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill a small paper again and again.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--syncs", type=int, default=32, help="syncs at once; 0 leaves them out")
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ldlrepro-chaos-") as folder:
        tally = kill_and_compare(Path(folder), args.kills, args.seed, say)
        told = [tally.summary()]
        problems = [f"{what}: {one}" for what, found in tally.losses.items() for one in found]
        for place in ("file", "server") if args.syncs else ():
            load = sync_at_once(Path(folder) / place, args.syncs, server=place == "server")
            told.append(load.summary())
            problems += load.problems
            say(told[-1])
    for problem in problems:
        say(problem)
    minutes = (time.monotonic() - started) / 60
    say(f"seed {args.seed}, {minutes:.1f} min: {'; '.join(told)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Speed from release to release: what got slower since the last one.

    python -m bench.history     # the newest release against the one before; ends with 1 if it lost

A row of docs/benchmarks-history.csv is one comparison of one release; a complete
``make bench`` puts those of the present version there. Where a peer stands beside
us the ratio to its time is compared, which another machine changes little, else our CPU seconds. A
row counts as slower if it lost more than a quarter. A comparison whose entry now means something
else should have another name.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.process import ROOT

HISTORY = ROOT / "docs" / "benchmarks-history.csv"
COLUMNS = ("release", "comparison", "dataset", "ours_cpu_s", "ratio_cpu", "ours_kl")
LOST = 1.25
"""Times slower than the release before that are not put down to chance."""

Line = Mapping[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.history", description=__doc__)
    parser.add_argument("--history", type=Path, default=HISTORY, help="the table of all releases")
    given = parser.parse_args(arguments)
    lines = read(given.history)
    releases = list(dict.fromkeys(line["release"] for line in lines))
    if len(releases) < 2:
        print(f"{len(releases)} release in {given.history.name}: nothing to compare yet")
        return 0
    before, newest = releases[-2:]
    found = slower(lines, before, newest)
    for name, times in found:
        print(f"{name}: {times:.2f} times slower in {newest} than in {before}")
    print(f"{len(found)} comparisons are slower in {newest} than in {before}")
    return 1 if found else 0


def read(path: Path) -> list[dict[str, str]]:
    """Read a table; no lines where there is none yet."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def add(release: str, rows: Iterable[Line], path: Path) -> None:
    """Put a release's rows at the end, in the place of those that it has; skip unmeasured rows."""
    kept = [line for line in read(path) if line["release"] != release]
    new = [{**row, "release": release} for row in rows if row["ours_cpu_s"]]
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        out.writeheader()
        out.writerows([*kept, *new])


def slower(lines: Iterable[Line], before: str, newest: str) -> list[tuple[str, float]]:
    """Return the comparisons that lost speed, with how many times slower they are, worst first."""
    by_release: dict[str, dict[str, Line]] = {before: {}, newest: {}}
    for line in lines:
        if line["release"] in by_release:
            by_release[line["release"]][f"{line['comparison']}/{line['dataset']}"] = line
    found = []
    for name, now in by_release[newest].items():
        if name in by_release[before]:
            times = _times_slower(by_release[before][name], now)
            if times > LOST:
                found.append((name, times))
    return sorted(found, key=lambda pair: -pair[1])


def _times_slower(before: Line, now: Line) -> float:
    if before["ratio_cpu"] and now["ratio_cpu"]:
        return float(before["ratio_cpu"]) / float(now["ratio_cpu"])
    return float(now["ours_cpu_s"]) / float(before["ours_cpu_s"])


if __name__ == "__main__":
    sys.exit(main())

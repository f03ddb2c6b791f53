"""Checksums of every file behind a paper's tables, kept beside them when the tables are made.

In the format of sha256sum, so that `sha256sum -c results/compare/mslp/SHA256SUMS` needs nothing
of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ldlrepro.audit import Check
from ldlrepro.compare.collect import LOCAL, Places, UnitScores
from ldlrepro.data.checksums import sha256_of
from ldlrepro.files import write_text
from ldlrepro.runs.records import predictions_path

NAME = "SHA256SUMS"


def write_seals(
    folder: Path, places: Places, units: Iterable[UnitScores], further: Iterable[Path]
) -> Path:
    """Of data, folds and records of these units and of ``further`` files: tables, experiments."""
    files = {*further, *(path for unit in units for path in _files_of(places, unit))}
    lines = [f"{sha256_of(path)}  {path.as_posix()}" for path in sorted(files) if path.is_file()]
    write_text(folder / NAME, "\n".join(lines) + "\n")
    return folder / NAME


def _files_of(places: Places, unit: UnitScores) -> Iterator[Path]:
    if unit.source != LOCAL:  # the reference stands in git, which has checksums of its own
        return
    for path in unit.files:
        yield path
        yield predictions_path(path)
    ready, folds = places.ready(unit.dataset), places.folds(unit.protocol, unit.dataset)
    yield from (ready, ready.with_suffix(".json"), folds, folds.with_suffix(".leaks.json"))


def check_seals(papers: Iterable[str], results: Path) -> Check:
    check = Check("files", "Are all files the same, byte for byte, as when the tables were made?")
    for paper in papers:
        sums = results / "compare" / paper / NAME
        command = f"snakemake --cores all {paper}"
        if not sums.is_file():
            check.skip(paper, "its tables have not been made here", command)
            continue
        with check.of(str(sums), command):
            for line in sums.read_text(encoding="ascii").splitlines():
                expected, _, name = line.partition("  ")
                check.judge(name, _problem(Path(name), expected), f"rm {name}; {command}")
    return check


def _problem(path: Path, expected: str) -> str:
    if not path.is_file():
        return "gone"
    return "" if sha256_of(path) == expected else "changed since the tables were made"

"""Checksums of the files behind a paper's tables, and of the whole reference.

The former are kept beside the tables when they are made, the latter in ``reference/`` when it is
renewed. Both have the format of sha256sum, so `sha256sum -c reference/SHA256SUMS` needs none of our
code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ldlrepro.audit import Check
from ldlrepro.core.checksums import sha256_of
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.train.records import predictions_path

NAME = "SHA256SUMS"
REFERENCE_SUMS = Path("reference") / NAME
SNAKEMAKES_OWN = ".snakemake_timestamp"
"""The stamp that Snakemake puts into folders that a rule makes."""
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def write_seals(
    folder: Path, places: Workspace, units: Iterable[UnitScores], further: Iterable[Path]
) -> Path:
    """Write checksums of these units' data, folds and records, and of ``further`` files.

    Further files are tables and experiments.
    """
    files = {*further, *(path for unit in units for path in _files_of(places, unit))}
    return _write(folder / NAME, Path(), files)


def seal_reference(root: Path) -> None:
    """Write checksums of all files that the project in ``root`` now has in its reference."""
    if files := _reference_files(root):
        _write(root / REFERENCE_SUMS, root, files)


def refuse_changed_reference(root: Path) -> None:
    """Refuse a reference changed by other hands than ours: renewed checksums would hide that."""
    sums = root / REFERENCE_SUMS
    if not sums.is_file():
        return
    try:
        changed = [name for name, problem in _reference_problems(root).items() if problem]
    except ValueError as error:
        raise UserError(f"{sums}: {error}. Type `git checkout {REFERENCE_SUMS}`.") from None
    if changed:
        raise UserError(
            f"not what {sums} says: {', '.join(changed)}. `git checkout FILE` brings a file back. "
            f"If the change is meant, type `rm {sums}`, then the same command again."
        )


def unsealed_reference(root: Path) -> set[Path]:
    """Return the files of the reference that are not, byte for byte, those that were sealed."""
    try:
        found = _reference_problems(root)
    except (OSError, ValueError):  # without checksums, none of them
        return {root / path for path in _reference_files(root)}
    return {root / name for name, problem in found.items() if problem}


def check_seals(papers: Iterable[str], results: Path, root: Path) -> Check:
    """Compare all files with the checksums that were kept of them."""
    check = Check("files", "Are all files, byte for byte, those whose checksums were kept?")
    if _reference_files(root) or (root / REFERENCE_SUMS).exists():
        with check.of(str(REFERENCE_SUMS), f"git checkout {REFERENCE_SUMS}"):
            found = _reference_problems(root)
            for name, problem in found.items():
                check.judge(name, problem, f"git checkout {name}")
            check.compared.append(f"{len(found)} files with {REFERENCE_SUMS}")
    for paper in papers:
        sums = results / "compare" / paper / NAME
        command = f"snakemake --cores all {paper}"
        if not sums.is_file():
            check.skip(paper, "its tables have not been made here", command)
            continue
        with check.of(str(sums), command):
            found = _problems(sums, Path())
            for path in sorted(sums.parent.rglob("*.*")):
                if path.name != SNAKEMAKES_OWN:
                    found.setdefault(path.as_posix(), "has no checksum")
            for name, problem in found.items():
                check.judge(name, problem, f"rm {name}; {command}")
            check.compared.append(f"{len(found)} files with {sums}")
    return check


def _files_of(places: Workspace, unit: UnitScores) -> Iterator[Path]:
    if unit.source != LOCAL:  # the reference has checksums of its own
        return
    for path in unit.files:
        yield path
        yield predictions_path(path)
    ready, folds = places.ready(unit.dataset), places.folds(unit.protocol, unit.dataset)
    yield from (ready, ready.with_suffix(".json"), folds, folds.with_suffix(".leaks.json"))


def _reference_files(root: Path) -> set[Path]:
    found = {path.relative_to(root) for path in (root / "reference").rglob("*") if path.is_file()}
    return found - {REFERENCE_SUMS}


def _reference_problems(root: Path) -> dict[str, str]:
    """Return what is wrong with each file of the reference, '' where nothing is."""
    found = _problems(root / REFERENCE_SUMS, root)
    for path in sorted(_reference_files(root)):
        found.setdefault(path.as_posix(), "has no checksum")
    return found


def _write(sums: Path, root: Path, files: Iterable[Path]) -> Path:
    """Write checksums; file names are relative to ``root``."""
    there = [path for path in sorted(files) if (root / path).is_file()]
    lines = [f"{sha256_of(root / path)}  {path.as_posix()}" for path in there]
    write_text(sums, "\n".join(lines) + "\n")
    return sums


def _problems(sums: Path, root: Path) -> dict[str, str]:
    """Return what is wrong with each file that ``sums`` names, '' where nothing is."""
    # splitlines would take other bytes for the end of a line, too.
    *lines, end = sums.read_bytes().decode("utf-8").split("\n")
    found = {}
    for number, line in enumerate(lines, start=1):
        match = LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number} is not one of sha256sum")
        expected, name = match.groups()
        found[name] = _problem(root / name, expected)
    if end or not found:
        raise ValueError("its end is missing")
    return found


def _problem(path: Path, expected: str) -> str:
    if not path.is_file():
        return "gone"
    return "" if sha256_of(path) == expected else "changed since its checksum was kept"

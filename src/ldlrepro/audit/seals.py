"""Checksums of the files behind a paper's tables, of the whole reference, and of printed numbers.

The first are written beside the tables. The others lie in ``reference/`` and ``papers/``, and are
written when the reference is renewed. All have the format of sha256sum, so `sha256sum -c
reference/SHA256SUMS` needs none of our code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
PRINTED_SUMS = Path("papers") / NAME
UNSEALED = "has no checksum"
SNAKEMAKES_OWN = ".snakemake_timestamp"
"""The stamp that Snakemake puts into folders that a rule makes."""
SHOWN = 3
"""Files of a kind that a sentence names."""
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def write_seals(
    folder: Path, places: Workspace, units: Iterable[UnitScores], further: Iterable[Path]
) -> Path:
    """Write checksums of these units' data, folds and records, and of ``further`` files.

    Further files are tables and experiments.
    """
    files = {*further, *(path for unit in units for path in _files_of(places, unit))}
    return _write(folder / NAME, Path(), files)


def seal(root: Path) -> list[str]:
    """Write checksums of the reference and the printed numbers of the project in ``root``.

    Return for each file of checksums how many it has, and which are others than before.
    """
    return [_renewed(root, sums, found) for sums, files in SEALED.items() if (found := files(root))]


def _renewed(root: Path, sums: Path, files: Iterable[Path]) -> str:
    before = _sums_by_name(root / sums)
    after = _sums_by_name(_write(root / sums, root, files))
    kinds = {
        "new": sorted(after.keys() - before),
        "changed": [name for name in after if before.get(name, after[name]) != after[name]],
        "gone": sorted(before.keys() - after),
    }
    other = "; ".join(
        f"{len(names)} {kind}: {_some(names)}" for kind, names in kinds.items() if names
    )
    return f"{sums}: checksums of {len(after)} files, {other or 'all as before'}"


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:SHOWN], *["..."] * (len(names) > SHOWN)])


def _sums_by_name(sums: Path) -> dict[str, str]:
    text = sums.read_text(encoding="utf-8") if sums.is_file() else ""
    return {name: digest for digest, name in LINE.findall(text)}


def refuse_changed(root: Path) -> None:
    """Refuse files that something other than these commands has changed.

    Renewed checksums would hide the change. The printed numbers of a new paper have no checksum
    yet.
    """
    for name in SEALED:
        sums = root / name
        if not sums.is_file():
            continue
        try:
            found = _sealed_problems(root, name)
        except ValueError as error:
            raise UserError(f"{sums}: {error}. Type `git checkout {name}`.") from None
        fine = ("", UNSEALED) if name == PRINTED_SUMS else ("",)
        if changed := [path for path, problem in found.items() if problem not in fine]:
            raise UserError(
                f"not what {sums} says: {', '.join(changed)}. `git checkout FILE` brings a file "
                f"back. If the change is meant, type `rm {sums}`, then the same command again."
            )


def unsealed_reference(root: Path) -> set[Path]:
    """Return the files of the reference that differ from the sealed ones in any byte."""
    try:
        found = _sealed_problems(root, REFERENCE_SUMS)
    except (OSError, ValueError):  # without checksums, none of them
        return {root / path for path in _reference_files(root)}
    return {root / name for name, problem in found.items() if problem}


def check_seals(papers: Iterable[str], results: Path, root: Path) -> Check:
    """Compare all files with their checksums."""
    check = Check("files", "Are all files, byte for byte, those whose checksums were kept?")
    for sums, files in SEALED.items():
        if files(root) or (root / sums).exists():
            with check.of(str(sums), f"git checkout {sums}"):
                _check_sealed(root, sums, check)
    for paper in papers:
        sums = results / "compare" / paper / NAME
        command = f"snakemake --cores all {paper}"
        if not sums.is_file():
            check.skip(paper, "no tables here", command)
            continue
        with check.of(str(sums), command):
            found = _problems(sums, Path())
            for path in sorted(sums.parent.rglob("*.*")):
                if path.name != SNAKEMAKES_OWN:
                    found.setdefault(path.as_posix(), UNSEALED)
            for name, problem in found.items():
                check.judge(name, problem, f"rm {name}; {command}")
            check.compared.append(f"{len(found)} files with {sums}")
    return check


def _check_sealed(root: Path, sums: Path, check: Check) -> None:
    found = _sealed_problems(root, sums)
    for name, problem in found.items():
        if sums == REFERENCE_SUMS:
            check.judge(name, problem, f"git checkout {name}")
        elif problem == UNSEALED:
            check.skip(name, problem, "ldlrepro record")
        else:  # a change may have been committed
            sealed = f"git log -1 --format=%H -- {sums}"
            check.judge(name, problem, f"git diff $({sealed}) -- {name}")
    check.compared.append(f"{len(found)} files with {sums}")


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


def _printed_files(root: Path) -> set[Path]:
    return {path.relative_to(root) for path in root.glob("papers/*/cells.csv")}


SEALED = {REFERENCE_SUMS: _reference_files, PRINTED_SUMS: _printed_files}
"""Files of checksums in the checkout, and the patterns of the files that must be in them."""


def _sealed_problems(root: Path, sums: Path) -> dict[str, str]:
    """Return what is wrong with each sealed file, '' where nothing is."""
    found = _problems(root / sums, root)
    for path in sorted(SEALED[sums](root)):
        found.setdefault(path.as_posix(), UNSEALED)
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

"""Checksums of the printed numbers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ldlrepro import cli
from ldlrepro.audit.seals import PRINTED_SUMS, check_seals, seal

CELLS = "papers/structrf/cells.csv"


def git(*words: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@there")
    subprocess.run(["git", *who, *words], check=True, capture_output=True)


@pytest.fixture
def sealed(checkout):
    """A checkout under git, with sealed printed numbers."""
    seal(checkout.root)
    git("init")
    git("add", "papers")
    git("commit", "-m", "printed numbers")
    return checkout


def found(checkout):
    return check_seals([], Path("results"), checkout.root)


def change_a_digit(checkout) -> tuple[str, str]:
    line = (checkout.root / CELLS).read_text().splitlines()[5]
    changed = line.replace(".", ".1", 1)
    checkout.edit(CELLS, line, changed)
    return line, changed


@pytest.mark.parametrize("committed", [False, True])
def test_a_changed_digit_of_a_printed_number_is_found_and_shown(sealed, committed):
    assert not found(sealed).failed
    before, after = change_a_digit(sealed)
    if committed:
        git("commit", "-a", "-m", "a correction")
    (failed,) = found(sealed).failed
    assert failed.subject == CELLS
    shown = subprocess.run(failed.command, shell=True, capture_output=True, text=True).stdout
    assert f"-{before}\n+{after}\n" in shown


def test_printed_numbers_of_a_new_paper_are_not_sealed_before_they_are_recorded(sealed, capsys):
    sealed.write("papers/mine/cells.csv", "table,dataset,method,metric,mean\n")
    check = found(sealed)
    assert not check.failed
    assert [each.subject for each in check.skipped] == ["papers/mine/cells.csv"]
    capsys.readouterr()
    assert cli.main(["record"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "papers/SHA256SUMS: checksums of 11 files, 1 new: papers/mine/cells.csv" in told
    assert not found(sealed).skipped
    assert cli.main(["record"]) == 0
    assert "papers/SHA256SUMS: checksums of 11 files, all as before" in capsys.readouterr().err


def test_recording_does_not_seal_a_changed_digit(sealed, capsys):
    before = (sealed.root / PRINTED_SUMS).read_text()
    change_a_digit(sealed)
    assert cli.main(["record"]) == 2
    assert CELLS in capsys.readouterr().err
    assert (sealed.root / PRINTED_SUMS).read_text() == before


def test_our_printed_numbers_have_the_bytes_that_their_checksums_name():
    check = check_seals([], Path("results"), Path(__file__).resolve().parents[2])
    printed = [name for name in check.passed if name.endswith("/cells.csv")]
    assert len(printed) >= 10
    assert check.failed == check.skipped == [], "meant? rm papers/SHA256SUMS; ldlrepro record"

"""The sentences that open an answer."""

from __future__ import annotations

import re

from ldlrepro import cli


def test_a_schedule_begins_with_how_long_it_takes(capsys):
    assert cli.main(["schedule", "structrf", "--cores", "4"]) == 0
    opening, _, _ = capsys.readouterr().out.partition("\n\n")
    said = r"structrf takes about \d+ min on 4 cores. The longest of \d+ jobs takes \d+ (s|min). "
    said += r"\d+ units never timed are not in it; their time limits allow [\d.]+ (h|days)\."
    assert re.match(said, " ".join(opening.split()))


def test_a_claim_is_told_in_lines_that_fit_the_terminal(capsys, monkeypatch, fresh_clone):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(fresh_clone)
    assert cli.main(["claims", "mslp", "--full"]) == 0
    told = capsys.readouterr().out
    first = told.split("\n\n")[1]
    head = "fails on 5 of 5 data sets measured: 4 of 30 (28 of 30 in print) mslp-first"
    assert " ".join(first.split()).startswith(head)
    assert "Section 3.3, Tables 1 to 3" in " ".join(first.split())
    assert "by measure: chebyshev 1 of 5 (5 in print)," in " ".join(first.split())
    assert max(map(len, told.splitlines())) <= 60

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

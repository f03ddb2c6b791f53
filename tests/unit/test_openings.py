"""The sentences that open an answer."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ldlrepro import cli
from ldlrepro.cli import openings
from ldlrepro.judge.verdicts import VerdictRow


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["structrf"],
            r"takes about [\d.]+ (h|min) on 4 cores\. That leaves out \d+ units",
        ),
        (
            ["drf", "--printed"],
            r"was ever timed\. Their time limits allow \d+ days on 4 cores",
        ),
    ],
)
def test_a_status_begins_with_what_is_done_and_how_long_the_rest_takes(
    capsys, monkeypatch, tmp_path, asked, said
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["status", *asked, "--cores", "4"]) == 0
    opening, _, _ = capsys.readouterr().out.partition("\n\n")
    assert opening.startswith("0 of ")
    assert re.search(said, " ".join(opening.split()))


def test_a_narrow_count_says_what_simpler_answers_meet_and_on_which_side_ours_are():
    def row(metric: str, better: str, difference: float) -> VerdictRow:
        known = ("p", "1", "faces", "", "F", metric, "0.5", "", better, "near")
        return VerdictRow(*known, difference=difference)

    rows = [row("kl", "lower", 0.1), row("cosine", "higher", -0.1), row("kl", "lower", -0.1)]
    rows += [row("time_s", "lower", 0.1), row("delta_kl", "none", 0.1)]
    asked = {"the training mean": "worse", "an ordinary forest": "exact"}
    rows.append(replace(row("delta_kl", "none", 0.0), verdict="exact", yardsticks=asked))
    said = openings.of_verdicts({"F": rows}, narrow=True)
    assert "Of the met numbers, the training mean meets 0 and an ordinary forest meets 1." in said
    assert said.endswith("Ours is farther from a perfect answer than the print in 2 of 3 numbers.")

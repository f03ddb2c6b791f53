"""The sentences that open an answer."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from ldlrepro import cli
from ldlrepro.cli import openings
from ldlrepro.judge.claims import ClaimRow
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.conclusions import claims_counted


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["structrf"],
            r"and \d+ were never timed\. .* takes about [\d.]+ (h|min) on 4 cores\.",
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


def test_the_folds_of_a_paper_begin_with_those_of_each_method():
    def line(method: str, folds: str, verdict: str, **more: str) -> dict[str, str]:
        return {"method": method, "folds": folds, "verdict": verdict, **more}

    rows = [
        line("A", "five", "likely", **{"data set": "x"}),
        line("A", "ten", "told", **{"data set": "y"}),
        line("B", "ten", "none fits", **{"data set": "x"}),
    ]
    left_out = {"method": "C", "data set": "x", "verdict": "cannot be told: data not here"}
    together = [line("A", "ten", "told"), line("B", "", "none fits")]
    said = openings.of_folds("p", {"rows": rows, "together": together, "left out": [left_out]})
    assert said == (
        "By the printed digits of p, A ran on ten; no folds fit B; the folds of C cannot be told. "
        "Of its 4 rows, each by itself: 1 likely, 1 told, 1 none fits and 1 cannot be told."
    )


def test_a_narrow_count_says_its_share_and_what_simpler_answers_meet():
    known = ("p", "1", "faces", "", "F", "kl", "0.5", "", "lower")
    asked = {"the training mean": "worse", "an ordinary forest": "exact"}
    rows = [VerdictRow(*known, "exact", yardsticks=asked), VerdictRow(*known, "near")]
    said = openings.of_verdicts(rows, " of F", narrow=True)
    assert said.startswith("Of the judged numbers, 0% hold and 50% are met. Of 2 printed")
    assert said.endswith("the training mean meets 0 and an ordinary forest meets 1.")


def test_a_leader_that_the_training_mean_beats_is_told():
    def line(protocol: str, gain: str | None) -> dict[str, str | None]:
        known = {"protocol": protocol, "best to cite": "rf", "significantly better than": None}
        return known | {"gain over mean": gain}

    good = [line("a", "3%"), line("b", None)]
    assert "training mean" not in openings.of_leaders(good, "kl")
    said = openings.of_leaders([*good, line("c", "-6%")], "kl")
    assert "Under c, the training mean is better." in said


def test_a_mean_to_cite_that_the_training_mean_beats_is_told():
    unit = SimpleNamespace(
        method=SimpleNamespace(id="rf", by_print=False),
        data_set=SimpleNamespace(title="Toy"),
        protocol=SimpleNamespace(id="p"),
    )
    found = [SimpleNamespace(unit=unit, mean=0.5)]
    said = [openings.of_baselines(found, "kl", 4, False, worse) for worse in ([], [unit])]
    assert "on Toy under p. " in said[0]
    assert "on Toy under p, worse than the training mean. " in said[1]


def test_claims_that_fail_are_counted_beside_those_that_hold():
    def claim(verdict: str, stand_in: str = "") -> ClaimRow:
        return ClaimRow("p", "id", "text", verdict, "", "", "", stand_in=stand_in)

    own = [claim("fails"), claim("fails"), claim("holds")]
    line = claims_counted([*own, claim("fails", "drawn"), claim("holds", "drawn")])
    assert (line["holds"], line["fails"], line["holds partly"]) == (1, 2, None)
    assert line["on substitute data"] == "1 of 2 hold"

"""The sentences that open an answer."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ldlrepro import cli
from ldlrepro.cli import openings
from ldlrepro.judge.claims import FAILS, HOLDS, PARTLY, UNTESTED, ClaimRow
from ldlrepro.judge.scores import UnitScores
from ldlrepro.plan import Plan
from ldlrepro.report.leaderboard import Board, all_standings, collect
from ldlrepro.train.records import FoldRow
from ldlrepro.workflow.schedule import Job, longest_jobs_of, simulate
from tests.report_pages import PROJECT, page


def test_a_schedule_begins_with_how_long_it_takes(capsys):
    assert cli.main(["schedule", "structrf", "--cores", "4"]) == 0
    opening, _, _ = capsys.readouterr().out.partition("\n\n")
    said = r"structrf takes about \d+ min on 4 cores. The longest of \d+ jobs takes \d+ (s|min). "
    said += r"\d+ units never timed are not in it; their time limits allow [\d.]+ (h|days)\."
    assert re.match(said, " ".join(opening.split()))


def test_of_a_paper_that_was_timed_as_a_whole_nothing_comes_on_top():
    found = simulate([Job("a", 60.0), Job("b", 30.0)], 1, [])
    assert openings.of_schedule("p", found, found) == (
        "p takes about 2 min on 1 core. The longest of 2 jobs takes 60 s."
    )


def test_of_a_paper_that_was_never_timed_a_bound_is_told():
    plan = Plan(PROJECT)
    missing = [plan.unit("mslp", "sjaffe", "uniform")] * 3
    bound = simulate(longest_jobs_of(plan, missing), 1, [])
    assert bound.wall_seconds >= 3 * 60
    said = openings.of_schedule("p", simulate([], 1, missing), bound)
    assert re.fullmatch(
        r"p takes at most \d+ min on 1 core, by the time limits of the jobs: none of 3 units has "
        r"been timed\.",
        said,
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (89, "89 s"),
        (91, "2 min"),
        (5300, "88 min"),
        (5800, "1.6 h"),
        (3 * 86400, "3 days"),
    ],
)
def test_times_are_written_as_people_say_them(seconds, words):
    assert openings.duration(seconds) == words


def test_claims_begin_with_how_many_hold():
    verdicts = [HOLDS, FAILS, FAILS, PARTLY, UNTESTED, UNTESTED]
    rows = [ClaimRow("p", str(n), "t", v, "", "", "") for n, v in enumerate(verdicts)]
    assert openings.of_claims(rows) == (
        "Of 6 claims of p, 1 holds, 1 holds partly, 2 fail and 2 were not tested on our numbers."
    )


def board(datasets: int) -> Board:
    units = [
        UnitScores("cv", f"d{number}", method, [row], {"kl": [kl + number / 100]}, "local")
        for number in range(datasets)
        for method, kl in (("sa_bfgs", 0.1), ("aa_knn", 0.2), ("uniform", 0.3))
        for row in [FoldRow("cv", f"d{number}", method, 0, 0, "ok", fit_s=1.0, peak_mb=1.0)]
    ]
    return collect(PROJECT, [page([], units, "first")])


def test_a_leaderboard_begins_with_who_leads_and_where_your_own_stand():
    nine = board(9)
    (outcome,) = all_standings(nine)
    said = "cv: sa_bfgs leads the only other method by kl on 9 data sets, mean rank 1.00"
    assert openings.of_standings(outcome) == f"{said}, significantly better than 1."
    mine = replace(nine.contestants["aa_knn"], own=True)
    nine = replace(nine, contestants={**nine.contestants, "aa_knn": mine})
    (outcome,) = all_standings(nine)
    assert openings.of_standings(outcome).endswith("than 1. Yours: aa_knn is number 2 of 2.")


def test_the_leaders_of_all_protocols_begin_with_the_most_frequent_one():
    leaders = [{"best method": name} for name in ("rf", "structrf@sqrt", "structrf")]
    assert openings.of_leaders(leaders, "kl") == (
        "structrf has the best mean rank by kl in 2 of 3 protocols. Name a paper to see whole "
        "rankings."
    )
    assert openings.of_leaders([], "kl") == "Nothing to rank."


def test_where_too_few_data_sets_are_there_nothing_is_called_significant():
    (outcome,) = all_standings(board(2))
    assert openings.of_standings(outcome) == (
        "cv: sa_bfgs leads the only other method by kl on 2 data sets, mean rank 1.00. No test of "
        "significance: Wilcoxon with Holm's correction over one comparison needs at least 6 "
        "independent data sets; 2 are there."
    )


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

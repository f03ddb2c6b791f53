"""Claims: what is counted, on which side, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ldl import metrics
from ldlrepro.catalogue import Claim
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.cells import rows_on_judging_folds, verdict_rows
from ldlrepro.judge.claims import (
    FAILS,
    HOLDS,
    PARTLY,
    UNTESTED,
    claim_rows,
)
from ldlrepro.judge.comparisons import Evidence
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.verdicts import MISPRINT, VerdictRow
from tests.unit.judged import PLAN, PROJECT, outcome_of


def row(
    method: str,
    printed: float,
    measured: float | None,
    *,
    dataset: str = "a",
    metric: str = "kl",
    better: str = "lower",
    table: str = "1",
    stds: tuple[str, float | None] = ("", None),
) -> VerdictRow:
    values = ("p", table, dataset, "", method, metric, str(printed), stds[0], better, "reproduced")
    return VerdictRow(*values, measured=measured, measured_std=stds[1])


def judge(test: dict, rows=(), curves=None, experiments=None):
    evidence = Evidence(list(rows), curves or {}, experiments or {}, metrics.BETTER)
    return outcome_of({"id": "c", "text": "t", "test": test}, evidence)


def sets(*measured_of_rival: float) -> list[VerdictRow]:
    """Mine is printed .1 and measured .2; the rival is printed .3 and measured as given."""
    rows = []
    for number, value in enumerate(measured_of_rival):
        rows += [row("Mine", 0.1, 0.2, dataset=str(number))]
        rows += [row("Rival", 0.3, value, dataset=str(number))]
    return rows


BEST = {"kind": "best", "methods": ["Mine", "Rival"]}


def test_it_holds_partly_where_more_than_half_do_and_names_the_others():
    claim = judge(BEST, sets(0.3, 0.4, 0.1))
    assert (claim.verdict, claim.measured, claim.evidence) == (PARTLY, "2 of 3", "against it: 2 kl")


def test_it_says_what_comes_out_by_the_readings_that_judge_where_that_differs():
    claim = Claim.model_validate({"id": "c", "text": "t", "test": BEST})
    paper = SimpleNamespace(id="p", claims=[claim])
    evidence = Evidence(sets(0.3, 0.4, 0.1), {}, {}, metrics.BETTER)
    ((same,), (other,)) = (
        claim_rows(paper, evidence, sets(*rival)) for rival in ((0.3, 0.1, 0.5), (0.1, 0.1, 0.4))
    )
    assert same.evidence == "against it: 2 kl"
    assert (other.verdict, other.measured) == (PARTLY, "2 of 3")
    told = "By the readings that judge the numbers it fails, 1 of 3"
    assert other.evidence == f"against it: 2 kl. {told}"


def test_methods_are_compared_on_the_folds_that_judge_most_numbers_of_a_data_set():
    paper = PROJECT.paper("ssg_ldl")
    judge = Judge(PLAN, Workspace("no results", "no data"))
    sources = judge.sources(PLAN.units(paper))
    noise = judge._noise(sources.chosen(PLAN.units(paper)))
    rows = verdict_rows(PLAN, paper, sources, noise)
    same = rows_on_judging_folds(PLAN, paper, sources, noise, rows)
    folds = {}
    for one in same:
        if one.measured is not None:
            folds.setdefault(one.dataset, set()).add(one.protocol)
    assert set(map(len, folds.values())) == {1}
    moved = [(a, b) for a, b in zip(rows, same, strict=True) if a.protocol != b.protocol]
    assert moved
    assert all(b.measured is not None for _, b in moved)


def test_exceptions_in_print_are_allowed_here_too():
    rows = [
        *sets(0.3, 0.4),
        row("Mine", 0.5, 0.2, dataset="x"),
        row("Rival", 0.3, 0.1, dataset="x"),
    ]
    claim = judge(BEST, rows)
    assert (claim.verdict, claim.printed, claim.measured) == (HOLDS, "2 of 3", "2 of 3")


def test_only_pairs_that_were_measured_count_on_either_side():
    rows = [*sets(0.3), row("Mine", 0.5, None, dataset="x"), row("Rival", 0.3, 0.1, dataset="x")]
    assert judge(BEST, rows).printed == "1 of 1"


def test_a_misprint_is_compared_on_neither_side():
    rows = sets(0.3, 0.1)
    rows[3] = replace(rows[3], verdict=MISPRINT)
    claim = judge(BEST, rows)
    assert (claim.printed, claim.measured) == ("1 of 1", "1 of 1")


def test_rivals_count_jointly_or_each_by_itself():
    rows = [row("Mine", 0.1, 0.2), row("Rival", 0.3, 0.3), row("Other", 0.3, 0.1)]
    test = {**BEST, "methods": ["Mine", "Rival", "Other"]}
    assert judge(test, rows).measured == "0 of 1"
    each = judge({**test, "kind": "best_of_each"}, rows)
    assert (each.measured, each.evidence.count(" before ")) == ("1 of 2", 1)


def test_an_order_needs_every_step():
    test = {"kind": "order", "methods": ["A", "B", "C"]}
    right = [row("A", 1, 1), row("B", 2, 2), row("C", 3, 3)]
    wrong = [row("A", 1, 1), row("B", 2, 3), row("C", 3, 2)]
    assert judge(test, right).verdict == HOLDS
    assert judge(test, wrong).verdict == FAILS


def test_an_advantage_is_compared_between_data_sets():
    """Mine is 50 % below the rival on a, 10 % on b."""
    rows = [
        *(row("Mine", 0.5, 0.5), row("Rival", 1.0, 1.0)),
        *(row("Mine", 0.9, 0.9, dataset="b"), row("Rival", 1.0, 1.0, dataset="b")),
    ]
    test = {**BEST, "values": ["a"]}
    assert judge({**test, "kind": "larger_advantage"}, rows).verdict == HOLDS
    claim = judge({**test, "kind": "smaller_advantage"}, rows)
    assert (claim.verdict, claim.evidence) == (FAILS, "against it: a (50.0%) and b (10.0%)")


CURVE = {"4b": {(50, 20): 0.1, (100, 20): 0.09}}


def test_a_fact_of_an_experiment_has_limits_on_both_sides():
    facts = {"times": SimpleNamespace(facts={"ratio": 5.0})}
    check = {"experiment": "times", "fact": "ratio", "at_least": 2, "at_most": 4}
    claim = judge({"kind": "checks", "checks": [check]}, experiments=facts)
    assert (claim.verdict, claim.evidence) == (
        FAILS,
        "against it: ratio is 5, expected at least 2 and at most 4",
    )


def test_a_claim_waits_for_all_of_its_checks_and_says_what_is_there():
    there = {"figure": "4b", "from": [50, 20], "to": [100, 20], "at_most": 0}
    against = {"figure": "4b", "from": [50, 20], "to": [100, 20], "at_least": 0}
    missing = {"figure": "4b", "from": [50, 20], "to": [200, 20], "at_least": 0}
    claim = judge({"kind": "checks", "checks": [there, against, missing]}, curves=CURVE)
    assert (claim.verdict, claim.measured) == (UNTESTED, "")
    assert claim.evidence.startswith("so far 1 of 2 hold (against it: change in %")
    assert claim.evidence.endswith("not measured: change in % from 50, 20 to 200, 20 in Figure 4b")


def test_every_claim_of_the_papers_says_where_it_stands():
    claims = [claim for paper in PROJECT.papers for claim in paper.claims]
    assert [claim.id for claim in claims if not claim.where] == []


# ---------------------------------------------------------------------- support, records


@pytest.mark.parametrize(
    ("rival", "within", "held"),
    [
        (0.21, None, True),
        (0.2, None, True),
        (0.199, None, True),
        (0.197, None, False),
        (0.197, 2.0, True),
    ],
)
def test_comparable_is_better_or_a_little_worse(rival, within, held):
    test = {"kind": "comparable", "methods": ["Mine", "Rival"]}
    test |= {} if within is None else {"within": within}
    rows = [row("Mine", 0.200, 0.2), row("Rival", 0.1001, rival)]
    claim = judge(test, rows)
    assert claim.verdict == (HOLDS if held else FAILS)
    rows = [
        row(name, 0.2, 1 - value, metric="cosine", better="higher")
        for name, value in (("Mine", 0.0), ("Rival", 0.0))
    ]
    assert judge(test, rows).verdict == HOLDS


def test_wins_ties_and_losses_are_those_at_the_printed_digits():
    numbers = [(0.1, 0.3, 0.11, 0.31), (0.2, 0.2, 0.24, 0.2), (0.3, 0.1, 0.31, 0.11)]
    rows = []
    for place, (mine, rival, ours, theirs) in enumerate(numbers):
        rows += [row("Mine", mine, ours, dataset=str(place))]
        rows += [row("Rival", rival, theirs, dataset=str(place))]
    test = {"kind": "wins_ties_losses", "methods": ["Mine", "Rival"]}
    claim = judge(test, rows)
    assert (claim.printed, claim.measured) == ("1 win, 1 tie, 1 loss",) * 2
    assert (claim.verdict, claim.evidence) == (HOLDS, "")
    rows[2] = row("Mine", 0.2, 0.26, dataset="1")
    claim = judge(test, rows)
    assert claim.measured == "1 win, 0 ties, 2 losses"
    assert claim.verdict == PARTLY
    assert claim.evidence == "against it: 1 kl Rival (loss, in print a tie)"
    rows[0] = row("Mine", 0.1, 0.4, dataset="0")
    assert judge(test, rows).verdict == FAILS
    claim = judge({**test, "counts": [0, 1, 2]}, rows)
    assert (claim.printed, claim.verdict) == ("0 wins, 1 tie, 2 losses", PARTLY)

"""Claims about ranks over data sets and about pairs, on made-up rows and folds."""

from __future__ import annotations

import math

import pytest

from ldl import metrics
from ldlrepro.judge.claims import FAILS, HOLDS, PARTLY, UNTESTED
from ldlrepro.judge.comparisons import Evidence
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.train.records import OK, FoldRow
from tests.report_pages import cell
from tests.unit.judged import outcome_of


class Made:
    """Rows of a table and the units behind them."""

    def __init__(self) -> None:
        self.rows: list[VerdictRow] = []
        self.units: dict[str, UnitScores] = {}

    def unit(self, dataset: str, method: str, values: list[float], metric="kl", protocol="p"):
        rows = [
            FoldRow(protocol, dataset, method, repeat, 0, OK, n_train=80, n_test=20)
            for repeat in range(len(values))
        ]
        made = UnitScores(protocol, dataset, method, rows, {metric: values}, "local")
        self.units[made.key] = made

    def add(self, dataset, name, printed, values, *, by="method", metric="kl", **changes):
        """A printed number and its folds; nothing was measured where ``values`` is empty."""
        place = (
            {"method": name, "setting": ""} if by == "method" else {"method": "M", "setting": name}
        )
        method_id = name.lower()
        known = {
            "paper": "p",
            "dataset": dataset,
            "unit_dataset": dataset,
            **place,
            "printed": str(printed),
            "better": metrics.BETTER[metric],
            "measured": sum(values) / len(values) if values else None,
            "protocol": "p",
            "method_id": method_id,
        }
        self.rows.append(cell(metric=metric, **{**known, **changes}))
        if values:
            self.unit(dataset, method_id, values, metric, changes.get("protocol", "p"))

    def judge(self, **test):
        evidence = Evidence(self.rows, {}, {}, metrics.BETTER, self.units)
        return outcome_of({"id": "c", "text": "t", "test": test}, evidence)


SPLITS = "on the splits of p"
RANKS = {"kind": "ranks", "methods": ["Mine", "Rival"]}
PAIRS = {"kind": "pairs", "pairs": [["Mine", "Rival"]]}


def sets(count: int, by="method", metric="kl", mine=0.1, rival=0.2) -> Made:
    """Mine before Rival on every data set, in print and in the folds."""
    made = Made()
    for i in range(count):
        step = 0.01 * i
        made.add(f"d{i}", "Mine", mine, [mine, mine + 0.001], by=by, metric=metric)
        made.add(f"d{i}", "Rival", rival + step, [rival + step] * 2, by=by, metric=metric)
    return made


# ---------------------------------------------------------------------- ranks


def test_a_worse_rank_fails_and_is_shown():
    claim = sets(3, mine=0.3).judge(**{**RANKS, "methods": ["Rival", "Mine"]})
    assert claim.verdict == HOLDS
    claim = sets(3, mine=0.3).judge(**RANKS)
    assert (claim.verdict, claim.evidence) == (
        FAILS,
        f"{SPLITS}. against it: kl Rival (ranks 2 and 1)",
    )


def test_significance_needs_enough_data_sets_and_says_how_many():
    claim = sets(5).judge(**RANKS, significant="all")
    assert claim.verdict == UNTESTED
    told = "over one comparison needs at least 6 independent data sets; 5 are there"
    assert claim.evidence.endswith(told)
    assert sets(6).judge(**RANKS, significant="all").verdict == HOLDS


def test_a_better_rank_alone_is_not_significant():
    made = sets(6)
    made.add("d6", "Mine", 0.9, [0.9, 0.9])
    made.add("d6", "Rival", 0.1, [0.1, 0.1])
    assert made.judge(**RANKS).verdict == HOLDS
    claim = made.judge(**RANKS, significant="all")
    assert (claim.verdict, claim.printed, claim.datasets) == (FAILS, "0 of 1", 7)
    assert claim.evidence.startswith(f"{SPLITS}. against it: kl Rival (p 0.")


# ---------------------------------------------------------------------- pairs


def test_pairs_count_data_sets_on_both_sides_and_name_the_others():
    made = sets(2)
    made.add("x", "Mine", 0.1, [0.5])
    made.add("x", "Rival", 0.2, [0.2])
    claim = made.judge(**PAIRS)
    assert (claim.verdict, claim.printed, claim.measured) == (PARTLY, "3 of 3", "2 of 3")
    assert (claim.evidence, claim.datasets) == ("against it: x kl", 3)


FOLDS = [0.10, 0.12, 0.11, 0.13, 0.10]


@pytest.mark.parametrize(
    ("gap", "verdict", "evidence"),
    [
        (0.05, HOLDS, ""),
        (-0.05, FAILS, ". against it: d kl (behind, p "),
        (0.001, FAILS, ". against it: d kl (p 0."),
    ],
)
def test_over_folds_only_a_clear_difference_counts(gap, verdict, evidence):
    made = Made()
    made.add("d", "Mine", 0.1, FOLDS)
    made.add("d", "Rival", 0.2, [v + gap + 0.004 * (-1) ** i for i, v in enumerate(FOLDS)])
    claim = made.judge(**PAIRS, significant="all")
    assert (claim.verdict, claim.printed, claim.datasets) == (verdict, "", 1)
    assert claim.evidence.startswith(SPLITS + evidence)


def test_folds_that_failed_are_left_out_and_one_is_not_enough():
    made = Made()
    made.add("d", "Mine", 0.1, FOLDS)
    made.add("d", "Rival", 0.2, [v + 0.05 for v in FOLDS])
    scores = made.units["p/d/rival"].scores["kl"]
    scores[1:4] = [math.nan] * 3
    assert made.judge(**PAIRS, significant="all").measured == "1 of 1"
    scores[4] = math.nan
    assert made.judge(**PAIRS, significant="all").verdict == UNTESTED


def test_other_splits_cannot_be_paired():
    made = Made()
    made.add("d", "Mine", 0.1, FOLDS)
    made.add("d", "Rival", 0.2, FOLDS, protocol="q")
    claim = made.judge(**PAIRS, significant="all")
    assert (claim.verdict, claim.evidence) == (UNTESTED, "nothing that it speaks of was measured")

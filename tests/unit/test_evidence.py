"""Who chose a setting: the text, the digits of other data sets, or the number that it judges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldlrepro.judge import evidence
from ldlrepro.judge.bands import Band, SeedNoise
from ldlrepro.judge.evidence import Readings, looks
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.judge.tallies import tally
from ldlrepro.train.records import OK, FoldRow
from tests.unit import judged

PLACES = ("toy", "second", "third")
CONSTANT = ("train_mean", "uniform")
CANDIDATES = """
candidates:
  - methods: [Near]
    open: the number of neighbours
    readings: [near, near@n_neighbors=2, near@n_neighbors=8]
"""


def unit(data_set: str, method: str, mean: float) -> UnitScores:
    values = [mean - 0.03, mean - 0.01, mean + 0.01, mean + 0.03]
    rows = [FoldRow("tiny", data_set, method, 0, fold, OK) for fold in range(4)]
    return UnitScores("tiny", data_set, method, rows, {"kl": values}, LOCAL)


@pytest.fixture
def three(tiny):
    """A paper on three data sets. By ``three(a, b, c)`` its readings get these means on each."""
    for name in PLACES[1:]:
        text = (tiny.root / "config/datasets/toy.yaml").read_text(encoding="utf-8")
        tiny.write(f"config/datasets/{name}.yaml", text)
    tiny.edit("papers/tiny/paper.yaml", "[toy]", f"[{', '.join(PLACES)}]")
    paper = (tiny.root / "papers/tiny/paper.yaml").read_text(encoding="utf-8")
    tiny.write("papers/tiny/paper.yaml", paper + CANDIDATES)
    lines = [f"tiny,1,{place},,Near,kl,0.5000,0.0258,lower,," for place in PLACES]
    head = "paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note"
    tiny.write("papers/tiny/cells.csv", "\n".join([head, *lines]) + "\n")
    names = ("near", "near@n_neighbors=2", "near@n_neighbors=8")

    def verdicts(*means: dict[str, float]):
        units = [
            unit(place, name, by_place[place])
            for name, by_place in zip(names, means, strict=True)
            for place in PLACES
        ]
        units += [unit(place, name, 0.9) for place in PLACES for name in CONSTANT]
        return judged.verdicts("tiny", {one.key: one for one in units}, plan=tiny.plan)

    return verdicts


def test_what_the_text_leaves_open_is_never_blind_even_where_its_first_reading_judges(three):
    rows = three(dict.fromkeys(PLACES, 0.5), dict.fromkeys(PLACES, 0.5), dict.fromkeys(PLACES, 0.9))
    assert [row.evidence for row in rows] == ["predicted"] * 3
    assert {row.method_id for row in rows} == {"near"}
    assert all(row.holds for row in rows)
    assert all(row.holds_by_text for row in rows)


def test_a_number_that_the_first_reading_meets_is_judged_by_the_reading_of_the_others(three):
    """Nobody may try twice: here the others choose a reading that misses."""
    first = {"toy": 0.5, "second": 0.7, "third": 0.7}
    other = {"toy": 0.8, "second": 0.5, "third": 0.5}
    rows = three(first, other, dict.fromkeys(PLACES, 0.9))
    assert (rows[0].verdict, rows[0].method_id) == ("worse", "near@n_neighbors=2")
    assert (rows[0].holds, rows[0].holds_by_text) == (False, True)


def test_without_a_vote_of_another_data_set_the_text_judges_blind(three, tiny):
    three(*[dict.fromkeys(PLACES, 0.5)] * 3)  # writes the printed numbers
    known = [unit(place, "near", 0.5) for place in PLACES]  # no other reading was measured
    known += [unit(place, name, 0.9) for place in PLACES for name in CONSTANT]
    rows = judged.verdicts("tiny", {one.key: one for one in known}, plan=tiny.plan)
    assert [(row.evidence, row.choice, row.holds) for row in rows] == [("blind", "", True)] * 3


def test_where_the_text_misses_the_other_data_sets_choose(three):
    rows = three(dict.fromkeys(PLACES, 0.8), dict.fromkeys(PLACES, 0.5), dict.fromkeys(PLACES, 0.9))
    assert [(row.evidence, row.method_id) for row in rows] == [
        ("predicted", "near@n_neighbors=2")
    ] * 3
    assert [(row.stated.verdict, row.stated.measured) for row in rows] == [
        ("worse", pytest.approx(0.8))
    ] * 3
    assert rows[0].choice.startswith("Judged by tiny/near@n_neighbors=2. Of the 3 readings")
    assert "Next is tiny/near; by it" in rows[0].choice
    assert "by it this number would be judged worse." in rows[0].choice
    assert "not certain" not in rows[0].choice
    assert not any(row.holds_by_text for row in rows)


def test_a_choice_between_readings_that_fit_alike_is_not_certain(three):
    """On one data set the second fits a little better, and on the other the third."""
    means = ({"second": 0.5, "third": 0.51}, {"second": 0.51, "third": 0.5})
    rows = three(dict.fromkeys(PLACES, 0.8), *({"toy": 0.5} | mean for mean in means))
    assert rows[0].choice.endswith("the two differ by less than two standard errors.")
    assert not rows[0].hinges  # the other would meet it too
    stated, better, other = dict.fromkeys(PLACES, 0.8), {"toy": 0.5}, {"toy": 0.9}
    assert three(stated, better | means[0], other | means[1])[0].hinges


def test_a_reading_that_only_its_own_numbers_choose_judges_nothing(three, monkeypatch):
    """One data set fits what the others do not: with its own digits it would be chosen."""
    means = (
        dict.fromkeys(PLACES, 0.8),
        {"toy": 0.5, "second": 0.7, "third": 0.7},
        {"toy": 0.95, "second": 0.6, "third": 0.6},
    )
    rows = three(*means)
    assert rows[0].method_id == "near@n_neighbors=8"
    assert (rows[0].verdict, rows[0].evidence) == ("worse", "")
    assert tally(rows).holds == 0

    honest = Readings.choose

    def sees_all(self, cell):
        """The rule, told the numbers that it is to judge."""
        surprises = self._surprises[evidence._group(cell)]
        best = evidence.ranked(surprises, list(surprises))[0]
        return replace(honest(self, cell), unit=evidence.readings_of(cell)[best])

    monkeypatch.setattr(Readings, "choose", sees_all)
    assert tally(three(*means)).holds == 1


def test_a_paper_that_was_not_run_as_stated_is_judged_by_a_reading_and_fitted(three, tiny):
    three(*[dict.fromkeys(PLACES, 0.5)] * 3)  # writes the printed numbers
    known = [unit(place, "near@n_neighbors=8", 0.5) for place in PLACES]
    rows = judged.verdicts("tiny", {one.key: one for one in known}, plan=tiny.plan)
    assert [(row.method_id, row.evidence, row.holds) for row in rows] == [
        ("near@n_neighbors=8", "fitted", False)
    ] * 3
    assert rows[0].rests_on.startswith("a reading, for the paper as stated was not measured")


def test_a_setting_is_fitted_where_a_look_suggested_it_whoever_chose_the_reading(three, tiny):
    seen = "origins: {print: {n_neighbors: %s}}\nclass:"
    tiny.edit("config/methods/near.yaml", "class:", seen % "{at: [toy, second], what: 4 fit}")
    off, right, far = (dict.fromkeys(PLACES, mean) for mean in (0.504, 0.5, 0.9))
    rows = three(right, off, far)  # the other sets choose what is stated
    assert [row.evidence for row in rows] == ["fitted", "fitted", "predicted"]
    assert rows[0].rests_on == "n_neighbors (4 fit)"
    assert [row.holds_by_text for row in rows] == [False] * 3
    rows = three(off, right, far)  # they choose another reading, which nobody had looked at
    assert [(row.method_id, row.evidence) for row in rows] == [
        ("near@n_neighbors=2", "predicted")
    ] * 3
    tiny.edit("config/methods/near.yaml", "{at: [toy, second], what: 4 fit}", "4 fit")
    assert [row.evidence for row in three(right, off, far)] == ["fitted"] * 3  # none named: all


def test_folds_that_the_print_chose_are_told_unless_readings_vary_them(tiny):
    folds = (
        "  told: {scheme: kfold, folds: 4, shuffle: false, by_print: its digits, text: others}\n"
    )
    tiny.edit("papers/tiny/paper.yaml", "datasets: [toy]", f"{folds}datasets: [toy]")
    tiny.write("papers/tiny/cells.csv", "table,dataset,method,metric,mean\n1,toy,Near,kl,0.5\n")
    paper = tiny.plan.project.paper("tiny")
    (cell,) = tiny.plan.cells(paper)
    told = replace(cell, unit=tiny.plan.unit("told", "toy", "near"))
    assert looks(paper, told, {}) == {"folds (its digits)": True}
    assert looks(paper, replace(told, others=(cell.unit, told.unit)), {}) == {}


# ---------------------------------------------------------------------- what another seed changes


def bands(std: float, fold_std: float, method: str = "near") -> dict:
    means = tuple(0.5 + std * one for one in (-1.0, 0.0, 1.0, 0.0, -1.0, 1.0))
    return {("tiny", "toy"): [Band(method, "kl", means, fold_std)]}


def test_noise_is_measured_where_seeds_were_repeated_else_a_share_of_the_folds(tiny):
    near, mean = (tiny.plan.unit("tiny", "toy", name) for name in ("near", "train_mean"))
    noise = SeedNoise(bands(0.01, 0.1), bands(0.02, 0.1, "another"))
    spread = float(np.std([-1, 0, 1, 0, -1, 1], ddof=1))
    assert noise.std(near, "kl", 0.3) == pytest.approx(0.01 * spread)
    assert noise.std(mean, "kl", 0.3) == pytest.approx(0.3 * 0.2 * spread)
    assert noise.std(mean, "kl", None) == 0.0

"""`ldlrepro explain`: where parameters come from, and what moves a number."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ldl import metrics
from ldlrepro.catalogue import Method
from ldlrepro.judge import explain
from ldlrepro.judge.scores import REFERENCE, UnitScores
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.train.records import FoldRow
from tests.report_pages import answer, paper

METHODS = {
    "forest": {
        "parameters": {"trees": 20, "step": 1},
        "choices": {"step": {"evidence": "none"}},
        "grid": {"depth": [2, 5]},
        "origins": {"x": ["trees", "depth"], "code": ["trees"], "other": ["gain"]},
    },
    "tree": {},
    "forest@wide": {},
    "forest@far": {},
    "forest_released": {"diagnoses": "forest", "roles": ["sees_test_labels"]},
}


def method(name: str) -> Method:
    made = Method.model_validate({"title": name, "class": "ldl.AAKNN", **METHODS[name]})
    return made.placed(name, Path("method.yaml"), SimpleNamespace())


TABLES = {"1": SimpleNamespace(experiment="")}
PROJECT = SimpleNamespace(method=method, paper=lambda _: SimpleNamespace(tables=TABLES))


def unit(method: str, kl: float, depths: tuple[int, ...] = (2, 5, 5)) -> UnitScores:
    rows = [
        FoldRow(
            "p",
            "faces",
            method,
            0,
            fold,
            "ok",
            params={"trees": 20, "step": 1, "depth": depth, "gain": "x", "random_state": fold},
        )
        for fold, depth in enumerate(depths)
    ]
    scores = {measure: [kl] * len(rows) for measure in metrics.BETTER}
    return UnitScores("p", "faces", method, rows, scores, REFERENCE)


def test_every_parameter_says_where_it_comes_from() -> None:
    told = explain.parameters_of(paper("x"), unit("forest", 0.1), method("forest"))
    assert {p["parameter"]: p["from"] for p in told} == {
        "depth": explain.CANDIDATES + "the paper, x",
        "gain": "another paper, other",
        "step": explain.OPEN,
        "trees": "the paper, x",
    }


def test_other_settings_on_the_same_folds_are_told_the_nearest_to_the_print_first() -> None:
    units = [unit("forest", 0.30), unit("forest@far", 0.90), unit("forest@wide", 0.11)]
    units += [unit("tree", 0.10), dataclasses.replace(unit("forest@else", 0.1), dataset="other")]
    units += [unit("forest_released", 0.105)]
    row = VerdictRow("x", "1", "faces", "", "F", "kl", "0.10", "", "lower", "worse")
    row = dataclasses.replace(row, protocol="p", unit_dataset="faces", method_id="forest")
    told = explain.what_moves(row, answer("x", units=units), PROJECT)
    assert [(t["setting"], t["difference"]) for t in told] == [
        ("forest_released" + explain.LEAK, "+5.0%"),
        ("forest@wide", "+10.0%"),
        ("forest@far", "+800%"),
    ]


def told(facts: dict[str, Any]) -> list[str]:
    return [line for lines in explain.blocks("x", facts).values() for line in lines]


@pytest.mark.parametrize(
    ("verdict", "metric", "printed", "measured", "said"),
    [
        ("exact", "kl", "0.0055", 0.00548, "within 0.00015 of the print meets it: it rounds"),
        ("exact", "kl", "0.0734", 0.07344, "within 0.00073 of the print meets it: 1% of it"),
        ("reproduced", "cosine", "0.9934", 0.99148, "1 - cosine, the distance from a perfect"),
        ("reproduced", "cosine", "0.9934", 0.99148, "answer, is 29% larger than in print."),
    ],
)
def test_a_number_says_its_room_and_how_far_a_perfect_answer_is(
    verdict, metric, printed, measured, said
) -> None:
    row = VerdictRow("x", "1", "faces", "", "F", metric, printed, "", "lower", verdict)
    facts = explain.facts_of(dataclasses.replace(row, measured=measured), answer("x"), PROJECT)
    assert said in " ".join(told(facts))


def test_a_missed_number_says_why_before_what_the_verdict_is_worth() -> None:
    yardsticks = {"the training mean": "worse", "a forest": "near", "a line": "worse"}
    facts = {"verdict": "worse", "printed": "0.07", "measured": 0.08, "metric": "kl", "noise": 0.0}
    facts |= {"holds": "It does not.", "reason": "Seconds.", "shown by": "note.md"}
    facts |= {"evidence": "blind", "yardsticks": yardsticks}
    _, holds, why, evidence, compared, *_ = told(facts)
    assert [*explain.blocks("x", facts)] == ["", "Why", "How near"]
    assert (holds, why) == ("It does not.", "Seconds. Shown by: note.md")
    assert evidence.startswith("Evidence: blind")
    others = "the training mean and a line are judged worse and a forest is judged near"
    assert compared == f"For comparison, {others} here."


def test_a_mean_over_seeds_stands_with_the_deviation_over_folds_as_in_its_cell() -> None:
    facts = {"verdict": "not run", "printed": "0.07", "measured": 0.0399, "measured_std": 0.012}
    facts |= {"n_folds": 10, "source": "reference", "seeds": 20, "seeds_met": 0.0, "noise": 0.001}
    numbers, seeds = told(facts)
    assert numbers.endswith(
        "measured 0.040 ± 0.012 (20 seeds that scatter by 0.001, 10 folds, reference)."
    )
    assert seeds == "0% of the 20 seeds meet the number."

"""Printed seconds that records answer: judged in relation to a setting of the same method."""

from __future__ import annotations

from random import random

import pytest

from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.train.records import FAILED, OK, FoldRow
from tests.unit.judged import verdicts

PRINTED = """paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note
tiny,1,toy,plain,Near,time_s,8.0,,lower,,
tiny,1,toy,searched,Near,time_s,30.0,,lower,,
tiny,2,toy,again,Near,time_s,9.0,,lower,,
"""
TABLES = """tables:
  "1":
    title: one
    compared_to: plain
    settings: {plain: {}, searched: {variant: grid}}
  "2": {title: two, compared_to: plain, settings: {again: {variant: grid}}}
"""


def record(
    method: str,
    seconds: list[float],
    source: str = LOCAL,
    cpu: str = "this one",
    code: str = "this code",
) -> dict:
    """Wall seconds are random: only those of the processor count."""
    cost = {"predict_cpu_s": 0.1, "machine": {"cpu": cpu}, "code_sha256": code}
    rows = [
        FoldRow(
            "tiny",
            "toy",
            method,
            0,
            i,
            OK,
            fit_s=random(),
            fit_cpu_s=value - 0.1,
            threads=i,
            **cost,
        )
        for i, value in enumerate(seconds)
    ]
    rows += [FoldRow("tiny", "toy", method, 0, i, FAILED) for i in range(len(rows), 4)]
    return {f"tiny/toy/{method}": UnitScores("tiny", "toy", method, rows, {}, source)}


@pytest.fixture
def timed(tiny):
    text = (tiny.root / "papers/tiny/paper.yaml").read_text()
    tiny.write("papers/tiny/paper.yaml", text.replace('tables: {"1": {title: one}}\n', TABLES))
    tiny.write("papers/tiny/cells.csv", PRINTED)
    return tiny


def test_seconds_are_scaled_so_that_the_yardstick_takes_as_long_as_printed(timed):
    """Plain takes 2 s here and 8 s in print, so the 7 s of the other count as 28 s."""
    local = record("near", [1.0, 2.0, 3.0]) | record("near@grid", [6.5, 7.0, 7.5])
    plain, searched, again = verdicts("tiny", local, plan=timed.plan)
    assert (plain.verdict, plain.measured) == ("not run", pytest.approx(8.0))
    assert plain.difference is None
    assert plain.reason.startswith("the yardstick of this table")
    assert searched.measured == pytest.approx(28.0)
    assert searched.measured_std == pytest.approx(2.0)
    assert (searched.verdict, searched.n_folds, searched.source) == ("near", 3, LOCAL)
    assert searched.note == "our CPU seconds, scaled so that plain takes as long as printed"
    assert (again.measured, again.verdict) == (pytest.approx(28.0), "worse")


def test_seconds_of_another_processor_or_code_or_unknown_ones_are_not_judged(timed):
    plain = record("near", [2.0] * 4)
    unknown = record("near@grid", [7.0] * 4)
    first = unknown["tiny/toy/near@grid"].rows[0]
    first.fit_cpu_s = first.predict_cpu_s = 0.0
    elsewhere, changed = (
        record("near@grid", [7.0] * 4, **other) for other in ({"cpu": "another"}, {"code": "newer"})
    )
    for other in (elsewhere, changed, unknown):
        _, searched, _ = verdicts("tiny", plain | other, plan=timed.plan)
        assert (searched.verdict, searched.measured) == ("not run", None)

"""Tables of the report: numbers as people write them, lines in their places, files beside them."""

import pytest

from ldlrepro.judge.tallies import tally
from ldlrepro.report.conclusions import of_seconds
from ldlrepro.report.tables import page_tables
from tests.report_pages import cell, page


def test_the_tally_judges_measured_numbers_only():
    rows = [cell(difference=-0.3), cell("worse", difference=0.1), cell("quoted")]
    counts = tally(rows)
    assert (counts.total, counts.judged, counts.median_difference) == (3, 2, pytest.approx(0.2))
    assert [counts.within(share) for share in (0.09, 0.1, 0.3)] == [0, 1, 2]


def test_the_tally_counts_what_holds_and_by_which_evidence():
    missed, met = {"the training mean": "worse"}, {"the training mean": "exact"}
    rows = [
        cell("exact", evidence="blind", yardsticks=missed),
        cell("exact", evidence="predicted", yardsticks=met),
        cell("reproduced", evidence="fitted", yardsticks=missed),
        cell("reproduced", evidence="blind", yardsticks={"the training mean": ""}),
        cell("near", yardsticks=missed),
        cell("better", yardsticks=missed),
    ]
    counts = tally(rows)
    assert (counts.met, counts.missed, counts.judged) == (4, 1, 6)
    assert counts.evidence == {"blind": 2, "predicted": 1, "fitted": 1}
    assert (counts.holds, counts.untold) == (1, 1)


def test_seconds_are_judged_and_never_hold():
    counts = tally([cell(), cell("worse", "train_time_s"), cell("not run", "test_time_s")])
    assert of_seconds(counts).startswith("1 of the 2 judged numbers are seconds, which never hold")
    assert of_seconds(tally([cell()])) == ""


def test_a_page_opens_the_table_where_most_holds_then_where_most_is_met():
    many = [cell("worse", table="1", method=name) for name in "abc"]
    met = [cell("exact", table="2", method=name) for name in "ab"]
    grids = page_tables(page([*many, *met])).grids
    assert [(grid.id, grid.open) for grid in grids] == [("1", False), ("2", True)]
    holds = cell("exact", table="3", evidence="blind", yardsticks={"the training mean": "worse"})
    grids = page_tables(page([*many, *met, holds])).grids
    assert [grid.open for grid in grids] == [False, False, True]

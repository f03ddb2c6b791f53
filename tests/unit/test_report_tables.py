"""Tables of the report: numbers as people write them, lines in their places, files beside them."""

import csv
import math

import pytest

from ldlrepro.judge.tallies import tally
from ldlrepro.report.export import write_tables
from ldlrepro.report.tables import fixed, page_tables, percent
from tests.report_pages import cell, page, unit


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (0.08421, 4, "0.0842"),
        (3.2149, 0, "3.21"),
        (0.000012345, 4, "0.0000123"),
        (-0.5, 2, "−0.500"),
        (1234.5, 0, "1234"),
        (None, 2, ""),
        (-1e-17, 4, "0.0000"),
        (math.nan, 2, ""),
    ],
)
def test_numbers_keep_the_printed_decimals_or_three_digits(value, decimals, shown):
    assert fixed(value, decimals) == shown


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0323, "+3.2 %"), (-0.5, "−50.0 %"), (12.3, "+1230 %"), (None, "")]
)
def test_relative_deviations_are_signed_percentages(share, shown):
    assert percent(share) == shown


def test_controls_and_own_methods_stand_below_the_printed_lines():
    units = [unit("true_labels"), unit("uniform"), unit("mine"), unit("rf")]
    (block,) = page_tables(page(units=units)).grids[0].blocks
    assert [line.unit.method for line in block.measured] == [
        "mine",
        "uniform",
        "true_labels",
    ]
    assert block.measured[0].cells == [("0.110", "0.014")]


def test_a_variant_stands_in_the_tables_that_print_its_method():
    rows = [cell(), cell(table="2", method="NN", method_id="nn")]
    units = [unit("rf@deep"), unit("nn@slow"), unit("mine@fast"), unit("uniform")]
    shown = [
        {line.unit.method for line in grid.blocks[0].measured}
        for grid in page_tables(
            page(rows, units, tables={"1": {"title": "one"}, "2": {"title": "two"}})
        ).grids
    ]
    assert shown == [{"rf@deep", "mine@fast", "uniform"}, {"nn@slow", "mine@fast", "uniform"}]


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


def test_marks_say_what_a_verdict_is_worth():
    yardsticks = {"the training mean": "exact", "an ordinary forest": "near"}
    told = cell("exact", evidence="fitted", rests_on="k (fits)", yardsticks=yardsticks)
    assert told.marks == ["the training mean too", "fitted"]
    assert told.notes == ["rests on what the print chose: k (fits)"]
    assert cell("better", yardsticks=yardsticks).marks == []
    (block,) = page_tables(page([told])).grids[0].blocks
    assert block.printed[0].cells[0][0].notes == [1]


def test_csv_files_hold_every_digit(tmp_path):
    write_tables(page(), tmp_path)
    for name in ("cells.csv", "tables/table_1.csv"):
        with open(tmp_path / name, encoding="utf-8", newline="") as handle:
            (line,) = csv.DictReader(handle)
        assert line["printed"] == "0.110"
        assert float(line["measured"]) == 0.11123456789
        assert (line["relative_difference"], line["verdict"]) == ("0.0112", "reproduced")


def test_markdown_shows_printed_measured_deviation_and_verdict(tmp_path):
    row = cell("worse", method="A|B*", note="a remark", n_folds=1)
    write_tables(page([row]), tmp_path)
    text = (tmp_path / "tables/table_1.md").read_text(encoding="utf-8")
    assert (
        "| A\\|B\\* | KL ↓ | 0.110 ± 0.010 | 0.111 ± 0.014 (1 of 2 folds) | +1.1 % | ▼ worse [1] |"
        in text
    )
    assert "[1] a remark" in text


# ---------------------------------------------------------------------- marks and names


def test_the_best_of_a_column_is_marked_by_the_direction_of_its_measure():
    rows = [
        cell(method="RF", printed="0.11", measured=0.2),
        cell(method="kNN", printed="0.10", measured=0.3),
        cell("misprint", method="SVM", printed="0.01", reason="impossible"),
        cell(metric="cosine", better="higher", method="RF", printed="0.8", measured=0.7),
        cell(metric="cosine", better="higher", method="kNN", printed="0.9", measured=0.6),
    ]
    (block,) = page_tables(page(rows)).grids[0].blocks
    marks = {
        (line.method, cell.row.metric): (cell.best_measured, cell.best_printed)
        for line in block.printed
        for cells in line.cells
        for cell in cells
    }
    assert marks == {
        ("RF", "kl"): (True, False),
        ("kNN", "kl"): (False, True),
        ("SVM", "kl"): (False, False),
        ("RF", "cosine"): (True, False),
        ("kNN", "cosine"): (False, True),
    }

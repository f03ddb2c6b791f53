"""Tables of the report: numbers as people write them, lines in their places, files beside them."""

import csv
import math

import pytest

from ldlrepro.judge.tallies import tally
from ldlrepro.report.export import write_tables
from ldlrepro.report.tables import fixed
from tests.report_pages import cell, page


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


def test_csv_files_hold_every_digit(tmp_path):
    write_tables(page(), tmp_path)
    for name in ("cells.csv", "tables/table_1.csv"):
        with open(tmp_path / name, encoding="utf-8", newline="") as handle:
            (line,) = csv.DictReader(handle)
        assert line["printed"] == "0.110"
        assert float(line["measured"]) == 0.11123456789
        assert (line["relative_difference"], line["verdict"]) == ("0.0112", "reproduced")


# ---------------------------------------------------------------------- marks and names

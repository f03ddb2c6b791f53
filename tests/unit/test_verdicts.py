"""Verdicts: what a measured number says about a printed one, case by case."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldlrepro.judge.verdicts import (
    VERDICTS,
    VerdictRow,
    band,
    deviation,
    half_unit,
    judge,
)
from ldlrepro.report.content import VERDICT_SIGNS


@pytest.mark.parametrize(
    ("printed", "half"),
    [
        ("0.0544", 0.00005),
        ("0.130", 0.0005),
        ("14.3971", 0.00005),
        ("-0.12", 0.005),
        ("6.30", 0.005),
        ("51.0", 0.05),
        ("244", 0.5),
        ("0", 0.5),
        ("0.0", 0.05),
    ],
)
def test_half_a_unit_of_the_last_printed_digit(printed, half):
    assert half_unit(printed) == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize(
    ("printed", "printed_std", "measured_std", "width"),
    [
        ("0.054", "0.003", 0.001, 0.003),  # the printed deviation is the largest
        ("0.054", "0.001", 0.003, 0.003),  # ours is
        ("0.054", "0.0001", 0.0002, 0.0005),  # rounding is
        ("0.054", "", 0.002, 0.002),  # the paper prints none
        ("0.054", "0.002", None, 0.002),  # one fold has none
        ("0.054", "", None, 0.0005),
        ("0.054", "0.000", 0.0, 0.0005),
    ],
)
def test_the_band_is_the_largest_of_both_deviations_and_the_rounding(
    printed, printed_std, measured_std, width
):
    assert band(printed, printed_std, measured_std) == pytest.approx(width, rel=1e-12)


@pytest.mark.parametrize(
    ("measured", "printed", "width", "better", "verdict"),
    [
        (0.060, "0.06", 0.01, "lower", "reproduced"),
        (0.069, "0.06", 0.01, "lower", "reproduced"),
        (0.071, "0.06", 0.01, "lower", "worse"),
        (0.049, "0.06", 0.01, "lower", "better"),
        (0.900, "0.85", 0.01, "higher", "better"),
        (0.800, "0.85", 0.01, "higher", "worse"),
        (0.845, "0.85", 0.01, "higher", "reproduced"),
        (-0.02, "-0.05", 0.01, "lower", "worse"),
        (-0.02, "-0.05", 0.01, "higher", "better"),
        (0.1, "0.3", 0.01, "none", "worse"),
        (0.5, "0.3", 0.01, "none", "worse"),
        (0.3, "0.3", 0.01, "none", "reproduced"),
        (0.0004, "0.000", 0.0005, "lower", "reproduced"),
        (math.inf, "0.3", 0.01, "lower", "worse"),
    ],
)
def test_a_number_outside_the_band_is_judged_by_the_measures_direction(
    measured, printed, width, better, verdict
):
    assert judge(measured, printed, width, better) == verdict


@pytest.mark.parametrize(
    ("measured", "printed", "width"),
    [
        (0.05445, "0.0544", 0.00005),
        (0.05435, "0.0544", 0.00005),
        (0.3, "0.1", 0.2),  # 0.3 - 0.1 is a bit more than 0.2 in binary
        (1.1, "1.0", 0.1),
        (14.39715, "14.3971", 0.00005),
        (244.5, "244", 0.5),
    ],
)
def test_the_edge_of_the_band_belongs_to_it(measured, printed, width):
    assert judge(measured, printed, width, "lower") == "reproduced"
    away = 1e-6 * width if measured > float(printed) else -1e-6 * width
    assert judge(measured + away, printed, width, "lower") != "reproduced"


@given(
    printed=st.decimals(-20, 20, places=4).map(str),
    gap=st.floats(-5, 5),
    width=st.floats(1e-5, 3),
)
def test_lower_and_higher_are_mirror_images(printed, gap, width):
    lower = judge(float(printed) + gap, printed, width, "lower")
    higher = judge(float(printed) + gap, printed, width, "higher")
    mirror = {"reproduced": "reproduced", "better": "worse", "worse": "better"}
    assert higher == mirror[lower]


@pytest.mark.parametrize(
    ("measured", "printed", "expected"),
    [
        (0.11, "0.10", 0.1),
        (0.09, "0.10", -0.1),
        (-0.09, "-0.10", 0.1),
        (0.0, "0.10", -1.0),
        (0.3, "0", None),
        (0.0, "0.000", None),
    ],
)
def test_the_deviation_is_relative_signed_and_absent_for_zero(measured, printed, expected):
    found = deviation(measured, printed)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-9))


def test_a_cell_is_named_with_its_setting_only_where_there_is_one():
    row = VerdictRow("p", "4", "d", "", "M", "kl", "1", "", "lower", "not run")
    assert row.cell == "p/4/d/M/kl"
    row = VerdictRow("p", "4", "d", "one, two", "M", "kl", "1", "", "lower", "not run")
    assert row.cell == "p/4/d/one, two/M/kl"


def test_the_report_knows_every_verdict():
    assert tuple(VERDICT_SIGNS) == VERDICTS

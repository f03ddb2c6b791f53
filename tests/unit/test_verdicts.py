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
    difference,
    half_unit,
    is_exact,
    judge,
    std_off,
    tells_apart,
)
from ldlrepro.report.content import VERDICT_SIGNS


@pytest.mark.parametrize(
    ("printed", "half"),
    [
        ("0.0544", 0.00005),
        ("0.130", 0.0005),
        ("-0.12", 0.005),
        ("244", 0.5),
        ("0", 0.00005),
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
    ("measured", "printed", "verdict"),
    [
        (0.05449, "0.0544", True),  # rounds to the neighbour
        (0.05456, "0.0544", False),  # rounds to .0546
        (0.3, "0.2", True),  # 0.3 - 0.2 is a bit less than 0.1 in binary
        (1.1, "1.2", True),
        (0.0544, "-0.0544", False),
        (math.inf, "0.0544", False),
        (math.nan, "0.0544", False),
    ],
)
def test_exact_is_the_printed_number_or_its_neighbour_in_the_last_digit(measured, printed, verdict):
    assert is_exact(measured, printed) is verdict


@given(
    printed=st.decimals(-20, 20, places=4).map(str),
    units=st.floats(-3, 3).filter(lambda units: abs(abs(units) - 1.5) > 0.01),
)
def test_exact_reaches_one_and_a_half_units_to_either_side(printed, units):
    measured = float(printed) + units * 2 * half_unit(printed)
    assert is_exact(measured, printed) == (abs(units) < 1.5)


@pytest.mark.parametrize(
    ("measured", "printed", "width", "better", "verdict"),
    [
        (0.0600, "0.0600", 0.01, "lower", "exact"),
        (0.0600, "0.0601", 0.00005, "lower", "exact"),  # though it lies outside the band
        (0.0690, "0.0600", 0.01, "lower", "reproduced"),
        (0.0710, "0.0600", 0.01, "lower", "worse"),
        (0.0490, "0.0600", 0.01, "lower", "better"),
        (0.800, "0.850", 0.01, "higher", "worse"),
        (-0.02, "-0.0500", 0.01, "lower", "worse"),
        (0.1, "0.300", 0.01, "none", "worse"),
        (0.305, "0.300", 0.01, "none", "reproduced"),
        (math.inf, "0.300", 0.01, "lower", "worse"),
    ],
)
def test_a_number_outside_the_band_is_judged_by_the_measures_direction(
    measured, printed, width, better, verdict
):
    assert judge(measured, printed, width, better) == verdict


@given(
    printed=st.decimals(-20, 20, places=4).map(str),
    gap=st.floats(-5, 5),
    width=st.floats(1e-5, 3),
)
def test_lower_and_higher_are_mirror_images(printed, gap, width):
    lower = judge(float(printed) + gap, printed, width, "lower")
    higher = judge(float(printed) + gap, printed, width, "higher")
    mirror = {"better": "worse", "worse": "better"}
    assert higher == mirror.get(lower, lower)


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
    found = difference(measured, printed)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize(
    ("verdict", "yardsticks", "told"),
    [
        ("exact", ["worse"], True),
        ("exact", ["reproduced"], True),  # the weaker verdict
        ("exact", ["exact"], False),
        ("reproduced", ["exact"], False),
        ("reproduced", ["reproduced"], False),
        ("reproduced", ["better"], True),
        ("reproduced", ["worse", "worse"], True),
        ("reproduced", ["worse", "reproduced"], False),
        ("reproduced", ["worse", ""], None),
        ("reproduced", ["reproduced", ""], False),  # whatever the other would say
        ("reproduced", [""], None),
        ("better", ["worse"], None),
        ("worse", ["worse"], None),
        ("not run", ["worse"], None),
        ("quoted", ["exact"], None),
    ],
)
def test_a_met_number_tells_apart_what_gets_a_weaker_verdict(verdict, yardsticks, told):
    assert tells_apart(verdict, yardsticks) is told


@pytest.mark.parametrize(
    ("measured", "printed", "ratio"),
    [
        (0.0030, "0.0030", None),
        (0.0061, "0.0030", None),  # .00305 prints as .0030, and twice that is .0061
        (0.0062, "0.0030", 0.0062 / 0.0030),
        (0.0003, "0.001", None),  # .0006 would
        (0.0002, "0.001", 0.2),
        (0.0009, "0.000", None),  # .00049 prints as nothing
        (0.0020, "0.000", 4.0),  # times the largest that prints as nothing
        (0.0, "0.003", 0.0),
        (None, "0.003", None),
        (0.003, "", None),
    ],
)
def test_deviations_are_off_beyond_factor_two_and_what_rounding_explains(measured, printed, ratio):
    found = std_off(measured, printed)
    assert found == (None if ratio is None else pytest.approx(ratio, rel=1e-9))


def test_a_cell_is_named_with_its_setting_only_where_there_is_one():
    row = VerdictRow("p", "4", "d", "", "M", "kl", "1", "", "lower", "not run")
    assert row.cell == "p/4/d/M/kl"
    row = VerdictRow("p", "4", "d", "one, two", "M", "kl", "1", "", "lower", "not run")
    assert row.cell == "p/4/d/one, two/M/kl"


def test_the_report_knows_every_verdict():
    assert tuple(VERDICT_SIGNS) == VERDICTS

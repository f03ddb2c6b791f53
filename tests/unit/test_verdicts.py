"""Verdicts: what a measured number says about a printed one, case by case."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldlrepro.judge.verdicts import (
    VerdictRow,
    band,
    difference,
    half_unit,
    is_exact,
    judge,
    percent,
)
from ldlrepro.report import tables


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
    ("measured", "printed", "noise", "better", "verdict"),
    [
        (0.0600, "0.0600", 0.0, "lower", "exact"),
        (0.0600, "0.0601", 0.0, "lower", "exact"),
        (0.0606, "0.0600", 0.0, "lower", "reproduced"),  # 1 %
        (0.0608, "0.0600", 0.0, "lower", "near"),
        (0.0608, "0.0600", 0.0004, "lower", "reproduced"),  # two deviations over seeds
        (0.0690, "0.0600", 0.0, "lower", "near"),
        (0.0710, "0.0600", 0.0, "lower", "worse"),
        (0.0490, "0.0600", 0.0, "lower", "better"),
        (0.800, "0.850", 0.0, "higher", "worse"),
        (-0.02, "-0.0500", 0.0, "lower", "worse"),
        (0.1, "0.300", 0.0, "none", "worse"),
        (math.inf, "0.300", 0.0, "lower", "worse"),
    ],
)
def test_a_number_is_judged_by_one_per_cent_then_seeds_then_folds(
    measured, printed, noise, better, verdict
):
    assert judge(measured, printed, noise, 0.01, better) == verdict


@given(
    printed=st.decimals(-20, 20, places=4).map(str),
    gap=st.floats(-5, 5),
    width=st.floats(1e-5, 3),
)
def test_lower_and_higher_are_mirror_images(printed, gap, width):
    lower = judge(float(printed) + gap, printed, 0.0, width, "lower")
    higher = judge(float(printed) + gap, printed, 0.0, width, "higher")
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
    ("share", "told"),
    [
        (0.0321, "+3.2%"),
        (-0.0006, "-0.1%"),
        (-0.0004, "0.0%"),
        (0.0004, "0.0%"),
        (0.0, "0.0%"),
        (-0.1, "-10.0%"),
        (7.9998, "+800%"),
        (-0.9996, "-100%"),
        (None, ""),
        (float("inf"), ""),
    ],
)
def test_a_difference_has_its_sign_unless_it_rounds_to_zero(share, told):
    assert percent(share) == told
    assert tables.percent(share) == told.replace("-", "−")


@pytest.mark.parametrize(
    ("evidence", "yardsticks", "holds"),
    [
        ("blind", {"mean": "near"}, True),
        ("predicted", {"mean": "worse", "forest": "better"}, True),
        ("blind", {"mean": "reproduced"}, False),  # less exact is not a miss
        ("blind", {"mean": "worse", "forest": "exact"}, False),
        ("blind", {"mean": "worse", "forest": ""}, False),  # nobody knows
        ("blind", {}, False),
        ("fitted", {"mean": "worse"}, False),
        ("", {"mean": "worse"}, False),
    ],
)
def test_a_number_holds_by_no_choice_of_its_own_where_every_yardstick_misses(
    evidence, yardsticks, holds
):
    row = VerdictRow("p", "1", "d", "", "m", "kl", "0.1", "", "lower", "exact")
    assert replace(row, evidence=evidence, yardsticks=yardsticks).holds is holds


def test_a_number_says_whether_it_holds_and_what_keeps_it_from_that():
    row = VerdictRow("p", "1", "d", "", "m", "kl", "0.1", "", "lower", "exact", evidence="blind")
    missed, met = {"the mean": "worse"}, {"the mean": "near", "a forest": "exact"}
    assert replace(row, yardsticks=missed).whether_it_holds.startswith("The number holds: ")
    behind = replace(row, yardsticks=missed, ahead=["the mean"])
    assert behind.whether_it_holds.endswith(", but the mean does better.")
    assert replace(row, yardsticks=met).whether_it_holds.endswith(": a forest meets it too.")
    assert "can be compared" in row.whether_it_holds
    assert "mean was not measured" in replace(row, yardsticks={"the mean": ""}).whether_it_holds
    fitted = replace(row, yardsticks=missed, evidence="fitted")
    assert "its own data set" in fitted.whether_it_holds
    assert replace(row, verdict="worse").whether_it_holds.endswith(": it is not met.")
    assert replace(row, verdict="not run").whether_it_holds == ""

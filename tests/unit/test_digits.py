"""Tests of the likelihood of printed digits: prints of known origin, and how often it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from ldlrepro.experiments.printed_digits import (
    CANNOT,
    NOISE,
    NONE_FITS,
    Digits,
    Evidence,
    Printed,
    Way,
    as_printed,
    together,
)

NUMBERS = 12
MEANS = slice(0, 6)


def seeds_about(centre, spread, seeds=40, rng_seed=0):
    rng = np.random.default_rng(rng_seed)
    return centre + spread * rng.normal(size=(seeds, NUMBERS))


CENTRE = np.array([0.1, 0.4, 0.8, 0.05, 0.95, 0.88, 0.02, 0.03, 0.05, 0.01, 0.01, 0.02])
SPREAD = np.full(NUMBERS, 0.002)
WIDE = Way("shuffled", "shuffled", "k=4", seeds_about(CENTRE, SPREAD), drawn=True)


def print_of(numbers) -> Printed:
    texts = [f"{number:.4f}" for number in numbers]
    return as_printed(texts[:6], texts[6:])


def digits_of(printed: Printed) -> Digits:
    return Digits(printed, SPREAD)


def test_print_is_read_with_the_room_of_its_last_digit():
    printed = as_printed(["0.12", ""], ["0.0340", "1"])
    assert printed.half.tolist() == [0.005, 0.5, 0.00005, 0.5]
    assert printed.count == 3
    assert printed.agree(np.array([0.135, 0.0, 0.0341, 2.0])).tolist() == [True, False, True, True]
    assert printed.rounded(np.array([0.1249, 0.0, 0.03396, 1.4]))[[0, 2, 3]] == pytest.approx(
        [0.12, 0.034, 1.0]
    )


def test_probabilities_of_all_values_that_can_be_printed_sum_to_one():
    way = Way("in order", "in order", "k=4", CENTRE[None, :], drawn=False)
    digits = digits_of(Printed(CENTRE, np.full(NUMBERS, 0.0005)))
    digits.misprint = np.zeros(NUMBERS)
    steps = np.arange(-2000, 2001)[:, None] * 0.001
    one = digits.surprise(np.round(CENTRE, 3) + steps, way)
    # All numbers lie alike about their centres but for rounding, so the mean may stand for each.
    assert np.exp(-one).sum() == pytest.approx(1.0, abs=0.02)


def test_fixed_folds_are_told_where_the_digits_are_theirs():
    exact = CENTRE + 0.7 * SPREAD
    fixed = Way("in order", "in order", "k=4", exact[None, :], drawn=False)
    found = digits_of(print_of(exact)).conclude([WIDE, fixed])
    assert (found.best, found.verdict) == (fixed, "told")
    assert found.runner_up.as_strong == 0
    assert found.inside == NUMBERS


def test_digits_a_little_off_do_not_tell_fixed_folds_from_a_shuffle_that_lies_as_near():
    rng = np.random.default_rng(3)
    fixed = Way("in order", "in order", "k=4", CENTRE[None, :], drawn=False)
    # Numbers of one run move together, as those of folds do.
    printed = print_of(CENTRE + 0.3 * SPREAD)
    together_moved = CENTRE + SPREAD * rng.normal(size=(40, 1)) * np.ones(NUMBERS)
    shuffled = Way("shuffled", "shuffled", "k=4", together_moved, drawn=True)
    assert digits_of(printed).conclude([shuffled, fixed]).verdict == CANNOT


def test_deviations_tell_what_means_do_not():
    other = CENTRE.copy()
    other[6:] += 5 * SPREAD[6:]
    fixed = Way("in order", "in order", "k=4", other[None, :], drawn=False)
    seed = seeds_about(CENTRE, SPREAD, 1, rng_seed=9)[0]
    assert digits_of(print_of(seed)).conclude([WIDE, fixed]).best is WIDE
    mixed = np.where(np.arange(NUMBERS) < 6, seed, other)
    found = digits_of(print_of(mixed)).conclude([WIDE, fixed])
    assert (found.best, found.verdict) == (fixed, "told")
    texts = [f"{number:.4f}" for number in mixed[MEANS]]
    assert digits_of(as_printed(texts, [""] * 6)).conclude([WIDE, fixed]).best is WIDE


def test_one_misprint_does_not_decide():
    exact = CENTRE + 0.7 * SPREAD
    fixed = Way("in order", "in order", "k=4", exact[None, :], drawn=False)
    wrong = exact.copy()
    wrong[3] = 0.62
    found = digits_of(print_of(wrong)).conclude([WIDE, fixed])
    assert (found.best, found.verdict, found.inside) == (fixed, "told", NUMBERS - 1)


def test_print_far_from_everything_fits_none():
    fixed = Way("in order", "in order", "k=4", CENTRE[None, :], drawn=False)
    assert digits_of(print_of(2 * CENTRE)).conclude([WIDE, fixed]).verdict == NONE_FITS


def test_narrow_folds_are_preferred_to_wide_ones_that_hold_the_print_too():
    narrow = Way("narrow", "narrow", "k=4", seeds_about(CENTRE, SPREAD), drawn=True)
    wide = Way("wide", "wide", "k=4", seeds_about(CENTRE, 8 * SPREAD), drawn=True)
    seed = seeds_about(CENTRE, SPREAD, 1, rng_seed=9)[0]
    found = digits_of(print_of(seed)).conclude([wide, narrow])
    assert (found.best, found.verdict) == (narrow, "told")
    far = seeds_about(CENTRE, 8 * SPREAD, 1, rng_seed=9)[0]
    found = digits_of(print_of(far)).conclude([wide, narrow])
    assert (found.best, found.verdict) == (wide, "told")


def test_false_tales_are_as_rare_as_they_say():
    """Prints of shuffled folds, with a dozen settings of fixed folds to be taken in by."""
    rng = np.random.default_rng(11)
    told, trials = 0, 200
    for trial in range(trials):
        numbers = seeds_about(CENTRE, SPREAD, 41, rng_seed=100 + trial)
        # The numbers of one seed move together, so that one of many points may come near.
        numbers[:] = CENTRE + SPREAD * (
            rng.normal(size=(41, 1)) + 0.2 * rng.normal(size=(41, NUMBERS))
        )
        # Under one name, for which of the settings it is was not asked and takes longest to tell.
        shuffled = Way("shuffled", "shuffled", "any", numbers[:40], drawn=True)
        fixed = [
            Way("in order", "in order", "any", CENTRE[None, :] + (k - 6) * 0.2 * SPREAD, False)
            for k in range(12)
        ]
        found = digits_of(print_of(numbers[40])).conclude([shuffled, *fixed])
        told += found.best is not shuffled and found.verdict == "told"
    # 5 % of 200 are 10; more than 20 would be a miracle if the stated chance were right.
    assert told <= 20


def test_data_sets_together_tell_what_none_tells_alone():
    def evidence(kind, strength, seeds):
        way = Way(kind, kind, "k=4", CENTRE[None, :], drawn=False)
        return Evidence(way, strength, np.array(seeds))

    rng = np.random.default_rng(2)

    rows = [
        {
            "splits": evidence("splits", 1.0, rng.normal(size=99)),
            "shuffled": evidence("shuffled", -1.0, -np.ones(99)),
        }
        for _ in range(12)
    ]
    assert all(row["splits"].chance > 0.05 for row in rows)
    joint = together(rows)
    assert joint["splits"].chance <= 0.02
    assert joint["shuffled"].chance == 1.0


def test_kinds_that_not_all_data_sets_have_are_left_out_together():
    way = Way("persons", "persons", "k=4", CENTRE[None, :], drawn=False)

    rows = [{kind: Evidence(way, 1.0, np.zeros(5)) for kind in kinds} for kinds in ("ab", "b")]
    assert list(together(rows)) == ["b"]
    assert together([]) == {}


def test_noise_keeps_a_copy_near_its_folds():
    fixed = Way("in order", "in order", "k=4", CENTRE[None, :], drawn=False)
    printed = print_of(CENTRE)
    made = digits_of(printed).prints_of(fixed)
    off = np.abs(made - CENTRE) / SPREAD
    assert np.median(off) < 1.5 * NOISE
    assert off.max() > NOISE

"""Tests of the likelihood of printed digits: prints of known origin, and how often it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from ldlrepro.experiments.printed_digits import (
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


def test_probabilities_of_all_values_that_can_be_printed_sum_to_one():
    way = Way("in order", "in order", "k=4", CENTRE[None, :], drawn=False)
    digits = digits_of(Printed(CENTRE, np.full(NUMBERS, 0.0005)))
    digits.misprint = np.zeros(NUMBERS)
    steps = np.arange(-2000, 2001)[:, None] * 0.001
    one = digits.surprise(np.round(CENTRE, 3) + steps, way)
    # All numbers lie alike about their centres but for rounding, so the mean may stand for each.
    assert np.exp(-one).sum() == pytest.approx(1.0, abs=0.02)


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


def test_print_far_from_everything_fits_none():
    fixed = Way("in order", "in order", "k=4", CENTRE[None, :], drawn=False)
    assert digits_of(print_of(2 * CENTRE)).conclude([WIDE, fixed]).verdict == NONE_FITS


def test_false_tales_are_as_rare_as_they_say():
    """Prints of shuffled folds, with a dozen settings of fixed folds to be taken in by."""
    rng = np.random.default_rng(11)
    told, trials = 0, 60
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
    # 5 % of 60 are 3; more than 9 would be a miracle if the stated chance were right.
    assert told <= 9


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

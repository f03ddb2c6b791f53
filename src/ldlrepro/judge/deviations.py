"""Tells what a printed standard deviation is taken over: folds, repeats, or neither of ours.

A paper that repeats its folds may print the deviation of all folds. It may also take the mean of
each repeat and print the deviation of these means, which is several times smaller. Printed and
measured deviations of the same kind differ by chance alone: the ratio of their squares follows the
F distribution.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cache

from ldlrepro.judge.bands import SeedNoise, by_seed
from ldlrepro.judge.scores import UnitScores, deviation
from ldlrepro.judge.verdicts import FOLDS, NEITHER, REPEATS, half_unit
from ldlrepro.plan import Unit

LEVEL = 0.999
"""Share of deviations of the same kind that fit."""
USUAL_REPEATS = 10
"""Repeats that a paper is taken to have, where its protocol states none."""
ESTIMATE_FREEDOM = 5
"""Degrees of freedom of a deviation over repeats that other units tell."""


@dataclass(frozen=True)
class Deviation:
    """A measured standard deviation with its degrees of freedom, and those of a printed one."""

    value: float
    freedom: int
    printed_freedom: int

    def fits(self, printed: str) -> bool:
        """Tell whether a number that prints like this may be a deviation of the same kind."""
        low, high = _ratios(self.printed_freedom, self.freedom)
        room = half_unit(printed)
        return self.value * low - room <= float(printed) <= self.value * high + room


@cache
def _ratios(printed_freedom: int, freedom: int) -> tuple[float, float]:
    """Return the smallest and the largest likely ratio of a printed to a measured deviation."""
    from scipy.special import fdtri

    tail = (1 - LEVEL) / 2
    low, high = fdtri(printed_freedom, freedom, [tail, 1 - tail]) ** 0.5
    return float(low), float(high)


def over_repeats(
    unit: Unit, scored: UnitScores, measure: str, fold_std: float | None, noise: SeedNoise
) -> Deviation | None:
    """Return the deviation of a mean over repeats of the folds; None where nothing tells it.

    It is measured where the protocol repeats its folds, or where the unit was repeated with other
    seeds, else estimated from the units that were. Splits that are drawn one by one are no repeats
    of folds.
    """
    if not fold_std or unit.protocol.scheme != "kfold":
        return None
    if unit.protocol.repeats > 1:
        means = [statistics.fmean(values) for values in by_seed(scored, measure)]
        complete = [mean for mean in means if math.isfinite(mean)]  # others lost a fold
        freedom = len(complete) - 1
        return Deviation(deviation(complete), freedom, freedom) if freedom > 0 else None
    band = noise.band(unit, measure)
    if band is None and not noise.reference:
        return None
    freedom = len(band.means) - 1 if band else ESTIMATE_FREEDOM
    value = noise.std(unit, measure, fold_std, drawn=True)
    return Deviation(value, freedom, USUAL_REPEATS - 1)


def printed_over(
    printed: str, fold_std: float | None, n_folds: int, repeats: Deviation | None
) -> str:
    """Return what a printed deviation is over; '' where there is nothing to compare.

    Where both fit, it is over folds, as the papers say. Without a deviation over repeats, one that
    does not fit folds tells nothing.
    """
    if not printed or fold_std is None or n_folds < 2:
        return ""
    if Deviation(fold_std, n_folds - 1, n_folds - 1).fits(printed):
        return FOLDS
    if repeats is None:
        return ""
    return REPEATS if repeats.fits(printed) else NEITHER

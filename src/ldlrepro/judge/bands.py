"""Bands over many seeds: the changes that the choice of folds, or of a method's draws, makes.

A protocol with ``noise_of`` repeats another one with other seeds. A printed number outside the band
of every setting of its method is not explained by unlucky folds; a measured number far better than
its own band was hardly measured on folds of the same kind.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ldl import metrics
from ldlrepro.catalogue import Project
from ldlrepro.judge.scores import UnitScores, deviation
from ldlrepro.judge.verdicts import INSIDE, OUTSIDE, VerdictRow, half_unit
from ldlrepro.plan import Unit

FEWEST_SEEDS = 5
UNMEASURED_SHARE = 0.1
"""Share of the fold deviation that a seed changes in a mean, where nothing was repeated."""
CHANCE = 1e-3
"""Share of measured means that may look too good by chance."""


@dataclass(frozen=True)
class Band:
    """Means over the folds of one measure, seed by seed."""

    method: str
    measure: str
    means: tuple[float, ...]
    fold_std: float
    """Standard deviation over the folds of one seed, in the mean over seeds."""
    shuffled: bool = True
    """Whether a seed draws the folds as well as the method."""

    @cached_property
    def std(self) -> float:
        """Return the standard deviation of a mean over seeds."""
        return deviation(self.means)

    @property
    def low(self) -> float:
        return min(self.means)

    @property
    def high(self) -> float:
        return max(self.means)

    def holds(self, printed: str) -> bool:
        """Tell whether a number that prints like this may lie inside."""
        room = half_unit(printed)
        return self.low - room <= float(printed) <= self.high + room

    def too_good(self, measured: float) -> bool:
        """Tell whether a mean is better than a further seed's, but for one time in a thousand."""
        from scipy.special import stdtrit  # scipy.stats takes a second to import

        n = len(self.means)
        gain = measured - statistics.fmean(self.means)
        if metrics.BETTER[self.measure] == "lower":
            gain = -gain
        spread = self.std * (1 + 1 / n) ** 0.5
        return gain > spread * float(-stdtrit(n - 1, CHANCE)) + 1e-12


Bands = dict[tuple[str, str], list[Band]]
"""Bands of every method and measure, by (protocol whose seeds were varied, data set)."""


def bands_of(units: Iterable[UnitScores], project: Project) -> Bands:
    """Collect the bands of units whose protocol varies the seeds."""
    found: Bands = {}
    for unit in units:
        protocol = project.protocol(unit.protocol)
        if not protocol.noise_of:
            continue
        mine = found.setdefault((protocol.noise_of, unit.dataset), [])
        for measure in (name for name in unit.scores if name not in metrics.AGE_BETTER):
            values = by_seed(unit, measure)
            if len(values) >= FEWEST_SEEDS:
                means = tuple(map(statistics.fmean, values))
                fold_std = statistics.fmean(map(deviation, values))
                mine.append(Band(unit.method, measure, means, fold_std, protocol.shuffle))
    return found


def by_seed(unit: UnitScores, measure: str) -> list[list[float]]:
    """Return the scores of the folds, seed by seed."""
    found: dict[int, list[float]] = {}
    for row, value in zip(unit.rows, unit.scores[measure], strict=True):
        found.setdefault(row.repeat, []).append(value)
    return list(found.values())


@dataclass(frozen=True, eq=False)
class SeedNoise:
    """The changes that another seed of folds and method makes in a mean over folds."""

    bands: Bands
    """Those of the paper, for units that were repeated with other seeds."""
    reference: Bands
    """Those of all papers, for the share of the fold deviation that a seed changes elsewhere."""

    def band(self, unit: Unit, measure: str) -> Band | None:
        """Return the means of a unit over many seeds, where it was repeated."""
        wanted = (unit.method.id, measure)
        for band in self.bands.get((unit.protocol.id, unit.data_set.id), []):
            if (band.method, band.measure) == wanted:
                return band
        return None

    def std(
        self, unit: Unit, measure: str, fold_std: float | None, *, drawn: bool | None = None
    ) -> float:
        """Return the standard deviation of a unit's mean over seeds; 0 where nothing is drawn.

        With ``drawn``, what it would be if something were.

        Measured where the unit was repeated with other seeds. Splits that are drawn one by one are
        independent of each other, so that the root of their number divides. Folds of a partition
        are not: for them it is the share that was measured where units were repeated.
        """
        protocol = unit.protocol
        if measured := self.band(unit, measure):
            return measured.std
        if not fold_std or not (unit.is_drawn if drawn is None else drawn):
            return 0.0
        if protocol.scheme == "shuffle_split":
            return fold_std / math.sqrt(protocol.repeats)
        return fold_std * self._share(measure, protocol.shuffle) / math.sqrt(protocol.repeats)

    def _share(self, measure: str, shuffled: bool) -> float:
        """Return the median share of the fold deviation that a seed changes in a mean."""
        shares = self._shares[shuffled] or self._shares[not shuffled]
        return shares.get(measure, statistics.median(shares.values() or [UNMEASURED_SHARE]))

    @cached_property
    def _shares(self) -> dict[bool, dict[str, float]]:
        """By whether a seed draws the folds, and by measure."""
        found: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
        for band in (band for bands in self.reference.values() for band in bands):
            if band.fold_std:
                found[band.shuffled].setdefault(band.measure, []).append(band.std / band.fold_std)
        return {
            shuffled: {name: statistics.median(values) for name, values in by_measure.items()}
            for shuffled, by_measure in found.items()
        }


def with_bands(rows: Sequence[VerdictRow], bands: Bands) -> list[VerdictRow]:
    """Add to each row what is known of other seeds."""
    return [replace(row, fold_seeds=_words(row, bands)) for row in rows]


def _words(row: VerdictRow, bands: Bands) -> str:
    """Say which settings of the row's method reach the printed number with some seed."""
    if not row.printed or row.metric not in metrics.BETTER:
        return ""
    family = row.method_id.partition("@")[0]
    mine = [
        band
        for band in bands.get((row.protocol, row.unit_dataset), [])
        if band.measure == row.metric and band.method.partition("@")[0] == family
    ]
    if not mine:
        return ""
    seeds = max(len(band.means) for band in mine)
    if holding := [band.method for band in mine if band.holds(row.printed)]:
        return f"{INSIDE} of {seeds} seeds with {', '.join(holding)}"
    spans = ", ".join(f"{band.method} {band.low:.4g} to {band.high:.4g}" for band in mine)
    return f"{OUTSIDE} of {seeds} seeds: {spans}"


def too_good(unit: UnitScores, bands: Bands) -> str:
    """Return the measures whose mean no seed explains, '' if none: such a mean smells of a leak."""
    found = [
        band.measure
        for band in bands.get((unit.protocol, unit.dataset), [])
        if band.method == unit.method
        and (values := unit.values(band.measure))
        and band.too_good(statistics.fmean(values))
    ]
    return ", ".join(found)


def has_band(unit: UnitScores, bands: Bands) -> bool:
    """Tell whether there is a band for a unit."""
    mine = bands.get((unit.protocol, unit.dataset), [])
    return any(band.method == unit.method for band in mine)

"""Likelihood of printed digits under ways to make folds, and how surely it tells them apart.

A way to make folds, with a setting of the method, was run with several seeds, or once where nothing
is drawn. It predicts each printed number: a Student distribution about the mean of its seeds, as
wide as they spread, and wider by what implementations differ. That is as likely as not nothing
beyond rounding; else it is a part of what any seed changes. The surprise of a print is the mean of
-ln(probability) over its numbers, where a number's probability is that of all values that round to
it. Some numbers are misprints: they cost the same under every way, so that one of them cannot
decide.

How sure a conclusion is does not rest on these assumptions. Prints are made from seeds of another
way, and it is counted how many of them speak for the conclusion as strongly as the true print does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ldlrepro.core.groups import grouped

NOISE = 0.25
"""Part of what a seed changes by which two implementations differ."""
NOISE_FREEDOM = 4
"""Degrees of freedom of that difference: seldom it is much larger."""
MISPRINTS = 0.05
"""Share of printed numbers that no folds explain."""
MISPRINT_WIDTH = 20.0
"""Range in which a misprint may lie, in units of what a seed changes."""
INSIDE = 0.99
"""Probability of the interval in which a number counts as explained."""
COPIES = 99
"""Prints that are made from folds that are not drawn: copies that differ by the noise alone."""
FITS = 0.8
"""Share of the printed numbers that folds must explain to fit at all."""
TOLD, LIKELY = 0.05, 0.2
"""Chance up to which folds or a setting are told, or likely."""
NONE_FITS, CANNOT = "none fits", "cannot be told"


@dataclass(frozen=True)
class Printed:
    """Printed numbers, means before deviations, with half a unit of the last digit; NaN: none."""

    values: np.ndarray
    half: np.ndarray

    @property
    def count(self) -> int:
        return int(np.isfinite(self.values).sum())

    def agree(self, numbers: np.ndarray) -> np.ndarray:
        """Tell which numbers print like these, to within one unit of the last digit."""
        # Rounded to that digit and one unit off: three half units.
        return np.asarray(np.abs(numbers - self.values) <= 3 * self.half * (1 + 1e-9))

    def agreeing(self, numbers: np.ndarray) -> int:
        """Return how many of them agree, for the seed that meets most."""
        return max(int(self.agree(one).sum()) for one in numbers)

    def rounded(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers as they would be printed here."""
        unit = 2 * self.half
        return np.asarray(np.round(numbers / unit) * unit)


def as_printed(means: Sequence[str], deviations: Sequence[str]) -> Printed:
    """Read printed numbers, '' where none is printed."""
    texts = [*means, *deviations]
    return Printed(
        np.array([float(text) if text else np.nan for text in texts]),
        np.array([0.5 * 10.0 ** -len(text.partition(".")[2]) for text in texts]),
    )


@dataclass(frozen=True, eq=False)
class Way:
    """A way to make folds, with a setting: its numbers seed by seed, means before deviations."""

    kind: str
    """What it is told apart by: ways of one kind are not told from each other."""
    folds: str
    setting: str
    numbers: np.ndarray
    drawn: bool
    """Whether another seed gives other numbers."""


@dataclass(frozen=True)
class Evidence:
    """Strength with which a print, and prints made from another way's seeds, speak against it."""

    way: Way
    """The setting of it that is nearest to the print."""
    strength: float
    of_seeds: np.ndarray

    @property
    def as_strong(self) -> int:
        return int((self.of_seeds >= self.strength).sum())

    @property
    def share(self) -> float:
        return self.as_strong / len(self.of_seeds)

    @property
    def chance(self) -> float:
        """Chance that this way makes a print that speaks against it as strongly."""
        return (self.as_strong + 1) / (len(self.of_seeds) + 1)

    @property
    def words(self) -> str:
        return f"{self.as_strong} of {len(self.of_seeds)}"


@dataclass(frozen=True)
class Conclusion:
    """The way that explains a print best, and the hardest one of another kind to exclude."""

    best: Way
    inside: int
    """Printed numbers that it explains."""
    agreeing: int
    """Printed numbers that it meets; where none is met, nothing is told."""
    against: Mapping[str, Evidence]
    """Evidence against each other kind of folds."""
    runner_up: Evidence
    other_settings: Sequence[Evidence]
    """Evidence against each other setting, whatever the folds."""
    cuts: Mapping[str, Evidence]
    """Evidence against each of the folds of the best kind, itself included."""
    fits: bool

    @property
    def verdict(self) -> str:
        if not self.fits:
            return NONE_FITS
        return in_words(self.runner_up.chance) if self.agreeing else CANNOT

    @property
    def next_setting(self) -> Evidence | None:
        return hardest(self.other_settings) if self.other_settings else None

    @property
    def next_folds(self) -> Evidence | None:
        others = [one for name, one in self.cuts.items() if name != self.best.folds]
        return hardest(others) if others else None

    @property
    def setting_verdict(self) -> str:
        if not (self.fits and self.next_setting):
            return ""
        return in_words(self.next_setting.chance) if self.agreeing else CANNOT


def in_words(chance: float) -> str:
    return "told" if chance <= TOLD else "likely" if chance <= LIKELY else CANNOT


def hardest(evidence: Sequence[Evidence]) -> Evidence:
    """Return the evidence whose way is hardest to exclude: most of its seeds are as strong.

    Where that is the same (none, mostly), folds that are drawn come first, for their seeds say what
    chance does; among these the way that is nearest to the print.
    """
    return max(evidence, key=lambda one: (one.share, one.way.drawn, -one.strength))


class Digits:
    """The print of one row, the units in which its numbers move, and what ways say of it."""

    def __init__(self, printed: Printed, units: np.ndarray) -> None:
        self.printed = printed
        self.used = np.flatnonzero(np.isfinite(printed.values))
        self.half = printed.half[self.used]
        smallest = self.half.min() * 1e-3
        self.units = np.maximum(units[self.used], smallest)
        self.exact = 0.5 * self.half
        self.noise = np.hypot(NOISE * self.units, self.half)
        self.misprint = MISPRINTS * np.minimum(1.0, 2 * self.half / (MISPRINT_WIDTH * self.units))

    def surprise(self, prints: np.ndarray, way: Way, without: int | None = None) -> np.ndarray:
        """Return the surprise of prints (a row each) under a way, or all of its seeds but one."""
        probability = 0.5 * sum(
            self._probability(prints, *self._prediction(way, without, noise))
            for noise in (self.exact, self.noise)
        )
        return np.asarray(-np.log(probability + self.misprint).mean(axis=1))

    def _probability(
        self, prints: np.ndarray, centre: np.ndarray, scale: np.ndarray, freedom: float
    ) -> np.ndarray:
        """Return the probability of all values that round to the printed ones."""
        from scipy.special import stdtr

        low = (prints[:, self.used] - self.half - centre) / scale
        high = (prints[:, self.used] + self.half - centre) / scale
        # Far out the difference of two tails is exact, that of two numbers near one is not.
        flip = low > 0
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        return np.asarray(stdtr(freedom, high) - stdtr(freedom, low))

    def surprise_of_print(self, way: Way) -> float:
        return float(self.surprise(self.printed.values[None, :], way)[0])

    def inside(self, way: Way) -> int:
        """Count the printed numbers that a way explains."""
        from scipy.special import stdtrit

        centre, scale, freedom = self._prediction(way, None, self.noise)
        gap = np.abs(self.printed.values[self.used] - centre) - self.half
        return int((gap <= scale * stdtrit(freedom, 0.5 + INSIDE / 2)).sum())

    def _prediction(
        self, way: Way, without: int | None, noise: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return centre, scale and degrees of freedom of the next print's numbers."""
        numbers = way.numbers[:, self.used]
        if without is not None and way.drawn:
            numbers = np.delete(numbers, without, axis=0)
        if not way.drawn:
            return numbers[0], noise, NOISE_FREEDOM
        n = len(numbers)
        if n == 1:  # its own seed and the print's: each is off by what a seed changes
            return numbers[0], np.hypot(np.sqrt(2) * self.units, noise), NOISE_FREEDOM
        spread = numbers.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n)
        return numbers.mean(axis=0), np.hypot(spread, noise), n - 1

    def prints_of(self, way: Way) -> np.ndarray:
        """Make a print from each seed of a way; where nothing is drawn, from copies with noise.

        Seeds get no noise: it would put them further from other ways than a true print may be.
        """
        numbers = way.numbers
        if not way.drawn:
            rng = np.random.default_rng(0)
            noise = rng.standard_t(NOISE_FREEDOM, size=(COPIES, len(self.used)))
            numbers = np.repeat(numbers[:1], COPIES, axis=0)
            numbers[:, self.used] += self.noise * noise
        return self.printed.rounded(numbers)

    def evidence(self, null: Sequence[Way], others: Sequence[Way]) -> Evidence:
        """Return the evidence against the ways ``null``, in favour of the nearest of ``others``.

        Both sides may choose among their settings, for the true print and for those made.
        """
        true = self.printed.values[None, :]
        chosen = min(null, key=self.surprise_of_print)
        made = self.prints_of(chosen)
        strength = self._least(true, null)[0] - self._least(true, others)[0]
        own = np.array(
            [self.surprise(made[[seed]], chosen, without=seed)[0] for seed in range(len(made))]
        )
        rest = [way for way in null if way is not chosen]
        if rest:
            own = np.minimum(own, self._least(made, rest))
        return Evidence(chosen, float(strength), own - self._least(made, others))

    def _least(self, prints: np.ndarray, ways: Sequence[Way]) -> np.ndarray:
        return np.min([self.surprise(prints, way) for way in ways], axis=0)

    def conclude(self, ways: Sequence[Way]) -> Conclusion:
        """Name the way that explains the print best, and how surely the others are excluded."""
        ranked = sorted(ways, key=self.surprise_of_print)
        best = ranked[0]
        against = self._against(ranked, "kind")
        settings = self._against(ranked, "setting")
        mine = [way for way in ranked if way.kind == best.kind]
        inside = self.inside(best)
        return Conclusion(
            best=best,
            inside=inside,
            agreeing=self.printed.agreeing(best.numbers),
            against=against,
            runner_up=hardest([one for kind, one in against.items() if kind != best.kind]),
            other_settings=[one for name, one in settings.items() if name != best.setting],
            cuts=self._against(mine, "folds"),
            fits=inside >= FITS * self.printed.count,
        )

    def _against(self, ways: Sequence[Way], what: str) -> dict[str, Evidence]:
        """Return the evidence against each value of an attribute, if there are several."""
        groups = grouped(ways, lambda way: str(getattr(way, what)))
        return {
            name: self.evidence(group, [way for way in ways if getattr(way, what) != name])
            for name, group in groups.items()
            if len(groups) > 1
        }


def together(found: Sequence[Mapping[str, Evidence]]) -> dict[str, Evidence]:
    """Return the evidence of several data sets against each of the names that all of them have.

    Prints made from a way take seeds of the same number on every data set, for data sets with as
    many rows then have the same folds, as they may have had in the paper.
    """
    names = set.intersection(*map(set, found)) if found else set()
    joint = {}
    for name in sorted(names):
        mine = [one[name] for one in found]
        seeds = np.arange(max(len(one.of_seeds) for one in mine))
        joint[name] = Evidence(
            mine[0].way,
            sum(one.strength for one in mine),
            np.sum([one.of_seeds[seeds % len(one.of_seeds)] for one in mine], axis=0),
        )
    return joint

"""Counts of verdicts: what holds, what of it could have failed, and what fits by choice."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from ldlrepro.judge.verdicts import JUDGED, MET, MISSED, VERDICTS, VerdictRow, tells_apart

WITHIN = (0.01, 0.02, 0.05, 0.10)
"""Relative differences up to which cells are counted."""


@dataclass(frozen=True)
class Tally:
    """The number of cells with each verdict, and what the verdicts are worth."""

    counts: dict[str, int]
    from_mean: int
    """Met cells in which the training mean gets a weaker verdict."""
    discriminating: int
    """Those of them in which, for a forest, an ordinary regression forest does so, too."""
    untold: int
    """Met cells of which this is not known: differences, or no record of one of the two."""
    by_print: int
    """Judged cells whose setting was chosen because it fits the print."""
    met_by_print: int
    with_std: int
    """Judged cells with both standard deviations over all folds."""
    std_off: int
    """Those of them whose standard deviations differ by more than a factor of two."""
    other_settings: int
    """Judged cells whose record was made with other settings than those of today."""
    differences: list[float]
    """Absolute relative differences of judged cells, sorted."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def judged(self) -> int:
        return sum(self.counts[name] for name in JUDGED)

    @property
    def met(self) -> int:
        return sum(self.counts[name] for name in MET)

    @property
    def missed(self) -> int:
        return sum(self.counts[name] for name in MISSED)

    @property
    def median_difference(self) -> float | None:
        return statistics.median(self.differences) if self.differences else None

    @property
    def line(self) -> dict[str, int]:
        """Return the counts as tables have them; what stands behind the met says its worth."""
        met = {name: self.counts[name] for name in MET}
        return {
            "cells": self.total,
            **met,
            "apart from mean": self.from_mean,
            "discriminate": self.discriminating,
            "not known": self.untold,
            "by print": self.met_by_print,
            **{name: count for name, count in self.counts.items() if name not in met},
        }

    def within(self, share: float) -> int:
        """Count the cells whose measured mean is within this share of the printed one."""
        return sum(one <= share for one in self.differences)


def tally(rows: Iterable[VerdictRow]) -> Tally:
    """Count the verdicts of rows."""
    rows = list(rows)
    counts = dict.fromkeys(VERDICTS, 0)
    for row in rows:
        counts[row.verdict] += 1
    judged = [row for row in rows if row.verdict in JUDGED]
    met = [row for row in judged if row.verdict in MET]
    return Tally(
        counts=counts,
        from_mean=sum(tells_apart(row.verdict, [row.train_mean]) is True for row in met),
        discriminating=sum(row.discriminates is True for row in met),
        untold=sum(row.discriminates is None for row in met),
        by_print=sum(bool(row.by_print) for row in judged),
        met_by_print=sum(bool(row.by_print) for row in met),
        with_std=sum(row.has_stds for row in judged),
        std_off=sum(row.std_off is not None for row in judged),
        other_settings=sum(row.other_settings for row in judged),
        differences=sorted(abs(row.difference) for row in judged if row.difference is not None),
    )

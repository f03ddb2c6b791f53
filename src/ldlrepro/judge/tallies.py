"""Counts of verdicts: what is met, by which evidence, and what holds."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ldlrepro.judge.verdicts import (
    EVIDENCE,
    JUDGED,
    MET,
    MISSED,
    VERDICTS,
    VerdictRow,
)
from ldlrepro.plan.printed import TIMES

WITHIN = (0.01, 0.02, 0.05, 0.10)
"""Relative differences up to which cells are counted."""


@dataclass(frozen=True)
class Tally:
    """The number of cells with each verdict, and what the verdicts are worth."""

    counts: dict[str, int]
    evidence: dict[str, int]
    """Evidence -> met cells that have it."""
    reasons: dict[str, int]
    """Kind of reason -> missed cells that have one of it."""
    holds: int
    """Met cells that no yardstick meets, by settings that their data set did not choose."""
    untold: int
    """Met cells of which no yardstick is known: differences, seconds, no record of one."""
    timed: int
    """Judged cells in seconds."""
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

    def sentence(self, whose: str = "") -> str:
        """Say how many of the numbers were judged, are met and hold."""
        numbers = f"{self.total:,} printed number{'s' * (self.total != 1)}{whose}"
        if not self.judged:
            return f"None of {numbers} was computed again."
        judged, met, hold = (
            f"{number:,} {one if number == 1 else several}"
            for number, one, several in (
                (self.judged, "was computed again and judged", "were computed again and judged"),
                (self.met, "is met", "are met"),
                (self.holds, "holds", "hold"),
            )
        )
        return f"Of {numbers}, {judged}: {met}, and {hold}."

    @property
    def line(self) -> dict[str, int]:
        """Return the counts as tables have them: what holds, by which evidence, every verdict."""
        return {"cells": self.total, "holds": self.holds, **self.evidence, **self.counts}

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
        evidence={name: sum(row.evidence == name for row in met) for name in EVIDENCE},
        reasons=dict(Counter(row.reason_kind for row in rows if row.reason_kind)),
        holds=sum(row.holds for row in met),
        untold=sum(row.apart is None for row in met),
        timed=sum(row.metric in TIMES for row in judged),
        other_settings=sum(row.other_settings for row in judged),
        differences=sorted(abs(row.difference) for row in judged if row.difference is not None),
    )

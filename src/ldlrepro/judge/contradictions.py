"""Experiments that several papers print: the same data, method and measure, with all numbers.

Methods are the same where the same estimator runs for them here, whatever a paper calls it and
whatever settings it states: settings and protocols are among what may explain the difference. Rows
that a paper prints under a setting of its own, such as a way to use a network, are left out.
Misprints are listed and do not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ldlrepro.judge.verdicts import MISPRINT, VerdictRow, loss


@dataclass(frozen=True)
class Contradiction:
    """A data set, method and measure of which more than one paper prints a number."""

    dataset: str
    method: str
    """The id of what runs for it, without variant."""
    metric: str
    rows: list[VerdictRow]
    """One row of each paper, with the number measured here under that paper's protocol."""

    @property
    def misprints(self) -> list[str]:
        """The papers whose number is proven to be a misprint."""
        return [row.paper for row in self.rows if row.verdict == MISPRINT]

    @property
    def numbers(self) -> dict[str, list[VerdictRow]]:
        """Printed number -> the rows of all papers that print it: tables are copied."""
        found: dict[str, list[VerdictRow]] = {}
        for row in self.rows:
            found.setdefault(row.printed, []).append(row)
        return found

    @property
    def times(self) -> float:
        """How many times farther from a perfect value the worst number is than the best."""
        sound = [row for row in self.rows if row.paper not in self.misprints]
        lost = [loss(self.metric, float(row.printed)) for row in sound]
        if len(lost) < 2:
            return 1.0
        return max(lost) / min(lost) if min(lost) > 0 else math.inf

    @property
    def ours(self) -> float | None:
        """The same of our numbers; None where fewer than two were measured."""
        values = [row.measured for row in self.rows if row.measured is not None]
        lost = [loss(self.metric, value) for value in values]
        return max(lost) / min(lost) if len(lost) > 1 and min(lost) > 0 else None


def contradictions(rows: Iterable[VerdictRow]) -> list[Contradiction]:
    """Return every experiment that more than one paper prints, the widest apart first."""
    groups: dict[tuple[str, str, str], dict[str, VerdictRow]] = {}
    for row in rows:
        if not (row.method_id and row.printed and row.better != "none") or row.setting:
            continue
        if row.metric.endswith(("_s", "_ms")):  # seconds are of machines
            continue
        key = (row.dataset, row.method_id.partition("@")[0], row.metric)
        groups.setdefault(key, {}).setdefault(row.paper, row)
    found = [
        Contradiction(*key, list(by_paper.values()))
        for key, by_paper in groups.items()
        if len(by_paper) > 1
    ]
    return sorted(found, key=lambda one: -one.times)

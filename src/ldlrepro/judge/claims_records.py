"""Claims of being comparable to a rival, and of wins, ties and losses against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ldlrepro.catalogue import ClaimTest
from ldlrepro.judge.claims_significance import over_folds
from ldlrepro.judge.comparisons import (
    Comparison,
    Count,
    Evidence,
    Group,
    Value,
    before,
    count_of,
    groups,
    loss,
    measured,
    printed,
)
from ldlrepro.judge.verdicts import VerdictRow, half_unit, places

WINS, TIES, LOSSES = 1, 0, -1
WORDS = {WINS: "win", TIES: "tie", LOSSES: "loss"}


def comparable(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Test whether ``method`` is better than each rival or comparable to it.

    It is comparable where a test over folds does not find it worse. Without such a test, it may be
    worse by a small percentage or by one unit of the last printed digit.
    """
    each = [(test.method, (rival,), f"and {rival}") for rival in test.rivals]
    if not test.significant:
        return before(test, evidence, each, lambda row, value: _room(test, row, value))
    tested, splits = over_folds(test, evidence, _pairs(test))
    compared = [Comparison(one.dataset, one.metric, one.outcome != LOSSES) for one in tested]
    worse = [f"{one.what} (behind, p {one.p:.2g})" for one in tested if one.outcome == LOSSES]
    return Count(0, 0), replace(count_of(compared, worse), note=splits)


def _room(test: ClaimTest, row: VerdictRow, value: Value) -> float:
    """Return how much worse than this rival a number may be and still be comparable."""
    theirs = abs(value(row) or 0.0)
    shown = row.printed if test.statistic == "mean" else row.printed_std
    return max(theirs * test.within / 100, 2 * half_unit(shown)) * (1 + 1e-9)


def wins_ties_losses(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Count wins, ties and losses of ``method`` against its rivals.

    With a test of significance over folds, a tie is a difference that it does not confirm; else
    one that the printed digits do not show.
    """
    if test.significant:
        tested, splits = over_folds(test, evidence, _pairs(test))
        outcomes = [(one.dataset, one.metric, one.outcome) for one in tested]
        return _stated(test, Count(0, 0)), replace(_record(outcomes), note=splits)
    found = [
        (group, rival)
        for rival in test.rivals
        for group in groups(test, evidence, [test.method, rival])
    ]
    sides = [
        [(_row(group), _outcome(test, group, rival, value)) for group, rival in found]
        for value in (printed(test.statistic), measured(test.statistic))
    ]
    on_paper, here = (
        _record([(row.dataset, row.metric, outcome) for row, outcome in side]) for side in sides
    )
    behind = [
        f"{row.dataset} {row.metric} {rival} ({WORDS[ours]}, in print a {WORDS[theirs]})"
        for (_, rival), (row, theirs), (_, ours) in zip(found, *sides, strict=True)
        if ours < theirs
    ]
    return _stated(test, on_paper), replace(here, exceptions=tuple(behind))


def _pairs(test: ClaimTest) -> list[tuple[str, str]]:
    return [(test.method, rival) for rival in test.rivals]


def _row(group: Group) -> VerdictRow:
    return next(iter(group.values()))


def _outcome(test: ClaimTest, group: Group, rival: str, value: Value) -> int:
    """Return who wins at the digits that both numbers are printed with."""
    rows = (group[test.method], group[rival])
    shown = [row.printed if test.statistic == "mean" else row.printed_std for row in rows]
    digits = min(map(places, shown))
    mine, theirs = (round(loss(row, value, test.statistic), digits) for row in rows)
    return TIES if mine == theirs else WINS if mine < theirs else LOSSES


def _record(outcomes: Sequence[tuple[str, str, int]]) -> Count:
    """Count outcomes; the comparisons by measure and by data set count the wins."""
    compared = [Comparison(dataset, metric, won == WINS) for dataset, metric, won in outcomes]
    each = [won for _, _, won in outcomes]
    record = (each.count(WINS), each.count(TIES), each.count(LOSSES)) if each else None
    return replace(count_of(compared, ()), record=record)


def _stated(test: ClaimTest, on_paper: Count) -> Count:
    """Return what the text states in place of what its table shows."""
    if not test.counts:
        return on_paper
    wins, ties, losses = test.counts
    return replace(on_paper, held=wins, of=sum(test.counts), record=(wins, ties, losses))

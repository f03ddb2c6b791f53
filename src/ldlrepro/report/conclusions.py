"""Conclusions of the report's parts, in a sentence or two above their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ldlrepro.judge.claims import FAILS, HOLDS, PARTLY, UNTESTED
from ldlrepro.judge.tallies import Tally

if TYPE_CHECKING:
    from ldlrepro.judge.claims import ClaimRow
    from ldlrepro.judge.contradictions import Contradiction
    from ldlrepro.report.leaderboard import Standings

FAR = 2.0
"""Times that numbers of one experiment are apart when this is told."""


def count(number: int) -> str:
    """Return a number as text, with a thin space between thousands."""
    return f"{number:,}".replace(",", "\u202f")


def of_numbers(counts: Tally) -> str:
    """Return how many printed numbers hold."""
    if not counts.judged:
        return f"None of the {count(counts.total)} printed numbers has been measured yet."
    holds, judged = count(counts.holds), count(counts.judged)
    return f"{holds} of the {judged} printed numbers that we measured hold."


def of_claims(claims: Sequence[ClaimRow]) -> str:
    """Return how many sentences of a paper hold."""
    verdicts = [claim.verdict for claim in claims if not claim.stand_in]
    tested = len(verdicts) - verdicts.count(UNTESTED)
    if not tested:
        return "No claim of this paper was tested on its own data."
    words = {HOLDS: ("holds", "hold"), PARTLY: ("holds partly", "hold partly")}
    words[FAILS] = ("fails", "fail")
    parts = [
        f"{number} {one if number == 1 else several}"
        for verdict, (one, several) in words.items()
        if (number := verdicts.count(verdict))
    ]
    *others, last = parts
    told = f"{', '.join(others)} and {last}" if others else last
    return f"Of {tested} tested claim{'s' * (tested > 1)}, {told}."


def of_contradictions(found: Sequence[Contradiction]) -> str:
    """Return how often papers disagree, and how often our numbers do."""
    ours = [one.ours for one in found if one.ours is not None]
    return (
        f"Several papers print the same experiment {count(len(found))} times. In "
        f"{count(_far(one.times for one in found))} cases the worst number is at least twice as "
        "far from a perfect value as the best. Our own numbers, measured under each paper's "
        f"protocol, are that far apart in {count(_far(ours))} of {count(len(ours))} cases."
    )


def _far(times: Iterable[float]) -> int:
    return sum(one >= FAR for one in times)


def of_board(outcome: Standings) -> str:
    """Return which method comes first, and how sure that is. The page's script says the same."""
    ranked = [line for line in outcome.lines if line.rank is not None]
    if len(ranked) < 2:
        return ""
    best = min(ranked, key=lambda line: line.rank or 0.0)
    said = (
        f"{best.contestant.title} comes first of {len(ranked)} methods by {outcome.measure_title} "
        f"on {len(outcome.datasets)} data sets."
    )
    if outcome.compared.p is None:
        return f"{said} The data sets are too few for a test of significance."
    alike = len(ranked) - 1 - best.better_than
    return (
        f"{said} It is significantly better than {best.better_than} of the others; "
        f"{alike} cannot be told from it."
    )

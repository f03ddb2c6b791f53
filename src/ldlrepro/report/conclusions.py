"""Conclusions of the report's parts, in a sentence or two above their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ldlrepro.judge.claims import FAILS, HOLDS, PARTLY, UNTESTED
from ldlrepro.judge.tallies import Tally
from ldlrepro.judge.verdicts import MEAN, MISPRINT, listed
from ldlrepro.report.content import MEASURE_TITLES

if TYPE_CHECKING:
    from ldlrepro.catalogue import Paper
    from ldlrepro.judge.claims import ClaimRow
    from ldlrepro.judge.contradictions import Contradiction
    from ldlrepro.judge.verdicts import VerdictRow
    from ldlrepro.report.leaderboard import Standings

HOLDS_WHEN = (
    "Met means exact or reproduced. A number holds when it is met, simpler answers miss it, and no "
    "printed number and no test row of its data set chose its settings."
)
EVIDENCE_MEANS = (
    "Blind: no printed number and no test row had a say in the settings. Predicted: printed "
    "numbers of other data sets had. Fitted: those of the same data set had, or nobody can tell."
)
FAR = 2.0
"""Times that numbers of one experiment are apart when this is told."""
CLAIMS = {
    HOLDS: ("holds", "hold"),
    PARTLY: ("holds partly", "hold partly"),
    FAILS: ("fails", "fail"),
    UNTESTED: ("was not tested", "were not tested"),
}
"""Verdict on a claim -> what is said of one, and of several."""


def count(number: int) -> str:
    """Return a number as text, with a comma between thousands."""
    return f"{number:,}"


WHY = {
    "run": "another run meets {}",
    "argument": "an argument explains {}",
    "conjecture": "for {} there is a conjecture",
    "unknown": "no reason is known for {}",
}
"""Kind of a reason -> how many missed numbers have it, in words."""


def in_words(counts: Tally) -> list[str]:
    """Return sentences that say what the verdicts of some cells are worth."""
    found = []
    kinds = [
        f"{number:,} {'are' if number > 1 else 'is'} {kind}"
        for kind, number in counts.evidence.items()
        if number
    ]
    if kinds:
        holds = f"{counts.holds or 'None'} hold{'s' * (counts.holds < 2)}."
        found.append(f"Of {_numbers(counts.met, 'met ')}, {listed(kinds)}. {holds}")
    if counts.reasons:
        why = [WHY[kind].format(number) for kind, number in counts.reasons.items()]
        are = "is" if counts.missed == 1 else "are"
        found.append(f"{_numbers(counts.missed)} {are} better or worse: {listed(why)}.")
    if counts.untold:
        found.append(f"No baseline is known for {_numbers(counts.untold, 'met ')}.")
    if counts.other_settings:
        found.append(
            f"{counts.other_settings} numbers were measured with settings that have changed since. "
            "Run them again."
        )
    return found


def _numbers(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}number{'s' * (count > 1)}"


def of_seconds(counts: Tally) -> str:
    """Say how many judged numbers are seconds, and why none of these holds."""
    if not counts.timed:
        return ""
    return (
        f"{counts.timed} of the {counts.judged:,} judged numbers are seconds, which never hold: no "
        "baseline is known for them."
    )


def of_papers(papers: Collection[object]) -> str:
    """Say whose numbers are counted where several papers are: `` of 9 papers``."""
    return f" of {len(papers)} papers" if len(papers) > 1 else ""


def of_own_methods(rows: Mapping[Paper, Sequence[VerdictRow]]) -> str:
    """Say how many different numbers hold, how many are of papers' own methods, how many poor."""
    hold = [(paper, row) for paper, mine in rows.items() for row in mine if row.holds]
    if not hold:
        return ""
    apart = different(row for _, row in hold)
    own = different(row for paper, row in hold if row.method in paper.own)
    said = f"Of these {len(hold)}, "
    if apart < len(hold):
        said = f"These {len(hold)} are {apart} different numbers: some stand in several tables. Of "
        said += f"the {apart}, "
    said += f"{own} are of a paper's own method, the others of rivals."
    if poor := sum(MEAN in row.ahead for _, row in hold):
        said += f" In {poor} of the {len(hold)} the training mean does better than the method."
    return said


def different(rows: Iterable[VerdictRow]) -> int:
    """Count printed numbers; the same number of the same run counts once."""
    return len({(row.paper, row.unit_key, row.metric, row.printed) for row in rows})


def claims_counted(claims: Sequence[ClaimRow]) -> dict[str, Any]:
    """Return how many claims have each verdict; on substitute data, how many hold."""
    own = Counter(row.verdict for row in claims if not row.stand_in)
    others = [row.verdict == HOLDS for row in claims if row.stand_in]
    substitute = f"{sum(others)} of {len(others)} hold" if others else ""
    return {
        **{verdict: own[verdict] or None for verdict in CLAIMS},
        "on substitute data": substitute,
    }


def of_claims(claims: Iterable[ClaimRow]) -> str:
    """Return how many claims hold, those on substitute data apart."""
    claims = list(claims)
    own = [one for one in claims if not one.stand_in]
    counts = Counter(claim.verdict for claim in own)
    told = [f"{counts[v]} {words[counts[v] > 1]}" for v, words in CLAIMS.items() if counts[v]]
    said = f"Of {len(own)} claim{'s' * (len(own) > 1)}, {listed(told)}."
    if len(own) < len(claims):
        hold = sum(bool(one.stand_in) and one.verdict == HOLDS for one in claims)
        apart = len(claims) - len(own)
        said += f" Tests on substitute data are not among these: {hold} of {apart} hold."
    return said


def of_contradictions(found: Sequence[Contradiction]) -> str:
    """Return how often papers disagree, and how often our numbers do."""
    ours = [one.ours for one in found if one.ours is not None]
    misprints = [
        f"{MEASURE_TITLES.get(row.metric, row.metric)} of {row.method} on {row.dataset}, printed "
        f"{row.printed} by {row.paper}"
        for one in found
        for row in one.rows
        if row.verdict == MISPRINT
    ]
    told = f" Proven misprints do not count: {'; '.join(misprints)}." if misprints else ""
    return (
        f"{count(len(found))} experiments stand in several papers. In "
        f"{count(_far(one.times for one in found))} cases the worst number is at least twice as "
        "far from a perfect value as the best. Our own numbers, measured under each paper's "
        f"protocol, are that far apart in {count(_far(ours))} of {count(len(ours))} cases.{told}"
    )


def _far(times: Iterable[float]) -> int:
    return sum(one >= FAR for one in times)


def of_board(outcome: Standings) -> str:
    """Return which method comes first, and how sure that is. The page's script says the same.

    A method whose settings printed numbers chose may not be cited, and is left out.
    """
    ranked = [line for line in outcome.lines if line.rank is not None]
    if len(ranked) < 2:
        return ""
    citable = [line for line in ranked if not line.contestant.by_print]
    if not citable:
        return "No method here may be cited, for printed numbers chose the settings of all."
    best = min(citable, key=lambda line: line.rank or 0.0)
    first = min(ranked, key=lambda line: line.rank or 0.0)
    said = (
        f"{best.contestant.title} comes first of the {len(citable)} methods that may be cited, by "
        f"{outcome.measure_title} on {len(outcome.datasets)} data sets{outcome.under}"
    )
    if best.gain is not None and round(best.gain, 3) < 0:
        said += f", but its loss is {-best.gain:.1%} above that of the training mean"
    said += "."
    if first.contestant.by_print:
        said += f" {first.contestant.title} is ahead, but printed numbers chose its settings."
    if outcome.compared.p is None:
        return f"{said} Too few data sets are independent for a test of so many methods."
    others = [line.contestant.id for line in citable if line is not best]
    worse = sum(outcome.compared.differ(best.contestant.id, name) for name in others)
    return (
        f"{said} {best.contestant.title} is significantly better than {worse} of the others; "
        f"{len(others) - worse} cannot be told from it."
    )

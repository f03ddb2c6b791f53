"""Sentences that open an answer: what most people want to know, before the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldlrepro.judge.claims import ClaimRow
    from ldlrepro.report.leaderboard import Line, Standings
    from ldlrepro.workflow.schedule import Schedule


def of_schedule(name: str, found: Schedule) -> str:
    """Say how long a paper takes, or several together."""
    if found.longest is None:
        return f"{name}: none of its {len(found.missing)} units was ever timed."
    on = f"{found.cores} core{'s' * (found.cores > 1)}"
    jobs = f"{found.jobs} jobs, the longest {duration(found.longest.seconds)}"
    said = f"{name}: about {duration(found.wall_seconds)} on {on}; {jobs}"
    if found.missing:
        several = len(found.missing) > 1
        units = f"{len(found.missing)} unit{'s' * several}"
        said += f"; {units} never timed, which {'come' if several else 'comes'} on top"
    return f"{said}."


def of_claims(paper: str, rows: Sequence[ClaimRow]) -> str:
    """Say how many of a paper's claims have which verdict."""
    from ldlrepro.judge.claims import FAILS, HOLDS, PARTLY, UNTESTED

    counts = Counter(row.verdict for row in rows)
    words = {
        HOLDS: ("holds", "hold"),
        PARTLY: ("holds partly", "hold partly"),
        FAILS: ("fails", "fail"),
        UNTESTED: ("is not tested", "are not tested"),
    }
    parts = [f"{counts[v]} {words[v][counts[v] > 1]}" for v in words if counts[v]]
    return f"{paper}: of {len(rows)} claims {', '.join(parts)}, on our numbers."


def of_table(file: str, numbers: int, states: Mapping[str, int], misprints: int) -> str:
    """Say whether a table is possible, and how much in it looks odd."""
    impossible, odd = states.get("impossible", 0), states.get("suspicious", 0)
    said = f"{file}: of {numbers} numbers "
    if impossible:
        said += f"some cannot be: {impossible} finding{'s' * (impossible > 1)}"
    else:
        said += "none contradicts another"
    said += f"; {odd or 'nothing'} look{'s' * (odd < 2)} suspicious"
    if misprints:
        said += f"; {misprints} known misprint{'s' * (misprints > 1)} left out"
    return f"{said}."


def of_standings(outcome: Standings) -> str:
    """Say who leads a protocol, by how much it can be told, and where the user's own stand."""
    ranked = [line for line in outcome.lines if line.rank is not None]
    if len(ranked) < 2:
        return ""
    on = f"{len(outcome.datasets)} data set{'s' * (len(outcome.datasets) > 1)}"
    if outcome.independent < len(outcome.datasets):
        on += f" ({outcome.independent} independent)"
    first, others = ranked[0], len(ranked) - 1
    rivals = "the only other method" if others == 1 else f"{others} others"
    said = f"{outcome.protocol}: {_name(first)} leads {rivals} by {outcome.measure} on {on}"
    said += f", mean rank {first.rank:.2f}"
    if not outcome.compared.refusal:
        said += f", significantly better than {first.better_than or 'none'}"
    own = [
        f"{_name(line)} is number {place} of {len(ranked)}"
        for place, line in enumerate(ranked, start=1)
        if line.contestant.own
    ]
    return f"{'. Yours: '.join([said, *[', '.join(own)] * bool(own)])}."


def _name(line: Line) -> str:
    return line.contestant.id + " (setting chosen by print)" * line.contestant.by_print


def duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

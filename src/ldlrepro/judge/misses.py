"""Reasons for printed numbers that ours misses, from the paper's ``misses.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ldlrepro.catalogue import Miss, Paper
from ldlrepro.judge.verdicts import MISSED, VerdictRow


def with_reasons(rows: Iterable[VerdictRow], paper: Paper) -> list[VerdictRow]:
    """Give every missed cell the first reason that speaks of it."""
    return [replace(row, reason=_reason(row, paper) or row.reason) for row in rows]


def unexplained(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return the missed cells without a reason."""
    return [row for row in rows if row.verdict in MISSED and not row.reason]


def idle(rows: Sequence[VerdictRow], paper: Paper) -> list[str]:
    """Return the reasons that speak of no missed cell: what they explained was met, or changed."""
    return [
        entry.reason for entry in paper.misses if not any(_speaks_of(entry, row) for row in rows)
    ]


def _reason(row: VerdictRow, paper: Paper) -> str:
    for entry in paper.misses:
        if _speaks_of(entry, row):
            return f"{entry.reason}: {entry.evidence}"
    return ""


def _speaks_of(entry: Miss, row: VerdictRow) -> bool:
    wanted = (entry.verdict,) if entry.verdict else MISSED
    return row.verdict in wanted and entry.covers(vars(row))

"""Reasons for printed numbers that ours misses, from the paper's ``misses.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ldlrepro.catalogue import Miss, Paper
from ldlrepro.judge.verdicts import MISSED, VerdictRow

EVIDENCE = re.compile(
    r"; (?P<where>experiment \w+/\w+|(?:docs|papers)/\S+\.md(?:#\S+)?|ldlrepro [^;]+|\w+/\w+/\S+)$"
)
"""Where the evidence for a reason stands, at the end of the reason."""
UNKNOWN = "unknown"
"""The kind of a reason that says what was tried, and explains nothing."""
REFUTED = re.compile(r" \(refuted by (?P<what>.*)\)$")


def in_sentences(reason: str) -> tuple[str, str]:
    """Return a reason as sentences, and where its evidence stands; '' where it names none."""
    found = EVIDENCE.search(reason)
    said = reason[: found.start()] if found else reason
    said = REFUTED.sub(r". It would be refuted by \g<what>", said).rstrip(".")
    return f"{said[:1].upper()}{said[1:]}.", found["where"] if found else ""


def with_reasons(rows: Iterable[VerdictRow], paper: Paper) -> list[VerdictRow]:
    """Give every missed cell the first reason that speaks of it."""
    return [_with_reason(row, paper) for row in rows]


def unexplained(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return the missed cells without a reason, and those whose reason is not known."""
    return [
        row
        for row in rows
        if row.verdict in MISSED and (not row.reason or row.reason_kind == UNKNOWN)
    ]


def idle(rows: Sequence[VerdictRow], paper: Paper) -> list[str]:
    """Return the reasons that speak of no missed cell: what they explained was met, or changed."""
    return [
        entry.reason for entry in paper.misses if not any(_speaks_of(entry, row) for row in rows)
    ]


def _with_reason(row: VerdictRow, paper: Paper) -> VerdictRow:
    for entry in paper.misses:
        if _speaks_of(entry, row):
            return replace(row, reason=entry.told(row.dataset), reason_kind=entry.kind)
    return row


def _speaks_of(entry: Miss, row: VerdictRow) -> bool:
    return row.verdict in MISSED and entry.covers(vars(row))

"""Reasons for printed numbers that ours misses, from the paper's ``misses.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ldlrepro import config
from ldlrepro.judge.chosen import covers
from ldlrepro.judge.verdicts import MISSED, VerdictRow


def with_reasons(rows: Iterable[VerdictRow], paper: str) -> list[VerdictRow]:
    """Give every missed cell the first reason that speaks of it."""
    entries = config.load_paper(paper)["misses"]
    return [replace(row, reason=_reason(row, entries) or row.reason) for row in rows]


def unexplained(rows: Iterable[VerdictRow]) -> list[VerdictRow]:
    """Return the missed cells without a reason."""
    return [row for row in rows if row.verdict in MISSED and not row.reason]


def idle(rows: Sequence[VerdictRow], paper: str) -> list[str]:
    """Return the reasons that speak of no missed cell: what they explained was met, or changed."""
    return [
        entry["reason"]
        for entry in config.load_paper(paper)["misses"]
        if not any(_speaks_of(entry, row) for row in rows)
    ]


def _reason(row: VerdictRow, entries: Iterable[Mapping[str, Any]]) -> str:
    for entry in entries:
        if _speaks_of(entry, row):
            return f"{entry['reason']}: {entry['evidence']}"
    return ""


def _speaks_of(entry: Mapping[str, Any], row: VerdictRow) -> bool:
    wanted = (entry["verdict"],) if "verdict" in entry else MISSED
    return row.verdict in wanted and covers(entry, vars(row))

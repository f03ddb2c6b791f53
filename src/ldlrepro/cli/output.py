"""Answers on stdout: a table for people, or JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any


def answer(as_json: bool, rows: list[dict[str, Any]], columns: Iterable[str]) -> int:
    """Print rows; columns choose and order what people see."""
    if as_json:
        print(json.dumps(rows, indent=1, default=str))
        return 0
    columns = list(columns)
    texts = [[str(row[name]) for name in columns] for row in rows]
    widths = [
        max(len(name), *(len(t[i]) for t in texts)) if texts else len(name)
        for i, name in enumerate(columns)
    ]
    for line in [columns, *texts]:
        padded = "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        print(padded.rstrip())
    if not rows:
        print("(none)", file=sys.stderr)
    return 0


def outcome(whole: bool, of_workflow: bool) -> int:
    """Return the exit code of a verb that came to its end: 1 where something failed or lacked.

    In the workflow's jobs it is 0, for what failed or lacked is written down, and `gate` tells it.
    """
    return int(not whole and not of_workflow)

"""Answers on stdout: a sentence and a table for people, or JSON for programs."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TextIO

from ldlrepro.core.progress import paragraph, width

FIRST_COLUMNS = 5
"""Columns that people see without --wide."""
FIRST_ROWS = 40
"""Rows that people see without --all."""
FEW = 7
"""Rows beyond these that are shown, too, rather than hidden."""
GAP = 2
BOLD, GREEN, YELLOW, RED = "1", "32", "33", "31"
COLOURS = {
    **dict.fromkeys(("exact", "reproduced", "holds", "good"), GREEN),
    **dict.fromkeys(("near", "holds partly", "note"), YELLOW),
    **dict.fromkeys(("better", "worse", "fails", "BAD"), RED),
}
"""Words that have a colour wherever they fill a cell of a table."""

Rows = Sequence[Mapping[str, Any]]


def answer(
    args: argparse.Namespace,
    rows: Rows,
    said: str = "",
    first: int = FIRST_COLUMNS,
    brief: Rows | None = None,
) -> int:
    """Print a sentence and the rows; without --wide, their ``first`` columns alone.

    Without --all, people see the ``brief`` rows, or else the first ones.
    """
    if args.json:
        print(json.dumps(rows, indent=1, default=str))
        return 0
    if said:
        print(paragraph(said))
    if rows:
        print("\n" * bool(said), end="")
        show(args, rows, first, brief)
    elif not said:
        print("Nothing to list.")
    return 0


def show(
    args: argparse.Namespace, rows: Rows, first: int = FIRST_COLUMNS, brief: Rows | None = None
) -> None:
    """Print rows as a table that fits the terminal, or with --wide as one that has everything."""
    columns = list(rows[0])
    whole = args.all or len(rows) <= FIRST_ROWS + FEW
    listed = rows if args.all else brief or rows[: None if whole else FIRST_ROWS]
    wide = None if args.wide else width()
    for line in table(listed, columns if args.wide else columns[:first], wide):
        print(line)
    more = [f"{len(rows) - len(listed)} more rows: --all"] * (len(rows) > len(listed))
    if not args.wide and columns[first:]:
        more.append(f"more columns ({', '.join(columns[first:])}): --wide")
    if more:
        print()
        for text in more:
            print(paragraph(f"... {text}"))


def table(rows: Rows, columns: Sequence[str], wide: int | None = None) -> Iterator[str]:
    """Yield the lines of a table; ``wide`` wraps its cells so that no line is longer."""
    texts = [[_shown(row[name]) for name in columns] for row in rows]
    right = [all(map(_is_number, column)) for column in zip(*texts, strict=True)]
    widths = _widths([list(columns), *texts], wide)
    for place, cells in enumerate([list(columns), *texts]):
        spilled = len(cells[0]) > widths[0] and (" " not in cells[0] or "/" in cells[0])
        if spilled:  # a name is never cut: it gets a line of its own
            yield cells[0]
            cells = ["", *cells[1:]]
        wrapped = [_wrapped(cell, size) for cell, size in zip(cells, widths, strict=True)]
        colours = [COLOURS.get(cell, "") if place else BOLD for cell in cells]
        for line in zip_longest(*wrapped, fillvalue=""):
            padded = [
                coloured(text.rjust(size) if to_right else text.ljust(size), colour)
                for text, size, to_right, colour in zip(line, widths, right, colours, strict=True)
            ]
            yield (" " * GAP).join(padded).rstrip()


def _widths(lines: Sequence[Sequence[str]], wide: int | None) -> list[int]:
    """Return the widths of the columns: the longest texts are wrapped until the table fits."""
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    if wide is None:
        return widths
    words = [max(len(w) for text in column for w in text.split() or [""]) for column in columns]
    room = wide - GAP * (len(columns) - 1)
    words[0] = min(words[0], room // 2)  # a longer name gets a line of its own
    for least in (words, [8] * len(columns)):
        while sum(widths) > room:
            spare = [size - low for size, low in zip(widths, least, strict=True)]
            most = max(range(len(widths)), key=lambda n: (spare[n] > 0) * widths[n])
            if spare[most] <= 0:
                break
            widths[most] -= 1
    return widths


def _wrapped(text: str, size: int) -> list[str]:
    if len(text) <= size and "\n" not in text:
        return [text]
    return textwrap.wrap(text, size, break_on_hyphens=False)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)


def _is_number(text: str) -> bool:
    return not text.strip("+-0123456789.%e* ")


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Colour a text where a terminal shows it and NO_COLOR does not forbid it."""
    stream = stream or sys.stdout
    plain = not colour or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not stream.isatty() else f"\x1b[{colour}m{text}\x1b[0m"


def counted(number: int, one: str, several: str = "") -> str:
    """Return '1 paper' or '3 papers'."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def outcome(whole: bool, of_workflow: bool) -> int:
    """Return the exit code of a verb that came to its end: 1 where something failed or lacked.

    In the workflow's jobs it is 0, for what failed or lacked is written down, and `gate` tells it.
    """
    return int(not whole and not of_workflow)

"""Draws badges: what became of the printed numbers of a paper, or of one of its methods."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from ldlrepro.core.files import write_text
from ldlrepro.core.groups import grouped
from ldlrepro.judge.tallies import Tally, tally
from ldlrepro.judge.verdicts import JUDGED, VerdictRow

GREEN, AMBER, RED, GREY = "#2e7d32", "#8a6100", "#b3261e", "#5f6368"
"""Colours on which white text can be read (contrast 4.5 and more)."""
LETTER, ROOM, HEIGHT = 6.6, 10, 20
"""Width of a letter and of the edges in pixels; browsers stretch the text to the width given."""
WELL, POORLY = 0.9, 0.5
"""Shares of judged cells that are met, from which on a badge is green, below which it is red."""


def write_badges(folder: Path, rows: Iterable[VerdictRow]) -> list[Path]:
    """Write a badge for every paper of the rows, and for every method that was judged."""
    written = []
    for paper, mine in grouped(rows, lambda row: row.paper).items():
        written.append(_write(folder / f"{paper}.svg", paper, mine))
        for method, its in grouped(mine, lambda row: row.method).items():
            if any(row.verdict in JUDGED for row in its):
                name = f"{paper}-{_file_name(method)}.svg"
                written.append(_write(folder / name, f"{paper}: {method}", its))
    return written


def badge(label: str, found: Tally) -> str:
    """Return a badge as SVG: how many judged cells hold, coloured by the share that is met."""
    text, colour = "not run", GREY
    if found.judged:
        text = f"{found.holds} of {found.judged} hold"
        met = found.met / found.judged
        colour = GREEN if met >= WELL else RED if met < POORLY else AMBER
    left, right = (len(part) * LETTER + 2 * ROOM for part in (label, text))
    middle = HEIGHT * 0.7
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(label)}: {escape(text)}">'
        f"<title>{escape(label)}: {escape(text)}</title>"
        f'<rect width="{left:.0f}" height="{HEIGHT}" fill="#3c4043"/>'
        f'<rect x="{left:.0f}" width="{right:.0f}" height="{HEIGHT}" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{ROOM}" y="{middle:.0f}" textLength="{left - 2 * ROOM:.0f}">'
        f"{escape(label)}</text>"
        f'<text x="{left + ROOM:.0f}" y="{middle:.0f}" textLength="{right - 2 * ROOM:.0f}">'
        f"{escape(text)}</text></g></svg>\n"
    )


def _write(path: Path, label: str, rows: list[VerdictRow]) -> Path:
    write_text(path, badge(label, tally(rows)))
    return path


def _file_name(method: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", method.replace("*", " star")).strip("-").lower()

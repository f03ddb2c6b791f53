"""Pictures and pages of the arena: methods beside each other, with what they gain and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ldlrepro.arena import standings
from ldlrepro.report.svg import SOFT, Sheet

if TYPE_CHECKING:
    from pathlib import Path

    from ldl.comparison.result import Comparison

BAND, LETTERS, WIDTH = 26.0, 16.0, 560.0
"""In pixels: as wide as the window of a phone, its letters are still 10 high."""
NOTABLE = 0.003
"""Gain over all that cost less from which on a method is named."""
GOOD, OTHER = "#2f855a", "#8795a9"


def bars(found: Comparison) -> list[tuple[str, str]]:
    """Return for each method how long the bar of its gain is, and the class of its colour."""
    most = max(0.0, *found.table["gain"]) or 1.0
    return [
        (
            f"{max(0.0, row['gain']) / most:.0%}",
            "v-reproduced" if row["method"] in found.alike else "v-not-run",
        )
        for row in found.table.to_dict("records")
    ]


def standing(tables: Mapping[str, Path], families: Mapping[str, str]) -> standings.Standings | None:
    """Return the standings of the arena; None where no data set has every method yet."""
    if not tables:
        return None
    board = standings.Standings(standings.read(tables), families)
    return None if board.counted.empty else board


def leading(board: standings.Standings, first: int) -> list[dict[str, str]]:
    """Return a line for each of the first methods, in its best kind, for readers."""
    shown = ("method", "elo", "interval", "gain", "leads", "cost s")
    rows = standings.best_of_each(standings.lines(board))[:first]
    return [{name: row[name] for name in shown} for row in rows]


def trade_off(board: standings.Standings) -> str:
    """Draw what methods gain against what search and fit cost; a list names the best at their cost.

    Nothing is cheaper and better than these, so that their numbers cover no point.
    """
    table = board.table[board.table["gain"] > 0].sort_values("cost_s")
    low, high = (math.log10(table["cost_s"].iloc[end]) for end in (0, -1))
    most, left, top, across, down = float(table["gain"].max()) * 1.05, 58.0, 142.0, 490.0, 330.0
    bottom, right, sheet = top + down, left + across, Sheet()

    def place(seconds: float, gain: float) -> tuple[float, float]:
        x = left + 24 + (math.log10(seconds) - low) / (high - low or 1.0) * (across - 36)
        return x, top + down * (1 - gain / most)

    best, ahead, others = 0.0, [], []
    for row in table.to_dict("records"):
        if row["gain"] > best + NOTABLE:
            best = row["gain"]
            ahead.append(row)
        else:
            others.append(row)
    end = bottom + 98 + BAND * len(ahead)
    sheet.rectangle(0, 0, WIDTH, end, "white")
    sets, families = len(board.losses), len(board.by_family)
    title = f"Gain and cost over {sets} data sets of {families} families"
    sheet.text(8, 16, title, 18, font_weight="bold")
    sheet.disc(14, 48, 5, GOOD)
    sheet.text(26, 48, "nothing cheaper gains as much", LETTERS)
    sheet.disc(14, 74, 4, OTHER)
    sheet.text(26, 74, "the others: with defaults, tuned, and as an ensemble", LETTERS)
    sheet.text(8, top - 22, "Gain: share of the training mean's loss taken away", LETTERS)
    sheet.line((left, top), (left, bottom), (right, bottom))
    for power in range(math.ceil(low), math.floor(high) + 1):
        x, _ = place(10.0**power, 0.0)
        sheet.line((x, bottom), (x, bottom + 5))
        sheet.text(x, bottom + 18, f"{10.0**power:g} s", LETTERS, "middle")
    for share in range(0, int(most * 100) + 1, 5):
        _, y = place(1.0, share / 100)
        sheet.text(left - 8, y, f"{share}%", LETTERS, "end")
    sheet.text(left + across / 2, bottom + 44, "CPU seconds of search and fit", LETTERS, "middle")
    for row in others:
        sheet.disc(*place(row["cost_s"], row["gain"]), 3, OTHER, _told(row))
    for number, row in enumerate(ahead, start=1):
        x, y = place(row["cost_s"], row["gain"])
        sheet.disc(x, y, 5, GOOD, _told(row))
        sheet.text(x - 6, y - 8, str(number), LETTERS, "end", font_weight="bold")
    _list_of(sheet, left, bottom + 80, ahead)
    return sheet.svg(WIDTH, end)


def _told(row: Mapping[Any, Any]) -> str:
    return f"{row['method']}: {row['gain']:.1%}, {row['cost_s']:.2g} s"


def _list_of(sheet: Sheet, x: float, y: float, rows: Sequence[Mapping[Any, Any]]) -> None:
    """Write a numbered list of methods with what they gain and cost."""
    for at, anchor, words in ((x, "start", "best at their cost"), (x + 310, "end", "gain")):
        sheet.text(at, y, words, LETTERS, anchor, fill=SOFT)
    sheet.text(x + 410, y, "cost, s", LETTERS, "end", fill=SOFT)
    for number, row in enumerate(rows, start=1):
        y += BAND
        sheet.text(x, y, f"{number}", LETTERS, font_weight="bold")
        sheet.text(x + 30, y, row["method"], LETTERS)
        sheet.text(x + 310, y, f"{100 * row['gain']:.0f}%", LETTERS, "end")
        sheet.text(x + 410, y, f"{row['cost_s']:.2g}", LETTERS, "end")


def lines_of(found: Comparison) -> list[dict[str, Any]]:
    """Return a row for each method of a comparison, for readers."""
    from ldl.comparison.result import shown_p

    return [
        {
            "method": row["method"],
            found.measure: f"{row[found.measure]:.4f}",
            "gain": f"{row['gain']:.0%}",
            "p": "" if row["method"] == found.winner else shown_p(row["p"]),
            "settings": row["settings"],
            "fit s": f"{row['fit_s']:.2g}",
            "note": row["note"],
        }
        for row in found.table.to_dict("records")
    ]

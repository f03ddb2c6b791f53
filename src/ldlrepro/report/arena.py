"""Pictures and pages of the arena: methods beside each other, with what they gain and cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from ldlrepro.report.svg import SOFT, Sheet, text_width

if TYPE_CHECKING:
    from ldl.comparison.result import Comparison
    from ldlrepro.arena.standings import Standings

BAND, LETTERS, WIDTH = 20.0, 12.0, 860.0
NOTABLE = 0.003
"""Gain over all that cost less from which on a method is named."""
GOOD, OTHER = "#2f855a", "#a0aec0"
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1c1d1f;background:#fff}table{border-collapse:collapse;display:block;overflow-x:auto}"
    "th,td{padding:.2rem .7rem;text-align:right}th:first-child,td:first-child{text-align:left}"
    "tr:nth-child(even){background:#f4f5f7}pre{background:#f4f5f7;padding:1rem;overflow-x:auto}"
    "svg{max-width:100%;height:auto}"
)


@dataclass(frozen=True)
class Bar:
    """A method in a picture."""

    name: str
    gain: float
    """Share of the training mean's loss that it takes away; below 0 it is worse than that."""
    alike: bool
    """Whether folds cannot tell it from the first."""
    told: str


def gains_picture(bars: Sequence[Bar]) -> str:
    """Draw a bar for each method: how much better it is than the training mean."""
    sheet = Sheet()
    left = text_width([bar.name for bar in bars], LETTERS) + 16
    right = text_width([bar.told for bar in bars], LETTERS) + 16
    room = WIDTH - left - right
    most = max([bar.gain for bar in bars if bar.gain > 0], default=1.0)
    for place, bar in enumerate(bars):
        y = BAND * place + 8
        length = max(0.0, bar.gain) / most * room
        sheet.text(left - 8, y + BAND / 2 - 2, bar.name, LETTERS, "end")
        sheet.rectangle(left, y, max(1.0, length), BAND - 5, GOOD if bar.alike else OTHER)
        sheet.text(left + length + 8, y + BAND / 2 - 2, bar.told, LETTERS, fill=SOFT)
    return sheet.svg(WIDTH, BAND * len(bars) + 16)


def trade_off(board: Standings) -> str:
    """Draw what methods gain against what a fit of them costs; the best at their cost are named."""
    table = board.table[board.table["gain"] > 0].sort_values("fit_s")
    sheet, width, height, left, top = Sheet(), 860.0, 460.0, 70.0, 24.0
    low, high = (math.log10(table["fit_s"].iloc[end]) for end in (0, -1))
    most = float(table["gain"].max()) * 1.08
    names = text_width(table["method"], LETTERS) + 16  # room to the left of the cheapest
    across, down = width - left - names - 16, height - top - 60

    def place(seconds: float, gain: float) -> tuple[float, float]:
        x = left + names + (math.log10(seconds) - low) / (high - low or 1.0) * across
        return x, top + down * (1 - gain / most)

    sheet.line((left, top), (left, top + down), (width - 16, top + down))
    for power in range(math.ceil(low), math.floor(high) + 1):
        x, _ = place(10.0**power, 0.0)
        sheet.line((x, top + down), (x, top + down + 5))
        sheet.text(x, top + down + 16, f"{10.0**power:g} s", LETTERS, "middle")
    for tenth in range(int(most * 10) + 1):
        _, y = place(1.0, tenth / 10)
        sheet.text(left - 8, y, f"{10 * tenth} %", LETTERS, "end")
    sheet.text(left + names + across / 2, height - 12, "CPU seconds of a fit", LETTERS, "middle")
    sheet.text(left, 10, "Share of the training mean's loss that is taken away", LETTERS)
    best, last = 0.0, height
    for row in table.to_dict("records"):
        x, y = place(row["fit_s"], row["gain"])
        ahead = row["gain"] > best + NOTABLE
        sheet.shape("circle", cx=x, cy=y, r=4 if ahead else 2.5, fill=GOOD if ahead else OTHER)
        if ahead:  # nothing is cheaper and better, so that no point lies left of it and higher
            best, last = row["gain"], min(y, last - LETTERS)
            sheet.text(x - 8, last, row["method"], LETTERS, "end")
    return sheet.svg(width, height)


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


def own_page(title: str, seen: str, found: Comparison) -> str:
    """Return the page of a comparison on a table of one's own."""
    import pandas as pd

    table = found.table
    bars = [
        Bar(
            row["method"],
            row["gain"],
            row["method"] in found.alike,
            f"{row[found.measure]:.4f}, {row['gain']:.0%}",
        )
        for row in table.to_dict("records")
    ]
    left_out = "".join(
        f"<li>{escape(name)}: {escape(why)}</li>" for name, why in found.left_out.items()
    )
    shown = pd.DataFrame(lines_of(found)).to_html(index=False, border=0)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}: which method'
        f"</title><style>{STYLE}</style>\n<main><h1>{escape(title)}</h1>\n"
        f"<p><strong>{escape(found.sentence)}</strong></p>\n<p>{escape(seen)}</p>\n"
        f"{gains_picture(bars)}\n<p>Bars show how much of the loss of the training mean a method "
        "takes away. The folds cannot tell the green ones from the first.</p>\n"
        f"{shown}\n<h2>The winner in code</h2>\n<pre>{escape(found.code)}</pre>\n"
        + (f"<h2>Left out</h2>\n<ul>{left_out}</ul>\n" if left_out else "")
        + "</main></html>\n"
    )

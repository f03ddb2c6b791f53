"""Pictures and pages of the arena: methods beside each other, with what they gain and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldlrepro.arena import standings
from ldlrepro.arena.standings import ENOUGH
from ldlrepro.report.svg import Sheet, text_width

if TYPE_CHECKING:
    from pathlib import Path

    from ldl.comparison.result import Comparison

BAND, LETTERS, WIDTH = 18.0, 16.0, 560.0
"""In pixels: as wide as the window of a phone, its letters are still 10 high."""
STRIP = 200.0
"""Width of an interval, in pixels."""
NOTABLE = 0.003
"""Gain over all that cost less from which on a method is named."""
GOOD, TIED, OTHER = "#2f855a", "#2b6cb0", "#8b98a9"


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


def leading(board: standings.Standings, first: int | None) -> list[dict[str, str]]:
    """Return a line for each of the first methods, in its best kind, for readers."""
    shown = ("method", "elo", "95% interval", "tied", "gain over mean", "CPU s", "families led")
    rows = standings.best_of_each(standings.lines(board))[:first]
    filled = [name for name in shown if any(row[name] for row in rows)]
    return [{name: row[name] for name in filled} for row in rows]


@dataclass(frozen=True)
class Leaders:
    """The first methods on all data sets, or on one kind of them."""

    kind: str
    datasets: list[str]
    said: str
    lines: list[dict[str, str]]
    intervals: list[str]
    """Drawings, one a line."""
    picture: str

    @property
    def slug(self) -> str:
        """The kind in an address."""
        return self.kind.replace(" ", "-")

    @property
    def methods(self) -> list[str]:
        """The method of each line, without its kind."""
        return [standings.method_of(line["method"]) for line in self.lines]

    def told(self, place: int) -> str:
        """Say how the method on a line does."""
        line = self.lines[place]
        method, seconds = standings.spoken(line["method"]), line["CPU s"]
        cost = f", in {seconds} s of CPU time" * bool(seconds)
        return (
            f"By wins {method} has place {place + 1} of {len(self.lines)}. Its gain over the "
            f"training mean is {line['gain over mean']}{cost}."
        )


def leaders(
    board: standings.Standings, kinds: Mapping[str, Sequence[str]], first: int
) -> list[Leaders]:
    """Return who leads on all data sets, then on each kind that some of them are of."""
    there = list(board.losses.index)
    some = {kind: [name for name in there if name in names] for kind, names in kinds.items()}
    boards = {f"all {len(there)}": board} | {
        kind: board.on(names) for kind, names in some.items() if 0 < len(names) < len(there)
    }
    return [
        Leaders(
            kind,
            [str(name) for name in one.losses.index],
            standings.sentence(one),
            leading(one, None if one is board else first),
            intervals(one, None if one is board else first),
            trade_off(one),
        )
        for kind, one in boards.items()
    ]


def intervals(board: standings.Standings, first: int | None) -> list[str]:
    """Draw the rating of each of these methods in its interval; a line marks the forest's."""
    rows = standings.best_of_each(board.table.to_dict("records"))[:first]
    if len(board.by_family) < ENOUGH:
        return [""] * len(rows)
    least, most = min(row["low"] for row in rows), max(row["high"] for row in rows)

    def place(elo: float) -> float:
        return 5 + (STRIP - 10) * (elo - least) / (most - least)

    base, middle, drawn = place(standings.BASE_ELO), BAND / 2, []
    for row in rows:
        sheet = Sheet()
        sheet.line((base, 0), (base, BAND), stroke=OTHER, width=2)
        sheet.line((place(row["low"]), middle), (place(row["high"]), middle), stroke=GOOD, width=2)
        sheet.disc(place(row["elo"]), middle, 5, GOOD)
        drawn.append(sheet.svg(STRIP, BAND))
    return drawn


def trade_off(board: standings.Standings) -> str:
    """Draw what methods gain against what search and fit cost, and name the best at their cost.

    Nothing is cheaper and better than these, so that no point lies under their names.
    """
    table = board.table[board.table["gain"] > 0].sort_values("cost_s")
    low, high = (math.log10(table["cost_s"].iloc[end]) for end in (0, -1))
    best, ahead, others = 0.0, [], []
    for row in table.to_dict("records"):
        if row["gain"] > best + NOTABLE:
            best = row["gain"]
            ahead.append(row)
        else:
            others.append(row)
    most, top, left, right, down = best * 1.12, 132.0, 50.0, WIDTH - 8, 440.0
    begin = left + 16 + text_width((row["method"] for row in ahead[:3]), LETTERS)
    bottom, sheet = top + down, Sheet()

    def place(seconds: float, gain: float) -> tuple[float, float]:
        x = begin + (math.log10(seconds) - low) / (high - low or 1.0) * (right - 12 - begin)
        return x, top + down * (1 - gain / most)

    end = bottom + 60
    sheet.rectangle(0, 0, WIDTH, end, "white")
    for line, words in enumerate(_conclusion(board.table.to_dict("records")[0], ahead[-1])):
        sheet.text(8, 16 + 24 * line, words, LETTERS, font_weight="bold")
    sets, families = len(board.losses), len(board.by_family)
    first, near, _ = standings.rivals(board)
    winner, named = first["method"], {row["method"] for row in ahead}
    tied = {winner, *(row["method"] for row in near)}
    alike = ("tied with the winner" if winner in named else "winner and ties") if near else "winner"
    colours = {"nothing cheaper gains as much": GOOD, alike: TIED, "others": OTHER}
    sheet.legend(8, 70, colours, LETTERS, "●")
    lost = sum(board.table["gain"] < 0)
    beside = f"; {lost} lose to it" * (lost > 0)
    words = f"Gain: share of the training mean's loss taken away{beside}"
    sheet.text(8, top - 30, words, LETTERS)
    sheet.line((left, top), (left, bottom), (right, bottom))
    for power in range(math.ceil(low), math.floor(high) + 1):
        x, _ = place(10.0**power, 0.0)
        sheet.line((x, bottom), (x, bottom + 5))
        sheet.text(x, bottom + 18, f"{10.0**power:g} s", LETTERS, "middle")
    for share in range(0, int(most * 100) + 1, 5 if most > 0.1 else 1):
        _, y = place(1.0, share / 100)
        sheet.text(left - 6, y, f"{share}%", LETTERS, "end")
    of = "families" if families > 1 else "family"
    words = f"CPU seconds of search and fit ({sets} data sets, {families} {of})"
    sheet.text((left + right) / 2, bottom + 44, words, LETTERS, "middle")
    for row in others:
        colour = TIED if row["method"] in tied else OTHER
        size = 5 if row["method"] == winner else 3
        sheet.disc(*place(row["cost_s"], row["gain"]), size, colour, _told(row))
    before, free = 0.0, bottom
    for row in ahead:
        x, y = place(row["cost_s"], row["gain"])
        is_apart = x - text_width([row["method"]], LETTERS) > before
        free = y - 3 if is_apart else min(y - 3, free - BAND)
        sheet.line((x - 8, free), (x, y), stroke=GOOD)
        sheet.disc(x, y, 5, GOOD, _told(row))
        sheet.text(x - 11, free, row["method"], LETTERS, "end")
        before = x
    return sheet.svg(WIDTH, end)


def _conclusion(first: Mapping[Any, Any], most: Mapping[Any, Any]) -> list[str]:
    """Say who wins most often, and who gains the most."""
    cost = f"{most['gain']:.0%} in {most['cost_s']:.2g} s."
    if first["method"] == most["method"]:
        return [f"{standings.spoken(first['method'])} wins most", f"and gains the most, {cost}"]
    return [
        f"{standings.spoken(first['method'])} wins most and gains {first['gain']:.0%} in "
        f"{first['cost_s']:.2g} s.",
        f"{standings.spoken(most['method'])} gains the most, {cost}",
    ]


def _told(row: Mapping[Any, Any]) -> str:
    return f"{row['method']}: {row['gain']:.1%}, {row['cost_s']:.2g} s"


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

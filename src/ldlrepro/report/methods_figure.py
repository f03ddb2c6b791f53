"""A map of all methods of a paper on all its data sets, by their mean errors."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, compress

from ldlrepro.judge.scores import UnitScores
from ldlrepro.report.content import CONTROLS, Figure, PaperPage
from ldlrepro.report.svg import INK, Sheet, text_width

ORDER = (
    "Methods are ordered by the geometric mean over columns of their number divided by the lowest "
    "of the column. Those with fewer than half of the columns are in the numbers only."
)
LEAST = 1e-9
"""Error below which nothing is better."""
MOST = 5.0
"""Colours go from 1 to this many times more and less."""
COLOURS = (
    *((49, 54, 149), (69, 117, 180), (116, 173, 209), (171, 217, 233), (224, 243, 248)),
    (255, 255, 191),
    *((254, 224, 144), (253, 174, 97), (244, 109, 67), (215, 48, 39), (165, 0, 38)),
)
"""ColorBrewer's RdYlBu, from blue to red."""
STEPS = 100
"""Colours that the bar above the map shows."""
WIDE, HIGH = 38, 27
"""Size of a cell, in pixels."""
NAMES, NUMBERS = 13, 12
"""Sizes of letters."""
LONG = 24
"""Letters of a name that stand in one line."""
BOLDER = 1.1
"""How much wider bold letters are."""


def methods_figure(page: PaperPage) -> Figure | None:
    """Draw mean errors, over the training mean's if it has run: methods down, data sets across."""
    hidden = {"true_labels", *(unit.method for unit in page.units if "=" in unit.method)}
    units = [unit for unit in page.units if unit.values("kl") and unit.method not in hidden]
    floor = {_place(u): _error(u) for u in units if u.method == "train_mean"}
    units = [u for u in units if u.method not in CONTROLS]
    if floor:
        units = [u for u in units if floor.get(_place(u))]
    if not units:
        return None
    protocols = list(dict.fromkeys(unit.protocol for unit in units))
    # Data sets of the same protocol side by side.
    places = sorted({_place(unit): 0 for unit in units}, key=lambda at: protocols.index(at[0]))
    cells = {(u.method, _place(u)): _error(u) / floor.get(_place(u), 1.0) for u in units}
    lines: dict[str, list[float | None]] = {
        method: [cells.get((method, place)) for place in places]
        for method in dict.fromkeys(unit.method for unit in units)
    }
    best = [min(v for v in column if v is not None) for column in zip(*lines.values(), strict=True)]
    lines = dict(sorted(lines.items(), key=lambda item: (_behind(item[1], best), item[0])))
    what = "mean absolute error" if all(map(_of_ages, units)) else "mean KL"
    told = f"Numbers are the {what}"
    if floor:
        what += " over that of the training mean"
        told = f"Numbers are the {what}: below 1 a method is better than that mean"
    titles = {name: page.title_of(name) for name in lines}
    names = {name: _told_apart(name, titles) for name in lines}
    own = {_base(row.method_id) for row in page.rows if row.method in page.paper.own}
    drawn = {name: values for name, values in lines.items() if not _behind(values, best)[0]}
    bold = [name for name in drawn if _base(name) in own]
    caption = f"{_finding([*drawn], bold, names)} {told}. {ORDER}"
    if bold:
        caption += " Those of the paper are bold."
    full = [any(v is not None for v in column) for column in zip(*drawn.values(), strict=True)]
    shown = {name: [*compress(values, full)] for name, values in drawn.items()}
    figure = _heat_map(shown, [*compress(places, full)], what, names, bold)
    table = [["method", "id", *(f"{data}, {protocol}" for protocol, data in places)]]
    for name, values in lines.items():
        table.append([titles[name], name, *("" if v is None else f"{v:.4f}" for v in values)])
    return Figure("Methods side by side", figure, caption, table)


def _finding(placed: Sequence[str], own: Sequence[str], names: Mapping[str, str]) -> str:
    """Say which method comes first, and where the first of the paper's own comes."""
    first = f"{names[placed[0]]} comes first of {len(placed)} methods"
    if not own:
        return f"{first}."
    place = placed.index(own[0]) + 1
    if place == 1:
        return f"{first}; it is the paper's own."
    return f"{first}, and the paper's own {names[own[0]]} is number {place}."


def _base(name: str) -> str:
    """Return a method's id without its variant."""
    return name.partition("@")[0]


def _behind(values: Sequence[float | None], best: Sequence[float]) -> tuple[bool, float]:
    """Return whether a method has few columns, and how far it is behind the best in these."""
    logs = [
        math.log(max(v, LEAST) / max(b, LEAST))
        for v, b in zip(values, best, strict=True)
        if v is not None
    ]
    return 2 * len(logs) < len(best), statistics.fmean(logs)


def _heat_map(
    lines: Mapping[str, Sequence[float | None]],
    places: Sequence[tuple[str, str]],
    what: str,
    titles: Mapping[str, str],
    own: Collection[str],
) -> str:
    """Draw values by colour and as numbers; the names of ``own`` lines are bold."""
    sheet, names = Sheet(), [_in_lines(titles[name]) for name in lines]
    columns = [data for _, data in places]
    left, head = 12 + BOLDER * text_width(chain(*names), NAMES), 64.0
    if len({protocol for protocol, _ in places}) > 1:
        head = _write_protocols(sheet, left, head, [protocol for protocol, _ in places])
    head += 6 + text_width(columns, NAMES)
    for x, column in enumerate(columns):
        sheet.upwards(left + WIDE * (x + 0.5), head - 6, column, NAMES)
    bottom, right = head + HIGH * len(lines), left + WIDE * len(columns)
    positive = [v for line in lines.values() for v in line if v]
    limit = min(MOST, max([1.1, *positive, *(1 / v for v in positive)]))

    def shade(value: float) -> float:
        """Return where a value lies between the ends of the colours, which are 0 and 1."""
        place = (math.log(value) / math.log(limit) + 1) / 2 if value > 0 else 0.0
        return max(0.0, min(1.0, place))

    start, long = 16.0, 320.0  # a phone shows all of it
    sheet.text(start, 10, what, NAMES)
    for step in range(STEPS):
        passed = long * step / STEPS  # each reaches to the end, so that no seam is seen
        sheet.rectangle(start + passed, 34, long - passed, 12, _colour((step + 0.5) / STEPS))
    for tick in (0.2, 0.5, 0.8, 1, 1.25, 2, 5):
        if 1 / limit <= tick <= limit:
            sheet.text(start + long * shade(tick), 26, f"{tick:g}", NUMBERS, "middle")
    for y, (name, title, values) in enumerate(zip(lines, names, lines.values(), strict=True)):
        top = head + HIGH * y
        weight = {"font_weight": "bold"} if name in own else {}
        for line, words in enumerate(title):
            below = NAMES * (line - (len(title) - 1) / 2)
            sheet.text(left - 6, top + HIGH / 2 + below, words, NAMES, "end", **weight)
        for x, value in enumerate(values):
            if value is not None:
                place = shade(value)
                sheet.rectangle(left + WIDE * x, top, WIDE - 0.7, HIGH - 0.7, _colour(place))
                ink = "#fff" if place < 0.12 or place > 0.76 else INK
                number = f"{value:.{2 if value < 9.995 else 0}f}"
                at = left + WIDE * (x + 0.5), top + HIGH / 2
                sheet.text(*at, number, NUMBERS, "middle", fill=ink)
    edge = max(right, start + long, start + text_width([what], NAMES))
    return sheet.svg(edge + 12, bottom + 4)


def _write_protocols(sheet: Sheet, left: float, top: float, protocols: Sequence[str]) -> float:
    """Name each protocol once, over a line above its data sets; return where that is."""
    bottom = top + 6 + text_width(protocols, NAMES)
    for protocol in dict.fromkeys(protocols):
        start = left + WIDE * protocols.index(protocol)
        end = start + WIDE * protocols.count(protocol)
        sheet.line((start + 3, bottom), (end - 3, bottom))
        sheet.upwards((start + end) / 2, bottom - 6, protocol, NAMES)
    return bottom + 6


def _colour(place: float) -> str:
    """Return the colour between 0 and 1: blue, yellow in the middle, red."""
    at = place * (len(COLOURS) - 1)
    first = min(int(at), len(COLOURS) - 2)
    mixed = (
        round(a + (at - first) * (b - a))
        for a, b in zip(COLOURS[first], COLOURS[first + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _in_lines(name: str) -> list[str]:
    """Return a name in one line or, where it is long, in two that are about as long."""
    spaces = [place for place, letter in enumerate(name) if letter == " "]
    if len(name) <= LONG or not spaces:
        return [name]
    cut = min(spaces, key=lambda place: max(place, len(name) - place))
    return [name[:cut], name[cut + 1 :]]


def _told_apart(name: str, titles: Mapping[str, str]) -> str:
    """Return a method's title, with its variant where another method has the same title."""
    title = titles[name]
    variant = name.partition("@")[2]
    same = sum(other == title for other in titles.values()) > 1
    return f"{title} ({variant or name})" if same else title


def _place(unit: UnitScores) -> tuple[str, str]:
    """Return protocol and data set: only runs on the same folds can be compared."""
    return unit.protocol, unit.dataset


def _of_ages(unit: UnitScores) -> bool:
    return bool(unit.values("mae"))


def _error(unit: UnitScores) -> float:
    found = unit.mean("mae" if _of_ages(unit) else "kl")
    assert found is not None
    return found

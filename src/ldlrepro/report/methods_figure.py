"""A map of all methods of a paper on all its data sets, by their mean errors."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress

from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import listed
from ldlrepro.report.content import CONTROLS, Figure, PaperPage
from ldlrepro.report.svg import INK, Sheet, text_width

LEAST = 1e-9
"""Error below which nothing is better."""
APART = 1.01
"""Times the lowest mean from which on another is not as low."""
ENDS = (2.0, 3.0, 5.0)
"""Colours go from 1 to the first of these that the best number needs, less and more."""
COLOURS = (
    *((49, 54, 149), (69, 117, 180), (116, 173, 209), (171, 217, 233), (224, 243, 248)),
    (255, 255, 191),
    *((254, 224, 144), (253, 174, 97), (244, 109, 67), (215, 48, 39), (165, 0, 38)),
)
"""ColorBrewer's RdYlBu, from blue to red."""
STEPS = 100
"""Colours that the bar above the map shows."""
WIDE, HIGH = 48, 36
"""Least size of a cell, in pixels."""
NAMES, NUMBERS, COLUMNS = 16, 15, 14
"""Sizes of letters."""
ROOM = 1340
"""Width that a page shows without making letters smaller."""
LONG = 32
"""Letters of a name that stand in one line."""
TIED = "\N{NO-BREAK SPACE}"
BOLDER = 1.1
"""How much wider bold letters are."""


@dataclass(frozen=True)
class Compared:
    """Mean errors of a paper's methods by place, which is a protocol and a data set."""

    places: list[tuple[str, str]]
    lines: dict[str, list[float | None]]
    """Method -> its numbers, from the best mean on; what is told labels, or has no mean, last."""
    shared: list[bool]
    """Places over which means are taken."""
    means: dict[str, float]
    """Methods that have all of these -> their geometric mean."""
    fair: list[str]
    """Methods that are told no test labels."""
    own: set[str]
    """Methods that are the paper's own, without variants."""
    measure: str
    above_floor: bool
    """Whether numbers are divided by those of the training mean."""

    @classmethod
    def on(cls, page: PaperPage) -> Compared | None:
        """Compare what has run; None where nothing has."""
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
        places = sorted({_place(u): 0 for u in units}, key=lambda at: protocols.index(at[0]))
        cells = {(u.method, _place(u)): _error(u) / floor.get(_place(u), 1.0) for u in units}
        methods = dict.fromkeys(unit.method for unit in units)
        lines = {name: [cells.get((name, place)) for place in places] for name in methods}
        told = {name for name, method in page.methods.items() if method.control}
        fair = [name for name in lines if name not in told] or [*lines]
        own = {_base(row.method_id) for row in page.rows if row.method in page.paper.own}
        shared = _shared({name: lines[name] for name in fair}, own)
        means = _means(lines, shared)

        def order(name: str) -> tuple[bool, bool, float, str]:
            return name not in means, name not in fair, means.get(name, 0.0), name

        lines = {name: lines[name] for name in sorted(lines, key=order)}
        measure = "mean absolute error" if all(map(_of_ages, units)) else "mean KL"
        return cls(places, lines, shared, means, fair, own, measure, bool(floor))

    @property
    def columns(self) -> str:
        count = sum(self.shared)
        return f"{count} shared column{'s' * (count > 1)}"

    @property
    def scale(self) -> tuple[str, str]:
        """Say what the numbers are, and which are good."""
        if self.above_floor:
            what = f"{self.measure} over that of the training mean"
            return what, "Below 1 is better than the training mean."
        return self.measure, "Lower is better."


def methods_figure(page: PaperPage) -> Figure | None:
    """Draw mean errors, over the training mean's if it has run: methods down, data sets across."""
    compared = Compared.on(page)
    if compared is None:
        return None
    titles = {name: page.title_of(name) for name in compared.lines}
    names = {name: _told_apart(name, titles) for name in titles}
    drawn = {name: line for name, line in compared.lines.items() if name in compared.means}
    bold = [name for name in drawn if _base(name) in compared.own]
    full = [any(v is not None for v in column) for column in zip(*drawn.values(), strict=True)]
    what, below = compared.scale
    scale = f"{what[0].upper()}{what[1:]}.", below
    shown = {name: [*compress(line, full)] for name, line in drawn.items()}
    figure = _heat_map(shown, [*compress(compared.places, full)], scale, names, bold)
    overall = {name: [compared.means[name]] for name in shown}
    columns = compared.columns.replace(" ", TIED, 1)
    head = "mean" if sum(full) == 1 else f"mean{TIED}over {columns}"
    narrow = _heat_map(overall, [("", head)], scale, names, bold)
    table = [["method", "id", *(f"{data}, {protocol}" for protocol, data in compared.places)]]
    for name, line in compared.lines.items():
        table.append([titles[name], name, *("" if v is None else f"{v:.4f}" for v in line)])
    caption = _caption(compared, names, bold)
    return Figure("Methods side by side", figure, caption, table, narrow)


def _caption(compared: Compared, names: Mapping[str, str], bold: Sequence[str]) -> str:
    placed = [n for n in compared.lines if n in compared.means and n in compared.fair]
    what, below = compared.scale
    sentences = [
        _finding(placed, compared.means, bold, names, compared.measure),
        f"Numbers are the {what}. {below}",
        f"Methods are ordered by their geometric mean over {compared.columns}, which all of them "
        "have. Those that lack one are in the table of numbers only.",
    ]
    if len(compared.fair) < len(compared.lines):
        sentences.append("Those that are told test labels come last.")
    if bold:
        sentences.append("Those of the paper are bold.")
    return " ".join(sentences)


def _means(lines: Mapping[str, Sequence[float | None]], shared: Sequence[bool]) -> dict[str, float]:
    """Return geometric means over shared columns, of the methods that have all of them."""
    means = {}
    for name, line in lines.items():
        known = [max(value, LEAST) for value in compress(line, shared) if value is not None]
        if len(known) == sum(shared):
            means[name] = statistics.geometric_mean(known)
    return means


def _shared(lines: Mapping[str, Sequence[float | None]], own: Collection[str]) -> list[bool]:
    """Return which columns are compared: those of a method that give most numbers in all.

    Numbers count double where a method of the paper's own has all of the columns.
    """
    has = {name: [value is not None for value in line] for name, line in lines.items()}

    def numbers(columns: Sequence[bool]) -> tuple[int, int]:
        full = [name for name, line in has.items() if all(compress(line, columns))]
        mine = any(_base(name) in own for name in full)
        return (1 + mine) * len(full) * sum(columns), len(full)

    return max(has.values(), key=numbers)


def _finding(
    placed: Sequence[str],
    means: Mapping[str, float],
    own: Sequence[str],
    names: Mapping[str, str],
    measure: str,
) -> str:
    """Say where the first of the paper's own methods stands, and which others are lowest."""
    if len(placed) == 1:
        return f"{names[placed[0]]} has no rival."
    mine = next((name for name in placed if name in own), None)
    low = [name for name in placed if means[name] < APART * means[placed[0]]]
    lowest = f"the lowest {measure} of {len(placed)} methods"
    told = f"The paper's own {names[mine]}" if mine else ""
    if low == [mine]:
        return f"{told} has {lowest}."
    others = listed([names[name] for name in low if name != mine])
    if not mine:
        return f"{others} {'have' if len(low) > 1 else 'has'} {lowest}."
    if mine not in low:
        told += f" is number {placed.index(mine) + 1} of {len(placed)} methods by {measure}."
        return f"{told} {others} {'share' if len(low) > 1 else 'takes'} the first place."
    count = len(low) - 1
    told += f" and {count} other{'s' * (count > 1)} have {lowest}."
    return f"{told} As low within {APART - 1:.0%}: {others}."


def _base(name: str) -> str:
    """Return a method's id without its variant."""
    return name.partition("@")[0]


def _heat_map(
    lines: Mapping[str, Sequence[float | None]],
    places: Sequence[tuple[str, str]],
    what: Sequence[str],
    titles: Mapping[str, str],
    own: Collection[str],
) -> str:
    """Draw values by colour and as numbers; the names of ``own`` lines are bold.

    Protocols stand side by side as far as there is room, and then below.
    """
    sheet = Sheet()
    left = 12 + BOLDER * text_width(chain(*(_in_lines(titles[name]) for name in lines)), NAMES)
    values = [v for line in lines.values() for v in line if v is not None]
    most = next((most for most in ENDS if min(values) >= 1 / most), ENDS[-1])
    edge, bottom = _write_scale(sheet, what, values, most)
    counts = Counter(protocol for protocol, _ in places)
    shares = [text_width(_words(name), COLUMNS) / count for name, count in counts.items()]
    longest = text_width(chain(*(_words(data) for _, data in places)), COLUMNS)
    wide = max(WIDE, 3 + longest, *(3 + share for share in shares))
    for band in _bands([protocol for protocol, _ in places], left, wide):
        inside = [protocol in band for protocol, _ in places]
        shown = {name: [*compress(line, inside)] for name, line in lines.items()}
        shown = {n: line for n, line in shown.items() if any(v is not None for v in line)}
        columns = [data for _, data in compress(places, inside)]
        head = bottom + 12
        if len({protocol for protocol, _ in places}) > 1:
            protocols = [p for p, _ in compress(places, inside)]
            head = _write_protocols(sheet, left, wide, head, protocols)
        heads = {left + wide * (x + 0.5): _words(name, wide) for x, name in enumerate(columns)}
        head = _write_heads(sheet, head, heads)
        for y, (name, line) in enumerate(shown.items()):
            top = head + HIGH * y
            _write_name(sheet, left - 6, top + HIGH / 2, titles[name], name in own)
            _write_line(sheet, left, wide, top, line, most)
        bottom = head + HIGH * len(shown) + 12
        edge = max(edge, left + wide * len(columns))
    return sheet.svg(edge + 12, bottom - 8)


def _bands(protocols: Sequence[str], left: float, column: float) -> list[list[str]]:
    """Return protocols in lines that are no wider than a page where they need not be."""
    bands: list[list[str]] = []
    end = math.inf
    for protocol in dict.fromkeys(protocols):
        wide = column * protocols.count(protocol)
        if end + wide > ROOM:
            bands.append([])
            end = left
        bands[-1].append(protocol)
        end += wide
    return bands


def _write_scale(
    sheet: Sheet, what: Sequence[str], values: Iterable[float], most: float
) -> tuple[float, float]:
    """Say what the numbers are and what the colours mean; return where that ends."""
    start, top, long = 16.0, 10.0, 240.0  # a phone shows all of it
    for words in what:
        sheet.text(start, top, words, NAMES)
        top += 22
    for step in range(STEPS):
        passed = long * step / STEPS  # each reaches to the end, so that no seam is seen
        colour = _colour((step + 0.5) / STEPS)
        sheet.rectangle(start + passed, top + 18, long - passed, 14, colour)
    last = f"{most:g} and more" if any(value > most for value in values) else f"{most:g}"
    sheet.text(start, top + 6, f"{1 / most:.2g}", NUMBERS)
    sheet.text(start + long / 2, top + 6, "1", NUMBERS, "middle")
    sheet.text(start + long, top + 6, last, NUMBERS, "end")
    return start + max(long, text_width(what, NAMES)), top + 32


def _write_line(
    sheet: Sheet, left: float, wide: float, top: float, values: Sequence[float | None], most: float
) -> None:
    """Write a method's numbers; those beyond the colours have the last."""
    for x, value in enumerate(values):
        if value is not None:
            place = _shade(value, most)
            sheet.rectangle(left + wide * x, top, wide - 0.7, HIGH - 0.7, _colour(place))
            ink = INK if 0.12 <= place <= 0.86 else "#fff"
            number = f"{value:.{2 if value < 9.995 else 0}f}"
            at = left + wide * (x + 0.5), top + HIGH / 2
            sheet.text(*at, number, NUMBERS, "middle", fill=ink)


def _write_name(sheet: Sheet, x: float, y: float, title: str, bold: bool) -> None:
    weight = {"font_weight": "bold"} if bold else {}
    words = _in_lines(title)
    for line, part in enumerate(words):
        below = NAMES * (line - (len(words) - 1) / 2)
        sheet.text(x, y + below, part, NAMES, "end", **weight)


def _words(name: str, room: float = 0.0) -> list[str]:
    """Return the lines of a name above columns; an id breaks after ``_`` where it needs to."""
    lines = [""]
    for word in name.replace("_", "_ ").split(" "):
        joined = lines[-1] + word
        if lines[-1].endswith("_") and text_width([joined], COLUMNS) <= room:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines[1:]


def _write_heads(sheet: Sheet, top: float, heads: Mapping[float, Sequence[str]]) -> float:
    """Write lines around their middles, down to a common one; return where that is."""
    bottom = top + COLUMNS * max(map(len, heads.values()))
    for middle, words in heads.items():
        for line, word in enumerate(reversed(words), start=1):
            sheet.text(middle, bottom - COLUMNS * (line - 0.5), word, COLUMNS, "middle")
    return bottom + 6


def _write_protocols(
    sheet: Sheet, left: float, wide: float, top: float, protocols: Sequence[str]
) -> float:
    """Name each protocol once, over a line above its data sets; return where that is."""
    counts = Counter(protocols)
    starts = {name: left + wide * protocols.index(name) for name in counts}
    heads = {
        starts[name] + wide * count / 2: _words(name, wide * count)
        for name, count in counts.items()
    }
    bottom = _write_heads(sheet, top, heads)
    for name, count in counts.items():
        sheet.line((starts[name] + 3, bottom), (starts[name] + wide * count - 3, bottom))
    return bottom + 6


def _shade(value: float, most: float) -> float:
    """Return where a value lies between the ends of the colours, which are 0 and 1."""
    place = (math.log(value) / math.log(most) + 1) / 2 if value > 0 else 0.0
    return max(0.0, min(1.0, place))


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

"""A map of how far a paper's measured numbers lie from the printed ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ldlrepro.judge.verdicts import JUDGED, MET, PERFECT, VerdictRow, listed
from ldlrepro.plan.printed import DELTA, TIMES
from ldlrepro.report.content import Figure, PaperPage
from ldlrepro.report.svg import PALE, SOFT, Sheet, text_width

COLOURS = {
    "exact": "#0c4433",
    "reproduced": "#17654b",
    "near": "#6b5c10",
    "better": "#1f569e",
    "worse": "#a33b07",
    "quoted": "#62428f",
    "misprint": "#7a5900",
}
"""The report's own colours of verdicts."""
MARKERS = {
    "exact": "l3.7 3.7-3.7 3.7-3.7-3.7z",
    "reproduced": "",
    "near": "h3.7v2h-7.4v-2z",
    "better": "l3.2 6.4h-6.4z",
    "worse": "l3.2-6.4h-6.4z",
    "quoted": "h2.7v5.4h-5.4v-5.4z",
    "misprint": "l-2.8 2.8 2.8-2.8-2.8-2.8 2.8 2.8 2.8-2.8-2.8 2.8 2.8 2.8z",
}
"""Outlines of the marks, which begin at their highest point or in their middle; '' is a disc."""
BEGINS = {"exact": -3.7, "near": -1, "better": -3.2, "worse": 3.2, "quoted": -2.7}
"""How far below the middle of a mark its outline begins."""
LANES = {
    "met": MET,
    "near": ("near",),
    "missed": ("better", "worse"),
    "not judged": ("quoted", "misprint"),
}
"""Verdicts that lie side by side, from the top of a measure's row."""
EDGE = 1.0
"""Relative difference where the axis ends; what lies beyond stands there as an arrow."""
TICKS = (-1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0)
"""Relative differences that an axis names where it reaches them."""
EVEN = 0.01
"""Relative difference up to which the axis is linear; it is logarithmic from there on."""
BAND = "#eef1f5"
"""Colour behind the linear part of the axis."""
WIDE, NARROW, LANE, GAP, LETTERS = 1320, 560, 20, 14, 16
"""In pixels: the narrow one's letters are still 10 high in the window of a phone."""
SCALE = 1.5
"""How much larger a mark is than its outline."""


def agreement_figure(page: PaperPage) -> Figure | None:
    """Draw differences from the printed value: one point per cell, a row per measure."""
    printed = [row for row in page.rows if not _why_left_out(row)]
    drawn = [row for row in printed if row.loss_difference is not None]
    if not drawn:
        return None
    sizes = sorted(abs(row.loss_difference or 0.0) for row in drawn)
    most = sizes[math.ceil(0.9 * len(sizes)) - 1]
    caption = (
        f"{_finding(drawn)}{_left_out(page.rows)}Nine in ten of all points lie within "
        f"{_percent(most)} of the line, where the measured number equals the printed one. Lanes "
        f"from the top: {', '.join(_lanes(drawn))}."
    )
    if sizes[-1] > EDGE:
        caption += f" An arrow at the edge is a point beyond {_percent(EDGE)}."
    if any(row.metric in PERFECT for row in printed):
        caption += (
            " A measure whose perfect value is 1 is drawn by its distance from 1 but judged by "
            "itself, so a number that is met may lie far from the line."
        )
    if {row.verdict for row in printed if row.loss_difference is None} & {*MARKERS}:
        caption += " What was not measured, or is printed as perfect, is only in the legend."
    wide, narrow = (_drawn(page, printed, width) for width in (WIDE, NARROW))
    return Figure("Measured against printed", wide, caption, _points(page, drawn), narrow)


def _finding(rows: Sequence[VerdictRow]) -> str:
    """Say how many numbers are met, and on which side the others lie."""
    counts = Counter(row.verdict for row in rows)
    judged, met = (sum(counts[verdict] for verdict in names) for names in (JUDGED, MET))
    if not judged:
        return ""
    others = [f"{counts[name]:,} {name}" for name in ("near", "better", "worse") if counts[name]]
    told = f"Of {judged:,} judged numbers drawn here, {met:,} {'is' if met == 1 else 'are'} met. "
    return told + (f"The others are {listed(others)}. " if others else "")


def _why_left_out(row: VerdictRow) -> str:
    if row.metric in TIMES:
        return "seconds, which depend on the machine"
    if row.metric.startswith(DELTA):
        return "differences between two methods (Δ), which are printed near zero"
    return ""


def _left_out(rows: Sequence[VerdictRow]) -> str:
    """Say how many judged numbers are not drawn, and why."""
    kinds = Counter(_why_left_out(row) for row in rows if row.verdict in JUDGED)
    told = {why: f"{n:,} judged number{'s are' if n > 1 else ' is'}" for why, n in kinds.items()}
    return "".join(f"{many} left out: {why}. " for why, many in told.items() if why)


def _lanes(rows: Sequence[VerdictRow]) -> list[str]:
    """Return the lanes in which a point lies."""
    return [name for name, mine in LANES.items() if any(row.verdict in mine for row in rows)]


def _name(page: PaperPage, metric: str) -> str:
    lost = f"{PERFECT[metric]:g} − " if metric in PERFECT else ""
    return f"{lost}{page.measure(metric)}"


def _percent(share: float) -> str:
    return f"{100 * share:,.{0 if share >= 0.1 else 1}f}%"


def _drawn(page: PaperPage, printed: Sequence[VerdictRow], width: int) -> str:
    rows = [row for row in printed if row.loss_difference is not None]
    measures = list(dict.fromkeys(row.metric for row in rows))
    titles = [_name(page, measure) for measure in measures]
    sheet, left, top = Sheet(), 16 + text_width(titles, LETTERS), 28
    lanes = [LANES[name] for name in _lanes(rows)]
    high = LANE * len(lanes) + GAP
    bottom, right = top + high * len(measures), width - 20
    places = [_place(row.loss_difference or 0.0) for row in rows]
    least, most = min(*places, _place(-EVEN)), max(*places, _place(EVEN))
    begin, unit = left + 12, (right - left - 24) / (most - least)

    def across(place: float) -> float:
        return begin + unit * (place - least)

    shaded = across(_place(-EVEN)), across(_place(EVEN))
    sheet.rectangle(shaded[0], top, shaded[1] - shaded[0], bottom - top, BAND)
    sheet.line((across(0.0), top), (across(0.0), bottom), stroke=SOFT)
    if all(row.better == "lower" or row.metric in PERFECT for row in rows):
        sheet.text(across(0.0) - 10, 12, "← better", LETTERS, "end")
        sheet.text(across(0.0) + 10, 12, "worse →", LETTERS)
    sheet.line((left, top), (left, bottom), (right, bottom))
    for place, name in enumerate(titles):
        sheet.text(left - 8, top + high * (place + 0.5), name, LETTERS, "end")
        sheet.line((left, top + high * (place + 1)), (right, top + high * (place + 1)), stroke=PALE)
    for tick in TICKS:
        if least <= _place(tick) <= most:
            x = across(_place(tick))
            sheet.line((x, bottom), (x, bottom + 4))
            words = f"{100 * tick:,.0f}".replace("-", "−")
            sheet.text(x, bottom + 16, words, LETTERS, "middle")
    sheet.text(right, bottom + 42, "measured minus printed, % of printed:", LETTERS, "end")
    sheet.text(right, bottom + 64, "linear within 1% (shaded), then logarithmic", LETTERS, "end")
    legend: list[tuple[str, str]] = []
    for verdict in reversed(MARKERS):  # what is met lies on top
        mine = [row for row in rows if row.verdict == verdict]
        for place, row in enumerate(mine):
            gap = row.loss_difference or 0.0
            # A fixed spread keeps points apart and the drawing the same on every run.
            lane = next(at for at, names in enumerate(lanes) if verdict in names) + 0.5
            y = top + high * measures.index(row.metric) + GAP / 2
            y += LANE * (lane + ((place * 7) % 11 - 5) / 14)
            draw = _mark if abs(gap) <= EDGE else _arrow
            draw(sheet, verdict, across(_place(gap)), y)
        if mine:
            share = _share(mine, [row for row in printed if row.verdict == verdict])
            legend.insert(0, (verdict, f"{verdict} {share}"))
    return sheet.svg(width, _write_legend(sheet, legend, width, bottom + 98))


def _place(difference: float) -> float:
    """Return where a relative difference lies; the axis has no kink where its kind changes."""
    size = min(abs(difference), EDGE) / EVEN
    return math.copysign(min(size, 1.0) + math.log(max(size, 1.0)), difference)


def _mark(sheet: Sheet, verdict: str, x: float, y: float) -> None:
    look = {"fill": COLOURS[verdict], "fill_opacity": "0.6"}
    if not MARKERS[verdict]:
        sheet.shape("circle", cx=x, cy=y, r=2.8 * SCALE, **look)
        return
    if verdict == "misprint":  # a cross has no inside
        look = {"stroke": COLOURS[verdict], "fill": "none"}
    outline = f"M0 {BEGINS.get(verdict, 0)}{MARKERS[verdict]}"
    sheet.shape("path", d=outline, transform=f"translate({x:.2f} {y:.2f}) scale({SCALE})", **look)


def _arrow(sheet: Sheet, verdict: str, x: float, y: float) -> None:
    """Draw an arrow to the right: a measured number that is far too small reaches no edge."""
    place, pen = f"translate({x:.2f} {y:.2f})", COLOURS[verdict]
    outline = "M-5 0h14m-5-5 5 5-5 5"
    sheet.shape("path", d=outline, transform=place, stroke=pen, stroke_width=2, fill="none")


def _write_legend(
    sheet: Sheet, entries: Sequence[tuple[str, str]], width: float, y: float
) -> float:
    """Write signs and words side by side, in as many lines as they need; return the end."""
    x = 8.0
    for verdict, words in entries:
        room = 36 + text_width([words], LETTERS)
        if x + room > width:
            x, y = 8.0, y + 26
        _mark(sheet, verdict, x + 8, y)
        sheet.text(x + 20, y, words, LETTERS)
        x += room
    return y + 16


def _share(drawn: Sequence[VerdictRow], all_of_them: Sequence[VerdictRow]) -> str:
    if len(drawn) == len(all_of_them):
        return f"({len(drawn)})"
    return f"({len(drawn)} of {len(all_of_them)})"


def _points(page: PaperPage, drawn: Sequence[VerdictRow]) -> list[list[str]]:
    """Return every point: its cell, the row and the place in it, and the numbers behind it."""
    found = [["cell", "row", "verdict", "printed", "measured", "difference in the row, %"]]
    for row in drawn:
        numbers = (row.printed, f"{row.measured:.6g}", f"{100 * (row.loss_difference or 0.0):.4g}")
        found.append([row.cell, _name(page, row.metric), row.verdict, *numbers])
    return found

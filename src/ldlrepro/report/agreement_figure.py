"""A map of how far a paper's measured numbers lie from the printed ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from ldlrepro.judge.verdicts import PERFECT, VerdictRow
from ldlrepro.plan.printed import DELTA, TIMES
from ldlrepro.report.content import VERDICT_SIGNS, Figure, PaperPage
from ldlrepro.report.svg import SOFT, Sheet, blank, text_width

COLOURS = {
    "exact": "#14493a",
    "reproduced": "#2a7f62",
    "near": "#7a6a1d",
    "better": "#2b6cb0",
    "worse": "#c05621",
    "quoted": "#718096",
    "misprint": "#97266d",
}
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
TICKS = (*(-(10.0**n) for n in range(6, -3, -1)), 0.0, *(10.0**n for n in range(-2, 7)))
"""Relative differences that an axis names where it reaches them."""
WIDE, NARROW, ROW, LETTERS = 1320, 560, 44, 16
"""In pixels: the narrow one's letters are still 10 high in the window of a phone."""
MARK = 1.35
"""How much larger marks are drawn than their outlines."""


def agreement_figure(page: PaperPage) -> Figure:
    """Draw differences from the printed value: one point per cell, a row per measure."""
    title = "Measured against printed"
    printed = [
        row for row in page.rows if row.metric not in TIMES and not row.metric.startswith(DELTA)
    ]
    sizes = sorted(abs(gap) for row in printed if (gap := row.loss_difference) is not None)
    if not sizes:
        return Figure(title, blank("no printed number has been measured yet"))
    half, most = (sizes[math.ceil(share * len(sizes)) - 1] for share in (0.5, 0.9))
    caption = (
        f"Half of the {len(sizes):,} points lie within {_percent(half)} of the line, and nine in "
        f"ten within {_percent(most)}. A point is one printed number; on the line the measured one "
        "equals it. The steps of the axis grow tenfold."
    )
    if any(row.metric in PERFECT for row in printed):
        caption += " A measure whose perfect value is 1 is drawn by its distance from 1."
    if len(sizes) < len(printed):
        caption += (
            " What was not measured has no point, nor has a printed number that is perfect: where "
            "a verdict has such cells, the legend counts points and cells."
        )
    if any(row.metric in TIMES for row in page.rows):
        caption += " Seconds are left out: they depend on the machine."
    if any(row.metric.startswith(DELTA) for row in page.rows):
        caption += " Differences between two methods (Δ) are left out: they are printed near zero."
    images = (_drawn(page, printed, width) for width in (WIDE, NARROW))
    return Figure(title, next(images), caption, _counts(page), next(images))


def _name(page: PaperPage, metric: str) -> str:
    lost = f"{PERFECT[metric]:g} − " if metric in PERFECT else ""
    return f"{lost}{page.measure(metric)}"


def _percent(share: float) -> str:
    return f"{100 * share:,.{0 if share >= 0.1 else 1}f}%"


def _drawn(page: PaperPage, printed: Sequence[VerdictRow], width: int) -> str:
    rows = [row for row in printed if row.loss_difference is not None]
    measures = list(dict.fromkeys(row.metric for row in rows))
    titles = [_name(page, measure) for measure in measures]
    sheet, left, top = Sheet(), 16 + text_width(titles, LETTERS), 10
    bottom, right = top + ROW * len(measures), width - 20
    places = [_place(row.loss_difference or 0.0) for row in rows]
    least, most = min(*places, _place(-0.01)), max(*places, _place(0.01))
    begin, unit = left + 12, (right - left - 24) / (most - least)

    def across(place: float) -> float:
        return begin + unit * (place - least)

    sheet.line((across(0.0), top), (across(0.0), bottom), stroke=SOFT)
    sheet.line((left, top), (left, bottom), (right, bottom))
    for place, name in enumerate(titles):
        sheet.text(left - 8, top + ROW * (place + 0.5), name, LETTERS, "end")
        sheet.line((left - 4, top + ROW * (place + 0.5)), (left, top + ROW * (place + 0.5)))
    for tick in TICKS:
        if least <= _place(tick) <= most:
            x = across(_place(tick))
            sheet.line((x, bottom), (x, bottom + 4))
            words = f"{100 * tick:,.0f}".replace("-", "−")
            sheet.text(x, bottom + 16, words, LETTERS, "middle")
    words = "measured minus printed, % of printed"
    sheet.text((left + right) / 2, bottom + 42, words, LETTERS, "middle")
    legend: list[tuple[str, str]] = []
    for verdict in reversed(MARKERS):  # what is met lies on top
        mine = [row for row in rows if row.verdict == verdict]
        for place, row in enumerate(mine):
            # A fixed spread keeps points apart and the drawing the same on every run.
            height = measures.index(row.metric) + 0.5 + ((place * 7) % 11 - 5) / 18
            x = across(_place(row.loss_difference or 0.0))
            _mark(sheet, verdict, x, top + ROW * height)
        if mine:
            share = _share(mine, [row for row in printed if row.verdict == verdict])
            legend.insert(0, (verdict, f"{verdict} {share}"))
    return sheet.svg(width, _write_legend(sheet, legend, width, bottom + 76))


def _place(difference: float) -> float:
    """Return where a relative difference lies: even steps near 0, from 1% on tenfold ones."""
    return math.copysign(math.log10(1 + 100 * abs(difference)), difference)


def _mark(sheet: Sheet, verdict: str, x: float, y: float) -> None:
    look = {"fill": COLOURS[verdict], "fill_opacity": "0.75"}
    if not MARKERS[verdict]:
        sheet.shape("circle", cx=x, cy=y, r=2.8 * MARK, **look)
        return
    if verdict == "misprint":  # a cross has no inside
        look = {"stroke": COLOURS[verdict], "fill": "none"}
    outline = f"M0 {BEGINS.get(verdict, 0)}{MARKERS[verdict]}"
    place = f"translate({x:.2f} {y:.2f}) scale({MARK})"
    sheet.shape("path", d=outline, transform=place, **look)


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


def _counts(page: PaperPage) -> list[list[str]]:
    """Return the number of cells by measure and verdict."""
    rows = page.rows
    found = [["measure", "printed", *VERDICT_SIGNS, "median difference, %"]]
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        sizes = [abs(gap) for row in mine if (gap := row.loss_difference) is not None]
        median = f"{100 * statistics.median(sizes):.1f}" if sizes else ""
        counts = [sum(row.verdict == verdict for row in mine) for verdict in VERDICT_SIGNS]
        found.append([_name(page, metric), str(len(mine)), *map(str, counts), median])
    return found

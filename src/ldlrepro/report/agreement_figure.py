"""A map of how far a paper's measured numbers lie from the printed ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from ldlrepro.judge.verdicts import VerdictRow
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
WIDTH, ROW = 768, 40


def agreement_figure(page: PaperPage) -> Figure:
    """Draw differences from the printed value: one point per cell, a row per measure."""
    title = "Measured against printed"
    printed = [row for row in page.rows if not row.metric.startswith("delta_")]
    if not any(row.difference is not None for row in printed):
        return Figure(title, blank("no printed number has been measured yet"))
    caption = (
        "How far each measured number lies from the printed one. On the line the two agree. The "
        "steps of the axis grow tenfold, so that numbers that are far off have room. A "
        "printed zero has no relative difference, and what was not measured has none; where a "
        "verdict has such cells, the legend counts the points and the cells."
    )
    if len(printed) < len(page.rows):
        caption += (
            " Differences between two methods (Δ) are left out: they are printed near zero, and a "
            "share of them says nothing."
        )
    return Figure(title, _drawn(page, printed), caption, _counts(page))


def _drawn(page: PaperPage, printed: Sequence[VerdictRow]) -> str:
    rows = [row for row in printed if row.difference is not None]
    measures = list(dict.fromkeys(row.metric for row in rows))
    titles = [page.measure(measure) for measure in measures]
    sheet, left, top = Sheet(), 16 + text_width(titles, 13), 10
    bottom, right = top + ROW * len(measures), WIDTH - 24
    places = [_place(row.difference or 0.0) for row in rows]
    ticks = _ticks(min(places), max(places))
    begin, unit = left + 8, (right - left - 8) / (_place(ticks[-1]) - _place(ticks[0]))

    def across(place: float) -> float:
        return begin + unit * (place - _place(ticks[0]))

    sheet.line((across(0.0), top), (across(0.0), bottom), stroke=SOFT)
    sheet.line((left, top), (left, bottom), (right, bottom))
    for place, name in enumerate(titles):
        sheet.text(left - 8, top + ROW * (place + 0.5), name, 13, "end")
        sheet.line((left - 4, top + ROW * (place + 0.5)), (left, top + ROW * (place + 0.5)))
    for tick in ticks:
        x = across(_place(tick))
        sheet.line((x, bottom), (x, bottom + 4))
        sheet.text(x, bottom + 14, f"{100 * tick:,.0f}".replace("-", "−"), 13, "middle")
    words = "measured minus printed, % of printed"
    sheet.text((left + right) / 2, bottom + 36, words, 13, "middle")
    legend = []
    for verdict in MARKERS:
        mine = [row for row in rows if row.verdict == verdict]
        for place, row in enumerate(mine):
            # A fixed spread keeps points apart and the drawing the same on every run.
            height = measures.index(row.metric) + 0.5 + ((place * 7) % 11 - 5) / 18
            x = across(_place(row.difference or 0.0))
            _mark(sheet, verdict, x, top + ROW * height)
        if mine:
            share = _share(mine, [row for row in printed if row.verdict == verdict])
            legend.append((verdict, f"{verdict} {share}"))
    _write_legend(sheet, legend, bottom + 62)
    return sheet.svg(WIDTH, bottom + 78)


def _place(difference: float) -> float:
    """Return where a relative difference lies: even steps near 0, from 1% on tenfold ones."""
    return math.copysign(math.log10(1 + 100 * abs(difference)), difference)


def _ticks(least: float, most: float) -> list[float]:
    """Return the relative differences that the axis names: 0, 1%, 10% and so on, both ways."""
    ticks = [0.0]
    while _place(ticks[0]) > least or len(ticks) == 1:
        ticks.insert(0, 10 * ticks[0] or -0.01)
    while _place(ticks[-1]) < most or ticks[-1] == 0:
        ticks.append(10 * ticks[-1] or 0.01)
    return ticks


def _mark(sheet: Sheet, verdict: str, x: float, y: float) -> None:
    look = {"fill": COLOURS[verdict], "fill_opacity": "0.75"}
    if not MARKERS[verdict]:
        sheet.shape("circle", cx=x, cy=y, r=2.8, **look)
        return
    begin = f"M{x:.2f} {y + BEGINS.get(verdict, 0):.2f}"
    if verdict == "misprint":  # a cross has no inside
        look = {"stroke": COLOURS[verdict], "fill": "none"}
    sheet.shape("path", d=begin + MARKERS[verdict], **look)


def _write_legend(sheet: Sheet, entries: Sequence[tuple[str, str]], y: float) -> None:
    """Write signs and words side by side, in the middle."""
    widths = [26 + text_width([words], 11) for _, words in entries]
    x = max(8.0, (WIDTH - sum(widths)) / 2)
    for (verdict, words), width in zip(entries, widths, strict=True):
        _mark(sheet, verdict, x + 6, y)
        sheet.text(x + 16, y, words, 11)
        x += width


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
        sizes = [abs(row.difference) for row in mine if row.difference is not None]
        median = f"{100 * statistics.median(sizes):.1f}" if sizes else ""
        counts = [sum(row.verdict == verdict for row in mine) for verdict in VERDICT_SIGNS]
        found.append([page.measure(metric), str(len(mine)), *map(str, counts), median])
    return found

"""Critical-difference diagrams: average ranks over data sets, as printed and as measured."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ldl import metrics
from ldlrepro.catalogue import Figure as Printed
from ldlrepro.judge.comparisons import Losses, measured_losses, printed_losses
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.significance import ALPHA, Ranking, ranking
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.content import Figure, PaperPage
from ldlrepro.report.svg import Sheet, text_width

CAPTION = (
    "A dot is a method's average rank over the data sets that have numbers of all these methods, "
    "the best on the left. A measured data set also counts where the table has no line for it, and "
    "a misprinted number takes its data set out of that measure."
)
BARS = (
    " A bar joins neighbouring methods of which no two differ significantly: a Friedman test, then "
    f"exact Wilcoxon signed rank tests with Holm's correction over all pairs, at {100 * ALPHA:g}%. "
    "The tests count data sets of one family, such as Yeast's, as one. Two methods without a "
    "common bar need not differ; the leaderboard compares every pair."
)
WIDTH, EDGE = 880, 40
LETTERS, BETWEEN = 10.5, 16
"""Size of letters, and the height of a line."""
BAR = "#c05621"


def rank_figure(page: PaperPage, printed: Printed, title: str) -> Figure:
    """Draw a table's ranks, by measure.

    On the measured side stand the user's own methods as well.
    """
    rows = [row for row in page.rows if row.table == printed.ranks and row.metric in metrics.BETTER]
    names = list(printed.methods or dict.fromkeys(row.method for row in rows))
    rows = [row for row in rows if row.method in names]
    own = {name: method.title for name, method in page.methods.items() if method.is_own}
    labels, remark = _labels(rows, names)
    missing: set[str] = set()
    pairs: list[list[_Panel]] = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        measured = measured_losses(mine, lambda row: row.method, page.units)
        joining = _join(measured, names, mine, page.units, own)
        missing |= set(own.values()) - set(joining)
        sides = {
            "printed": (names, printed_losses(mine, lambda row: row.method)),
            "measured": ([*names, *joining], measured),
        }
        pairs.append(
            [
                _Panel(
                    f"{page.measure(metric)}, {side}",
                    ranking(shown, losses, page.project.families),
                    {name: labels.get(name, f"{name} (own)") for name in shown},
                )
                for side, (shown, losses) in sides.items()
            ]
        )
    if missing:
        remark += f" Left out, for want of some of the data sets: {', '.join(sorted(missing))}."
    panels = [panel for pair in pairs for panel in pair]
    tested = BARS if any(panel.compared.p is not None for panel in panels) else ""
    caption = f"{_finding(pairs)}{CAPTION}{tested}{remark}"
    return Figure(title, _drawn(pairs), caption, _ranks(panels))


def _finding(pairs: Sequence[Sequence[_Panel]]) -> str:
    """Say which method is first in print, and how often it is first where measured."""
    leaders = [
        [min(p.compared.ranks, key=p.compared.ranks.__getitem__) for p in pair]
        for pair in pairs
        if all(p.compared.ranks for p in pair)
    ]
    if not leaders:
        return ""
    name, of = Counter(first for first, _ in leaders).most_common(1)[0]
    ours = sum(first == name for _, first in leaders)
    told = f"{name} is first by {of} of {len(leaders)} measures as printed, by {ours} as measured. "
    if all(panel.compared.refusal for pair in pairs for panel in pair):
        told += "The data sets are too few for a test, so the order proves nothing. "
    return told


@dataclass(frozen=True)
class _Panel:
    """One diagram: a measure, on the printed side or on the measured one."""

    title: str
    compared: Ranking
    labels: Mapping[str, str]


def _drawn(pairs: Sequence[Sequence[_Panel]]) -> str:
    """Draw diagrams in pairs."""
    sheet, y, half = Sheet(), 0.0, WIDTH / 2
    for pair in pairs:
        y = max(_draw(sheet, panel, i * half, half, y) for i, panel in enumerate(pair))
    return sheet.svg(WIDTH, max(1.0, y))


def _ranks(panels: Iterable[_Panel]) -> list[list[str]]:
    """Return the average ranks, a line for each method of each diagram."""
    found = [["diagram", "data sets", "Friedman p", "method", "average rank"]]
    for panel in panels:
        compared = panel.compared
        p = compared.refusal if compared.friedman is None else f"{compared.friedman:.2g}"
        found += [
            [panel.title, str(len(compared.datasets)), p, panel.labels[name], f"{rank:.2f}"]
            for name, rank in compared.ranks.items()
        ]
    return found


def _join(
    measured: Losses,
    names: Sequence[str],
    rows: Sequence[VerdictRow],
    units: Iterable[UnitScores],
    own: Mapping[str, str],
) -> list[str]:
    """Add own methods that have every data set of the others, so that they cost them none."""
    protocol = Counter(row.protocol for row in rows if row.protocol).most_common(1)
    complete = {dataset for dataset, row in measured.items() if set(names) <= set(row)}
    joining = []
    for method, title in own.items():
        sign = -1 if rows[0].better == "higher" else 1
        values = {
            unit.dataset: sign * statistics.fmean(unit.values(rows[0].metric))
            for unit in units
            if unit.method == method
            and [unit.protocol] == [name for name, _ in protocol]
            and unit.values(rows[0].metric)
        }
        if complete and complete <= set(values) and title not in names:
            joining.append(title)
            for dataset, value in values.items():
                measured.setdefault(dataset, {})[title] = value
    return joining


def _labels(rows: Sequence[VerdictRow], names: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return names with a mark for what runs under another protocol, and what the mark means."""
    protocols = {row.method: row.protocol for row in rows if row.protocol}
    main = Counter(protocols.values()).most_common(1)
    others = {name: p for name, p in protocols.items() if p != main[0][0]}
    labels = {name: f"{name}†" if name in others else name for name in names}
    remark = "".join(
        f" † under the protocol {protocol}, on other splits."
        for protocol in sorted(set(others.values()))
    )
    return labels, remark


def _heading(panel: _Panel) -> str:
    compared = panel.compared
    count = len(compared.datasets)
    title = f"{panel.title}: {count} data set{'s' * (count != 1)}"
    if compared.refusal:
        title += ", too few for a test"
    elif compared.friedman is not None:
        title += f", Friedman p {compared.friedman:.1g}"
    return title


def _draw(sheet: Sheet, panel: _Panel, left: float, width: float, top: float) -> float:
    """Draw an axis of ranks, the bars below it, and the methods on both sides; return its end."""
    ranks = sorted(panel.compared.ranks.items(), key=lambda item: item[1])
    half = (len(ranks) + 1) // 2
    labels = [panel.labels[name] for name, _ in ranks]
    room = text_width(labels, LETTERS) + text_width([" 10.0"], LETTERS)
    start, end, axis = left + room, left + width - room, top + 44
    sheet.text(left + EDGE, top + 14, _heading(panel), 12)
    if not ranks:
        return top + 30
    best, worst = ranks[0][1], ranks[-1][1]
    step = (end - start) / (worst - best or 1.0)

    def place(rank: float) -> float:
        return start + step * (rank - best)

    sheet.line((start - 8, axis), (end + 8, axis))
    for tick in range(math.ceil(best), math.floor(worst) + 1):
        sheet.line((place(tick), axis - 4), (place(tick), axis))
        sheet.text(place(tick), axis - 11, str(tick), LETTERS, "middle")
    joined = [] if panel.compared.p is None else bars_of(panel.compared)
    bars = placed([panel.compared.ranks[name] for name in bar] for bar in joined)
    first = axis + BETWEEN * (1.5 + max((row for row, _ in bars), default=0))
    for side, methods in ((0, ranks[:half]), (1, ranks[: half - 1 : -1])):
        for line, (name, rank) in enumerate(methods):
            y = first + BETWEEN * line
            sheet.line((place(rank), axis), (place(rank), y), (end if side else start, y))
            sheet.shape("circle", cx=place(rank), cy=axis, r=2.3)
            label = panel.labels[name]
            if side:
                sheet.text(end + 4, y, f"{rank:.1f} {label}", LETTERS)
            else:
                sheet.text(start - 4, y, f"{label} {rank:.1f}", LETTERS, "end")
    for row, bar in bars:
        y = axis + BETWEEN * row
        sheet.line((place(bar[0]), y), (place(bar[-1]), y), stroke=BAR, width=3)
    return first + BETWEEN * half + 6


def bars_of(compared: Ranking) -> list[list[str]]:
    """Return the longest stretches of neighbours in rank of which no two differ."""
    names = sorted(compared.ranks, key=lambda name: compared.ranks[name])
    found: list[list[str]] = []
    end = 0
    for first in range(len(names)):
        last = first + 1
        while last < len(names) and all(
            compared.p.loc[names[last], name] >= ALPHA for name in names[first:last]
        ):
            last += 1
        if last > max(end, first + 1):  # no part of the stretch before
            found.append(names[first:last])
            end = last
    return found


def placed(bars: Iterable[list[float]]) -> list[tuple[int, list[float]]]:
    """Put bars into the first rows, from 1 on, where they meet no other."""
    ends: list[float] = []
    found = []
    for bar in sorted(map(sorted, bars), key=lambda bar: (bar[0], -bar[-1], bar)):
        row = next((i for i, end in enumerate(ends) if end < bar[0]), len(ends))
        ends[row : row + 1] = [bar[-1]]
        found.append((row + 1, bar))
    return found

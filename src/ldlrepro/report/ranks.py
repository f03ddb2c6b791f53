"""Average ranks of methods over data sets, as printed and as measured."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ldl import metrics
from ldlrepro.catalogue import Figure as Printed
from ldlrepro.judge.comparisons import Losses, measured_losses, printed_losses
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.significance import ALPHA, Ranking, ranking
from ldlrepro.judge.verdicts import JUDGED, VerdictRow, listed
from ldlrepro.report.content import Figure, PaperPage
from ldlrepro.report.svg import MEASURED, PALE, PRINTED, Sheet, text_width

CAPTION = (
    "Each method has one dot for each measure: its average rank over the data sets that have "
    "numbers of all these methods. A measured data set also counts where the table has no line for "
    "it, and a misprinted number takes its data set out of that measure."
)
WIDTH, ROW, LETTERS = 560, 46, 16
"""In pixels: as wide as the window of a phone, its letters are still 10 high."""
COLOURS = {"printed": PRINTED, "measured": MEASURED}


def rank_figure(page: PaperPage, printed: Printed, title: str) -> Figure | None:
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
    if not any(measured.compared.ranks for _, measured in pairs):
        return None
    caption = f"{_finding(pairs)}{CAPTION}{remark}"
    return Figure(title, _drawn(pairs), caption, _ranks(chain.from_iterable(pairs)))


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
    among = len(pairs[0][0].compared.ranks)
    measures = f"{of} of {len(leaders)} measures"
    told = f"{name} ranks first of {among} methods by {measures}, in print and as measured. "
    if ours != of:
        told = f"{name} ranks first by {measures} in print, and by {ours} as measured. "
    if all(measured.compared.refusal for _, measured in pairs):
        return f"{told}Too few data sets to tell pairs of methods apart. "
    tests = [p for _, measured in pairs if (p := measured.compared.friedman) is not None]
    if tests:
        told += (
            f"By {sum(p < ALPHA for p in tests)} of {len(tests)} measures a Friedman test at "
            f"{100 * ALPHA:g}% tells the measured methods apart; the leaderboard compares pairs. "
        )
    return told


@dataclass(frozen=True)
class _Panel:
    """Ranks by a measure, on the printed side or on the measured one."""

    title: str
    compared: Ranking
    labels: Mapping[str, str]


def _drawn(pairs: Sequence[Sequence[_Panel]]) -> str:
    """Draw a row for each method, the best above, with printed dots over measured ones."""
    labels: dict[str, str] = {}
    ranks: dict[tuple[str, str], list[float]] = defaultdict(list)
    for side, panel in chain.from_iterable(zip(COLOURS, pair, strict=True) for pair in pairs):
        for name, rank in panel.compared.ranks.items():
            labels[name] = panel.labels[name]
            ranks[side, name].append(rank)
    order = sorted(
        labels, key=lambda name: statistics.fmean(ranks["measured", name] or ranks["printed", name])
    )
    sheet, left, top = Sheet(), 28 + text_width(labels.values(), LETTERS), 86.0
    last, bottom = len(labels), top + ROW * len(labels)
    step = (WIDTH - 20 - left) / max(last - 1, 1)
    sheet.legend(left, 14, COLOURS, LETTERS, "●")
    sheet.text(left, top - 40, "average rank over data sets (1 is best)", LETTERS)
    for rank in range(1, last + 1):
        x = left + step * (rank - 1)
        sheet.line((x, top), (x, bottom), stroke=PALE)
        sheet.text(x, top - 14, str(rank), LETTERS, "middle")
    for row, name in enumerate(order):
        y = top + ROW * (row + 0.5)
        sheet.text(left - 14, y, labels[name], LETTERS, "end")
        for side, below in zip(COLOURS, (-9, 9), strict=True):
            for rank in ranks[side, name]:
                x = left + step * (rank - 1)
                look = {"fill": COLOURS[side], "fill_opacity": "0.6"}
                sheet.shape("circle", cx=x, cy=y + below, r=6, **look)
    return sheet.svg(WIDTH, bottom + 8)


def _ranks(panels: Iterable[_Panel]) -> list[list[str]]:
    """Return the average ranks, a line for each method of each diagram."""
    found = [["diagram", "data sets", "Friedman p", "method", "average rank"]]
    for panel in panels:
        compared = panel.compared
        p = "" if compared.friedman is None else f"{compared.friedman:.2g}"
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
    """Return names, marked where a number is of another protocol, and what marks and names mean."""
    rows = [row for row in rows if row.verdict in JUDGED]
    main = Counter(row.protocol for row in rows).most_common(1)
    others = {row.method: row.protocol for row in rows if row.protocol != main[0][0]}
    labels = {name: f"{name}†" if name in others else name for name in names}
    remark = "".join(
        f" † has numbers of the protocol {protocol}, on other splits."
        for protocol in sorted(set(others.values()))
    )
    ran: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        ran[row.method].add("other settings" if "=" in row.method_id else row.method_id)
    told = [f"{name} as {listed(sorted(i))}" for name, i in ran.items() if any("@" in o for o in i)]
    return labels, remark + (f" Measured: {'; '.join(told)}." if told else "")

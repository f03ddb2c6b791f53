"""Critical-difference diagrams: average ranks over data sets, as printed and as measured."""

from __future__ import annotations

import statistics
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldl import metrics
from ldlrepro.judge.comparisons import Losses, measured_losses, printed_losses
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.significance import ALPHA, Ranking, ranking
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.content import measure_title

CAPTION = (
    "Average ranks over the data sets that have numbers of all these methods, the best on the "
    "left; a measured data set counts also where the table has no line for it. A bar joins methods "
    "(its dots) whose differences are not significant: Friedman, then exact Wilcoxon signed rank "
    f"tests with Holm's correction over all pairs, at {100 * ALPHA:g} %. A misprinted number takes "
    "its data set out of that measure."
)


def rank_figure(
    rows: Iterable[VerdictRow],
    units: Iterable[UnitScores],
    spec: Mapping[str, Any],
    own: Mapping[str, str] | None = None,
) -> tuple[Any, str, list[list[str]]]:
    """Draw a table's ranks, by measure; return the drawing, its caption and the ranks.

    On the measured side stand the user's ``own`` methods (id -> title) as well.
    """
    rows = [row for row in rows if row.table == spec["ranks"] and row.metric in metrics.BETTER]
    names = list(spec.get("methods") or dict.fromkeys(row.method for row in rows))
    rows, units = [row for row in rows if row.method in names], list(units)
    labels, remark = _labels(rows, names)
    missing: set[str] = set()
    pairs: list[list[_Panel]] = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        measured = measured_losses(mine, lambda row: row.method, units)
        joining = _join(measured, names, mine, units, own or {})
        missing |= set((own or {}).values()) - set(joining)
        sides = {
            "printed": (names, printed_losses(mine, lambda row: row.method)),
            "measured": ([*names, *joining], measured),
        }
        pairs.append(
            [
                _Panel(
                    f"{measure_title(metric)}, {side}",
                    ranking(shown, losses),
                    {name: labels.get(name, f"{name} (own)") for name in shown},
                )
                for side, (shown, losses) in sides.items()
            ]
        )
    if missing:
        remark += f" Left out, for want of some of the data sets: {', '.join(sorted(missing))}."
    return _drawn(pairs), CAPTION + remark, _ranks([panel for pair in pairs for panel in pair])


@dataclass(frozen=True)
class _Panel:
    """One diagram: a measure, on the printed side or on the measured one."""

    title: str
    compared: Ranking
    labels: Mapping[str, str]


def _drawn(pairs: Sequence[Sequence[_Panel]]) -> Any:
    """Draw diagrams in pairs. One whose partner is a refusal gets the whole width."""
    from matplotlib.figure import Figure as Canvas

    lines: list[tuple[float, Sequence[_Panel]]] = []
    for pair in pairs:
        tested = [panel for panel in pair if not panel.compared.refusal]
        lines += [(0.65, [panel]) for panel in pair if panel not in tested]
        most = max((len(panel.labels) for panel in tested), default=0)
        lines += [(1.0 + 0.22 * ((most + 1) // 2), tested)] if tested else []
    heights = [height for height, _ in lines]
    figure = Canvas(figsize=(9, max(1.0, sum(heights))), layout="constrained")
    grid = figure.add_gridspec(max(1, len(lines)), 2, height_ratios=heights or None)
    for number, (_, panels) in enumerate(lines):
        for place, panel in enumerate(panels):
            part = grid[number, :] if len(panels) == 1 else grid[number, place]
            _draw(figure.add_subplot(part), panel)
    return figure


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


def _draw(axes: Any, panel: _Panel) -> None:
    compared, labels = panel.compared, panel.labels
    count = len(compared.datasets)
    title = f"{panel.title}: {count} data set{'' if count == 1 else 's'}"
    if compared.friedman is not None:
        title += f", Friedman p {compared.friedman:.1g}"
    axes.set_title(title, fontsize=9, loc="left")
    if compared.refusal:
        _refused(axes, compared, labels)
        return
    from scikit_posthocs import critical_difference_diagram

    drawn = critical_difference_diagram(
        {labels[name]: rank for name, rank in compared.ranks.items()},
        compared.p.rename(index=labels, columns=labels),
        ax=axes,
        alpha=ALPHA,
        label_fmt_left="{label} {rank:.1f}",
        label_fmt_right="{rank:.1f} {label}",
        label_props={"fontsize": 8},
        marker_props={"s": 14},
        elbow_props={"linewidth": 0.7},
        crossbar_props={"linewidth": 2, "color": "#c05621", "marker": "o", "markersize": 4},
        color_palette=dict.fromkeys(labels.values(), "#2d3748"),
    )
    for (bar,) in drawn["crossbars"]:
        bar.set_xdata(sorted(bar.get_xdata()))  # from a set, whose order is not the same twice
    axes.tick_params(labelsize=8)


def _refused(axes: Any, compared: Ranking, labels: Mapping[str, str]) -> None:
    """Write the ranks as text: marks on an axis without bars would look like a verdict."""
    axes.set_axis_off()
    lines = [f"No test: {compared.refusal}."]
    if compared.ranks:
        ranks = ", ".join(f"{labels[name]} {rank:.1f}" for name, rank in compared.ranks.items())
        lines.append(f"Average ranks: {ranks}.")
    wrapped = "\n".join(textwrap.fill(line, 130, break_on_hyphens=False) for line in lines)
    axes.text(0, 0.95, wrapped, ha="left", va="top", color="#4a5568", fontsize=8)

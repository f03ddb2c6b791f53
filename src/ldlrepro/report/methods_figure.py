"""A map of all methods of a paper on all its data sets, by their mean errors."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ldlrepro.judge.scores import UnitScores
from ldlrepro.report.canvas import canvas, nothing
from ldlrepro.report.content import CONTROLS, PaperPage

MOST = 5.0
"""Colours go from 1 to this many times more and less."""


def methods_figure(page: PaperPage) -> tuple[str, Any, str, list[list[str]]]:
    """Draw mean errors, over the training mean's if it has run: methods down, data sets across.

    Returns title, drawing, caption and the numbers.
    """
    title = "Methods side by side"
    hidden = {"true_labels", *(unit.method for unit in page.units if "=" in unit.method)}
    units = [unit for unit in page.units if unit.values("kl") and unit.method not in hidden]
    floor = {_place(u): _error(u) for u in units if u.method == "train_mean"}
    units = [u for u in units if u.method not in CONTROLS]
    if floor:
        units = [u for u in units if floor.get(_place(u))]
    if not units:
        figure, axes = canvas(height=1.7)
        return title, nothing(figure, axes, "nothing to compare has been run yet"), "", []
    places = list(dict.fromkeys(_place(unit) for unit in units))
    several = len({protocol for protocol, _ in places}) > 1
    columns = [f"{data}, {protocol}" if several else data for protocol, data in places]
    cells = {(u.method, _place(u)): _error(u) / floor.get(_place(u), 1.0) for u in units}
    lines: dict[str, list[float | None]] = {
        method: [cells.get((method, place)) for place in places]
        for method in dict.fromkeys(unit.method for unit in units)
    }
    best = [min(v for v in column if v is not None) for column in zip(*lines.values(), strict=True)]
    lines = dict(sorted(lines.items(), key=lambda item: (_behind(item[1], best), item[0])))
    what = "mean absolute error" if all(map(_of_ages, units)) else "mean KL"
    caption = f"The {what} of each method on each data set, the best methods first."
    if floor:
        what += " over that of the training mean"
        caption = (
            f"The {what}: below 1 a method is better than that mean. The best methods come first; "
            "those of the paper are bold."
        )
    own = {row.method_id for row in page.rows if row.method in page.own}
    titles = {name: page.method_titles.get(name, name) for name in lines}
    figure = _heat_map(lines, columns, what, titles, own)
    table = [["method", "id", *columns]]
    for name, values in lines.items():
        table.append([titles[name], name, *("" if v is None else f"{v:.4g}" for v in values)])
    return title, figure, caption, table


def _behind(values: Sequence[float | None], best: Sequence[float]) -> float:
    """Return how far a method is behind the best one, in the middle of its data sets."""
    there = [(v, b) for v, b in zip(values, best, strict=True) if v is not None]
    return statistics.median(v / b if b else float(v > b) for v, b in there)


def _heat_map(
    lines: Mapping[str, Sequence[float | None]],
    columns: Sequence[str],
    what: str,
    titles: Mapping[str, str],
    own: Collection[str],
) -> Any:
    """Draw values by colour and as numbers; the names of ``own`` lines are bold."""
    import numpy as np
    from matplotlib.colors import LogNorm

    values = np.array([[np.nan if v is None else v for v in line] for line in lines.values()])
    width = min(12.0, 3.8 + 0.52 * len(columns))
    figure, axes = canvas(1.2 + 0.075 * max(map(len, columns)) + 0.21 * len(lines), width=width)
    positive = values[np.isfinite(values) & (values > 0)]
    limit = min(MOST, max([1.1, *positive, *(1 / positive)]))
    norm = LogNorm(1 / limit, limit)
    image = axes.pcolormesh(values, cmap="RdYlBu_r", norm=norm, edgecolors="white", linewidth=0.5)
    for (y, x), value in np.ndenumerate(values):
        if np.isfinite(value):
            shade = norm(value) if value > 0 else 0.0
            colour = "white" if shade < 0.15 or shade > 0.88 else "#1c1d1f"
            axes.text(
                *(x + 0.5, y + 0.5, f"{value:.{2 if value < 9.995 else 0}f}"),
                ha="center",
                va="center",
                fontsize=6,
                color=colour,
            )
    axes.set_xticks([x + 0.5 for x in range(len(columns))], columns, rotation=90, fontsize=8)
    names = [_told_apart(name, titles) for name in lines]
    axes.set_yticks([y + 0.5 for y in range(len(lines))], names, fontsize=8)
    for label, name in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if name in own else "normal")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, location="top", aspect=40, shrink=0.7)
    bar.set_label(what, fontsize=8)
    bar.ax.tick_params(labelsize=7)
    ticks = [t for t in (0.2, 0.5, 0.8, 1, 1.25, 2, 5) if 1 / limit <= t <= limit]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.minorticks_off()
    return figure


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

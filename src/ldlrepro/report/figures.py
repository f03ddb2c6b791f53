"""Drawings of a paper: measured against printed, methods side by side, and its own figures."""

from __future__ import annotations

import io
import json
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldlrepro import experiments
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.judge.answer import Curve
from ldlrepro.judge.scores import UnitScores
from ldlrepro.report.content import (
    CONTROLS,
    VERDICT_SIGNS,
    Figure,
    PaperPage,
    measure_title,
)
from ldlrepro.report.ranks import rank_figure

COLOURS = {
    "exact": "#14493a",
    "reproduced": "#2a7f62",
    "better": "#2b6cb0",
    "worse": "#c05621",
    "quoted": "#718096",
    "misprint": "#97266d",
}
LIST = "figures.json"
"""Titles and captions of the drawings in a folder, in their order."""
MARKERS = {
    "exact": "D",
    "reproduced": "o",
    "better": "^",
    "worse": "v",
    "quoted": "s",
    "misprint": "x",
}


def drawings(page: PaperPage) -> dict[str, Figure]:
    """Draw a paper's figures by file name: two for every paper, then the paper's own."""
    found = {
        "agreement": Figure(
            "Measured against printed",
            as_svg(_agreement(page)),
            "How far each measured number lies from the printed one. On the line the two agree.",
        ),
        "methods": Figure(
            "Methods side by side",
            as_svg(_methods(page)),
            "Mean KL of each method on each data set, of ages the mean absolute error; over that "
            "of the training mean if it ran.",
        ),
    }
    drawn = {
        name: experiments.drawings(page.id, measured) for name, measured in page.experiments.items()
    }
    curves = {curve.number: curve for curve in page.curves}
    for number, spec in page.printed_figures.items():
        name, title = f"figure_{number}", f"Figure {number}: {spec['title']}"
        if number in curves:
            curve = curves[number]
            found[name] = Figure(title, as_svg(_curve(curve)), _settings(spec, curve))
        elif "ranks" in spec:
            image, caption = rank_figure(page.rows, page.units, spec, page.own_methods)
            found[name] = Figure(title, as_svg(image), caption)
        elif image := drawn.get(spec.get("experiment", ""), {}).get(spec.get("drawing", number)):
            source = page.experiments[spec["experiment"]]["source"]
            caption = f"Experiment {spec['experiment']}, {source}."
            found[name] = Figure(title, as_svg(image), caption)
    return found


def write_figures(page: PaperPage, folder: Path) -> list[Path]:
    """Draw all figures of a paper, with a list of their titles and captions beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for name, figure in drawings(page).items():
        write_text(folder / f"{name}.svg", str(figure.image))
        listed.append({"file": f"{name}.svg", "title": figure.title, "caption": figure.caption})
    write_text(folder / LIST, json.dumps(listed, indent=1) + "\n")
    return [folder / entry["file"] for entry in listed]


def read_figures(folder: Path) -> list[Figure]:
    """Read the drawings of a paper in the order in which they were listed."""
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        images = [(folder / entry["file"]).read_text(encoding="utf-8") for entry in listed]
    except FileNotFoundError as error:
        raise UserError(
            f"{error.filename}: no such drawing. Type `ldlrepro figures {folder.name}`."
        ) from None
    return [
        Figure(entry["title"], image, entry["caption"])
        for entry, image in zip(listed, images, strict=True)
    ]


def _settings(spec: Mapping[str, Any], curve: Curve) -> str:
    fixed = _listed(spec.get("fixed", {}))
    for line, settings in spec.get("fixed_by_line", {}).items():
        fixed += f" ({line}{_listed(settings)})"
    over = curve.few_folds() or "the folds"
    return f"{spec['method']} on {spec['dataset']}{fixed}; mean over {over}, bars: deviation."


def _listed(settings: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value}" for name, value in settings.items())


def _curve(curve: Curve) -> Any:
    figure, axes = canvas(height=3.6)
    if not curve.values:
        return _nothing(figure, axes, "no point has been measured yet")
    for index, line in enumerate(dict.fromkeys(line for line, _ in curve.values)):
        points = sorted((x, v) for (own, x), v in curve.values.items() if own == line)
        axes.errorbar(
            [x for x, _ in points],
            [statistics.fmean(values) for _, values in points],
            yerr=[statistics.stdev(v) if len(v) > 1 else 0.0 for _, v in points],
            marker="oDs^vP*X"[index % 8],
            markersize=4,
            linewidth=1,
            elinewidth=0.5,
            label=f"{curve.line} {line}" if curve.line else None,
        )
    axes.set_xlabel(curve.x)
    axes.set_ylabel(measure_title(curve.metric))
    if curve.line:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return figure


def _agreement(page: PaperPage) -> Any:
    """Draw deviations from the printed value: one point per cell, a row per measure."""
    rows = [row for row in page.rows if row.deviation is not None]
    measures = list(dict.fromkeys(row.metric for row in rows))
    figure, axes = canvas(height=1.2 + 0.45 * max(1, len(measures)))
    if not rows:
        return _nothing(figure, axes, "no printed number has been measured yet")
    for verdict, marker in MARKERS.items():
        mine = [row for row in rows if row.verdict == verdict]
        if mine:
            # A fixed spread keeps points apart and the drawing the same on every run.
            heights = [
                measures.index(r.metric) + ((i * 7) % 11 - 5) / 18 for i, r in enumerate(mine)
            ]
            axes.scatter(
                [100 * max(-1.0, min(1.0, row.deviation or 0.0)) for row in mine],
                heights,
                s=16,
                alpha=0.75,
                marker=marker,
                color=COLOURS[verdict],
                linewidths=0.8,
                label=f"{VERDICT_SIGNS[verdict].sign} {verdict} ({len(mine)})",
            )
    axes.axvline(0, color="#4a5568", linewidth=0.8)
    axes.set_yticks(range(len(measures)), [measure_title(m) for m in measures])
    axes.set_ylim(len(measures) - 0.5, -0.5)
    axes.set_xlabel("measured minus printed, % of printed (cut at 100)")
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14 - 0.5 / len(measures)),
        ncols=5,
        frameon=False,
        fontsize=8,
    )
    return figure


_MARKS = "oDs^vP*X<"
"""Nine marks, because colours repeat after ten: so no two of ninety methods look alike."""


def _methods(page: PaperPage) -> Any:
    """Draw mean errors per data set, over the training mean's if it has run; a mark per method."""
    hidden = {"true_labels", *(unit.method for unit in page.units if "=" in unit.method)}
    units = [unit for unit in page.units if unit.values("kl") and unit.method not in hidden]
    floor = {_place(u): _error(u) for u in units if u.method == "train_mean"}
    units = [u for u in units if u.method not in CONTROLS]
    if floor:
        units = [u for u in units if floor.get(_place(u))]
    places = list(dict.fromkeys(_place(unit) for unit in units))
    methods = sorted({unit.method for unit in units})
    height = 1.4 + max(0.3 * len(places), 0.18 * len(methods), 0.3)
    figure, axes = canvas(height, width=10)
    if not units:
        return _nothing(figure, axes, "nothing to compare has been run yet")
    for number, method in enumerate(methods):
        mine = [unit for unit in units if unit.method == method]
        axes.scatter(
            [_error(unit) / floor.get(_place(unit), 1.0) for unit in mine],
            [places.index(_place(unit)) for unit in mine],
            s=26,
            marker=_MARKS[number % len(_MARKS)],
            label=page.method_titles.get(method, method),
            alpha=0.85,
        )
    several = len({protocol for protocol, _ in places}) > 1
    labels = [f"{data}, {protocol}" if several else data for protocol, data in places]
    axes.set_xscale("log")
    axes.set_yticks(range(len(places)), labels)
    axes.set_ylim(len(places) - 0.5, -0.5)
    what = "MAE" if all(map(_of_ages, units)) else "mean KL"
    axes.set_xlabel(what)
    if floor:
        axes.axvline(1, color="#4a5568", linewidth=0.8)
        axes.set_xlabel(f"{what} divided by that of the training mean (left of the line is better)")
    axes.grid(axis="y", linewidth=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return figure


def _place(unit: UnitScores) -> tuple[str, str]:
    """Return protocol and data set: only runs on the same folds can be compared."""
    return unit.protocol, unit.dataset


def _of_ages(unit: UnitScores) -> bool:
    return bool(unit.values("mae"))


def _error(unit: UnitScores) -> float:
    found = unit.mean("mae" if _of_ages(unit) else "kl")
    assert found is not None
    return found


def canvas(height: float, width: float = 8) -> tuple[Any, Any]:
    """Return a new figure and its axes."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _nothing(figure: Any, axes: Any, text: str) -> Any:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color="#4a5568")
    return figure


def as_svg(figure: Any, transparent: bool = True) -> str:
    """Return SVG text that is the same for the same content: no date, fixed ids.

    Coordinates keep two decimals, which no eye can tell from the eight that are written.
    """
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "ldlrepro", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=transparent)
    return re.sub(
        r"<(?:path|use|g|rect|circle|clipPath|text|line)\b[^>]*>",
        lambda tag: re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", tag[0]),
        out.getvalue(),
    )

"""Drawings of a paper: measured against printed, methods side by side, and its own figures."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ldlrepro import experiments
from ldlrepro.catalogue import Figure as Printed
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import csv_text, write_text
from ldlrepro.judge.answer import Curve
from ldlrepro.plan.printed import known_measures
from ldlrepro.report.agreement_figure import agreement_figure
from ldlrepro.report.canvas import ABOVE, as_svg, canvas, legends_above, numbers, stacked
from ldlrepro.report.content import Figure, PaperPage
from ldlrepro.report.methods_figure import methods_figure
from ldlrepro.report.ranks import rank_figure
from ldlrepro.report.svg import MEASURED

LIST, PHONE = "figures.json", "phone"
"""Titles and captions of the drawings in a folder, in their order; the folder of narrow ones."""
WORDS = {
    "n_estimators": "number of trees",
    "max_depth": "depth",
    "max_samples": "sampling ratio",
    "tol": "threshold",
}
"""Parameters that papers name otherwise."""
FAR = 20
"""Times the least value of an axis from which on the greatest makes it logarithmic."""


def drawings(page: PaperPage) -> dict[str, Figure]:
    """Draw a paper's figures by file name: those of every paper, then its own.

    What has no measured point yet is left out.
    """
    found: dict[str, Figure | None] = {
        "agreement": agreement_figure(page),
        "methods": methods_figure(page),
    }
    measured = page.answer.experiments
    drawn = {name: experiments.drawings(page.paper, each) for name, each in measured.items()}
    curves = {curve.number: curve for curve in page.answer.curves}
    for number, printed in page.paper.figures.items():
        name = f"figure_{number.replace(' ', '_')}"
        title = printed.title
        if number[0].isdigit():
            title = f"Figure {number.split()[0]}, measured here: {title}"
        curve = curves.get(number)
        if curve and curve.values:
            image = _curve(curve, _with_direction(page, curve.metric))
            caption = f"{_finding(page, curve, printed.dataset)}{_settings(printed, curve)}"
            found[name] = Figure(title, image, caption, _points(curve))
        elif printed.ranks:
            found[name] = rank_figure(page, printed, title)
        elif drawing := drawn.get(printed.experiment, {}).get(number.split()[0]):
            source = measured[printed.experiment].source
            caption = f"{printed.caption} Experiment {printed.experiment}, {source}.".lstrip()
            image = as_svg(legends_above(drawing))
            figure = Figure(title, image, caption, numbers(drawing))
            if figure.is_broad and all(axes.get_gridspec() for axes in drawing.axes):
                figure = replace(figure, narrow=as_svg(stacked(drawing)))
            found[name] = figure
    return {name: figure for name, figure in found.items() if figure}


def write_figures(page: PaperPage, folder: Path) -> list[Path]:
    """Draw all figures of a paper, with a list of their titles and captions beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for name, figure in drawings(page).items():
        write_figure(figure, folder / name)
        listed.append({"name": name, "title": figure.title, "caption": figure.caption})
    write_text(folder / LIST, json.dumps(listed, indent=1) + "\n")
    return [folder / f"{entry['name']}.svg" for entry in listed]


def write_figure(figure: Figure, place: Path) -> None:
    """Write a drawing as SVG, and its numbers as CSV."""
    write_text(place.with_name(f"{place.name}.svg"), figure.image)
    write_text(place.with_name(f"{place.name}.csv"), csv_text(figure.table))
    if figure.narrow:
        write_text(place.parent / PHONE / f"{place.name}.svg", figure.narrow)


def read_figures(folder: Path) -> dict[str, Figure]:
    """Read the drawings of a paper in the order in which they were listed."""
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        return {entry["name"]: _read(entry, folder / entry["name"]) for entry in listed}
    except FileNotFoundError as error:
        raise UserError(
            f"{error.filename}: no such drawing. Type `ldlrepro figures {folder.name}`."
        ) from None


def _read(entry: Mapping[str, str], place: Path) -> Figure:
    with place.with_name(f"{place.name}.csv").open(encoding="utf-8", newline="") as handle:
        table = list(csv.reader(handle))
    narrow = place.parent / PHONE / f"{place.name}.svg"
    return Figure(
        entry["title"],
        place.with_name(f"{place.name}.svg").read_text(encoding="utf-8"),
        entry["caption"],
        table,
        narrow.read_text(encoding="utf-8") if narrow.is_file() else "",
    )


def _finding(page: PaperPage, curve: Curve, dataset: str) -> str:
    """Say where a curve is best, and how far its ends are apart; if less than folds, that first."""
    means = curve.means()
    if len(means) < 2:
        return ""
    falls = known_measures(page.project)[curve.metric] == "lower"
    best, *_, worst = sorted(means, key=means.__getitem__, reverse=not falls)
    values = curve.values[best]
    low, high = sorted((means[best], means[worst]))
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    measure = f"{page.measure(curve.metric)} on {dataset}"
    line = f" and {in_words(curve.line)} {best[0]}" if curve.line else ""
    told = f"is best at {in_words(curve.x)} {best[1]}{line}. "
    apart = f"Means lie between {low:.4g} and {high:.4g}. "
    if spread:
        apart += f"One standard deviation over folds is {spread:.2g}. "
    if high - low >= spread:
        return f"{measure} {told}{apart}"
    names = " and ".join(map(in_words, filter(None, (curve.x, curve.line))))
    several = "s" * (" and " not in names)
    changes = f"{names[:1].upper()}{names[1:]} change{several} {measure}"
    return f"{changes} by less than a deviation over folds. It {told}{apart}"


def _with_direction(page: PaperPage, metric: str) -> str:
    """Return a measure's name, with the side that is better."""
    better = known_measures(page.project)[metric]
    return page.measure(metric) + (f" ({better} is better)" if better != "none" else "")


def in_words(parameter: str) -> str:
    """Return a parameter's name as papers say it."""
    return WORDS.get(parameter, parameter.replace("_", " "))


def _settings(printed: Printed, curve: Curve) -> str:
    fixed = _listed(printed.fixed)
    for line, settings in printed.fixed_by_line.items():
        fixed += f", {line} with{_listed(settings)[1:]}" if settings else ""
    over = curve.few_folds() or "the folds"
    beside = ", side by side around their tick" if curve.line else ""
    return (
        f"Points are means over {over} of {printed.method} on {printed.dataset}{fixed}. Bars are "
        f"one standard deviation{beside}."
    )


def _listed(settings: Mapping[str, Any]) -> str:
    return "".join(f", {in_words(name)} {value}" for name, value in settings.items())


def _curve(curve: Curve, measure: str) -> str:
    """Draw a curve with letters that a phone, which shrinks it, still shows 10 pixels high."""
    import matplotlib

    with matplotlib.rc_context({"font.size": 12}):
        return as_svg(_drawn(curve, measure))


def _drawn(curve: Curve, measure: str) -> Any:
    import numpy
    from matplotlib import colormaps

    figure, axes = canvas(height=3.6, width=4.8)
    lines = list(dict.fromkeys(line for line, _ in curve.values))
    ticks = sorted({x for _, x in curve.values})
    places, scale = _places(ticks)
    axes.set_xticks(places, ticks)
    least = min((b - a for a, b in pairwise(places)), default=1.0)
    colours: Any = [MEASURED]
    if len(lines) > 1:
        colours = colormaps["plasma"](numpy.linspace(0, 0.65, len(lines)))
    for index, line in enumerate(lines):
        points = sorted((x, v) for (own, x), v in curve.values.items() if own == line)
        beside = 0.1 * least * (index - (len(lines) - 1) / 2)  # so that no bar hides another
        axes.errorbar(
            [places[ticks.index(x)] + beside for x, _ in points],
            [statistics.fmean(values) for _, values in points],
            yerr=[statistics.stdev(v) if len(v) > 1 else 0.0 for _, v in points],
            marker="oDs^vP*X"[index % 8],
            markersize=5,
            linewidth=1.5,
            elinewidth=0.8,
            color=colours[index],
            label=str(line),
        )
    axes.set_xlabel(in_words(curve.x) + scale)
    axes.set_ylabel(measure)
    if curve.line:
        axes.legend(
            title=in_words(curve.line), ncols=len(lines), handlelength=1, columnspacing=1, **ABOVE
        )
    return figure


def _places(ticks: Sequence[Any]) -> tuple[Sequence[float], str]:
    """Return where values stand on an axis, and what to say of its scale."""
    if not all(isinstance(x, int | float) for x in ticks):
        return range(len(ticks)), ""
    if 0 < FAR * ticks[0] <= ticks[-1]:
        return [math.log10(x) for x in ticks], " (logarithmic)"
    return ticks, ""


def _points(curve: Curve) -> list[list[str]]:
    """Return the points of a curve: their place, mean and standard deviation."""
    found = [[curve.line or "line", curve.x, "mean", "standard deviation", "folds"]]
    in_order = sorted(curve.values.items(), key=lambda point: (str(point[0][0]), point[0][1]))
    for (line, x), values in in_order:
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        mean = statistics.fmean(values)
        found.append([str(line), str(x), f"{mean:.5g}", f"{spread:.2g}", str(len(values))])
    return found

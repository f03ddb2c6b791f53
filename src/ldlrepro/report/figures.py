"""Drawings of a paper: measured against printed, methods side by side, and its own figures."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldlrepro import experiments
from ldlrepro.catalogue import Figure as Printed
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import csv_text, write_text
from ldlrepro.judge.answer import Curve
from ldlrepro.report.agreement_figure import agreement_figure
from ldlrepro.report.canvas import as_svg, canvas, legends_above, numbers
from ldlrepro.report.content import Figure, PaperPage
from ldlrepro.report.methods_figure import methods_figure
from ldlrepro.report.ranks import rank_figure
from ldlrepro.report.svg import blank

LIST = "figures.json"
"""Titles and captions of the drawings in a folder, in their order."""


def drawings(page: PaperPage) -> dict[str, Figure]:
    """Draw a paper's figures by file name: two for every paper, then the paper's own."""
    found = {"agreement": agreement_figure(page), "methods": methods_figure(page)}
    measured = page.answer.experiments
    drawn = {name: experiments.drawings(page.paper, each) for name, each in measured.items()}
    curves = {curve.number: curve for curve in page.answer.curves}
    for number, printed in page.paper.figures.items():
        name = f"figure_{number.replace(' ', '_')}"
        title = f"Figure {number}: {printed.title}" if number[0].isdigit() else printed.title
        if curve := curves.get(number):
            image = blank("no point has been measured yet")
            if curve.values:
                image = as_svg(_curve(curve, page.measure(curve.metric)))
            found[name] = Figure(title, image, _settings(printed, curve), _points(curve))
        elif printed.ranks:
            found[name] = rank_figure(page, printed, title)
        elif drawing := drawn.get(printed.experiment, {}).get(number.split()[0]):
            source = measured[printed.experiment].source
            caption = f"Experiment {printed.experiment}, {source}; its numbers stand there."
            image = as_svg(legends_above(drawing))
            found[name] = Figure(title, image, caption, numbers(drawing))
    return found


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
    return Figure(
        entry["title"],
        place.with_name(f"{place.name}.svg").read_text(encoding="utf-8"),
        entry["caption"],
        table,
    )


def _settings(printed: Printed, curve: Curve) -> str:
    fixed = _listed(printed.fixed)
    for line, settings in printed.fixed_by_line.items():
        fixed += f" ({line}{_listed(settings)})"
    over = curve.few_folds() or "the folds"
    return (
        f"{printed.method} on {printed.dataset}{fixed}; mean over {over}; bars: standard deviation."
    )


def _listed(settings: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value}" for name, value in settings.items())


def _curve(curve: Curve, measure: str) -> Any:
    figure, axes = canvas(height=3.6)
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
    if all(isinstance(x, int) for _, x in curve.values):
        axes.locator_params("x", integer=True)
    axes.set_xlabel(curve.x)
    axes.set_ylabel(measure)
    if curve.line:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return figure


def _points(curve: Curve) -> list[list[str]]:
    """Return the points of a curve: their place, mean and standard deviation."""
    found = [[curve.line or "line", curve.x, "mean", "standard deviation", "folds"]]
    for (line, x), values in sorted(curve.values.items(), key=str):
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        mean = statistics.fmean(values)
        found.append([str(line), str(x), f"{mean:.5g}", f"{spread:.2g}", str(len(values))])
    return found

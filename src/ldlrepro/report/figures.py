"""Drawings of a paper: measured against printed, methods side by side, and its own figures."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ldlrepro import experiments
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import atomically, write_text
from ldlrepro.judge.answer import Curve
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.canvas import as_png, as_svg, canvas, nothing, numbers
from ldlrepro.report.content import (
    VERDICT_SIGNS,
    Figure,
    PaperPage,
    measure_title,
)
from ldlrepro.report.methods_figure import methods_figure
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
    found = {"agreement": _agreement(page), "methods": _figure(*methods_figure(page))}
    drawn = {
        name: experiments.drawings(page.id, measured) for name, measured in page.experiments.items()
    }
    curves = {curve.number: curve for curve in page.curves}
    for number, spec in page.printed_figures.items():
        name, title = f"figure_{number.replace(' ', '_')}", f"Figure {number}: {spec['title']}"
        if number in curves:
            curve = curves[number]
            found[name] = _figure(title, _curve(curve), _settings(spec, curve), _points(curve))
        elif "ranks" in spec:
            image, caption, ranks = rank_figure(page.rows, page.units, spec, page.own_methods)
            found[name] = _figure(title, image, caption, ranks)
        elif image := drawn.get(spec.get("experiment", ""), {}).get(spec.get("drawing", number)):
            source = page.experiments[spec["experiment"]]["source"]
            caption = f"Experiment {spec['experiment']}, {source}; its numbers stand there."
            found[name] = _figure(title, image, caption, numbers(image))
    return found


def _figure(title: str, drawing: Any, caption: str, table: list[list[str]] | None = None) -> Figure:
    return Figure(title, as_svg(drawing), caption, as_png(drawing), table or [])


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
    """Write a drawing as SVG and as PNG, and its numbers as CSV."""
    write_text(place.with_name(f"{place.name}.svg"), figure.image)
    atomically(place.with_name(f"{place.name}.png"), lambda path: path.write_bytes(figure.png))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(figure.table)
    write_text(place.with_name(f"{place.name}.csv"), text.getvalue())


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
        place.with_name(f"{place.name}.png").read_bytes(),
        table,
    )


def _settings(spec: Mapping[str, Any], curve: Curve) -> str:
    fixed = _listed(spec.get("fixed", {}))
    for line, settings in spec.get("fixed_by_line", {}).items():
        fixed += f" ({line}{_listed(settings)})"
    over = curve.few_folds() or "the folds"
    return (
        f"{spec['method']} on {spec['dataset']}{fixed}; mean over {over}; bars: standard deviation."
    )


def _listed(settings: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value}" for name, value in settings.items())


def _curve(curve: Curve) -> Any:
    figure, axes = canvas(height=3.6)
    if not curve.values:
        return nothing(figure, axes, "no point has been measured yet")
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


def _points(curve: Curve) -> list[list[str]]:
    """Return the points of a curve: their place, mean and standard deviation."""
    found = [[curve.line or "line", curve.x, "mean", "standard deviation", "folds"]]
    for (line, x), values in sorted(curve.values.items(), key=str):
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        mean = statistics.fmean(values)
        found.append([str(line), str(x), f"{mean:.5g}", f"{spread:.2g}", str(len(values))])
    return found


def _agreement(page: PaperPage) -> Figure:
    """Draw differences from the printed value: one point per cell, a row per measure."""
    rows = [row for row in page.rows if row.difference is not None]
    measures = list(dict.fromkeys(row.metric for row in rows))
    title = "Measured against printed"
    figure, axes = canvas(height=1.2 + 0.45 * max(1, len(measures)))
    if not rows:
        return _figure(title, nothing(figure, axes, "no printed number has been measured yet"), "")
    for verdict, marker in MARKERS.items():
        mine = [row for row in rows if row.verdict == verdict]
        if mine:
            # A fixed spread keeps points apart and the drawing the same on every run.
            heights = [
                measures.index(r.metric) + ((i * 7) % 11 - 5) / 18 for i, r in enumerate(mine)
            ]
            axes.scatter(
                [100 * max(-1.0, min(1.0, row.difference or 0.0)) for row in mine],
                heights,
                s=16,
                alpha=0.75,
                marker=marker,
                color=COLOURS[verdict],
                linewidths=0.8,
                label=f"{verdict} {_share(mine, [r for r in page.rows if r.verdict == verdict])}",
            )
    axes.axvline(0, color="#4a5568", linewidth=0.8)
    axes.set_yticks(range(len(measures)), [measure_title(m) for m in measures])
    axes.set_ylim(len(measures) - 0.5, -0.5)
    axes.set_xlabel("measured minus printed, % of printed (cut at 100)")
    figure.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    caption = (
        "How far each measured number lies from the printed one. On the line the two agree. A "
        "printed zero has no relative difference, and what was not measured has none; where a "
        "verdict has such cells, the legend counts the points and the cells."
    )
    return _figure(title, figure, caption, _counts(page.rows))


def _share(drawn: Sequence[VerdictRow], all_of_them: Sequence[VerdictRow]) -> str:
    if len(drawn) == len(all_of_them):
        return f"({len(drawn)})"
    return f"({len(drawn)} of {len(all_of_them)})"


def _counts(rows: Sequence[VerdictRow]) -> list[list[str]]:
    """Return the number of cells by measure and verdict."""
    found = [["measure", "printed", *VERDICT_SIGNS, "median difference, %"]]
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        sizes = [abs(row.difference) for row in mine if row.difference is not None]
        median = f"{100 * statistics.median(sizes):.1f}" if sizes else ""
        counts = [sum(row.verdict == verdict for row in mine) for verdict in VERDICT_SIGNS]
        found.append([measure_title(metric), str(len(mine)), *map(str, counts), median])
    return found

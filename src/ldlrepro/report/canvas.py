"""An empty drawing, and drawings as bytes that are the same every time."""

from __future__ import annotations

import io
import re
from typing import Any

FIRST, SECOND, REST = "#2b6cb0", "#c05621", "#8a94a6"
"""Colours of what is compared: the first two by name, and all others together."""
ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "frameon": False}
"""Where a legend covers no data."""


def canvas(height: float, width: float) -> tuple[Any, Any]:
    """Return a new figure and its axes."""
    figure, (axes,) = panels(height, width)
    return figure, axes


def panels(height: float, width: float, rows: int = 1, columns: int = 1) -> tuple[Any, list[Any]]:
    """Return a new figure and its axes, which have no frame above and on the right."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(width, height), layout="constrained")
    found = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in found:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, found


def legends_above(figure: Any) -> Any:
    """Move the legend of each panel above it, where it covers no data."""
    for axes in figure.axes:
        if legend := axes.get_legend():
            names = [text.get_text() for text in legend.get_texts()]
            axes.legend(legend.legend_handles, names, ncols=2, fontsize=9, **ABOVE)
    return figure


def stacked(figure: Any) -> Any:
    """Make a drawing as narrow as a phone: its panels stand below each other."""
    panels = [axes for axes in figure.axes if axes.axison]
    for axes in {*figure.axes} - {*panels}:
        figure.delaxes(axes)
    high = figure.get_figheight() / panels[0].get_gridspec().nrows
    for axes, place in zip(panels, figure.add_gridspec(len(panels), 1), strict=True):
        axes.set_subplotspec(place)
    for legend in [*figure.legends]:
        legend.remove()
        names = [text.get_text() for text in legend.get_texts()]
        title, place = legend.get_title().get_text(), "outside upper center"
        figure.legend(legend.legend_handles, names, title=title, loc=place, ncols=2, frameon=False)
    figure.set_size_inches(3.9, high * len(panels))
    figure.set_layout_engine("constrained")
    return figure


def numbers(figure: Any) -> list[list[str]]:
    """Return every point of a drawing: its panel, its line or colour, and where it lies."""
    from matplotlib.colors import to_hex

    found = [["panel", "line", "x", "y"]]
    for place, axes in enumerate(figure.axes, start=1):
        panel = axes.get_title() or axes.get_ylabel() or str(place)
        for line in axes.lines:
            name = "" if line.get_label().startswith("_") else line.get_label()
            found += [[panel, name, f"{x:.5g}", f"{y:.5g}"] for x, y in line.get_xydata()]
        for bar in axes.patches:
            x = bar.get_x() + bar.get_width() / 2
            found.append([panel, "", f"{x:.5g}", f"{bar.get_height():.5g}"])
        for points in axes.collections:
            colours = points.get_facecolors()
            for index, (x, y) in enumerate(points.get_offsets()):
                colour = to_hex(colours[index % len(colours)])
                found.append([panel, colour, f"{x:.5g}", f"{y:.5g}"])
    return found


def _lay_out(figure: Any) -> None:
    """Compute where everything in a drawing stands; to save it so would draw everything twice."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine = figure.get_layout_engine()
    if engine is not None and figure.axes:
        FigureCanvasSVG(figure)  # measures the letters
        figure.dpi = FigureCanvasSVG.fixed_dpi
        engine.execute(figure)
        figure.set_layout_engine(None)


def as_svg(figure: Any, transparent: bool = True) -> str:
    """Return SVG text that is the same for the same content: no date, fixed ids.

    Coordinates keep two decimals, which no eye can tell from the eight that are written.
    """
    import matplotlib

    _lay_out(figure)
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "ldlrepro", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=transparent)
    text = re.sub(
        r"<(?:path|use|g|rect|circle|clipPath|text|line)\b[^>]*>",
        lambda tag: re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", tag[0]),
        out.getvalue(),
    )
    # Matplotlib names a frame by all its digits, of which the last are not the same on every run.
    frames: dict[str, str] = {}
    return re.sub(
        r"\bp[0-9a-f]{10}\b", lambda name: frames.setdefault(name[0], f"p{len(frames)}"), text
    )

"""Pictures of rows in a plane: as a few bytes in an experiment's file, and as drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ldlrepro.report import canvas

BLACK = "000000"
PURE = {"most of label 1": "e02020", "most of label 2": "1f9d1f", "most of label 3": "3355ff"}
"""Colours that are mixed by three degrees; they show on white and on black."""
WHEEL = ("e6b800", "2b6cb0", "e07b1a", "c53030", "2f855a", "805ad5", "d53f8c", "00a3c4")


def picture(
    D: np.ndarray,
    labels: Sequence[str],
    panels: Mapping[str, tuple[np.ndarray, float]],
    neutral: int | None,
) -> dict[str, Any]:
    """Pack a picture; ``panels`` is title -> places in the plane and how mixed colours are."""
    found: dict[str, Any] = {
        "colours": rgb(D) if neutral is None else strongest(D, neutral),
        "places": {name: packed(places) for name, (places, _) in panels.items()},
        "mixing": {name: round(mixed, 3) for name, (_, mixed) in panels.items()},
    }
    if neutral is not None:
        colours = [*WHEEL[: D.shape[1]], BLACK]
        found["legend"] = dict(zip([*labels, "neutral"], colours, strict=True))
    return found


def rgb(D: np.ndarray) -> str:
    """Turn three degrees into red, green and blue over their range, in six digits per row."""
    low, high = D.min(axis=0), D.max(axis=0)
    shades = np.rint(255 * (D - low) / np.where(high > low, high - low, 1.0)).astype(int)
    return "".join(f"{red:02x}{green:02x}{blue:02x}" for red, green, blue in shades)


def strongest(D: np.ndarray, neutral: int) -> str:
    """Return a colour per strongest label; black for the ``neutral`` rows nearest to uniform."""
    apart = np.linalg.norm(D - 1.0 / D.shape[1], axis=1)
    plain = set(np.argsort(apart, kind="stable")[:neutral].tolist())
    best = D.argmax(axis=1)
    return "".join(BLACK if row in plain else WHEEL[label] for row, label in enumerate(best))


def packed(places: np.ndarray) -> str:
    """Pack places in thousandths of each axis: a drawing needs no more.

    An axis ends three interquartile ranges beyond the quartiles, and rows further out stand at its
    end. An axis without spread, but for rounding, is a line.
    """
    lower, upper = np.quantile(places, [0.25, 0.75], axis=0)
    low = np.maximum(places.min(axis=0), lower - 3 * (upper - lower))
    high = np.minimum(places.max(axis=0), upper + 3 * (upper - lower))
    flat = high - low <= 1e-9 * np.abs(places).max(axis=0)
    shares = (np.clip(places, low, high) - low) / np.where(flat, 1.0, high - low)
    steps = np.rint(999 * np.where(flat, 0.5, shares)).astype(int)
    return " ".join(f"{x},{y}" for x, y in steps)


def unpacked(text: str) -> np.ndarray:
    return np.array([[int(value) for value in place.split(",")] for place in text.split()])


def draw(series: dict[str, Any]) -> dict[str, Any]:
    """Draw every printed figure, with a panel per method."""
    return {number: _drawing(content) for number, content in series.items()}


def _drawing(content: Mapping[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    text = content["colours"]
    colours = [f"#{text[start : start + 6]}" for start in range(0, len(text), 6)]
    if "legend" not in content:
        colours = _mixed(colours)
    rows = -(-len(content["places"]) // 2)
    figure, panels = canvas.panels(0.7 + 3.7 * rows, 8, rows, 2)
    figure.supxlabel("first dimension (no unit)", fontsize=10)
    figure.supylabel("second dimension (no unit)", fontsize=10)
    for axes, (name, places) in zip(panels, content["places"].items(), strict=False):
        x, y = unpacked(places).T
        size = 3 if len(x) > 1000 else 14
        # Marks are drawn as pixels: thousands of vector marks would make the page slow.
        axes.scatter(x, y, c=colours, s=size, linewidths=0, rasterized=True)
        axes.set_title(f"{name}: colours mixed {content['mixing'][name]:.2f}", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
    for axes in panels[len(content["places"]) :]:
        axes.set_axis_off()
    marks = [
        Line2D([], [], color=f"#{colour}", marker="o", linestyle="", label=label)
        for label, colour in content.get("legend", PURE).items()
    ]
    told = "Colours mixed: 0 is sorted, 1 is random"
    figure.legend(handles=marks, title=told, loc="outside upper center", ncols=7, frameon=False)
    return figure


def _mixed(shades: Sequence[str]) -> Any:
    """Mix the pure colours as red, green and blue are mixed in each of these."""
    from matplotlib.colors import to_rgb

    shares = np.array([to_rgb(shade) for shade in shades])
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    return shares @ [to_rgb(f"#{colour}") for colour in PURE.values()]

"""Drawings written straight as SVG: shapes and words at places in pixels.

For drawings of hundreds of marks and words, which Matplotlib lays out for a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

INK, SOFT, PALE = "#1c1d1f", "#4a5568", "#d3d9e1"
PRINTED, MEASURED = "#62428f", "#17654b"
"""Colours of what a paper says and of what was found here, wherever both are drawn."""
MIDDLE = 0.35
"""How far below the middle of a letter its line is, as a share of the letter's size."""
NARROW = frozenset(" .,:;'()|ijlft")


def text_width(words: Iterable[str], size: float) -> float:
    """Return the room that the longest of these needs, for fonts are the reader's own."""
    return size * max((sum(map(_letter_width, text)) for text in words), default=0.0)


def _letter_width(letter: str) -> float:
    return 0.4 if letter in NARROW else 0.76 if letter.isupper() else 0.64


class Sheet:
    """A drawing that grows shape by shape. It is the same text for the same shapes."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def shape(self, tag: str, **settings: float | str) -> None:
        """Add an element; ``_`` in the name of a setting stands for ``-``."""
        self._parts.append(f"<{tag}{_told(settings)}/>")

    def line(self, *places: tuple[float, float], stroke: str = INK, width: float = 0.8) -> None:
        """Add a line through places."""
        points = " ".join(f"{_short(x)},{_short(y)}" for x, y in places)
        self.shape("polyline", points=points, fill="none", stroke=stroke, stroke_width=width)

    def disc(self, x: float, y: float, radius: float, fill: str, told: str = "") -> None:
        """Add a disc, with words that a browser shows where the pointer rests on it."""
        place = _told({"cx": x, "cy": y, "r": radius, "fill": fill})
        words = f"><title>{escape(told, quote=False)}</title></circle>" if told else "/>"
        self._parts.append(f"<circle{place}{words}")

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self.shape("rect", x=x, y=y, width=width, height=height, fill=fill)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float,
        anchor: str = "start",
        **settings: float | str,
    ) -> None:
        """Add words whose middle line is at ``y``: no two programs agree on baselines."""
        place = {"x": x, "y": y + MIDDLE * size, "font_size": size}
        told = _told({**place, "text_anchor": anchor, **settings})
        self._parts.append(f"<text{told}>{escape(words, quote=False)}</text>")

    def legend(
        self, x: float, y: float, colours: Mapping[str, str], size: float, sign: str = "■"
    ) -> None:
        """Write what colours mean, as one text: its gaps are even in the reader's own font."""
        place = {"x": x, "y": y + MIDDLE * size, "font_size": size}
        parts = [
            f'<tspan fill="{colour}" dx="{_short(size * (count > 0))}">{sign}</tspan> {name}'
            for count, (name, colour) in enumerate(colours.items())
        ]
        self._parts.append(f"<text{_told(place)}>{''.join(parts)}</text>")

    def svg(self, width: float, height: float) -> str:
        """Return the drawing as the text of a file."""
        size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        look = f'font-family="DejaVu Sans,Verdana,sans-serif" fill="{INK}"'
        body = "\n".join(self._parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look}>\n{body}\n</svg>\n'


def for_any_page(drawing: str) -> str:
    """Return a drawing on white that is light on dark where the reader's page may be dark.

    As a file of its own only: inside a page its style would be the page's.
    """
    ink, page = "#e6edf3", "#0d1117"
    dark = f'svg{{fill:{ink}}}rect[fill="white"]{{fill:{page}}}[stroke="{INK}"]{{stroke:{ink}}}'
    start, tag, rest = drawing.partition(">\n")
    return f"{start}{tag}<style>@media (prefers-color-scheme:dark){{{dark}}}</style>\n{rest}"


def blank(words: str) -> str:
    """Return a drawing that only says why nothing is drawn."""
    sheet = Sheet()
    sheet.text(280, 60, words, 16, "middle", fill=SOFT)
    return sheet.svg(560, 120)


def _told(settings: Mapping[str, float | str]) -> str:
    """Return settings as attributes, without those that stand for nothing."""
    return "".join(
        f' {name.replace("_", "-")}="{escape(_short(value))}"'
        for name, value in settings.items()
        if (name, value) != ("text_anchor", "start")
    )


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")

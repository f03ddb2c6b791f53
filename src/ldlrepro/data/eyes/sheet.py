"""A page with the pictures whose eyes are doubtful, to be looked at by a person."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ldlrepro.core.files import write_text
from ldlrepro.data.images.found import Found
from ldlrepro.data.images.pictures import PictureError, open_picture

SIDE = 200
MOST = 600
"""Pictures on one page; more would make it slow to open, and nobody looks at more."""
STYLE = """\
body { font: 14px sans-serif; margin: 1.5em; background: #fff; color: #222 }
main { display: flex; flex-wrap: wrap; gap: 1em }
figure { margin: 0; width: 200px; overflow-wrap: anywhere }
figcaption { font-size: 12px }
"""


def write_sheet(path: Path, images: Path, doubtful: Sequence[Found], title: str) -> None:
    """Write one HTML file that needs no other, the least confident pictures first."""
    chosen = sorted(doubtful, key=lambda line: (line.confidence, line.file))[:MOST]
    shown = f"{len(doubtful)} doubtful pictures"
    if len(chosen) < len(doubtful):
        shown += f", the {len(chosen)} least confident of them"
    figures = "\n".join(_figure(images, line) for line in chosen)
    cure = f"correct its line in {escape(path.parent.name)}/eyes.csv, or empty its four numbers"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>\n<style>\n{STYLE}</style>'
    body = (
        f"<h1>{escape(title)}</h1>\n<p>{shown}. Crosses mark the eyes. Where they are wrong, "
        f"{cure}.</p>\n<main>\n{figures}\n</main>"
    )
    page = f'<html lang="en"><head>{head}</head>\n<body>{body}</body></html>'
    write_text(path, f"<!doctype html>\n{page}\n")


def _figure(images: Path, line: Found) -> str:
    try:
        picture = _marked(open_picture(images / line.file).image.convert("RGB"), line)
        stored = io.BytesIO()
        picture.save(stored, "JPEG", quality=80)
        code = base64.b64encode(stored.getvalue()).decode()
        shown = f'<img alt="" src="data:image/jpeg;base64,{code}">'
    except PictureError:
        shown = ""
    return (
        f"<figure>{shown}<figcaption><b>{escape(line.file)}</b><br>{line.confidence:.2f} "
        f"{escape(line.problems)}</figcaption></figure>"
    )


def _marked(image: Any, line: Found) -> Any:
    from PIL import ImageDraw

    scale = SIDE / max(image.size)
    image = image.resize([max(1, round(side * scale)) for side in image.size])
    if line.eyes is not None:
        pen = ImageDraw.Draw(image)
        for x, y in (line.eyes[:2], line.eyes[2:]):
            across, down = (x + 0.5) * scale, (y + 0.5) * scale
            pen.line([across - 6, down, across + 6, down], fill=(0, 255, 0))
            pen.line([across, down - 6, across, down + 6], fill=(0, 255, 0))
    return image

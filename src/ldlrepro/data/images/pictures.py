"""Opens an image file as a person sees it: upright, opaque, one frame, eight bits a channel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDINGS = {
    "JPEG": (".jpg", ".jpeg"),
    "MPO": (".jpg", ".jpeg"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".ppm", ".pgm"),
    "GIF": (".gif",),
    "WEBP": (".webp",),
}
"""Formats that are read, and their file names. Others, such as EPS, run programs."""
FORMATS = [name for name in ENDINGS if name != "MPO"]
"""Formats that Pillow tries. It recognises a JPEG that is the first of several by itself."""
SMALLEST = 16
"""Pixels of the shorter side below which no face is possible."""
MOST_PIXELS = 80_000_000
"""More than any camera of these albums takes. Larger images would fill the memory."""
PLAIN = ("L", "RGB")
ORIENTATION = 0x0112
"""Number of the EXIF tag that says how the camera was held."""


class PictureError(Exception):
    """Says in one line why a file cannot be used as a picture."""


@dataclass(frozen=True)
class Picture:
    """A Pillow image of mode L or RGB, and what was odd about its file."""

    image: Any
    odd: tuple[str, ...] = ()


def open_picture(path: Path) -> Picture:
    """Decode a file; raise PictureError, in one line, where that fails."""
    from PIL import Image, UnidentifiedImageError

    # What is odd stands in the table of images, once, and not on the screen as well.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    try:
        with Image.open(path, formats=FORMATS) as opened:
            return _seen(opened, path.suffix.lower())
    except (MemoryError, PictureError):
        raise
    except UnidentifiedImageError:
        raise PictureError(_unknown(path)) from None
    except Image.DecompressionBombError:
        raise PictureError(f"more than {MOST_PIXELS} pixels") from None
    except Exception as error:  # decoders raise whatever the broken bytes lead to
        said = (str(error).splitlines() or [""])[0].replace(str(path), path.name)
        raise PictureError(said or type(error).__name__) from None


def _seen(opened: Any, ending: str) -> Picture:
    width, height = opened.size
    if width * height > MOST_PIXELS:
        raise PictureError(f"{width} x {height} pixels are more than {MOST_PIXELS}")
    if min(width, height) < SMALLEST:
        raise PictureError(f"{width} x {height} pixels are too few for a face")
    odd = []
    if ending not in ENDINGS[opened.format]:
        odd.append(f"it is {opened.format}, whatever its name says")
    if getattr(opened, "is_animated", False):
        odd.append("it has several frames, of which the first one counts")
        opened.seek(0)
    opened.load()
    image, said = _plain(opened)
    upright, turned = _upright(opened, image)
    return Picture(upright, (*odd, *said, *turned))


def _plain(image: Any) -> tuple[Any, list[str]]:
    """Return the image in mode L or RGB."""
    if image.mode in PLAIN and "transparency" not in image.info:
        return image.copy(), []
    if image.mode.startswith("I;16") or (image.format, image.mode) == ("PPM", "I"):
        return _upper_bits(image), ["16 bits a channel, of which the upper 8 count"]
    if image.mode in ("I", "F"):
        kind = "whole numbers" if image.mode == "I" else "fractions"
        raise PictureError(f"32 bits a pixel, {kind}, and nothing says which of them is white")
    if image.has_transparency_data:
        return _on_white(image)
    said = [] if image.mode in ("1", "P") else [f"its colours are {image.mode}"]
    return image.convert("L" if image.mode == "1" else "RGB"), said


def _upper_bits(image: Any) -> Any:
    import numpy as np
    from PIL import Image

    return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))


def _on_white(image: Any) -> tuple[Any, list[str]]:
    from PIL import Image

    layered = image.convert("RGBA")
    alpha = layered.getchannel("A")
    if alpha.getextrema()[0] == 255:
        return layered.convert("RGB"), []
    white = Image.new("RGB", image.size, "white")
    white.paste(layered, mask=alpha)
    return white, ["parts are transparent and were put on white"]


def _upright(opened: Any, image: Any) -> tuple[Any, list[str]]:
    """Turn and mirror the image as its EXIF tag says. An unreadable tag is ignored."""
    from PIL import ImageOps

    try:
        held = opened.getexif().get(ORIENTATION, 1)
    except Exception:  # whatever broken notes lead to
        return image, []
    if held not in range(2, 9):
        return image, []
    image.getexif()[ORIENTATION] = held
    return ImageOps.exif_transpose(image), [f"turned by its EXIF note, orientation {held}"]


def _unknown(path: Path) -> str:
    with open(path, "rb") as handle:
        start = handle.read(12)
    if not start:
        return "an empty file"
    return f"no whole image of a known format, for it begins with {start!r}"

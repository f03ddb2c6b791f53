"""Draws damaged and odd image files of many kinds, and says what must be told of each."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ldlrepro.data.images.faces import BROKEN, DUPLICATE, MISSING, ODD, REPEATED, TWIN
from ldlrepro.data.images.pictures import ENDINGS

SIZE = (48, 60)
FORMATS = {".jpg": "JPEG", ".png": "PNG", ".bmp": "BMP", ".tif": "TIFF", ".gif": "GIF"}
FORMATS |= {".ppm": "PPM", ".webp": "WEBP"}
assert set(FORMATS.values()) | {"MPO"} == set(ENDINGS)
CUTS = (0.005, 0.1, 0.5, 0.85)
UNKNOWN = "no whole image of a known format"
NO_IMAGES = {
    "text": b"Dear reader, the photograph follows.\n",
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\n%%EndComments\nshowpage\n",
    "zip": b"PK\x03\x04" + bytes(60),
    "pickle": b"\x80\x04\x95cos\nsystem\n.",
}
DRAWN = np.random.default_rng(2026)


@dataclass(frozen=True)
class Damaged:
    """A file of the album: ``kind`` and ``words`` are what the table must say of it."""

    name: str
    kind: str
    words: str
    listed: int = 1
    """Lines of the album's list that name it."""


def noise(mode: str = "RGB", size: tuple[int, int] = SIZE) -> Image.Image:
    channels = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, size, DRAWN.bytes(size[0] * size[1] * channels))


def stored(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def broken() -> Iterator[tuple[str, str, bytes, str]]:
    """What a file is about, its ending, its bytes, and the words that the table must have."""
    for ending, kind in FORMATS.items():
        whole = stored(noise(), kind)
        for share in CUTS:
            yield "cut", ending, whole[: max(1, int(share * len(whole)))], ""
        yield "zeros", ending, bytes(40) + whole[40:], f"{UNKNOWN}, for it begins with b'\\x00"
        yield "empty", ending, b"", "an empty file"
        for size in (1, 1000):
            yield "blank", ending, bytes(size), UNKNOWN
        yield "dot", ending, stored(noise(size=(1, 1)), kind), "1 x 1 pixels are too few"
    whole = stored(noise(), "PNG")
    middle = len(whole) // 2
    yield "middle", ".png", whole[:middle] + bytes(200) + whole[middle + 200 :], ""
    for about, content in {**NO_IMAGES, "random": DRAWN.bytes(500)}.items():
        yield about, ".jpg", content, f"{UNKNOWN}, for it begins with b"
    for x, y in ((1, 200), (200, 1), (15, 15)):
        yield "strip", ".png", stored(noise(size=(x, y)), "PNG"), f"{x} x {y} pixels are too few"
    # Headers that promise more than the file holds, or than a memory can.
    bombs = [(".png", png_of(side, side, whole)) for side in (9_000, 20_000, 60_000, 2**31 - 1)]
    gif, bmp = stored(noise(), "GIF"), stored(noise(), "BMP")
    bombs.append((".gif", gif[:6] + struct.pack("<HH", 65535, 65535) + gif[10:]))
    bombs.append((".bmp", bmp[:18] + struct.pack("<ii", 30_000, 30_000) + bmp[26:]))
    for ending, content in bombs:
        yield "bomb", ending, content, "more than 80000000"
    numbers = [np.full(SIZE[::-1], -(2**31), np.int32)]
    numbers += [np.full(SIZE[::-1], value, np.float32) for value in (0.5, np.nan, np.inf, -1e30)]
    for values in numbers:
        yield "numbers", ".tif", stored(Image.fromarray(values), "TIFF"), "32 bits a pixel"


def odd() -> Iterator[tuple[str, str, bytes, str]]:
    """The same of files that can be used."""
    for kind in ("PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM"):
        yield "named", ".jpg", stored(noise(), kind), f"it is {kind}, whatever its name says"
    for ending in (".png", ".bmp", ".tif"):
        yield "named", ending, stored(noise(), "JPEG"), "it is JPEG, whatever its name says"
    for mode, ending, kind in (
        *(("CMYK", ending, "JPEG") for ending in (".jpg", ".jpeg")),
        *((mode, ".tif", "TIFF") for mode in ("CMYK", "YCbCr", "LAB")),
    ):
        yield "colours", ending, stored(noise(mode), kind), f"its colours are {mode}"
    for ending, kind in ((".png", "PNG"), (".tif", "TIFF"), (".pgm", "PPM")):
        for top in (65535, 4095):
            levels = Image.fromarray(DRAWN.integers(0, top, SIZE[::-1]).astype(np.uint16))
            yield "deep", ending, stored(levels, kind), "16 bits a channel"
    for ending in (".jpg", ".png", ".webp"):
        for orientation in range(2, 9):
            exif = Image.Exif()
            exif[0x0112] = orientation
            words = f"turned by its EXIF note, orientation {orientation}"
            yield "turned", ending, stored(noise(), FORMATS[ending], exif=exif), words
    for ending in (".jpg", ".gif", ".png", ".tif", ".webp"):
        kind = "MPO" if ending == ".jpg" else FORMATS[ending]
        first, *others = (noise() for _ in range(3))
        frames = stored(first, kind, save_all=True, append_images=others)
        yield "frames", ending, frames, "several frames"
    for ending in (".png", ".gif"):
        palette = stored(noise().quantize(32), FORMATS[ending], transparency=3)
        yield "palette", ending, palette, "parts are transparent"
    for mode in ("RGBA", "LA"):
        yield "veiled", ".png", stored(noise(mode), "PNG"), "parts are transparent"


def links_and_names(folder: Path) -> Iterator[Damaged]:
    """Links, folders, files that are not there; names that differ in case or are no text."""
    for name, target in (
        ("link_1.jpg", "nowhere.jpg"),
        ("link_2.jpg", "/nowhere/at/all.jpg"),
        ("loop_1.jpg", "loop_1.jpg"),
        ("loop_2.jpg", "loop_3.jpg"),
        ("loop_3.jpg", "loop_2.jpg"),
    ):
        os.symlink(target, folder / name)
        yield Damaged(name, MISSING, "a link that leads nowhere")
    (folder / "round").mkdir()
    os.symlink("..", folder / "round" / "and_round")
    (folder / "folder.jpg").mkdir()
    for name in ("folder.jpg", "gone_1.jpg", "gone_2.jpg"):
        yield Damaged(name, MISSING, "no such file")
    jpeg = stored(noise(), "JPEG")
    for name, other in (("twin.jpg", "twin.JPG"), ("twin.JPG", "twin.jpg")):
        (folder / name).write_bytes(stored(noise(), "JPEG"))
        yield Damaged(name, TWIN, f"of {other}")
    for code in (b"\xff\xfe", b"\xe9t\xe9"):
        raw = b"bytes_" + code + b".jpg"
        with open(os.path.join(os.fsencode(folder), raw), "wb") as handle:
            handle.write(stored(noise(), "JPEG"))
        yield Damaged(ascii(os.fsdecode(raw))[1:-1], BROKEN, "its name is not UTF-8", listed=0)
    (folder / "listed.jpg").write_bytes(stored(noise(), "JPEG"))
    yield Damaged("listed.jpg", REPEATED, "the same words, the first line counts", listed=2)
    for name in ("pair_1.jpg", "pair_2.jpg"):
        (folder / name).write_bytes(jpeg)
    yield Damaged("pair_1.jpg", "", "")
    yield Damaged("pair_2.jpg", DUPLICATE, "of pair_1.jpg, another person or other labels")


def write_damaged(folder: Path) -> list[Damaged]:
    """Write them all into a folder."""
    files = list(links_and_names(folder))
    for kind, drawn in ((BROKEN, broken()), (ODD, odd())):
        for about, ending, content, words in drawn:
            name = f"{len(files):03d}_{about}{ending}"
            (folder / name).write_bytes(content)
            files.append(Damaged(name, kind, words))
    return files


def png_of(width: int, height: int, whole: bytes) -> bytes:
    """Return a PNG whose header states another size."""
    header = b"IHDR" + struct.pack(">II", width, height) + whole[24:29]
    return whole[:12] + header + struct.pack(">I", zlib.crc32(header)) + whole[33:]

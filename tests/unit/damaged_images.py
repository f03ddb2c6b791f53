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


@dataclass(frozen=True)
class Damaged:
    """A file of the album: ``kind`` and ``words`` are what the table must say of it."""

    name: str
    kind: str
    words: str
    listed: int = 1
    """Lines of the album's list that name it."""


class Maker:
    """Writes files with names of their own into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rng = np.random.default_rng(2026)
        self.count = 0

    def name(self, about: str, ending: str) -> str:
        self.count += 1
        return f"{self.count:03d}_{about}{ending}"

    def noise(self, mode: str = "RGB", size: tuple[int, int] = SIZE) -> Image.Image:
        channels = len(Image.new(mode, (1, 1)).getbands())
        shape = (size[1], size[0], channels) if channels > 1 else (size[1], size[0])
        return Image.frombytes(mode, size, self.rng.integers(0, 256, shape, np.uint8).tobytes())

    def bytes_of(self, image: Image.Image, kind: str, **options: object) -> bytes:
        stored = io.BytesIO()
        image.save(stored, kind, **options)
        return stored.getvalue()

    def write(self, about: str, ending: str, content: bytes) -> str:
        name = self.name(about, ending)
        (self.folder / name).write_bytes(content)
        return name

    def all(self) -> Iterator[Damaged]:
        for part in (
            self.cut,
            self.overwritten,
            self.empty,
            self.no_images,
            self.too_small,
            self.too_large,
            self.numbers,
            self.other_formats,
            self.colours,
            self.sixteen_bits,
            self.held_otherwise,
            self.several_frames,
            self.transparent,
            self.links,
            self.names,
            self.twice,
        ):
            yield from part()

    # ------------------------------------------------------------------ broken

    def cut(self) -> Iterator[Damaged]:
        for ending, kind in FORMATS.items():
            whole = self.bytes_of(self.noise(), kind)
            for share in (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.85):
                content = whole[: max(1, int(share * len(whole)))]
                yield Damaged(self.write("cut", ending, content), BROKEN, "")

    def overwritten(self) -> Iterator[Damaged]:
        for ending, kind in FORMATS.items():
            whole = bytearray(self.bytes_of(self.noise(), kind))
            whole[:40] = bytes(40)
            name = self.write("zeros", ending, bytes(whole))
            yield Damaged(
                name, BROKEN, "no whole image of a known format, for it begins with b'\\x00"
            )
        whole = bytearray(self.bytes_of(self.noise(), "PNG"))
        middle = len(whole) // 2
        whole[middle : middle + 200] = bytes(200)
        yield Damaged(self.write("middle", ".png", bytes(whole)), BROKEN, "")

    def empty(self) -> Iterator[Damaged]:
        for ending in FORMATS:
            yield Damaged(self.write("empty", ending, b""), BROKEN, "an empty file")
            for size in (1, 1000):
                name = self.write("blank", ending, bytes(size))
                yield Damaged(name, BROKEN, "no whole image of a known format")

    def no_images(self) -> Iterator[Damaged]:
        eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\n%%EndComments\nshowpage\n"
        for about, content in {
            "text": b"Dear reader, the photograph follows.\n",
            "html": b"<!doctype html><html><body>404 Not Found</body></html>",
            "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
            "pdf": b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n",
            "postscript": eps,
            "zip": b"PK\x03\x04" + bytes(60),
            "pickle": b"\x80\x04\x95cos\nsystem\n.",
            "python": b"raise SystemExit('run')\n",
            "newline": b"\n",
            "heic": b"\x00\x00\x00\x18ftypheic" + bytes(40),
            "gzip": b"\x1f\x8b" + bytes(40),
            "random": self.rng.bytes(500),
        }.items():
            name = self.write(about, ".jpg", content)
            yield Damaged(name, BROKEN, "no whole image of a known format, for it begins with b")

    def too_small(self) -> Iterator[Damaged]:
        for ending, kind in FORMATS.items():
            content = self.bytes_of(self.noise(size=(1, 1)), kind)
            yield Damaged(self.write("dot", ending, content), BROKEN, "1 x 1 pixels are too few")
        for size in ((1, 200), (200, 1), (15, 15)):
            content = self.bytes_of(self.noise(size=size), "PNG")
            words = f"{size[0]} x {size[1]} pixels are too few"
            yield Damaged(self.write("strip", ".png", content), BROKEN, words)

    def too_large(self) -> Iterator[Damaged]:
        """Headers that promise more than the file holds, or than a memory can."""
        for side in (9_000, 20_000, 60_000, 2**31 - 1):
            content = png_of(side, side, self.bytes_of(self.noise(), "PNG"))
            yield Damaged(self.write("bomb", ".png", content), BROKEN, "more than 80000000")
        gif = bytearray(self.bytes_of(self.noise(), "GIF"))
        gif[6:10] = struct.pack("<HH", 65535, 65535)
        yield Damaged(self.write("bomb", ".gif", bytes(gif)), BROKEN, "more than 80000000")
        bmp = bytearray(self.bytes_of(self.noise(), "BMP"))
        bmp[18:26] = struct.pack("<ii", 30_000, 30_000)
        yield Damaged(self.write("bomb", ".bmp", bytes(bmp)), BROKEN, "more than 80000000")

    def numbers(self) -> Iterator[Damaged]:
        fractions = self.rng.normal(size=SIZE[::-1]).astype(np.float32)
        for value in (0.5, np.nan, np.inf, -1e30):
            fractions[10:20] = value
            content = self.bytes_of(Image.fromarray(fractions), "TIFF")
            yield Damaged(self.write("fractions", ".tif", content), BROKEN, "32 bits a pixel")
        whole = Image.fromarray(np.full(SIZE[::-1], -(2**31), np.int32))
        content = self.bytes_of(whole, "TIFF")
        yield Damaged(self.write("integers", ".tif", content), BROKEN, "32 bits a pixel")

    # ------------------------------------------------------------------ odd

    def other_formats(self) -> Iterator[Damaged]:
        for kind in ("PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM"):
            content = self.bytes_of(self.noise(), kind)
            words = f"it is {kind}, whatever its name says"
            yield Damaged(self.write("named", ".jpg", content), ODD, words)
        for ending in (".png", ".bmp", ".tif"):
            content = self.bytes_of(self.noise(), "JPEG")
            words = "it is JPEG, whatever its name says"
            yield Damaged(self.write("named", ending, content), ODD, words)

    def colours(self) -> Iterator[Damaged]:
        for ending in (".jpg", ".jpeg", ".tif"):
            content = self.bytes_of(self.noise("CMYK"), FORMATS.get(ending, "JPEG"))
            yield Damaged(self.write("cmyk", ending, content), ODD, "its colours are CMYK")
        for mode in ("YCbCr", "LAB"):
            content = self.bytes_of(self.noise(mode), "TIFF")
            yield Damaged(self.write("colours", ".tif", content), ODD, f"its colours are {mode}")

    def sixteen_bits(self) -> Iterator[Damaged]:
        for ending in (".png", ".tif", ".pgm"):
            for top in (65535, 4095):
                levels = self.rng.integers(0, top, SIZE[::-1]).astype(np.uint16)
                content = self.bytes_of(Image.fromarray(levels), FORMATS.get(ending, "PPM"))
                yield Damaged(self.write("deep", ending, content), ODD, "16 bits a channel")

    def held_otherwise(self) -> Iterator[Damaged]:
        for ending in (".jpg", ".png", ".webp"):
            for orientation in range(2, 9):
                exif = Image.Exif()
                exif[0x0112] = orientation
                content = self.bytes_of(self.noise(), FORMATS[ending], exif=exif)
                words = f"turned by its EXIF note, orientation {orientation}"
                yield Damaged(self.write("turned", ending, content), ODD, words)

    def several_frames(self) -> Iterator[Damaged]:
        for ending in (".gif", ".png", ".webp", ".tif"):
            for count in (2, 5):
                first, *others = (self.noise() for _ in range(count))
                content = self.bytes_of(first, FORMATS[ending], save_all=True, append_images=others)
                yield Damaged(self.write("frames", ending, content), ODD, "several frames")
        first, second = self.noise(), self.noise()
        content = self.bytes_of(first, "MPO", save_all=True, append_images=[second])
        yield Damaged(self.write("frames", ".jpg", content), ODD, "several frames")

    def transparent(self) -> Iterator[Damaged]:
        palette = self.noise().quantize(32)
        for ending in (".png", ".gif"):
            content = self.bytes_of(palette, FORMATS[ending], transparency=3)
            yield Damaged(self.write("palette", ending, content), ODD, "parts are transparent")
        for mode in ("RGBA", "LA"):
            content = self.bytes_of(self.noise(mode), "PNG")
            yield Damaged(self.write("veiled", ".png", content), ODD, "parts are transparent")

    # ------------------------------------------------------------------ names and links

    def links(self) -> Iterator[Damaged]:
        words = "a link that leads nowhere"
        for target in ("nowhere.jpg", "/nowhere/at/all.jpg"):
            name = self.name("link", ".jpg")
            os.symlink(target, self.folder / name)
            yield Damaged(name, MISSING, words)
        alone, one, two = (self.name("loop", ".jpg") for _ in range(3))
        for name, target in ((alone, alone), (one, two), (two, one)):
            os.symlink(target, self.folder / name)
            yield Damaged(name, MISSING, words)
        (self.folder / "round").mkdir()
        os.symlink("..", self.folder / "round" / "and_round")
        folder = self.name("folder", ".jpg")
        (self.folder / folder).mkdir()
        yield Damaged(folder, MISSING, "no such file")
        for _ in range(3):
            yield Damaged(self.name("gone", ".jpg"), MISSING, "no such file")

    def names(self) -> Iterator[Damaged]:
        for _ in range(5):
            stem = self.name("twin", "")
            for name, other in ((f"{stem}.jpg", f"{stem}.JPG"), (f"{stem}.JPG", f"{stem}.jpg")):
                (self.folder / name).write_bytes(self.bytes_of(self.noise(), "JPEG"))
                yield Damaged(name, TWIN, f"of {other}")
        for code in (b"\xff\xfe", b"\xe9t\xe9"):
            raw = os.fsencode(self.name("bytes", "")) + code + b".jpg"
            with open(os.path.join(os.fsencode(self.folder), raw), "wb") as handle:
                handle.write(self.bytes_of(self.noise(), "JPEG"))
            yield Damaged(ascii(os.fsdecode(raw))[1:-1], BROKEN, "its name is no UTF-8", listed=0)

    def twice(self) -> Iterator[Damaged]:
        name = self.write("listed", ".jpg", self.bytes_of(self.noise(), "JPEG"))
        yield Damaged(name, REPEATED, "the same words, the first line counts", listed=2)
        content = self.bytes_of(self.noise(), "JPEG")
        first = self.write("pair", ".jpg", content)
        second = self.write("pair", ".jpg", content)
        yield Damaged(first, "", "", listed=1)
        yield Damaged(second, DUPLICATE, f"of {first}, another person or other labels")


def png_of(width: int, height: int, whole: bytes) -> bytes:
    """Return a PNG whose header states another size."""
    header = b"IHDR" + struct.pack(">II", width, height) + whole[24:29]
    return whole[:12] + header + struct.pack(">I", zlib.crc32(header)) + whole[33:]


assert set(FORMATS.values()) | {"MPO"} == set(ENDINGS)

"""Writes ONNX files by hand: stored tensors, a wheel around them, more outputs."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np


def varint(number: int) -> bytes:
    """A whole number, seven bits a byte."""
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def field(number: int, content: bytes) -> bytes:
    """A field that holds bytes: a text or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def tensor(name: str, values: np.ndarray, kind: int = 1, packed: bool = False) -> bytes:
    """A stored tensor, its shape packed into one field or not."""
    if packed:
        shape = field(1, b"".join(varint(side) for side in values.shape))
    else:
        shape = b"".join(number_field(1, side) for side in values.shape)
    head = shape + number_field(2, kind) + field(8, name.encode())
    return head + field(9, values.astype("<f4").tobytes())


def model(tensors: Iterable[bytes]) -> bytes:
    """A model that has stored tensors, and other fields around them to be passed over."""
    graph = field(2, b"a graph") + b"".join(field(5, content) for content in tensors)
    fixed = varint(3 << 3 | 5) + b"\0\0\0\0" + varint(4 << 3 | 1) + bytes(8)
    return number_field(1, 8) + field(2, b"tests") + fixed + field(7, graph)


def with_outputs(content: bytes, names: Iterable[str]) -> bytes:
    """A model with more outputs: a second part of a message is merged into the first."""
    return content + field(7, b"".join(field(12, field(1, name.encode())) for name in names))


def wheel(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path

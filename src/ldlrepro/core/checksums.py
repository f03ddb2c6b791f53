"""Checksums of files, as SHA-256 or as git's id of their content, and of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

BLOCK = 1 << 20


def sha256_of(path: Path) -> str:
    return _hash(path, hashlib.sha256())


def git_blob_of(path: Path) -> str:
    return _hash(path, hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False))


def mismatch(path: Path, entry: Mapping[str, Any]) -> str:
    """Say why a file's content is not the one that the config names; return '' when it is.

    Where only the first digits of a checksum are known, they are compared.
    """
    size = path.stat().st_size
    if entry.get("bytes", size) != size:
        return f"expected {entry['bytes']} bytes, got {size}"
    for key, name, compute in (
        ("sha256", "SHA-256", sha256_of),
        ("git_blob", "git blob id", git_blob_of),
    ):
        if key in entry and not (found := compute(path)).startswith(entry[key]):
            return f"expected {name} {entry[key]}, got {found}"
    return ""


def _hash(path: Path, digest: Any) -> str:
    with open(path, "rb") as handle:
        while block := handle.read(BLOCK):
            digest.update(block)
    return str(digest.hexdigest())


def array_sha256(array: np.ndarray) -> str:
    """Return the SHA-256 of an array's shape, type and bytes."""
    import numpy as np

    array = np.ascontiguousarray(array)
    header = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(header + array.tobytes()).hexdigest()

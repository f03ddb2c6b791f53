"""Checksums of files, as SHA-256 or as git's id of their content, and of arrays."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

BLOCK = 1 << 20


def sha256_of(path: Path) -> str:
    return _hash(path, hashlib.sha256())


def git_blob_of(path: Path) -> str:
    return _hash(path, hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False))


class Stated(Protocol):
    """Known facts about a file's content; '' and None stand for the unknown."""

    @property
    def sha256(self) -> str: ...
    @property
    def git_blob(self) -> str: ...
    @property
    def bytes(self) -> int | None: ...


def mismatch(path: Path, stated: Stated) -> str:
    """Say why a file's content is not the stated one; return '' when it is.

    Where only the first digits of a checksum are known, they are compared.
    """
    size = path.stat().st_size
    if stated.bytes not in (None, size):
        return f"expected {stated.bytes} bytes, got {size}"
    for expected, name, compute in (
        (stated.sha256, "SHA-256", sha256_of),
        (stated.git_blob, "git blob id", git_blob_of),
    ):
        if expected and not (found := compute(path)).startswith(expected):
            return f"expected {name} {expected}, got {found}"
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

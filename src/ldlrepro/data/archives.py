"""Unpacks zip and tar archives from others without trusting their headers.

Members with absolute names or ``..``, links, devices and encrypted members are refused. So is an
archive that unpacks to more than the limit, whatever sizes its headers state.
"""

from __future__ import annotations

import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ldlrepro.core.errors import NO_ROOM

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MAX_BYTES = 50 << 30
MAX_MEMBERS = 2_000_000
CHUNK = 1 << 20
DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,  # a kind of compression that Python does not know
)


class ArchiveError(Exception):
    """Raised for a damaged or untrustworthy archive; the text names the member."""


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def unpack(
    path: Path, folder: Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS
) -> None:
    """Write the plain files of the archive below ``folder``; raise ArchiveError otherwise.

    A refused archive may leave some of its files behind, so unpack into a temporary folder.
    """
    left = max_bytes
    try:
        members = _zip_members if path.name.lower().endswith(".zip") else _tar_members
        for count, (name, content) in enumerate(members(path)):
            if count >= max_members:
                raise ArchiveError(f"{path}: holds more than {max_members} files")
            target = folder / _safe(path, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with content, open(target, "xb") as handle:
                while chunk := content.read(min(CHUNK, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        raise ArchiveError(f"{path}: unpacks to more than {max_bytes} bytes")
                    handle.write(chunk)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        about = f"{error.filename}: {error.strerror}" if error.filename else error
        raise ArchiveError(f"{path}: cannot be unpacked ({about})") from None
    except DAMAGED as error:
        raise ArchiveError(f"{path}: damaged archive ({error})") from None


def _zip_members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if stat.S_ISLNK(info.external_attr >> 16):
                raise ArchiveError(f"{path}: {info.filename} is a link")
            if info.flag_bits & 1:
                raise ArchiveError(f"{path}: {info.filename} is encrypted; unpack it yourself")
            _safe(path, info.filename)
            if not info.is_dir():
                yield info.filename, archive.open(info)


def _tar_members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path) as archive:
        for info in archive:
            _safe(path, info.name)
            if info.isdir():
                continue
            content = archive.extractfile(info) if info.isfile() else None
            if content is None:
                raise ArchiveError(f"{path}: {info.name} is a link or a device")
            yield info.name, content


def _safe(path: Path, name: str) -> str:
    parts = re.split(r"[/\\]", name)
    if not name or not parts[0] or ".." in parts or re.match("[A-Za-z]:", name):
        raise ArchiveError(f"{path}: refused, it holds a file named {name!r}")
    return name

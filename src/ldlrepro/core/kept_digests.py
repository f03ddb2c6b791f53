"""Keeps digests of our own code between processes, until one of our sources changes.

Following every name takes a quarter of a second for a method and a second for the report, and each
job and each start of Snakemake needs some digests. They lie beside the bytecode, under the digest
of the text of all sources, so they also hold in a copy of a checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from ldlrepro.core import code_digest
from ldlrepro.core.code_digest import Follow
from ldlrepro.core.files import write_text


def kept_digest(
    starts: tuple[str, ...],
    without: tuple[str, ...],
    follow: Follow = lambda name: False,
    files: Sequence[Path] = (),
) -> str:
    """Return the ``code_digest`` of our code, computed where none is kept.

    ``files`` are further sources that it may ``follow``.
    """
    key = json.dumps([starts, without, _digest(files)])
    kept = _kept()
    if key not in kept:
        kept[key] = code_digest.code_digest(*starts, without=without, follow=follow)
        _keep(kept)
    return kept[key]


@cache
def _kept() -> dict[str, str]:
    """Return what is kept for these sources; the whole process shares it."""
    return _read()


def _read() -> dict[str, str]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
        if found["sources"] == _sources():
            return dict(found["digests"])
    except (OSError, ValueError, LookupError, TypeError):
        pass
    return {}


def _keep(kept: dict[str, str]) -> None:
    """Write what is kept, together with what other processes have kept meanwhile."""
    content = {"sources": _sources(), "digests": _read() | kept}
    with suppress(OSError):  # a package in a folder that may not be written to keeps nothing
        write_text(_file(), json.dumps(content, indent=0, sort_keys=True))


def _file() -> Path:
    # Another Python has another syntax tree.
    name = f"code_digests.{sys.implementation.cache_tag}.json"
    return code_digest.SOURCES / "ldlrepro" / "__pycache__" / name


@cache
def _sources() -> str:
    """Return the digest of the text of all sources."""
    packages = [code_digest.SOURCES / package for package in code_digest.OURS]
    return _digest(path for package in packages for path in sorted(package.rglob("*.py")))


def _digest(files: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in files:
        text = path.read_bytes()
        whole.update(f"{os.path.relpath(path, code_digest.SOURCES)} {len(text)}\n".encode() + text)
    return whole.hexdigest()

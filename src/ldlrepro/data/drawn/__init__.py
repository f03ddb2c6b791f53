"""Drawn data instead of measured ones: for the demo, the tests and the toy figures of mslp."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def draw(folder: Path, name: str, **arguments: Any) -> None:
    """Write the raw files of a drawn data set; the same arguments give the same bytes."""
    from ldlrepro.data.drawn.albums import write_album
    from ldlrepro.data.drawn.sketches import write_faces
    from ldlrepro.data.drawn.toy import write_toy

    writers: dict[str, Callable[..., None]] = {
        "toy": write_toy,
        "faces": write_faces,
        "album": write_album,
    }
    writers[name](folder, **arguments)

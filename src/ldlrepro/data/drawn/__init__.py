"""Drawn data instead of measured ones: for the demo, the tests and the toy figures of mslp."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

SEED = 1


def draw(folder: Path, spec: Mapping[str, Any]) -> str:
    """Write the raw files of a drawn data set, and say how; the same data set gives the same bytes.

    A table has as many rows as the data set's shape says. Images have as many persons as it says,
    with so many images each, in the layout that it names or with ratings.
    """
    from ldlrepro.data.drawn.albums import write_album
    from ldlrepro.data.drawn.sketches import write_faces
    from ldlrepro.data.drawn.toy import write_toy

    if spec["reader"] == "drawn_table":
        rows, noise = spec["shape"]["n"], spec.get("noise_variance", 0.0)
        write_toy(folder, rows, noise, SEED)
        return f"toy(n={rows}, noise_variance={noise}, seed={SEED})"
    persons, each = spec["persons"], spec.get("images_per_person", 6)
    drawn = f"persons={persons}, images_per_person={each}, seed={SEED}"
    if layout := spec.get("layout"):
        write_album(folder, layout, persons, each, SEED)
        return f"album(layout={layout}, {drawn})"
    write_faces(folder, persons, each, SEED)
    return f"faces({drawn})"

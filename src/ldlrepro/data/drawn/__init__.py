"""Synthetic data for the demo, the tests and the toy figures of the MSLP paper."""

from __future__ import annotations

from pathlib import Path

from ldlrepro.catalogue import DataSet

SEED = 1


def draw(folder: Path, data_set: DataSet) -> str:
    """Write the raw files of a synthetic data set and describe them; the bytes are always the same.

    A table has as many rows as the data set's shape says. Images show as many persons as it says,
    with equally many images of each, in the named layout.
    """
    from ldlrepro.data.drawn.albums import write_album
    from ldlrepro.data.drawn.sketches import write_faces
    from ldlrepro.data.drawn.toy import write_toy

    if data_set.reader == "drawn_table":
        assert data_set.shape is not None  # a drawn table has one
        rows, noise = data_set.shape.n or 0, data_set.noise_variance
        write_toy(folder, rows, noise, SEED)
        return f"toy(n={rows}, noise_variance={noise}, seed={SEED})"
    persons, each = data_set.count_persons() or 0, data_set.images_per_person
    drawn = f"persons={persons}, images_per_person={each}, seed={SEED}"
    if data_set.layout == "rated":
        write_faces(folder, persons, each, SEED)
        return f"faces({drawn})"
    write_album(folder, data_set.layout or "", persons, each, SEED)
    return f"album(layout={data_set.layout}, {drawn})"

"""Parts of an album: those of MORPH by the rules that papers state, or some drawn at random.

A text file ``<id>.txt`` with one file name on each line takes precedence over the rule. Whoever has
the list of a paper puts it beside the images.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ldlrepro.catalogue import DataSet
from ldlrepro.core.errors import UserError
from ldlrepro.data.images.faces import FaceSet
from ldlrepro.data.images.layouts import Folder

RATIO_CELLS = {("B", "F"): 1, ("B", "M"): 3, ("W", "F"): 1, ("W", "M"): 3}
"""Black to White 1:1, female to male 1:3, as shares of origin and sex in eighths."""
SEED = 1


def apply(faces: FaceSet, folder: Folder, data_set: DataSet) -> FaceSet:
    """Choose the faces of a data set by its list, or else by the rule of its set-up."""
    name, setup = data_set.id, data_set.setup
    listed = folder.find(f"{name}.txt")
    if listed is not None:
        return _by_list(faces, folder, name, listed)
    if setup is None:
        return faces
    rule, asked = setup.rule, setup.count
    rows = RULES[rule](faces, asked, np.random.default_rng(SEED))
    short = "" if len(rows) == asked else f" instead of {asked}"
    why = "" if rule == "any" else ", for the paper's list is not public"
    return faces.chosen(
        rows,
        f"{name}: {len(rows)} images{short}, drawn with seed {SEED} by the rule '{rule}'{why}; "
        f"{name}.txt beside the images replaces it",
    )


def _by_list(faces: FaceSet, folder: Folder, name: str, listed: str) -> FaceSet:
    try:
        lines = (folder.root / listed).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{folder.root / listed}: save it as text in UTF-8 ({error}).") from None
    wanted = [line.strip() for line in lines if line.strip()]
    position = {face.file: row for row, face in enumerate(faces.faces)}
    found = [position.get(folder.find(line) or line) for line in wanted]
    rows = sorted({row for row in found if row is not None})
    if not rows:
        raise UserError(f"{folder.root / listed}: none of its {len(wanted)} names can be used.")
    return faces.chosen(rows, f"{name}: {len(rows)} of the {len(wanted)} names in {listed}")


def _drawn(faces: FaceSet, asked: int, rng: np.random.Generator, origin: str = "") -> np.ndarray:
    rows = np.flatnonzero([origin in ("", face.origin) for face in faces.faces])
    _need(faces, len(rows), "White")
    return np.sort(rng.choice(rows, size=min(asked, len(rows)), replace=False))


def _balanced(faces: FaceSet, asked: int, rng: np.random.Generator) -> np.ndarray:
    """Draw as many as the count and the smallest cell allow, in exactly these shares."""
    cells = {
        cell: np.flatnonzero([(face.origin, face.sex) == cell for face in faces.faces])
        for cell in RATIO_CELLS
    }
    eighths = min(len(cells[cell]) // share for cell, share in RATIO_CELLS.items())
    _need(faces, eighths, "Black and White, female and male (in these ratios)")
    eighths = min(eighths, asked // sum(RATIO_CELLS.values()))
    parts = [
        rng.choice(cells[cell], size=eighths * share, replace=False)
        for cell, share in RATIO_CELLS.items()
    ]
    return np.sort(np.concatenate(parts))


def _need(faces: FaceSet, found: int, what: str) -> None:
    if not found:
        raise UserError(
            f"{faces.folder}: the set-up needs images of {what} persons; there are none."
        )


RULES: dict[str, Callable[[FaceSet, int, np.random.Generator], np.ndarray]] = {
    "any": _drawn,
    "white": partial(_drawn, origin="W"),
    "balanced": _balanced,
}

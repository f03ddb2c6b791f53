"""Leaks of a public benchmark's split of UTKFace: equal files in training and in test.

github.com/paplhjak/Facial-Age-Estimation-Benchmark at 5ee178a5 deals files out to ten parts, one
after another as the disk lists them, and takes six parts to train, two to validate and two to test,
five times (facebase/to_json/utkf_to_json.py, doc/data_formats.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldlrepro.data.images.layouts import LAYOUTS, Folder
from ldlrepro.data.images.reading import images_folder
from ldlrepro.experiments import Inputs, Outcome

PARTS = 10
FIRST = (0, 2, 4, 5, 6)
"""The first part of each split; six from there train, two validate, two test."""


def measure(inputs: Inputs, orders: int) -> Outcome:
    """Deal the files out in the order of their names, and in random orders."""
    outcome = Outcome()
    if not inputs.available():
        return outcome
    (dataset,) = inputs.datasets
    folder = Folder(images_folder(inputs.project.data_set(dataset), inputs.workspace.data))
    faces = LAYOUTS["utkface"](folder).faces
    content = np.unique([face.person for face in faces], return_inverse=True)[1]
    ages = np.array([face.age for face in faces], dtype=float)
    named = np.argsort([face.file for face in faces], kind="stable")
    drawn = np.random.default_rng(0)
    found = {
        "names": leaks([named], content, ages),
        "random": leaks([drawn.permutation(len(faces)) for _ in range(orders)], content, ages),
    }
    rows = []
    for order, (tested, leaked, other_age) in found.items():
        rows.append([order, len(faces), tested, leaked, other_age])
        outcome.facts |= {f"{order}_leaked": leaked / tested, f"{order}_other_age": other_age}
    outcome.add_table(
        "Test images whose file is in training too",
        ["order", "images", "tested", "also in training", "with another age there"],
        rows,
    )
    return outcome


def leaks(
    orders: Sequence[np.ndarray], content: np.ndarray, ages: np.ndarray
) -> tuple[float, float, float]:
    """Return means over orders and splits: test images, those in training, with other ages."""
    found = []
    for order in orders:
        part = np.empty(len(order), dtype=int)
        part[order] = np.arange(len(order)) % PARTS
        for first in FIRST:
            place = (part - first) % PARTS
            trained: dict[int, set[float]] = {}
            for row in np.flatnonzero(place < 6):
                trained.setdefault(content[row], set()).add(ages[row])
            test = np.flatnonzero(place >= 8)
            twins = [row for row in test if content[row] in trained]
            others = [row for row in twins if ages[row] not in trained[content[row]]]
            found.append((len(test), len(twins), len(others)))
    tested, leaked, other_age = np.mean(found, axis=0).tolist()
    return tested, leaked, other_age

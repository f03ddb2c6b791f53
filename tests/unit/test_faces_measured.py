"""Measurements of real faces count right on faces that are made up."""

import numpy as np

from ldlrepro.core.workspace import Workspace
from ldlrepro.experiments import Inputs, Outcome
from papers.drf.dealt_split import leaks, measure
from tests.unit.judged import PLAN


def test_without_photographs_nothing_is_measured(tmp_path):
    inputs = Inputs(PLAN, Workspace(tmp_path, tmp_path), ["utkface_pool5"])
    assert measure(inputs, 2) == Outcome()


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

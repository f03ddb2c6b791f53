"""Two processes of torchrun with half of every batch each learn what one learns from the whole."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ldl.deep._hardware import Hardware
from ldl.deep._ranks import Ranks
from ldl.deep._training import Targets, Training
from tests.oracle.images import KINDS, linear_network, pictures
from tests.oracle.one_of_several import answers
from tests.oracle.test_deep_training import settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[dict, dict, dict]:
    """What a single process says, and the first and second of two."""
    folder = tmp_path_factory.mktemp("ranks")
    answers(folder)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*torchrun, "-m", "tests.oracle.one_of_several", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return tuple(dict(np.load(folder / f"{name}.npz")) for name in ("alone", "0", "1"))


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_learn_what_one_does(both, kind):
    alone, first, second = both
    np.testing.assert_allclose(first[kind], alone[kind], atol=1e-5)
    np.testing.assert_array_equal(second[kind], first[kind])


def test_the_first_process_speaks_for_all(both):
    alone, first, second = both
    np.testing.assert_array_equal(first["heard"], alone["heard"])
    assert list(second["heard"]) == [0, 0]


def test_rows_are_dealt_in_turn():
    rows = np.arange(6)
    assert [list(Ranks(2, own).part(rows)) for own in (0, 1)] == [[0, 2, 4], [1, 3, 5]]


def test_batch_that_cannot_be_dealt_evenly_is_refused():
    X, D = pictures(side=2)
    hardware = Hardware(torch.device("cpu"), ranks=Ranks(4))
    with pytest.raises(ValueError, match="batch_size must be a multiple of the 4 processes"):
        Training(linear_network([1]), None, X, Targets(D, D[:, 0]), settings(), None, hardware, 0)

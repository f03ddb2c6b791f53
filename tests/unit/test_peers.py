"""Methods that run in the peers' environment: here a package of that name that the test writes."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldlrepro.arena import runs, toolbox
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.peers import python_ldl
from ldlrepro.peers.python_ldl import PythonLDL
from tests.waiting import until

ALGORITHMS = '''
import os, sys, time
import numpy as np

print("printed while it is imported")

class Mean:
    """The training mean, a little off the simplex, and noise from the global generator."""
    def __init__(self, shift=0.0, random_state=None):
        self.shift, self.random_state = shift, random_state
    def fit(self, X, D, repeats=1):
        print("noise on stdout" * repeats)
        self.mean = D.mean(axis=0) * (1 + 0.01 * np.random.random())
        return self
    def predict(self, X):
        P = np.tile(self.mean, (len(X), 1))
        P[:, 0] -= self.shift
        return P

class Slow(Mean):
    def fit(self, X, D):
        print("begun", flush=True)
        while True:
            pass

class Asleep(Mean):
    def fit(self, X, D):
        time.sleep(60)

class Broken(Mean):
    def fit(self, X, D):
        raise ZeroDivisionError("no rows left\\nat all")

class Dies(Mean):
    def fit(self, X, D):
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)

class Nan(Mean):
    def predict(self, X):
        return np.full((len(X), len(self.mean)), np.nan)

class Narrow(Mean):
    def predict(self, X):
        return Mean.predict(self, X)[:, :-1]
'''
GENERATOR = np.random.default_rng(0)
X, D = GENERATOR.random((40, 3)), GENERATOR.dirichlet(np.ones(4), size=40)


@pytest.fixture(autouse=True)
def peers(tmp_path, monkeypatch) -> Path:
    """A python-ldl of the test's own, in the environment of the tests."""
    package = tmp_path / "site/pyldl"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "algorithms.py").write_text(ALGORITHMS)
    about = tmp_path / "site/python_ldl-9.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: python-ldl\nVersion: 9.9\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setattr(python_ldl, "ENVIRONMENT", sys.prefix)
    monkeypatch.setattr(python_ldl, "_too_slow", set())
    return package


def test_it_fits_and_predicts_in_another_process_whatever_that_prints():
    model = PythonLDL(algorithm="Mean", fit_arguments={"repeats": 3}, random_state=2**100).fit(X, D)
    P = model.predict(X[:5])
    assert P.shape == (5, 4)
    assert P.sum(axis=1) == pytest.approx(np.ones(5))
    assert P[0] == pytest.approx(D.mean(axis=0))
    assert model.diagnostics_["python-ldl"] == "9.9"
    assert "pyldl" not in sys.modules


def test_the_seed_decides_its_numbers():
    def scale(seed: int) -> float:
        shifted = PythonLDL(algorithm="Mean", arguments={"shift": 0.2}, random_state=seed)
        return float(shifted.fit(X, D).predict(X[:1])[0, 0])

    assert scale(1) == scale(1)
    assert scale(1) != scale(2)


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [
        ("Asleep", "Asleep did not finish its fit in 1 s"),
        ("Broken", "Broken failed in its fit: ZeroDivisionError: no rows left"),
        ("Dies", "Dies: its process ended with code 3: out of luck"),
        ("Nan", "Nan predicts NaN or infinity"),
        ("Narrow", "Narrow predicts an array of (40, 3), not of (40, 4)"),
        ("Absent", "has no attribute 'Absent'"),
    ],
)
def test_what_goes_wrong_is_one_clear_line(algorithm, said):
    limit = 1 if algorithm == "Asleep" else 60
    with pytest.raises(UserError) as error:
        PythonLDL(algorithm=algorithm, time_limit=limit).fit(X, D).predict(X)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_fit_that_took_too_long_is_not_tried_on_the_next_fold():
    def said(rows: np.ndarray) -> str:
        with pytest.raises(UserError) as error:
            PythonLDL(algorithm="Slow", time_limit=1).fit(rows, D[: len(rows)])
        return str(error.value)

    assert "Slow did not finish its fit in 1 s" in said(X)
    assert "an earlier fit of this job in 1 s, so this one was not tried" in said(X[1:])
    assert "did not finish its fit" in said(X[:, 1:])


def test_a_killed_run_leaves_no_process_behind(tmp_path):
    script = (
        "import numpy as np, sys, tempfile; from ldlrepro.peers import python_ldl;"
        f"tempfile.tempdir = {str(tmp_path)!r}; python_ldl.ENVIRONMENT = sys.prefix;"
        "model = python_ldl.PythonLDL(algorithm='Slow');"
        "print('begins', flush=True);"
        "model.fit(np.ones((4, 2)), np.full((4, 2), 0.5))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as run:
        assert run.stdout.readline()
        logs = partial(tmp_path.glob, "ldlrepro-peer-*/log.txt")
        until(lambda: any(log.read_text() for log in logs()), "its first words")
        run.kill()
    until(lambda: not list(tmp_path.glob("ldlrepro-peer-*")), "an empty folder")


def test_the_arena_runs_them_with_their_defaults(ready, monkeypatch):
    monkeypatch.setattr(toolbox, "ALGORITHMS", ("Mean", "Broken"))
    names = ["Mean (python-ldl)", "Broken (python-ldl)"]
    rows = pd.read_csv(runs.run("toy", Workspace(), names)).set_index(["method", "fold"])
    assert set(rows["kind"]) == {"default"}
    assert (rows.loc[names[0], "fit_s"] < 5).all()
    assert rows.loc[names[0], "error"].isna().all()
    assert rows.loc[names[1], "error"].str.contains("no rows left").all()
    assert (rows.loc[names[1], "kl"] > 0).all()  # as the training mean

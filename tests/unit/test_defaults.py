"""The library's defaults are among the settings that they were chosen from."""

import re

import numpy as np
import pytest

import ldl
from bench import defaults
from ldlrepro import models

METHODS = {"SABFGS": "sa_bfgs", "LDLHR": "ldl_hr", "CPNN": "cpnn", "LDSVR": "ldsvr"}


@pytest.mark.parametrize("name", sorted(defaults.CANDIDATES))
def test_one_candidate_is_the_default(name):
    found = [defaults.is_default(name, settings) for settings in defaults.CANDIDATES[name].values()]
    assert found.count(True) == 1


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_first_candidate_is_the_configured_method(name):
    first = next(iter(defaults.CANDIDATES[name].values()))
    configured = models.load(METHODS[name]).get_params()
    assert getattr(ldl, name)(**first).get_params() == configured


def test_rows_that_judge_take_no_part_in_the_fit(monkeypatch):
    generator = np.random.default_rng(0)
    X, D = np.arange(50.0)[:, None], generator.dirichlet(np.ones(3), size=50)
    seen = {}

    class Spy(ldl.TrainMean):
        def fit(self, X, D):
            seen["fitted"] = set(X[:, 0])
            return super().fit(X, D)

        def predict(self, X):
            seen["judged"] = set(X[:, 0])
            return super().predict(X)

    monkeypatch.setattr(ldl, "TrainMean", Spy)
    defaults.judged("TrainMean", {}, X, D, 0)
    first = dict(seen)
    assert not first["fitted"] & first["judged"]
    assert len(first["judged"]) == 10
    defaults.judged("TrainMean", {}, X, D, 1)
    assert seen["judged"] != first["judged"]


def test_table_has_a_row_for_each_candidate_and_the_default_in_bold(monkeypatch, capsys):
    generator = np.random.default_rng(0)
    X, D = generator.normal(size=(60, 4)), generator.dirichlet(np.ones(3), size=60)
    monkeypatch.setattr(defaults, "fold", lambda dataset: (X, D, X, D))
    defaults.main(["--classes", "PTBayes", "--datasets", "sjaffe", "--cuts", "2"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0] == "| PTBayes | sjaffe |"
    cell = r"\| [^|]+ \| \S+ \(\d\.\d\d\), \S+ s \|"
    assert all(re.fullmatch(cell, line) for line in lines[2:])
    assert len(lines) == 2 + len(defaults.CANDIDATES["PTBayes"])
    assert [line for line in lines if "**" in line] == [lines[-3]]

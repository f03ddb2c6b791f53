"""The benchmark of our growth of boosted trees beside xgboost's, in small."""

import numpy as np

from bench import boosted_growth


def test_layers_are_compared_on_the_rows_of_a_fold(monkeypatch, capsys):
    generator = np.random.default_rng(0)
    X, D = generator.normal(size=(60, 4)), generator.dirichlet(np.ones(3), size=60)
    monkeypatch.setattr(boosted_growth, "fold", lambda dataset: (X, D, X, D))
    boosted_growth.main(["--repeats", "1", "--layers", "1", "3"])
    first, third = capsys.readouterr().out.splitlines()
    assert first.startswith("layer 1: 40 trees of depth 3: ")
    assert third.startswith("layer 3: 80 trees of depth 9: ")
    assert first.endswith("same bits")
    assert third.endswith("same bits")


def test_other_bits_are_told(monkeypatch):
    X, D = np.eye(6), np.full((6, 2), 0.5)
    asked = boosted_growth.load("ldldf")._settings(0)
    monkeypatch.setattr(boosted_growth, "ours", lambda *given: (2.0, D))
    monkeypatch.setattr(boosted_growth, "theirs", lambda *given: (6.0, D + 1e-9))
    told = boosted_growth.compared(asked, X, D, repeats=3)
    assert told == "40 trees of depth 3: 2.00 s, xgboost 6.00 s, 3.0 times, OTHER BITS"

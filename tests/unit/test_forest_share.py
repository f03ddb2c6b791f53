"""The benchmark of what a forest adds to a network's step, in small."""

import argparse

from bench import forest_share


def test_share_is_told_for_every_forest(capsys):
    small = {"network": "tiny", "side": 8, "batch": 4, "steps": 2, "repeats": 1}
    forest_share.main([f"--{name}={value}" for name, value in small.items()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("deep_regression: ")
    assert [line.partition(":")[0] for line in lines[1:]] == list(forest_share.FORESTS)
    assert all(line.endswith(("within 5%", "above 5%")) for line in lines[1:])


def test_preparation_does_not_count(monkeypatch):
    """A fit that takes 7 s and 2 s for each step has steps of 2 s."""
    now = [0.0]

    class Fit:
        def __init__(self, max_iter: int) -> None:
            self.max_iter = max_iter

        def fit(self, X, D) -> None:
            now[0] += 7.0 + 2.0 * self.max_iter

    monkeypatch.setattr(forest_share, "load", lambda name, **given: Fit(given["max_iter"]))
    monkeypatch.setattr(forest_share, "_clock", lambda device: lambda: now[0])
    given = argparse.Namespace(network="tiny", side=8, batch=4, steps=5, device="cpu")
    assert forest_share.step_seconds("drf", given) == 2.0

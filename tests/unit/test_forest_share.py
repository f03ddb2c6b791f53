"""The benchmark of what a forest adds to a network's step, in small."""

import pytest

from bench import forest_share
from ldl.watch import current_watch


def test_share_is_told_for_every_forest(capsys):
    small = {"network": "tiny", "side": 8, "batch": 4, "steps": 2, "repeats": 1}
    forest_share.main([f"--{name}={value}" for name, value in small.items()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("deep_regression: ")
    assert [line.partition(":")[0] for line in lines[1:]] == list(forest_share.FORESTS)
    assert all(line.endswith(("within 5%", "above 5%")) for line in lines[1:])


class Fit:
    """A training that takes 7 s and 2 s for each step, and reports every 20 steps."""

    device = "cpu"

    def __init__(self, max_iter: int) -> None:
        self.max_iter, self.now = max_iter, 0.0

    def fit(self, X, D) -> None:
        self.now += 7.0
        for step in range(1, self.max_iter + 1):
            self.now += 2.0
            if step % 20 == 0:
                current_watch().report(step, {})


def test_preparation_does_not_count_and_the_training_ends_early(monkeypatch):
    fit = Fit(max_iter=1000)
    monkeypatch.setattr(forest_share, "_clock", lambda device: lambda: fit.now)
    assert forest_share.seconds_per_step(fit, None, None, steps=50) == 2.0
    assert fit.now == 7.0 + 2.0 * 80


def test_a_training_too_short_to_be_timed_is_refused():
    with pytest.raises(ValueError, match=r"max_iter \(60\) is less than 50 steps"):
        forest_share.seconds_per_step(Fit(max_iter=60), None, None, steps=50)

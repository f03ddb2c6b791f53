"""The benchmark of LDLogitBoost's growth, in small."""

import re

import numpy as np

from bench import logit_growth


def test_a_digest_tells_whether_predictions_are_the_same(monkeypatch, capsys):
    generator = np.random.default_rng(0)
    X, D = generator.normal(size=(60, 4)), generator.dirichlet(np.ones(3), size=60)
    monkeypatch.setattr(logit_growth, "fold", lambda dataset: (X, D, X, D))
    asked = ["--datasets", "sjaffe", "--repeats", "1", "--rounds"]
    for rounds in ("2", "2", "3"):
        logit_growth.main([*asked, rounds])
    lines = capsys.readouterr().out.splitlines()
    pattern = r"sjaffe: (\d) rounds: \d+\.\d{3} s, predictions ([0-9a-f]{12})"
    first, again, other = (re.fullmatch(pattern, line)[2] for line in lines)
    assert first == again != other

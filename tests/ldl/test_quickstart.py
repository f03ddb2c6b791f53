"""The quick start of the README runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ldl import datasets
from ldl.checks import sample

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def quick_start() -> str:
    section = re.search(r"^## The library\n(.*?)^## ", README, re.MULTILINE | re.DOTALL)
    assert section is not None
    (code,) = re.findall(r"```python\n(.*?)```", section[1], re.DOTALL)
    return code


def test_it_runs_and_prints_predictions_and_the_best_parameters(monkeypatch, capsys):
    X, D = sample(n=203)
    faces = SimpleNamespace(data=X, target=D, groups=np.arange(203) % 10)
    monkeypatch.setattr(datasets, "load_sjaffe", lambda: faces)
    exec(compile(quick_start(), "README.md", "exec"), {})
    *P, best = capsys.readouterr().out.splitlines()
    rows = [[float(number) for number in row.strip(" []").split()] for row in P]
    np.testing.assert_allclose(np.sum(rows, axis=1), np.ones(3), atol=0.003)
    assert re.fullmatch(r"\{'max_features': (None|0\.3)\}", best)

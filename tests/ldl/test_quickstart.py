"""The quick start of the README runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ldl.checks import sample

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def quick_start() -> str:
    section = re.search(r"^## The library\n(.*?)^## ", README, re.MULTILINE | re.DOTALL)
    assert section is not None
    (code,) = re.findall(r"```python\n(.*?)```", section[1], re.DOTALL)
    return code


def test_it_runs_and_prints_the_best_parameters(tmp_path, monkeypatch, capsys):
    X, D = sample(n=40)
    np.savez(tmp_path / "faces.npz", X=X[:30], D=D[:30], X_new=X[30:], D_new=D[30:])
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(quick_start(), "README.md", "exec"), names)
    P = names["P"]
    assert P.shape == (10, 4)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    (best,) = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\{'max_features': (None|'sqrt')\}", best)

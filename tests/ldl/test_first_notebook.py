"""The library's notebook takes a stranger from public data to a tuned model in a few cells."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from ldl import datasets
from ldl.metrics import kl

ROOT = Path(__file__).resolve().parents[2]
BOOK = json.loads((ROOT / "packages/ldl/notebooks/first_model.ipynb").read_text(encoding="utf-8"))
CODE = [cell for cell in BOOK["cells"] if cell["cell_type"] == "code"]


def mirror() -> str | None:
    """The first folder that has the file, of those where the workflow looks as well."""
    named = os.environ.get("LDLREPRO_DATA_MIRROR", "").split(os.pathsep)
    places = [*named, str(ROOT.parent / "shared" / "datasets")]
    return next((p for p in places if p and Path(p, "SJAFFE.mat").is_file()), None)


@pytest.mark.realdata
def test_it_runs_and_its_model_is_better_than_the_mean(tmp_path, monkeypatch, capsys):
    if not (near := mirror()):
        pytest.skip("no local mirror holds SJAFFE.mat; set LDLREPRO_DATA_MIRROR to a folder of it")
    monkeypatch.setenv(datasets.MIRROR, near)
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    pyplot.close("all")  # of other tests
    names: dict = {}
    for cell in CODE:
        exec(compile("".join(cell["source"]), "first_model.ipynb", "exec"), names)
    X, D, test = names["X"], names["D"], names["test"]
    P = names["tuned"].predict(X[test])
    assert list(names["tuned"].label_names_) == list(D.columns)
    assert kl(D[test], P) < kl(D[test], np.tile(D[names["train"]].mean(axis=0), (len(P), 1)))
    degrees, measures = (pyplot.figure(number).axes for number in pyplot.get_fignums())
    assert degrees[0].get_ylabel() == "degree"
    assert measures[0].get_title() == "kl, lower is better"
    pyplot.close("all")
    printed = capsys.readouterr().out.splitlines()
    written = [o["text"] for c in CODE for o in c["outputs"] if o["output_type"] == "stream"]
    assert printed == "".join(map("".join, written)).splitlines()
    assert sum("Spearman" in line for line in printed) == 2, "the mean's and the forest's"

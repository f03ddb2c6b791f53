"""The day MORPH is put in place: Tables 2 and 3 of the ldlf paper, on drawn faces in its layout.

A small network, few steps, two folds; everything else is as the paper's file says.
"""

from __future__ import annotations

import csv

import pytest
import yaml

from ldlrepro.data.drawn_albums import write_album

TINY_STEPS = 6
SLICE = """
papers: [ldlf]
extra: false
only: {datasets: [morph, morph_sub], methods: [dldlf, dldlf@alexnet, dldl, sa_bfgs]}
"""


@pytest.fixture
def with_morph(project):
    """What a user with the licence does, with a small network for VGG-16 and AlexNet."""
    write_album(project.root / "data" / "manual" / "morph" / "album", "morph", 24, 3, seed=4)
    for dataset in ("morph", "morph_sub"):
        path = f"config/datasets/{dataset}.yaml"
        project.edit(path, "width: 224, height: 224", "width: 32, height: 32")
    project.edit("config/datasets/morph_sub.yaml", "count: 20160", "count: 32")
    project.edit("config/papers/ldlf.yaml", "folds: 10", "folds: 2")
    project.edit("config/papers/ldlf.yaml", "repeats: 5", "repeats: 2")
    for method in ("dldlf", "dldl"):
        path = project.root / "config" / "methods" / f"{method}.yaml"
        tree = yaml.safe_load(path.read_text())
        tiny = tree["variants"]["tiny"]
        tree["parameters"] |= {**tiny["parameters"], "max_iter": TINY_STEPS, "batch_size": 4}
        tree["resources"] = tiny["resources"]
        tree["variants"] = {"alexnet": {"title": "also small", "parameters": {"momentum": 0.8}}}
        path.write_text(yaml.safe_dump(tree))
    return project


@pytest.mark.slow
def test_tables_2_and_3_of_ldlf_are_measured_when_morph_is_there(with_morph):
    slice_of_it = with_morph.root / "config" / "slice.yaml"
    slice_of_it.write_text(SLICE)
    wanted = ("results/compare/ldlf/cells.csv", "--configfile", str(slice_of_it))
    with_morph.snakemake(*wanted)
    with open(with_morph.root / "results" / "compare" / "ldlf" / "cells.csv") as handle:
        rows = [row for row in csv.DictReader(handle) if row["table"] in ("2", "3")]
    deep = [row for row in rows if row["method"] == "dLDLF"]
    assert len(deep) == 7  # Table 2, and six shares of training rows in Table 3
    for row in deep:
        assert row["verdict"] in ("reproduced", "better", "worse"), row["reason"]
        assert 0 < float(row["measured"]) < 61
        assert (row["folds"], row["source"]) == ("2", "local")
    ratios = {row["protocol"] for row in deep if row["table"] == "3"}
    assert ratios == {f"ldlf_ratio_{share}0" for share in range(1, 7)}
    (features,) = [row for row in rows if (row["table"], row["method"]) == ("2", "SA-BFGS")]
    assert features["reason"] == "needs features: morph has photographs only"
    log = (with_morph.root / "logs/units/ldlf/morph/dldlf/folds_0-1.log").read_text()
    assert f"{TINY_STEPS} of {TINY_STEPS}, " in log
    assert " images/s" in log
    curves = with_morph.root / "results/units/ldlf/morph/dldlf/curves"
    assert sorted(path.name for path in curves.iterdir()) == ["r000_f000.csv", "r000_f001.csv"]
    made = with_morph.root / "data" / "ready"
    assert (made / "morph.pixels.npy").stat().st_size > 72 * 32 * 32 * 3
    # Nothing is left to do.
    assert "Nothing to be done" in with_morph.snakemake(*wanted)

"""The day photographs are put in place: tables of two papers, on drawn faces in their layouts.

A small network from random weights, few steps, few folds; everything else is as the paper's file
says.
"""

from __future__ import annotations

import csv
import re

import pytest
import yaml

from ldlrepro.data.drawn.albums import write_album
from ldlrepro.judge.cells import RANDOM_WEIGHTS

TINY_STEPS = 6
SLICE = """
papers: [ldlf]
extra: false
only: {datasets: [morph, morph_sub], methods: [dldlf, dldlf@alexnet, sa_bfgs]}
"""
BETWEEN = re.compile(r"ldlf_ratio_[2-5]0|training ratio [2-5]0%")


def shrink(project, method: str, folds_per_job: int) -> None:
    """The small network in place of VGG-16, and what must not be larger than it."""
    path = project.root / "config" / "methods" / f"{method}.yaml"
    tree = yaml.safe_load(path.read_text())
    tiny = tree["variants"]["tiny"]
    tree["parameters"] |= {**tiny["parameters"], "max_iter": TINY_STEPS, "batch_size": 4}
    tree["resources"] = {**tiny["resources"], "folds_per_job": folds_per_job}
    if "alexnet" in tree["variants"]:
        tree["variants"] = {"alexnet": {"title": "also small", "parameters": {"momentum": 0.8}}}
    path.write_text(yaml.safe_dump(tree))


@pytest.fixture
def with_morph(project):
    """What a user with the licence does, with a small network for VGG-16 and AlexNet."""
    write_album(project.root / "data" / "manual" / "morph" / "album", "morph", 24, 3, seed=4)
    for dataset in ("morph", "morph_sub"):
        path = f"config/datasets/{dataset}.yaml"
        project.edit(path, "crop: [224, 224]", "crop: [32, 32]")
    project.edit("config/datasets/morph_sub.yaml", "count: 20160", "count: 32")
    project.edit("papers/ldlf/paper.yaml", "folds: 10", "folds: 2")
    project.edit("papers/ldlf/paper.yaml", "repeats: 5", "repeats: 2")
    shrink(project, "dldlf", folds_per_job=2)  # a job begins with seconds of importing torch
    # Of the ratios of training rows, the first and the last.
    for name in ("paper.yaml", "cells.csv", "claims.yaml"):
        path = project.root / "papers" / "ldlf" / name
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not BETWEEN.search(line)))
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
    assert len(deep) == 3  # Table 2, and two shares of training rows in Table 3
    for row in deep:
        assert row["reason"] == RANDOM_WEIGHTS
        assert 0 < float(row["measured"]) < 61
        assert (row["folds"], row["source"]) == ("2", "local")
    ratios = {row["protocol"] for row in deep if row["table"] == "3"}
    assert ratios == {"ldlf_ratio_10", "ldlf_ratio_60"}
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

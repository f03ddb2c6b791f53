"""Weights through the workflow: fetched, checked, begun with; hidden from jobs that did not ask."""

from __future__ import annotations

import json

import pytest

from ldlrepro.core.checksums import sha256_of
from ldlrepro.train.records import OK, read_rows
from tests.workflow.conftest import Project

torch = pytest.importorskip("torch")

MINE = """
title: convolutions of AlexNet, drawn by a test
network: alexnet
files: [{name: mine.pth, sha256: '%s'}]
layout: torchvision
colours: bgr
mean: [104, 117, 124]
std: [1, 1, 1]
licence: free
"""
SETTINGS = "network=alexnet,weights=mine,max_iter=2,batch_size=4,readers=1"
UNIT = f"results/units/drf_morph/drawn_morph/dldl@{SETTINGS}/folds_0-0.parquet"


@pytest.fixture
def with_weights(project: Project) -> Project:
    """Weights that the user has put in place, and drawn faces with features of them."""
    from ldl.deep.weights import random_network

    state = random_network("alexnet", 0).network.state_dict()
    alone = {key: value for key, value in state.items() if key.startswith("features")}
    there = project.root / "data" / "manual" / "mine" / "mine.pth"
    there.parent.mkdir(parents=True)
    torch.save(alone, there)
    (project.root / "config/weights/mine.yaml").write_text(MINE % sha256_of(there))
    project.edit("config/datasets/drawn_morph.yaml", "crop: [64, 64]", "crop: [224, 224]")
    project.edit(
        "config/datasets/drawn_morph.yaml",
        "{extractor: lbp}",
        "{extractor: alexnet, layer: pool5_mean, weights: mine}",
    )
    project.edit("config/datasets/drawn_morph.yaml", "persons: 32", "persons: 4")
    project.edit("config/methods/dldl.yaml", "gpu: 1", "gpu: 0")
    return project


@pytest.mark.slow
def test_features_and_fine_tuning_begin_with_the_weights_that_a_yaml_names(with_weights):
    project = with_weights
    project.snakemake(UNIT)
    assert (
        "mine: data/ready/mine.weights.pth" in (project.root / "logs/weights/mine.log").read_text()
    )
    facts = json.loads((project.root / "data/ready/mine.weights.json").read_text())
    ready = json.loads((project.root / "data/ready/drawn_morph.json").read_text())
    assert ready["shape"]["q"] == 256
    assert ready["meta"]["features"]["source_sha256"] == facts["source_sha256"]
    (row,) = read_rows(project.root / UNIT)
    assert (row.status, row.params["weights"]) == (OK, "mine")
    assert row.diagnostics["sha256"] == facts["sha256"]
    assert "Nothing to be done" in project.snakemake(UNIT)
    # A job reads the prepared file alone: without what it was made of, the same comes out.
    first = (project.root / UNIT).with_suffix(".npz").read_bytes()
    for folder in ("data/raw/mine", "data/manual/mine", "results/journal"):
        (project.root / folder).rename(project.root / f"{folder}.gone")
    unit = ("drf_morph", "drawn_morph", f"dldl@{SETTINGS}", "--folds", "0-0", "--fresh")
    project.run("ldlrepro", "run", *unit)
    assert (project.root / UNIT).with_suffix(".npz").read_bytes() == first
    # Other preprocessing is planned again.
    project.edit("config/weights/mine.yaml", "colours: bgr", "colours: rgb")
    planned = project.snakemake("-n", UNIT)
    assert "rule weights" in planned
    assert "rule train" in planned

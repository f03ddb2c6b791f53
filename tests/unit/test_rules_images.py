"""Inputs and resources of methods on images; other methods are asked nothing new."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ldlrepro import config
from ldlrepro.workflow.rules import Rules

IMAGES = """
title: reads photographs
class: ldl.TrainMean
needs: {images: true}
resources: {gpu: 2}
"""


@pytest.fixture
def rules(checkout) -> Rules:
    checkout.write("config/methods/looks.yaml", IMAGES)
    return Rules(config.load_run_config())


def of(protocol: str, dataset: str, method: str) -> SimpleNamespace:
    return SimpleNamespace(protocol=protocol, dataset=dataset, method=method)


def test_only_experiments_on_images_wait_for_pixels(rules):
    pixels = "data/ready/drawn_morph.pixels.npy"
    asked = SimpleNamespace(paper="drf", experiment="drawn_forests")
    assert pixels in rules.experiment_inputs(asked)
    others = rules.experiment_inputs(SimpleNamespace(paper="drf", experiment="forests"))
    assert not any("pixels" in name for name in others)


def test_only_methods_on_images_wait_for_pixels(rules):
    assert rules.unit_pixels(of("drf_morph", "morph", "looks")) == ["data/ready/morph.pixels.npy"]
    assert rules.unit_pixels(of("drf_morph", "morph", "sa_bfgs")) == []
    assert rules.unit_pixels(of("drf_morph", "morph", "not_written_yet")) == []


def test_cards_are_a_resource_of_the_job(rules):
    assert rules.unit_gpu(of("drf_morph", "morph", "looks")) == 2
    assert rules.unit_gpu(of("ldlf", "movie", "sldlf")) == 0

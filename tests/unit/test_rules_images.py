"""Inputs and resources of methods on images; other methods are asked nothing new."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ldlrepro.workflow.rules import Rules

IMAGES = """
title: reads photographs
class: ldl.TrainMean
needs: [images]
resources: {gpu: 2}
"""


@pytest.fixture
def rules(checkout) -> Rules:
    checkout.write("config/methods/looks.yaml", IMAGES)
    return checkout.rules()


def of(protocol: str, dataset: str, method: str) -> SimpleNamespace:
    return SimpleNamespace(protocol=protocol, dataset=dataset, method=method)


def test_only_methods_on_images_wait_for_pixels(rules):
    assert rules.unit_pixels(of("drf_morph", "morph", "looks")) == ["data/ready/morph.pixels.npy"]
    assert rules.unit_pixels(of("drf_morph", "morph", "sa_bfgs")) == []


def test_cards_are_a_resource_of_the_job(rules):
    assert rules.unit_gpu(of("drf_morph", "morph", "looks")) == 2
    assert rules.unit_gpu(of("ldlf", "movie", "sldlf")) == 0


# ---------------------------------------------------------------------- weights

READY = ["data/ready/vgg16.weights.pth", "data/ready/vgg16.weights.json"]


def test_weights_are_an_input_of_what_begins_with_them(rules):
    assert rules.unit_weights(of("drf_morph", "drawn_morph", "drf")) == READY
    assert rules.unit_weights(of("drf_morph", "drawn_morph", "drf@tiny")) == []
    assert rules.unit_weights(of("drf_morph", "drawn_morph", "sa_bfgs")) == []
    mine = rules.unit_weights(of("drf_morph", "drawn_morph", "dldl@weights=vgg16_conv"))
    assert mine[0] == "data/ready/vgg16_conv.weights.pth"


def test_nothing_is_fetched_for_photographs_that_are_out_of_reach(rules, checkout):
    morph = of("drf_morph", "morph", "drf")
    assert rules.unit_weights(morph) == []
    checkout.write("data/manual/morph/album.zip", "the user has it")
    assert rules.unit_weights(morph) == READY

"""MSLP's experiments: the whole grid on every fold, and embeddings in two dimensions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldl import metrics
from ldl.neighbours.embeddings import LPPKNN
from ldlrepro import experiments
from ldlrepro.core.seeds import seed_for
from ldlrepro.core.workspace import Workspace
from ldlrepro.experiments import Inputs
from ldlrepro.train import selection
from papers.mslp import embedding_grid, two_dimensions
from papers.mslp.embedding_grid import KL, MEASURES
from tests.unit.judged import PROJECT

SMALL = """
title: a small grid
class: ldl.MSLP
parameters:
  {k_plus: [3, 5], alpha: 3, beta: [0.0, 0.5], lam: 0.01, u: [0.3, 0.7, 1.0], n_neighbors: [2, 4],
   standardise: false, mean_share: null}
resources: {threads: 1, mem_mb: 700}
"""
SMALL_LPP = """
title: another small grid
class: ldl.LPPKNN
parameters:
  {pca_keep: [0.98, 1.0], graph_neighbors: [3, 5], u: [0.3, 0.7], n_neighbors: [2, 4],
   standardise: false, mean_share: null}
resources: {threads: 1, mem_mb: 700}
"""


@pytest.fixture
def inputs(ready) -> Inputs:
    ready.write("config/methods/small.yaml", SMALL)
    ready.write("config/methods/small_lpp.yaml", SMALL_LPP)
    plan = ready.plan
    tiny = plan.project.protocol("tiny")
    return Inputs(plan, Workspace(), ["toy", "absent"], tiny, lambda line: None)


# ---------------------------------------------------------------------- the grid


def test_nested_scores_are_those_of_the_unit(inputs):
    outcome = embedding_grid.measure(inputs, {"MSLP": "small"})
    data, method = inputs.load("toy"), inputs.project.method("small")
    scores = []
    for fold in inputs.folds("toy"):
        seed = seed_for(2026, "tiny", "toy", "small", fold.repeat, fold.fold)
        fitted = selection.run_fold(method, data.X, data.D, fold, select_by="kl", seed=seed)
        scores.append(metrics.evaluate(data.D[fold.test], fitted.predictions))
    (row,) = (r for r in outcome.tables[0].rows if r[1] == embedding_grid.NESTED)
    for measure, value in zip(MEASURES, row[2:8], strict=True):
        assert value == pytest.approx(np.mean([s[measure] for s in scores]), abs=6e-5)


def test_best_on_test_folds_is_what_every_grid_point_by_itself_confirms(inputs):
    found = embedding_grid._scan(inputs, "toy", "LPP", "small_lpp")
    data, kl = inputs.load("toy"), []
    for candidate in found.grid:
        folds = []
        for fold in inputs.folds("toy"):
            model = LPPKNN(**candidate, standardise=False, mean_share=None).fit(
                data.X[fold.train], data.D[fold.train]
            )
            P = model.predict(data.X[fold.test])
            folds.append(metrics.evaluate(data.D[fold.test], P)["kl"])
        kl.append(np.mean(folds))
    assert found.means[:, KL] == pytest.approx(np.array(kl), rel=1e-9)
    assert found.best_tested(found.all) == int(np.argmin(kl))


# ---------------------------------------------------------------------- how mixed colours are


def drawn_rows(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    places = rng.uniform(size=(n, 2))
    share = places[:, :1]
    return places, np.hstack([share, 1 - share])


def test_sorted_labels_are_hardly_mixed_and_shuffled_ones_wholly():
    places, D = drawn_rows()
    shuffled = np.random.default_rng(1).permutation(D)
    assert two_dimensions.mixing(places, D, 10) < 0.2
    assert two_dimensions.mixing(places, shuffled, 10) == pytest.approx(1.0, abs=0.05)


def test_embeddings_are_measured_drawn_and_compared(inputs):
    outcome = two_dimensions.measure(
        inputs,
        methods={"MSLP": "small", "LPP": "small_lpp"},
        figures={"5": "toy", "6": "absent"},
        noisy={"toy": "toy"},
        neighbours=5,
        neutral={},
    )
    assert list(outcome.series) == ["5"]
    assert set(outcome.series["5"]["places"]) == {
        "MSLP",
        "LPP",
        "LPP, not centred",
        "MSLP, clearest values",
    }
    facts, (mslp, lpp, *_) = outcome.facts, outcome.tables[0].rows
    assert facts["mixing of MSLP over LPP on toy"] == pytest.approx(mslp[1] / lpp[1], rel=0.02)
    assert facts["least mixing of MSLP over LPP on toy"] == pytest.approx(
        mslp[3] / lpp[3], rel=0.02
    )
    assert mslp[3] <= mslp[1]  # the clearest values are the clearest
    # A set that is its own noisy version: nothing changes.
    assert facts["median noise cost of MSLP on toy"] == 1.0
    assert facts["highest noise cost of LPP on toy"] == 1.0
    (figure,) = two_dimensions.draw(outcome.series).values()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0].startswith("MSLP: colours mixed 0.")


def test_only_the_plane_of_features_that_are_not_centred_depends_on_their_mean(inputs):
    data = inputs.load("toy")
    moved = replace(data, X=data.X + 100)
    methods = {"MSLP": "small", "LPP": "small_lpp"}
    here, there = (two_dimensions._all_planes(inputs, each, methods, 5) for each in (data, moved))
    assert there["LPP"].over_grid == pytest.approx(here["LPP"].over_grid)
    uncentred = two_dimensions.UNCENTRED
    assert there[uncentred].over_grid != pytest.approx(here[uncentred].over_grid)


# ---------------------------------------------------------------------- claims


def test_claims_speak_of_numbers_that_the_recorded_experiments_name():
    paper = PROJECT.paper("mslp")
    recorded = {name: experiments.read(paper, name, Path("nowhere")) for name in paper.experiments}
    asked = [
        (check.experiment, check.fact)
        for claim in paper.claims
        for check in (claim.test.checks if claim.test else ())
    ]
    assert {name for name, _ in asked} <= set(recorded)
    missing = [
        (name, fact)
        for name, fact in asked
        if recorded[name] is not None and fact not in recorded[name].facts
    ]
    assert missing == []

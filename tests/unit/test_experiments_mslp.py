"""MSLP's experiments: the whole grid on every fold, and embeddings in two dimensions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldl import metrics
from ldl.neighbours.embeddings import LPPKNN
from ldl.neighbours.knn import AAKNN
from ldlrepro import experiments
from ldlrepro.core.seeds import seed_for
from ldlrepro.core.workspace import Workspace
from ldlrepro.experiments import Inputs
from ldlrepro.train import selection
from papers.mslp import embedding_grid, two_dimensions
from papers.mslp import two_dimensions_drawn as drawn
from papers.mslp.embedding_grid import KL, MEASURES, Scan
from tests.unit.judged import PLAN, PROJECT

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
PUBLISHED = """paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note
""" + "\n".join(f"tiny,1,toy,,Near,{metric},0.5,,,," for metric in MEASURES)


@pytest.fixture
def inputs(ready) -> Inputs:
    ready.write("config/methods/small.yaml", SMALL)
    ready.write("config/methods/small_lpp.yaml", SMALL_LPP)
    plan = ready.plan
    tiny = plan.project.protocol("tiny")
    return Inputs(plan, Workspace(), ["toy", "absent"], tiny, lambda line: None)


def scan(tested: list[list[float]], validated: list[list[float]], shares: list[float]) -> Scan:
    """A scan whose KL is given and whose other measures are the same."""
    scores = np.repeat(np.array(tested)[:, :, None], len(MEASURES), axis=2)
    grid = [{"u": share, "n_neighbors": 5} for share in shares]
    return Scan(grid, scores, np.array(validated))


# ---------------------------------------------------------------------- the grid


def test_nested_choice_reads_validation_scores_and_reports_test_scores():
    found = scan([[0.1, 0.9], [0.2, 0.8]], [[0.5, 0.4], [0.3, 0.4]], [0.1, 0.2])
    scores, chosen = found.nested(found.all)
    assert chosen == [1, 0]
    assert scores[KL] == pytest.approx((0.9 + 0.2) / 2)


def test_choice_on_test_folds_is_one_grid_point_for_all_folds():
    found = scan([[0.1, 0.2, 0.9], [0.9, 0.2, 0.1]], [[0.0] * 3] * 2, [0.1, 0.2, 0.3])
    assert found.best_tested(found.all) == 1


def test_choices_can_be_confined_to_one_share():
    found = scan([[0.1, 0.3, 0.2]], [[0.1, 0.3, 0.2]], [0.1, 0.2, 0.2])
    among = found.with_share(0.2)
    assert found.best_tested(among) == 2
    assert found.nested(among)[1] == [2]


def test_of_shares_that_do_equally_well_the_smallest_counts():
    curve = {"u": [0.1, 0.2, 0.3], "tested": [0.5, 0.4, 0.4]}
    assert embedding_grid.lowest_share(curve, "tested") == 0.2


def test_nearest_grid_point_is_measured_in_relative_deviations():
    printed = np.array([0.1, 0.3, 0.7, 0.05, 0.9, 0.8])
    index, apart = embedding_grid.nearest_to(printed, np.array([printed * 2, printed * 1.1]))
    assert index == 1
    assert apart == pytest.approx(0.1)


def test_both_label_files_of_m2b_stand_beside_the_printed_row():
    inputs = Inputs(PLAN, Workspace(), [], PROJECT.protocol("mslp"))
    rows = [embedding_grid._printed(inputs, name)["MSLP"] for name in ("m2b_lngoo", "m2b")]
    assert rows[0][KL] == 0.5684
    assert (rows[0] == rows[1]).all()


def test_nested_scores_are_those_of_the_unit(inputs):
    outcome = embedding_grid.measure(inputs, {"MSLP": "small"})
    data, method = inputs.load("toy"), inputs.project.method("small")
    scores = []
    for fold in inputs.folds("toy"):
        seed = seed_for(2026, "tiny", "toy", "small", fold.repeat, fold.fold)
        fitted = selection.run_fold(method, data.X, data.D, fold, select_by="kl", seed=seed)
        scores.append(metrics.evaluate(data.D[fold.test], fitted.predictions))
    (row,) = (r for r in outcome.tables[2].rows if r[1] == embedding_grid.NESTED)
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


def test_a_method_that_is_confined_to_other_data_sets_is_left_out(inputs):
    methods = {"MSLP": "small", "LPP": "small_lpp"}
    outcome = embedding_grid.measure(inputs, methods, only={"LPP": ["elsewhere"]})
    assert list(outcome.series) == ["toy"]  # the other one is not here
    assert list(outcome.series["toy"]) == ["MSLP"]


def test_printed_rows_get_their_nearest_grid_point_and_others_none(ready, inputs):
    ready.write("papers/tiny/cells.csv", PUBLISHED)
    inputs = replace(inputs, plan=ready.plan)
    outcome = embedding_grid.measure(inputs, {"Near": "small", "LPP": "small_lpp"})
    kinds = {(row[0], row[1]) for row in outcome.tables[2].rows}
    assert ("Near", embedding_grid.NEAREST) in kinds
    assert ("LPP", embedding_grid.NEAREST) not in kinds
    assert ("LPP", embedding_grid.NESTED) in kinds


def test_what_sees_test_labels_says_so(inputs):
    for text in (embedding_grid.TESTED, embedding_grid.NEAREST):
        assert text.startswith("diagnostic")
    outcome = embedding_grid.measure(inputs, {"MSLP": "small"})
    assert "diagnostic" in outcome.tables[0].title


def test_curves_are_drawn_one_panel_per_data_set(inputs):
    outcome = embedding_grid.measure(inputs, {"MSLP": "small", "LPP": "small_lpp"})
    series = {"one": outcome.series["toy"], "two": outcome.series["toy"]}
    figure = embedding_grid.draw(series)["u"]
    assert [axes.get_title() for axes in figure.axes] == ["one", "two"]
    assert len(figure.axes[0].lines) == 4  # two methods, two ways of choosing
    assert embedding_grid.draw({}) == {}


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


def test_a_row_is_not_its_own_neighbour_even_among_twins():
    D = np.tile([[1.0, 0.0], [0.0, 1.0]], (10, 1))
    # All rows in one place: the neighbours are the first three other rows.
    expected = [
        np.mean(D[[i for i in range(4) if i != row][:3]][:, 0] != D[row, 0]) for row in range(20)
    ]
    found = two_dimensions.mixing(np.zeros((20, 2)), D, 3)
    assert found * two_dimensions.mean_label_distance(D) == pytest.approx(
        np.sqrt(2) * np.mean(expected)
    )


def test_mixing_of_rows_that_are_new_uses_their_labels_and_those_of_fitted_ones():
    places, D = drawn_rows()
    old, new = slice(0, 300), slice(300, None)
    found = two_dimensions.mixing_of_new(places[old], D[old], places[new], D[new], 1)
    order = (
        AAKNN(1, standardise=False, mean_share=None)
        .fit(places[old], D[old])
        .kneighbors(places[new])[:, 0]
    )
    near = np.linalg.norm(D[old][order] - D[new], axis=1).mean()
    assert found == pytest.approx(near / two_dimensions.mean_label_distance(D[old]))


def test_mean_label_distance_is_over_pairs_of_different_rows():
    D = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert two_dimensions.mean_label_distance(D) == pytest.approx(4 * np.sqrt(2) / 6)


def test_without_centring_the_first_direction_of_lpp_hardly_varies():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(-1, 1, (300, 2)), rng.uniform(1.0, 1.1, 300)])
    D = np.full((300, 2), 0.5)
    settings = {"pca_keep": 1.0, "graph_neighbors": 5, "u": 1 / 3, "standardise": False}
    first = two_dimensions.UncentredLPP(**settings).fit(X, D).transform(X)[:, 0]
    centred = LPPKNN(**settings).fit(X, D).transform(X)[:, 0]
    assert first.std() < 0.1 * abs(first.mean())
    assert centred.std() > 10 * abs(centred.mean())


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
        mslp[4] / lpp[4], rel=0.02
    )
    assert mslp[4] <= mslp[1]  # the clearest values are the clearest
    # A set that is its own noisy version: nothing changes.
    assert facts["median noise cost of MSLP on toy"] == 1.0
    assert facts["highest noise cost of LPP on toy"] == 1.0
    (figure,) = two_dimensions.draw(outcome.series).values()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0].startswith("MSLP: colours mixed 0.")


# ---------------------------------------------------------------------- pictures


def test_places_come_back_in_thousandths_of_each_axis():
    places = np.array([[0.0, 10.0], [1.0, 30.0], [0.5, 20.0]])
    assert drawn.unpacked(drawn.packed(places)).tolist() == [[0, 0], [999, 999], [500, 500]]


def test_rounding_errors_are_not_stretched_to_a_picture():
    rng = np.random.default_rng(0)
    places = np.column_stack([1 + 1e-15 * rng.normal(size=50), rng.normal(size=50)])
    assert len(set(drawn.unpacked(drawn.packed(places))[:, 0])) == 1


def test_a_row_far_out_stands_at_the_edge_and_leaves_the_others_apart():
    places = np.column_stack([[*np.linspace(0, 1, 20), 1e6], np.arange(21)])
    x = drawn.unpacked(drawn.packed(places))[:, 0]
    assert x[-1] == 999
    assert len(set(x[:-1])) == 20


def test_degrees_are_red_green_and_blue():
    D = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    assert drawn.rgb(D) == "ff000000ff000000ff"


def test_rows_near_uniform_are_black_and_others_have_the_colour_of_their_strongest_label():
    D = np.array([[0.9, 0.1, 0.0], [0.34, 0.33, 0.33], [0.1, 0.1, 0.8]])
    assert drawn.strongest(D, 1) == drawn.WHEEL[0] + drawn.BLACK + drawn.WHEEL[2]


def test_the_legend_names_labels_and_the_neutral_rows():
    D = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    panels = {"M": (np.arange(6.0).reshape(3, 2), 0.5)}
    series = {"7": drawn.picture(D, ["joy", "fear"], panels, 1)}
    (legend,) = drawn.draw(series)["7"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["joy", "fear", "neutral"]


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

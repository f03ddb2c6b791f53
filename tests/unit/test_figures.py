"""Drawings of a paper: what is on them, the same bytes each time, and empty ones for no results."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from matplotlib.figure import Figure as Canvas

from ldlrepro import experiments
from ldlrepro.catalogue import Method
from ldlrepro.core.errors import UserError
from ldlrepro.judge.answer import Curve, CurvePoint
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.agreement_figure import COLOURS, MARKERS
from ldlrepro.report.canvas import as_svg, numbers, stacked
from ldlrepro.report.content import Figure, PaperPage
from ldlrepro.report.figures import drawings, read_figures, write_figures
from ldlrepro.report.svg import INK, PRINTED, Sheet, for_any_page
from ldlrepro.report.svg import MEASURED as MEASURED_COLOUR
from tests import report_pages
from tests.report_pages import PROJECT, cell, measured

SVG = "{http://www.w3.org/2000/svg}"


def unit(method: str, dataset: str = "sjaffe", kl: float = 0.1) -> UnitScores:
    return measured(("p", dataset, method), {"kl": [kl, kl]})


def page(rows: list[VerdictRow] = (), units: list[UnitScores] = ()) -> PaperPage:
    made = report_pages.page(list(rows), list(units), "p")
    title = {"title": "Neighbours & friends", "class": "ldl.AAKNN"}
    near = Method.model_validate(title).placed("near", PROJECT.root, PROJECT)
    made.methods = {"near": near, "train_mean": PROJECT.method("train_mean")}
    return made


MEASURED = page(
    [cell(v, m, measured=0.121, difference=0.1) for v in MARKERS for m in ("kl", "clark")]
    + [cell("not run", "cosine")],
    [unit("near"), unit("near", "movie"), unit("train_mean", kl=0.2), unit("train_mean", "movie")],
)


def texts(image: str) -> list[str]:
    root = ElementTree.fromstring(image)
    return ["".join(node.itertext()).strip() for node in root.iter(f"{SVG}text")]


def test_the_points_of_a_drawing_are_its_numbers():
    figure = Canvas()
    left, right = figure.subplots(1, 2)
    left.set_title("entropy")
    left.plot([1, 2], [0.5, 1 / 3], label="DRF")
    left.plot([3], [4])
    right.bar([7], [2.5], width=1.0)
    right.scatter([0, 1], [5, 6], c=["#ff0000", "#00ff00"])
    assert numbers(figure) == [
        ["panel", "line", "x", "y"],
        ["entropy", "DRF", "1", "0.5"],
        ["entropy", "DRF", "2", "0.33333"],
        ["entropy", "", "3", "4"],
        ["2", "", "7", "2.5"],
        ["2", "#ff0000", "0", "5"],
        ["2", "#00ff00", "1", "6"],
    ]


def test_differences_between_methods_and_seconds_are_not_set_against_print():
    rows = [
        cell("near", difference=0.1),
        cell("worse", "delta_kl", difference=-1000.0),
        cell("worse", "train_time_s", difference=90.0),
    ]
    figure = drawings(page(rows))["agreement"]
    assert "near (1)" in texts(figure.image)
    assert not {"Δ KL", "Training (s)", "worse (1)", "1,000"} & set(texts(figure.image))
    assert figure.caption.startswith("Of 1 judged numbers drawn here, 0 are met.")
    assert "1 judged number is left out: seconds" in figure.caption
    assert "1 judged number is left out: differences between two methods (Δ)" in figure.caption
    assert not figure.is_broad, "a phone shows all of it, with letters that can be read"


def test_cosine_is_drawn_by_its_distance_from_1():
    near = {"printed": "0.98", "measured": 0.985, "difference": 0.005}
    figure = drawings(page([cell("better", "cosine", **near)]))["agreement"]
    assert "1 − Cosine" in texts(figure.image)
    assert figure.table[1][1:] == ["1 − Cosine", "better", "0.98", "0.985", "-25"]
    assert "within 25% of the line" in figure.caption
    assert "distance from 1" in figure.caption


def test_the_agreement_can_be_drawn_again_from_its_numbers():
    rows = [row for row in MEASURED.rows if row.verdict in MARKERS]
    figure = drawings(MEASURED)["agreement"]
    head, *points = figure.table
    assert head == ["cell", "row", "verdict", "printed", "measured", "difference in the row, %"]
    assert [point[0] for point in points] == [row.cell for row in rows]
    assert {point[-1] for point in points} == {"10"}
    marks = sum(map(figure.image.count, ("<path", "<circle")))
    assert marks == len(points) + len(MARKERS), "each point once, each sign of the legend once"


def test_verdicts_have_the_colours_of_the_report():
    style = (PROJECT.root / "src/ldlrepro/report/templates/report.css").read_text()
    light = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", style.partition("@media")[0]))
    assert {name: light[name] for name in COLOURS} == COLOURS
    assert (light["quoted"], light["reproduced"]) == (PRINTED, MEASURED_COLOUR)


def test_drawings_of_papers_have_no_frame_and_one_colour_for_a_method():
    for paper in PROJECT.papers:
        measured = experiments.read_all(paper, Path("no results")).values()
        drawn = [c for found in measured for c in experiments.drawings(paper, found).values()]
        shown = [axes for canvas in drawn for axes in canvas.axes if axes.axison]
        assert not [a for a in shown if a.spines["top"].get_visible()]
        looks = {(line.get_label(), line.get_color()) for axes in shown for line in axes.lines}
        named = [name for name, _ in looks if not name.startswith("_")]
        assert len(named) == len(set(named)), paper.id


def test_a_picture_that_stands_alone_is_light_on_dark_pages():
    sheet = Sheet()
    sheet.rectangle(0, 0, 90, 30, "white")
    sheet.legend(5, 10, {"holds": "#2a7f62", "not met": "#f3b799"}, 12)
    sheet.line((0, 20), (90, 20))
    alone = for_any_page(sheet.svg(90, 30))
    assert alone.replace(re.search(r"<style>.*</style>\n", alone)[0], "") == sheet.svg(90, 30)
    assert texts(alone) == ["■ holds■ not met"]
    assert all(
        f'{what}="{colour}"' in alone for what, colour in (("stroke", INK), ("fill", "white"))
    )
    assert f'[stroke="{INK}"]{{' in alone
    assert 'rect[fill="white"]{' in alone


def test_the_same_page_gives_the_same_bytes():
    first = [figure.image for figure in drawings(MEASURED).values()]
    assert [figure.image for figure in drawings(MEASURED).values()] == first
    assert not any(re.search(r"\d{4}-\d\d-\d\dT", str(image)) for image in first)


def test_digits_that_nobody_sees_change_no_byte():
    """Matplotlib puts them into names; their last ones hang on where things lie in memory."""
    images = []
    for shift in (0.0, 1e-13):
        figure = Canvas()
        figure.add_axes((0.1 + shift, 0.1, 0.8, 0.8)).plot([1, 2], [3, 4])
        images.append(as_svg(figure))
    assert images[0] == images[1]
    assert 'id="p0"' in images[0]


def test_a_point_far_out_stands_at_the_edge_as_an_arrow():
    rows = [cell("worse", difference=10.0), cell("exact", difference=0.0)]
    figure = drawings(page(rows))["agreement"]
    assert "1,000" not in texts(figure.image)
    assert "linear within 1% (shaded), then logarithmic" in texts(figure.image)
    assert "beyond 100%" in figure.caption


def test_a_drawing_without_a_measured_point_is_left_out():
    assert drawings(page([cell("not run")])) == {}


def test_methods_with_few_columns_are_not_drawn_and_a_lost_data_set_costs_a_place():
    errors = {"sa_bfgs": (0.1, 0.1, 0.9), "aa_knn": (0.2, 0.2, 0.2), "rf": (0.1,)}
    units = [
        measured(("cv", f"d{place}", method), {"kl": [value]})
        for method, values in errors.items()
        for place, value in enumerate(values)
    ]
    figure = drawings(page([], units))["methods"]
    assert [line[1] for line in figure.table[1:]] == ["aa_knn", "sa_bfgs", "rf"]
    assert "rf" not in texts(figure.image)
    assert "test labels" not in figure.caption
    shown = page([], units)
    shown.methods["aa_knn"] = PROJECT.method("true_labels")
    figure = drawings(shown)["methods"]
    assert [line[1] for line in figure.table[1:]] == ["sa_bfgs", "aa_knn", "rf"]
    assert "has no rival" in figure.caption
    assert "told test labels come last" in figure.caption


def test_a_map_orders_methods_by_the_columns_that_all_have_and_calls_no_tie_first():
    """Easy columns that one method lacks change no place."""
    errors = {"sa_bfgs": (0.2, 0.2, 0.01), "rf": (0.1, 0.1), "aa_knn": (0.1005, 0.1, 0.02)}

    def drawn() -> Figure:
        units = [
            measured(("cv", f"d{place}", method), {"kl": [value]})
            for method, values in errors.items()
            for place, value in enumerate(values)
        ]
        return drawings(page([], units))["methods"]

    errors["svm"] = (0.3, 0.3)
    assert [line[1] for line in drawn().table[1:]] == ["rf", "aa_knn", "sa_bfgs", "svm"]
    assert drawn().finding == "rf and aa_knn have the lowest mean KL of 4 methods"
    assert "mean over 2 shared columns" in drawn().caption
    errors["rf"] = (0.09, 0.1)
    assert drawn().finding == "rf has the lowest mean KL of 4 methods"


@pytest.mark.parametrize(
    ("mslp", "told"),
    [
        (0.2, "The paper's own MSLP is number 3 of 3 methods by mean KL. RF and SA-BFGS share"),
        (0.1, "The paper's own MSLP and 2 others have the lowest mean KL of 3 methods. As low"),
        (0.05, "The paper's own MSLP has the lowest mean KL of 3 methods."),
    ],
)
def test_a_map_says_where_the_papers_own_method_stands(mslp, told):
    errors = {"mslp": mslp, "rf": 0.1, "sa_bfgs": 0.1}
    units = [measured(("cv", "d", name), {"kl": [value]}) for name, value in errors.items()]
    made = report_pages.page([cell(method="A", method_id="mslp")], units, "p", own=["A"])
    assert drawings(made)["methods"].caption.startswith(told)


@pytest.mark.parametrize(
    ("best", "finding"),
    [
        (
            [0.1, 0.3],
            "Depth and sampling ratio change Chebyshev on sbu_3dfe by less than a deviation over "
            "folds",
        ),
        ([0.0, 0.01], "Chebyshev on sbu_3dfe is best at depth 20 and sampling ratio 0.5"),
    ],
)
def test_a_curve_has_a_best_place_only_if_it_moves_more_than_its_folds(best, finding):
    points = [CurvePoint(0.5, 20, best), CurvePoint(0.5, 5, [0.2, 0.3])]
    curve = Curve("4a", "depth", "chebyshev", "max_depth", "max_samples", points, 2)
    made = PaperPage.of(PROJECT, report_pages.answer("structrf", curves=[curve]))
    assert drawings(made)["figure_4a"].finding == finding


@pytest.mark.parametrize(
    ("values", "scale", "shares"),
    [
        ([2, 5, 10, 25], "depth", [3 / 23, 8 / 23]),
        ([1, 10, 100], "depth (logarithmic)", [1 / 2]),
        (["few", "many", "most"], "depth", [1 / 2]),
    ],
)
def test_values_stand_on_an_axis_where_they_lie(values, scale, shares):
    points = [CurvePoint(None, x, [0.2, 0.3]) for x in values]
    curve = Curve("4a", "depth", "chebyshev", "max_depth", "", points, 2)
    made = PaperPage.of(PROJECT, report_pages.answer("structrf", curves=[curve]))
    image = drawings(made)["figure_4a"].image
    assert scale in texts(image)
    ticks = re.findall(r'<g id="xtick_\d+">.*?<use [^>]*x="([\d.]+)"', image, re.S)
    first, *between, last = map(float, ticks)
    assert [(x - first) / (last - first) for x in between] == pytest.approx(shares, abs=1e-3)


def test_a_map_is_as_wide_as_a_page_and_leaves_its_colours_to_those_near_the_training_mean():
    errors = {"train_mean": 1.0, "sa_bfgs": 0.9, "pt_bayes": 77.0}
    units = [
        measured((protocol, f"d{place}", method), {"kl": [value]})
        for method, value in errors.items()
        for protocol in ("shuffled", "ordered")
        for place in range(20)
    ]
    image = drawings(page([], units))["methods"].image
    assert float(re.search(r'width="(\d+)"', image)[1]) < 1352
    assert image.count('height="35.3" fill="#a50026"') == 40
    assert {"shuffled", "ordered", "0.5", "1", "2 and more"} <= set(texts(image))


def test_ids_above_a_map_are_read_from_left_to_right():
    image = drawings(page([], [unit("near", "natural_scene")]))["methods"].image
    assert {"natural_", "scene"} <= set(texts(image))
    assert "rotate" not in image
    units = [measured((p, d, "near"), {"kl": [0.1]}) for p in ("one_two", "b") for d in "abc"]
    assert "one_two" in texts(drawings(page([], units))["methods"].image), "it has room"


def test_panels_side_by_side_stand_below_each_other_on_a_phone():
    figure = Canvas(figsize=(9, 3), layout="constrained")
    for axes, name in zip(figure.subplots(1, 3), ("one", "two", ""), strict=True):
        axes.plot([1, 2], [3, 4], label=name)
        axes.set_title(name)
        if not name:
            axes.set_axis_off()
    figure.legend(loc="outside upper left", ncols=3)
    wide = Figure("", as_svg(figure))
    narrow = Figure("", as_svg(stacked(figure)))
    assert (wide.is_broad, narrow.is_broad) == (True, False)
    assert [*map(texts(narrow.image).count, ("one", "two"))] == [2, 2]
    left = {axes.get_position().x0 for axes in figure.axes}
    assert len(left) == 1


def test_no_caption_says_on_which_side_a_panel_stands():
    captions = [figure.caption for paper in PROJECT.papers for figure in paper.figures.values()]
    assert any(captions)
    assert not [text for text in captions if re.search(r"\bon the (left|right)\b", text, re.I)]


@pytest.mark.parametrize("gone", ["methods.svg"])
def test_a_drawing_that_is_not_there_is_named_with_what_to_type(tmp_path, gone):
    write_figures(MEASURED, tmp_path / "mslp")
    (tmp_path / "mslp" / gone).unlink()
    message = rf"mslp/{gone}: no such drawing\. Type `ldlrepro figures mslp`"
    with pytest.raises(UserError, match=message):
        read_figures(tmp_path / "mslp")

"""Experiments and figures made of units: from the paper's file to cells, drawings and records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldlrepro import experiments
from ldlrepro.audit.consistency import Scope, check_records
from ldlrepro.cli import main
from ldlrepro.core.workspace import Workspace
from ldlrepro.experiments import Inputs
from ldlrepro.report.content import PaperPage
from ldlrepro.report.figures import drawings
from ldlrepro.train.unit import run_unit
from papers.structrf import split_search
from tests.unit.judged import PLAN, verdicts
from tests.unit.sources import forget

RESULTS = Path("results")
HEADER = "paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note\n"
FIGURE = """
figures:
  "1":
    title: how many neighbours
    dataset: toy
    method: near
    metric: kl
    x: {n_neighbors: [1, 2, 8]}
  "2": {title: a dot, experiment: dots}
"""
EXPERIMENT = """
experiments:
  dots:
    title: Dots
    code: dots
    datasets: [toy]
    protocol: tiny
    parameters: {size: 3}
"""
MODULE = """
from ldlrepro.experiments import MeasuredCell, Outcome

def measure(inputs, size):
    rows = len(inputs.load("toy").D)
    cells = [
        MeasuredCell("toy", "", m, "train_time_s", value, 0.1, len(inputs.folds("toy")))
        for m, value in (("Near", 1.0), ("Mean", 0.5))
    ]
    return Outcome(facts={"rows": rows, "size": size}, cells=cells, series={"dots": [1, 2]})

def draw(series):
    from matplotlib.figure import Figure
    figure = Figure()
    figure.add_subplot().plot(series["dots"])
    return {"2": figure}
"""


def page_of(checkout) -> PaperPage:
    judge = checkout.judge
    paper = judge.project.paper("tiny")
    return PaperPage.of(judge.project, judge.anew(paper))


@pytest.fixture
def paper(ready):
    """The tiny paper with a figure of units, an experiment, and a table of seconds."""
    ready.write("papers/tiny/dots.py", MODULE)
    text = (ready.root / "papers/tiny/paper.yaml").read_text()
    text = text.replace("{title: one}", "{title: times, experiment: dots, compared_to: Near}")
    ready.write("papers/tiny/paper.yaml", text + FIGURE + EXPERIMENT)
    lines = ["Near,train_time_s,10,,lower,,", "Mean,train_time_s,4.0,,lower,,"]
    ready.write("papers/tiny/cells.csv", HEADER + "".join(f"tiny,1,toy,,{x}\n" for x in lines))
    return ready


# ---------------------------------------------------------------------- figures of units


def test_points_are_units_of_the_paper_unless_extras_are_left_out(paper):
    plan, tiny = paper.plan, paper.project.paper("tiny")
    points = {plan.unit("tiny", "toy", f"near@n_neighbors={k}") for k in (1, 2, 8)}
    assert points <= set(plan.units(tiny))
    assert not points & set(plan.units(tiny, extra=False))


def test_a_figure_shows_the_points_that_were_measured(paper):
    for k in (1, 8):
        run_unit(paper.job(f"near@n_neighbors={k}"))
    page = page_of(paper)
    (curve,) = page.answer.curves
    assert set(curve.values) == {(None, 1), (None, 8)}
    assert curve.means()[None, 1] > curve.means()[None, 8] * 0.1
    drawn = drawings(page)
    assert set(drawn) == {"figure_1"}
    assert drawn["figure_1"].title == "Figure 1, measured here: how many neighbours"


# ---------------------------------------------------------------------- experiments


def test_seconds_are_judged_in_relation_to_the_yardstick(paper):
    """Mean takes half of Near's time; Near is printed with 10 s, so Mean is measured as 5 s."""
    main(["experiment", "tiny", "dots"])
    measured = experiments.read_all(paper.project.paper("tiny"), RESULTS)
    rows = verdicts("tiny", experiments=measured, plan=paper.plan)
    near, mean = rows
    assert (near.verdict, near.measured) == ("not run", pytest.approx(10.0))
    assert near.reason.startswith("the yardstick of this table")
    assert mean.measured == pytest.approx(5.0)
    assert mean.note == "our seconds, scaled so that Near takes as long as printed"
    assert mean.measured_std == pytest.approx(1.0)
    assert (mean.verdict, mean.n_folds) == ("near", 4)  # 4.0 within 5.0 ± 1.0


def test_the_maintainers_measurement_stands_in_for_a_local_one(paper):
    main(["experiment", "tiny", "dots"])
    assert main(["record", "tiny"]) == 0
    tiny, local = paper.project.paper("tiny"), experiments.place(RESULTS, "tiny", "dots")
    assert experiments.read(tiny, "dots", RESULTS).source == "local"
    measured = json.loads(local.read_text())
    without_data = {**measured["provenance"], "data_sha256": {}}
    local.write_text(json.dumps({**measured, "facts": {}, "provenance": without_data}))
    assert experiments.read(tiny, "dots", RESULTS).source == "reference"
    local.unlink()
    found = experiments.read(tiny, "dots", RESULTS)
    assert (found.source, found.facts["rows"]) == ("reference", 60)
    kept = json.loads((paper.root / "reference/experiments/tiny/dots.json").read_text())
    assert "source" not in kept


def test_the_audit_tells_measurements_of_another_code(paper):
    def audited():
        judge = paper.judge
        return check_records(Scope(judge, [judge.project.paper("tiny")], 2026, ""))

    main(["experiment", "tiny", "dots"])
    assert main(["record", "tiny"]) == 0
    assert audited().passed == ["experiment tiny/dots"]
    paper.edit("papers/tiny/dots.py", "0.5", "0.6")
    forget()
    (remark,) = audited().failed
    assert (remark.subject, remark.text) == ("experiment tiny/dots", "made with another code")
    experiments.place(RESULTS, "tiny", "dots").unlink()
    assert not audited().failed
    (remark,) = audited().skipped
    assert remark.subject == "experiment tiny/dots (reference)"
    assert remark.command == "ldlrepro experiment tiny dots --inputs"


# ---------------------------------------------------------------------- differences


def test_a_difference_is_taken_fold_by_fold(ready):
    text = (ready.root / "papers/tiny/paper.yaml").read_text()
    text = text.replace("{title: one}", "{title: d, compared_to: Mean}")
    ready.write("papers/tiny/paper.yaml", text)
    ready.write("papers/tiny/cells.csv", HEADER + "tiny,1,toy,,Near,delta_kl,0,,none,,\n")
    for method in ("near", "train_mean"):
        run_unit(ready.job(method))
    judge = ready.judge
    wanted = [judge.plan.unit("tiny", "toy", method) for method in ("near", "train_mean")]
    units = judge.local_units(wanted)
    (row,) = verdicts("tiny", units, plan=judge.plan)
    near, mean = (units[f"tiny/toy/{m}"].scores["kl"] for m in ("near", "train_mean"))
    assert row.measured == pytest.approx(sum(near) / 4 - sum(mean) / 4)
    assert row.n_folds == 4


# ---------------------------------------------------------------------- the paper's own experiments


def test_one_split_search_is_measured_and_drawn(tmp_path):
    inputs = Inputs(PLAN, Workspace(tmp_path, tmp_path), [], say=lambda line: None)
    found = split_search.measure(inputs, 120, {"exhaustive": "a", "adaptive": "b"}, seed=1)
    assert found.cells == []  # a stand-in enters no table of the paper
    whole, adaptive = found.tables[0].rows
    assert whole[3] == 36 * 119  # every cut between distinct values
    assert adaptive[3] < whole[3] / 3
    assert 0 < found.facts["gain_kept_drawn"] <= 1
    assert [c["evaluations"] for c in found.series["exhaustive"]] == [119] * 36
    json.dumps(found.series, allow_nan=False)
    assert set(split_search.draw(found.series)) == {"5", "6"}

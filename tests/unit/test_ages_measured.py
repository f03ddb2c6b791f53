"""Errors in years, from stored predictions to verdicts, claims and reference tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldl import metrics
from ldlrepro import cli, config, plan
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import ages, load_ready
from ldlrepro.folds.splits import read_folds
from ldlrepro.judge.cells import verdict_rows
from ldlrepro.judge.claims import FAILS, HOLDS, claim_rows
from ldlrepro.judge.comparisons import Evidence
from ldlrepro.judge.reference import ReferenceUnits, write_reference
from ldlrepro.judge.scores import LOCAL, UnitScores, local_units
from ldlrepro.train.records import OK, FoldRow, read_predictions

GRID = np.array([20.0, 21.0, 22.0, 23.0])
DATA, RESULTS = Path("data"), Path("results")


def test_the_likeliest_age_or_the_mean_by_the_methods_file(checkout):
    P = np.array([[0.6, 0.0, 0.0, 0.4]])
    assert ages.predicted(P, GRID, ages.MODE).tolist() == [20.0]
    assert ages.predicted(P, GRID, ages.MEAN).tolist() == pytest.approx([21.2])
    for method in ("drf_linear@no_annealing", "drf", "drf@tiny", "deep_regression"):
        assert ages.rule_of(method) == ages.MEAN
    assert ages.rule_of("sa_bfgs") == ages.MODE
    assert ages.rule_of("a_method_that_was_removed") == ages.MODE


@pytest.mark.parametrize(
    ("labels", "grid"),
    [
        (["20", "21"], [20.0, 21.0]),
        (["happy", "sad"], None),
        ([], None),
        (["3", "1"], None),
    ],
)
def test_labels_are_ages_only_where_they_ascend(labels, grid):
    found = ages.grid_of(labels)
    assert (None if found is None else found.tolist()) == grid


@pytest.fixture
def faces(checkout):
    """A unit on drawn faces whose labels are ages, with its folds and its reference."""
    checkout.edit("config/datasets/drawn_fgnet.yaml", "persons: 12", "persons: 4")
    assert cli.main(["run", "drf_fgnet", "drawn_fgnet", "train_mean", "--inputs"]) == 0
    checkout.forget()
    return plan.unit("drf_fgnet", "drawn_fgnet", "train_mean")


def scored(unit: plan.Unit) -> UnitScores:
    (found,) = local_units(Workspace(), [unit]).values()
    return found


def test_a_record_on_ages_is_scored_in_years_and_one_on_other_labels_is_not(faces, ready):
    found = scored(faces)
    data = load_ready(DATA / "ready" / "drawn_fgnet.npz")
    (folds, _), P = (
        read_folds(RESULTS / "folds/drf_fgnet/drawn_fgnet.npz"),
        read_predictions(found.files[0]),
    )
    for place, fold in enumerate(folds):
        likeliest = P[fold.repeat, fold.fold].argmax(axis=1)  # the ages begin at 0
        off = np.abs(likeliest - data.target[fold.test])
        assert found.scores["mae"][place] == pytest.approx(off.mean())
        assert found.scores["cs5"][place] == pytest.approx(100 * (off <= 5).mean())
    assert cli.main(["run", "tiny", "toy", "train_mean"]) == 0
    assert set(scored(plan.unit("tiny", "toy", "train_mean")).scores) == set(metrics.BETTER)


def test_reference_tables_keep_errors_in_years_where_there_are_any(faces, ready, tmp_path):
    assert cli.main(["run", "tiny", "toy", "train_mean"]) == 0
    units = [scored(faces), scored(plan.unit("tiny", "toy", "train_mean"))]
    write_reference(tmp_path, units, "by hand")
    header = (tmp_path / "drf_fgnet" / "train_mean.csv").read_text().splitlines()[0]
    assert ",fidelity,mae,cs5,fit_s," in header
    assert "mae" not in (tmp_path / "tiny" / "train_mean.csv").read_text().splitlines()[0]
    found = ReferenceUnits(tmp_path)
    for unit in units:
        again = found[unit.key].scores
        assert again.keys() == unit.scores.keys()
        for name, values in unit.scores.items():
            assert again[name] == pytest.approx(values, rel=1e-10)


# ---------------------------------------------------------------------- verdicts and claims


def unit(protocol: str, dataset: str, method: str, mae: list[float], sizes: list[int]):
    rows = [
        FoldRow(protocol, dataset, method, 0, fold, OK, n_test=size)
        for fold, size in enumerate(sizes)
    ]
    return UnitScores(protocol, dataset, method, rows, {"mae": mae}, LOCAL)


def drf_cell(local: UnitScores, table: str):
    rows = verdict_rows("drf", {local.key: local}, {})
    (row,) = [
        row
        for row in rows
        if (row.table, row.metric) == (table, "mae")
        and (row.protocol, row.unit_dataset, row.method_id) == local.key
    ]
    return row


def test_leave_one_person_out_pools_all_images(checkout):
    row = drf_cell(unit("drf_fgnet", "fgnet", "drf", [10.0, 1.0], [1, 9]), "IV")
    assert row.measured == pytest.approx((10 + 9) / 10)
    # Persons differ more than any band may allow.
    assert row.measured_std is None
    assert row.verdict == "better"


def test_a_network_from_random_weights_is_measured_and_not_judged(checkout):
    trial = unit("drf_fgnet", "fgnet", "drf", [3.0, 3.0], [1, 9])
    trial.rows[0].params = {"random_weights": True}
    row = drf_cell(trial, "IV")
    assert (row.verdict, row.measured) == ("not run", pytest.approx(3.0))
    assert "random weights" in row.reason
    checkout.edit(
        "config/datasets/fgnet.yaml",
        "layout:",
        "features: {extractor: vgg16, random_weights: 0}\nlayout:",
    )
    assert drf_cell(unit("drf_fgnet", "fgnet", "drf", [3.0], [1]), "IV").verdict == "not run"


CHECK = {"protocol": "p", "dataset": "d", "metric": "mae", "method": "new", "than": "old"}


def judged(check: dict, units: list[UnitScores]):
    claim = {"id": "c", "text": "t", "test": {"kind": "checks", "checks": [check]}}
    (row,) = claim_rows("drf", [claim], Evidence([], {}, {}, {u.key: u for u in units}))
    return row


@pytest.mark.parametrize(
    ("limits", "verdict"), [({"at_most": -9}, HOLDS), ({"at_most": -11}, FAILS)]
)
def test_a_claim_compares_two_units_in_percent(limits, verdict):
    both = [unit("p", "d", "old", [9.0, 11.0], [1, 1]), unit("p", "d", "new", [9.0, 9.0], [1, 1])]
    row = judged({**CHECK, **limits}, both)
    assert (row.verdict, row.datasets) == (verdict, 1)
    assert ("change in % of mae from old to new is -10" in row.evidence) == (verdict == FAILS)


@pytest.mark.parametrize(("limit", "verdict"), [(4.5, HOLDS), (4.3, FAILS)])
def test_a_claim_about_one_method_takes_the_mean_that_its_table_takes(checkout, limit, verdict):
    """One person left out at a time: over all images, not over persons."""
    alone = unit("drf_fgnet", "fgnet", "drf", [2.0, 5.0], [1, 4])
    check = {"protocol": "drf_fgnet", "dataset": "fgnet", "metric": "mae", "method": "drf"}
    row = judged({**check, "at_most": limit}, [alone])
    assert row.verdict == verdict
    assert ("mae of drf on fgnet is 4.4" in row.evidence) == (verdict == FAILS)


def test_no_stand_in_stands_in_a_table(checkout):
    """Tables hold what runs on the data that the paper names."""
    for paper in ("drf", "ldlf"):
        named = set(config.load_paper(paper)["datasets"])
        used = {cell.unit.data_set.id for cell in plan.cells(paper) if cell.unit}
        assert not any(dataset.startswith("drawn") for dataset in used)
        assert {dataset.partition("_setup")[0] for dataset in used} <= named

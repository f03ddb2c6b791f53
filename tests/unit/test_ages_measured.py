"""Errors in years, from stored predictions to verdicts, claims and reference tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldl import metrics
from ldlrepro import cli
from ldlrepro.data import load_ready
from ldlrepro.folds.splits import read_folds
from ldlrepro.judge.reference import ReferenceUnits, write_reference
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.train.records import OK, FoldRow, read_predictions
from tests.unit import judged

DATA, RESULTS = Path("data"), Path("results")


@pytest.fixture
def faces(checkout):
    """A unit on drawn faces whose labels are ages, with its folds and its reference."""
    checkout.edit("config/datasets/drawn_fgnet.yaml", "persons: 12", "persons: 4")
    assert cli.main(["run", "drf_fgnet", "drawn_fgnet", "train_mean", "--inputs"]) == 0
    return checkout


FACES, TOY = "drf_fgnet/drawn_fgnet/train_mean", "tiny/toy/train_mean"


def scored(checkout, key: str) -> UnitScores:
    judge = checkout.judge
    return judge.local_units([judge.plan.unit_of(key)])[key]


def test_a_record_on_ages_is_scored_in_years_and_one_on_other_labels_is_not(faces, ready):
    found = scored(faces, FACES)
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
    assert set(scored(ready, TOY).scores) == set(metrics.BETTER)


def test_reference_tables_keep_errors_in_years_where_there_are_any(faces, ready, tmp_path):
    assert cli.main(["run", "tiny", "toy", "train_mean"]) == 0
    units = [scored(faces, FACES), scored(ready, TOY)]
    write_reference(ready.plan, tmp_path, units, "by hand")
    header = (tmp_path / "drf_fgnet" / "train_mean.csv").read_text().splitlines()[0]
    assert ",fidelity,mae,cs5,fit_s," in header
    assert "mae" not in (tmp_path / "tiny" / "train_mean.csv").read_text().splitlines()[0]
    found = ReferenceUnits(tmp_path, ready.project)
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
    over_rows = protocol == "drf_fgnet"
    return UnitScores(protocol, dataset, method, rows, {"mae": mae}, LOCAL, over_rows=over_rows)


def drf_cell(checkout, local: UnitScores, table: str):
    rows = judged.verdicts("drf", {local.key: local}, plan=checkout.plan)
    (row,) = [
        row
        for row in rows
        if (row.table, row.metric) == (table, "mae") and row.unit_key == local.key
    ]
    return row


@pytest.fixture
def deep(checkout):
    """A method for the printed DRF, whatever the project has."""
    variants = ("nrf", "no_split_annealing", "no_annealing", "no_annealing_kmeans")
    named = "".join(f"  {variant}: {{}}\n" for variant in (*variants, "no_leaf_annealing_kmeans"))
    text = f"title: DRF\nclass: ldl.DRF\nvariants:\n{named}"
    checkout.write("config/methods/drf.yaml", text)
    return checkout


def test_leave_one_person_out_pools_all_images(deep):
    row = drf_cell(deep, unit("drf_fgnet", "fgnet", "drf", [10.0, 1.0], [1, 9]), "IV")
    assert row.measured == pytest.approx((10 + 9) / 10)
    # Persons differ more than any band may allow.
    assert row.measured_std is None
    assert row.verdict == "better"


def test_a_network_from_random_weights_is_measured_and_not_judged(deep):
    trial = unit("drf_fgnet", "fgnet", "drf", [3.0, 3.0], [1, 9])
    trial.rows[0].params = {"random_weights": True}
    row = drf_cell(deep, trial, "IV")
    assert (row.verdict, row.measured) == ("not run", pytest.approx(3.0))
    assert "random weights" in row.reason
    deep.edit(
        "config/datasets/fgnet.yaml",
        "layout:",
        "features: {extractor: vgg16, weights: 0}\nlayout:",
    )
    assert drf_cell(deep, unit("drf_fgnet", "fgnet", "drf", [3.0], [1]), "IV").verdict == "not run"


def test_no_stand_in_stands_in_a_table():
    """Tables hold what runs on the data that the paper names."""
    for paper in map(judged.PROJECT.paper, ("drf", "ldlf")):
        named = set(paper.datasets)
        used = {cell.unit.data_set.id for cell in judged.PLAN.cells(paper) if cell.unit}
        assert not any(dataset.startswith("drawn") for dataset in used)
        assert {dataset.partition("_setup")[0] for dataset in used} <= named

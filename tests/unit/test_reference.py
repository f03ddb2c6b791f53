"""Reference records: text that reads back, merges, and never holds half a unit."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from ldl import metrics
from ldlrepro.catalogue.digests import codes_as_good
from ldlrepro.judge.reference import (
    ReferenceUnits,
    count_same_bits,
    drop_unplanned,
    write_reference,
)
from ldlrepro.judge.scores import REFERENCE, UnitScores, is_complete
from ldlrepro.train.records import FAILED, OK
from ldlrepro.train.unit import run_unit
from tests.unit.judged import PROJECT

COMMAND = "snakemake --cores all tiny"
KEY = "tiny/toy/near@grid"
NEED_PHOTOGRAPHS = ("utkface_pool5",)
"""Data whose records cannot be computed again from public files alone."""


@pytest.fixture
def measured(ready) -> UnitScores:
    """A unit that was run here."""
    run_unit(ready.job("near@grid"))
    return score(ready)


def score(checkout) -> UnitScores:
    judge = checkout.judge
    return judge.local_units([judge.plan.unit_of(KEY)])[KEY]


@pytest.fixture
def elsewhere(measured, ready) -> UnitScores:
    """The same numbers as if measured on another data set."""
    toy = (ready.root / "config/datasets/toy.yaml").read_text()
    ready.write("config/datasets/other.yaml", toy)
    rows = [replace(row, dataset="other") for row in measured.rows]
    return replace(measured, dataset="other", rows=rows)


def test_a_unit_reads_back_with_scores_parameters_and_digests(measured, tmp_path, ready):
    written = write_reference(ready.plan, tmp_path, [measured], COMMAND)
    names = sorted(path.relative_to(tmp_path).as_posix() for path in written)
    assert names == ["tiny/near.csv", "tiny/near.json"]
    found = ReferenceUnits(tmp_path, ready.project)
    assert list(found) == [KEY]
    unit = found[KEY]
    assert unit.source == REFERENCE
    for name in metrics.BETTER:
        np.testing.assert_allclose(unit.scores[name], measured.scores[name], rtol=1e-11)
    exact = set(asdict(measured.rows[0])) - {
        "fit_s",
        "predict_s",
        "overhead_s",
        "peak_mb",
        "fit_cpu_s",
        "predict_cpu_s",
        "selection",
        "diagnostics",
        "started_at",
    }
    for ours, theirs in zip(measured.rows, unit.rows, strict=True):
        for name in exact:
            assert getattr(theirs, name) == getattr(ours, name), name
        assert theirs.fit_s == pytest.approx(ours.fit_s, rel=1e-3)
    assert unit.rows[0].started_at == measured.rows[0].started_at


def test_neither_data_nor_predictions_nor_places_are_kept(measured, tmp_path, ready):
    for path in write_reference(ready.plan, tmp_path, [measured], COMMAND):
        text = path.read_text()
        assert str(ready.root) not in text
        assert str(ready.root.parent) not in text
    with open(tmp_path / "tiny/near.csv", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 4
    assert json.loads(rows[0]["params"])["n_neighbors"] in (2, 4, 8)


def test_units_that_no_paper_asks_for_are_dropped_and_others_keep_their_bytes(
    measured, elsewhere, tmp_path, ready
):
    write_reference(ready.plan, tmp_path, [measured], COMMAND)
    table = tmp_path / "tiny/near.csv"
    alone = table.read_bytes(), table.with_suffix(".json").read_bytes()
    write_reference(ready.plan, tmp_path, [elsewhere], COMMAND)
    assert drop_unplanned(tmp_path, {KEY}) == ["tiny/other/near@grid"]
    assert (table.read_bytes(), table.with_suffix(".json").read_bytes()) == alone
    assert drop_unplanned(tmp_path, {KEY}) == []
    assert drop_unplanned(tmp_path, set()) == ["tiny/toy/near@grid"]
    assert not table.exists()
    assert not table.with_suffix(".json").exists()


def test_other_data_sets_stay_when_one_is_renewed(measured, elsewhere, tmp_path, ready):
    write_reference(ready.plan, tmp_path, [measured, elsewhere], COMMAND)
    table = tmp_path / "tiny/near.csv"
    others = [line for line in table.read_text().splitlines() if ",other," in line]
    scores = {name: [v + 1 for v in values] for name, values in measured.scores.items()}
    write_reference(ready.plan, tmp_path, [replace(measured, scores=scores)], "another command")
    lines = table.read_text().splitlines()
    assert [line for line in lines if ",other," in line] == others
    assert len(lines) == 1 + 4 + 4
    found = ReferenceUnits(tmp_path, ready.project)
    np.testing.assert_allclose(found[KEY].scores["kl"], scores["kl"], rtol=1e-11)
    facts = json.loads(table.with_suffix(".json").read_text())
    commands = {name: unit["command"] for name, unit in facts["near@grid"].items()}
    assert commands == {"toy": "another command", "other": COMMAND}


def test_folds_that_predict_the_bits_of_their_record_are_counted(
    measured, elsewhere, tmp_path, ready
):
    write_reference(ready.plan, tmp_path, [measured], COMMAND)
    known = ReferenceUnits(tmp_path, ready.project)
    assert count_same_bits([measured, elsewhere], known) == (4, 4)
    first, *rest = measured.rows
    changed = replace(first, predictions_sha256="0" * 64)
    assert count_same_bits([replace(measured, rows=[changed, *rest])], known) == (3, 4)
    failed = replace(first, status=FAILED, predictions_sha256="")
    assert count_same_bits([replace(measured, rows=[failed, *rest])], known) == (3, 3)


def with_a_failed_fold(measured):
    """Return the unit as it is read where its last fold failed."""
    error = "Traceback (most recent call last):\n  ...\nPeerError: it took more than 120 s"
    rows = [*measured.rows[:3], replace(measured.rows[3], status=FAILED, error=error)]
    scores = {name: [*values[:3], math.nan] for name, values in measured.scores.items()}
    return replace(measured, rows=rows, scores=scores)


def test_a_fold_that_failed_is_a_row_with_the_last_line_of_its_error(measured, tmp_path, ready):
    failed = with_a_failed_fold(measured)
    write_reference(ready.plan, tmp_path, [failed], COMMAND)
    found = ReferenceUnits(tmp_path, ready.project)[KEY]
    assert [row.status for row in found.rows] == ["ok"] * 3 + [FAILED]
    assert [row.error for row in found.rows] == [""] * 3 + ["PeerError: it took more than 120 s"]
    assert found.mean("kl") == pytest.approx(failed.mean("kl"), rel=1e-11)
    assert math.isnan(found.scores["kl"][3])
    assert not is_complete(ready.plan.unit_of(KEY), found)


def test_folds_that_ran_are_kept_until_all_have(measured, tmp_path, ready):
    some = {name: values[:2] for name, values in measured.scores.items()}
    part = replace(measured, rows=measured.rows[:2], scores=some)
    write_reference(ready.plan, tmp_path, [part], COMMAND)
    assert ReferenceUnits(tmp_path, ready.project)[KEY].scores["kl"] == pytest.approx(some["kl"])
    write_reference(ready.plan, tmp_path, [measured], COMMAND)
    write_reference(ready.plan, tmp_path, [part], COMMAND)
    assert len(ReferenceUnits(tmp_path, ready.project)[KEY].rows) == 4


def test_our_reference_names_the_parameters_that_the_methods_have_now():
    """Else an audit that draws such a fold fails: `ldlrepro run PROTOCOL DATA METHOD --fresh`."""
    units = ReferenceUnits(PROJECT.root / "reference", PROJECT)
    known = {unit.method for unit in units.values() if PROJECT.has_method(unit.method)}
    names = {
        method: {*PROJECT.method(method).kind._get_param_names()} - {"verbose"} for method in known
    }
    stale = {
        unit.key
        for unit in units.values()
        for row in unit.rows
        if row.status == OK and set(row.params) != names.get(unit.method, set(row.params))
    }
    assert len(units) > 500
    assert stale == set()


def test_our_reference_is_of_code_that_predicts_the_same_bits_as_todays():
    """Else `python tools/fit_digests.py --since FILE` was left out, or was run for some methods."""
    units = ReferenceUnits(PROJECT.root / "reference", PROJECT)
    other = {
        unit.key
        for unit in units.values()
        if PROJECT.has_method(unit.method) and unit.dataset not in NEED_PHOTOGRAPHS
        for row in unit.rows
        if row.code_sha256 not in codes_as_good(PROJECT.method(unit.method))
    }
    assert other == set()

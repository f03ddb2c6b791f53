"""Execution of a unit: failures stay small, kills lose nothing, and nothing stale is taken up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ldlrepro.catalogue.digests import method_digest
from ldlrepro.core.checksums import array_sha256
from ldlrepro.data.registry import load_ready
from ldlrepro.folds.splits import folds_digest, read_folds
from ldlrepro.train.records import (
    FAILED,
    OK,
    UNAVAILABLE,
    read_predictions,
    read_rows,
)
from ldlrepro.train.unit import run_unit
from tests.unit.test_journal import journals, origins

DATA, RESULTS = Path("data"), Path("results")


# ---------------------------------------------------------------------- a plain run


def test_a_unit_leaves_rows_and_predictions_that_belong_together(ready):
    job = ready.job("near@grid")
    rows = run_unit(job)
    assert read_rows(job.record) == rows
    assert [(r.repeat, r.fold, r.status) for r in rows] == [(0, i, OK) for i in range(4)]
    predictions = read_predictions(job.record)
    data = load_ready(job.ready)
    folds, _ = read_folds(job.folds)
    for row, fold in zip(rows, folds, strict=True):
        P = predictions[0, row.fold]
        assert array_sha256(P) == row.predictions_sha256
        assert (len(fold.train), len(fold.test)) == (row.n_train, row.n_test)
        assert P.shape == (row.n_test, 3)
        assert row.data_sha256 == data.fingerprint["data_sha256"]
        assert row.folds_sha256 == folds_digest(folds)
        assert row.code_sha256 == method_digest(ready.project.method("near@grid"))
        assert row.params["n_neighbors"] in (2, 4, 8)
        assert row.selection["rows"] == len(fold.validation)
        assert row.peak_mb > 1
        assert row.overhead_s > 0
    assert len({row.seed for row in rows}) == 4


def test_missing_data_become_rows_with_the_reason(ready):
    meta = json.dumps({"dataset": "toy", "available": False, "reason": "ask the authors"})
    np.savez(DATA / "ready" / "toy.npz", meta=np.array(meta))
    job = ready.job()
    rows = run_unit(job)
    assert [(r.repeat, r.fold, r.status) for r in rows] == [(0, i, UNAVAILABLE) for i in range(4)]
    assert all("ask the authors" in row.error for row in rows)
    assert read_rows(job.record) == rows
    assert read_predictions(job.record) == {}


# ---------------------------------------------------------------------- errors


def test_an_error_in_a_method_is_a_row_and_the_other_folds_go_on(ready):
    ready.break_method("ZeroDivisionError('in the second fold')")
    job = ready.job("broken")
    rows = run_unit(job)
    assert [row.status for row in rows] == [OK, FAILED, OK, OK]
    assert "Traceback" in rows[1].error
    assert rows[1].error.strip().endswith("ZeroDivisionError: in the second fold")
    assert rows[1].predictions_sha256 == ""
    assert set(read_predictions(job.record)) == {(0, 0), (0, 2), (0, 3)}
    scored = ready.judge.local_units([job.chunk.unit])[job.chunk.unit.key]
    assert len(scored.values("kl")) == 3
    assert np.isnan(scored.scores["kl"][1])


@pytest.mark.parametrize("error", ["MemoryError()", "OSError(28, 'No space left on device')"])
def test_an_error_of_the_machine_fails_the_job_and_keeps_what_was_done(ready, error):
    ready.break_method(error)
    job = ready.job("broken")
    with pytest.raises((MemoryError, OSError)):
        run_unit(job)
    assert not job.record.exists()
    assert [path.name for path in journals(job)] == ["r000_f000.npz"]
    assert origins(job) == ["journal", "computed", "computed", "computed"]


def test_only_failed_folds_are_computed_again(ready):
    ready.break_method("ValueError('once')")
    job = ready.job("broken")
    run_unit(job)
    assert len(journals(job)) == 3
    assert origins(job) == ["journal", "computed", "journal", "journal"]
    assert {row.status for row in read_rows(job.record)} == {OK}

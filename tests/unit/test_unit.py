"""Execution of a unit: failures stay small, kills lose nothing, and nothing stale is taken up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldlrepro import plan
from ldlrepro.compare.collect import Places, local_units
from ldlrepro.data.fetch import fetch
from ldlrepro.data.registry import load_ready, prepare
from ldlrepro.errors import UserError
from ldlrepro.protocols import selection
from ldlrepro.protocols.folds import folds_digest, folds_seed, make_folds, read_folds, write_folds
from ldlrepro.runs import provenance
from ldlrepro.runs import unit as unit_module
from ldlrepro.runs.records import (
    FAILED,
    OK,
    UNAVAILABLE,
    digest,
    predictions_path,
    read_predictions,
    read_rows,
)
from ldlrepro.runs.unit import UnitJob, run_unit

DATA, RESULTS = Path("data"), Path("results")


@pytest.fixture
def ready(tiny):
    """The tiny paper with its data and folds."""
    fetch("toy", DATA, [], offline=True, progress=False)
    prepare("toy", DATA)
    make_fold_file()
    return tiny


def make_fold_file(seed: int = 2026) -> None:
    data = load_ready(DATA / "ready" / "toy.npz")
    folds = make_folds(plan.protocol("tiny"), len(data.D), folds_seed(seed, "tiny", "toy"))
    meta = {"data_sha256": data.fingerprint["data_sha256"]}
    write_folds(RESULTS / "folds" / "tiny" / "toy.npz", folds, meta)


def make_job(method: str = "aa_knn", chunk: str = "0-3", **changes) -> UnitJob:
    unit = plan.Unit("tiny", "toy", method)
    job = UnitJob(
        chunk=plan.Chunk.parse(unit, chunk),
        ready=DATA / "ready" / "toy.npz",
        folds=RESULTS / "folds" / "tiny" / "toy.npz",
        record=plan.record_path(RESULTS, plan.Chunk.parse(unit, chunk)),
        journal=RESULTS / "journal" / "tiny" / "toy" / method,
        seed=2026,
    )
    return replace(job, **changes)


class Killed(BaseException):
    """What no code catches."""


def kill_after(folds: int, monkeypatch) -> None:
    """The process ends while the fold after ``folds`` is computed."""
    original, count = selection.run_fold, iter(range(100))

    def run_fold(*args, **options):
        if next(count) >= folds:
            raise Killed
        return original(*args, **options)

    monkeypatch.setattr(unit_module.selection, "run_fold", run_fold)


def journals(method: str = "aa_knn") -> list[Path]:
    return sorted((RESULTS / "journal" / "tiny" / "toy" / method).glob("*/r*.npz"))


def interrupted(monkeypatch, folds: int = 2, **changes) -> UnitJob:
    """A job that was killed after ``folds`` of its four folds."""
    job = make_job(**changes)
    with monkeypatch.context() as patch:
        kill_after(folds, patch)
        with pytest.raises(Killed):
            run_unit(job)
    return job


def origins(job: UnitJob) -> list[str]:
    """Per fold, whether it came from the journal."""
    lines: list[str] = []
    run_unit(job, lines.append)
    return ["journal" if line.endswith("from the journal") else "computed" for line in lines]


# ---------------------------------------------------------------------- a plain run


def test_a_unit_leaves_rows_and_predictions_that_belong_together(ready):
    job = make_job("aa_knn@grid")
    rows = run_unit(job)
    assert read_rows(job.record) == rows
    assert [(r.repeat, r.fold, r.status) for r in rows] == [(0, i, OK) for i in range(4)]
    predictions = read_predictions(job.record)
    data = load_ready(job.ready)
    folds, _ = read_folds(job.folds)
    for row, fold in zip(rows, folds, strict=True):
        P = predictions[0, row.fold]
        assert digest(P) == row.predictions_sha256
        assert (len(fold.train), len(fold.test)) == (row.n_train, row.n_test)
        assert P.shape == (row.n_test, 3)
        assert row.data_sha256 == data.fingerprint["data_sha256"]
        assert row.folds_sha256 == folds_digest(folds)
        assert row.code_sha256 == provenance.code_digest("ldlrepro.models.knn.AAKNN")
        assert row.params["n_neighbors"] in (5, 10, 15)
        assert row.selection["rows"] == len(fold.validation)
        assert row.peak_mb > 1
        assert row.overhead_s > 0
    assert len({row.seed for row in rows}) == 4


def test_chunks_compute_what_the_whole_unit_computes(ready):
    whole = read_predictions_of(make_job("rf_small", chunk="0-3"), ready)
    parts = {}
    for chunk in ("2-3", "0-1"):
        parts |= read_predictions_of(make_job("rf_small", chunk=chunk), ready)
    assert whole.keys() == parts.keys()
    for key, P in whole.items():
        np.testing.assert_array_equal(P, parts[key])
    rows = [r for c in ("0-3", "0-1", "2-3") for r in read_rows(make_job("rf_small", c).record)]
    assert len({row.folds_sha256 for row in rows}) == 1
    assert len({row.seed for row in rows}) == 4


def read_predictions_of(job: UnitJob, checkout):
    checkout.write(
        "config/methods/rf_small.yaml",
        "title: small\nclass: ldlrepro.models.forest.RFRegression\nparameters: {trees: 2}\n",
    )
    run_unit(job)
    return read_predictions(job.record)


def test_another_run_gives_the_same_prediction_bytes(ready):
    job = make_job()
    run_unit(job)
    first = predictions_path(job.record).read_bytes()
    run_unit(job)
    assert predictions_path(job.record).read_bytes() == first


def test_another_global_seed_reaches_the_method(ready):
    rows = run_unit(make_job())
    assert {r.seed for r in rows}.isdisjoint({r.seed for r in run_unit(make_job(seed=1))})


def test_folds_beyond_the_protocol_are_refused(ready):
    with pytest.raises(UserError, match=r"holds folds 0-3.*'2-4' asks for too many"):
        run_unit(make_job(chunk="2-4"))


def test_folds_of_other_rows_are_refused_with_what_to_do(ready):
    folds, meta = read_folds(make_job().folds)
    write_folds(make_job().folds, folds, meta | {"data_sha256": "0" * 64})
    with pytest.raises(UserError, match="made for other rows.*Delete it"):
        run_unit(make_job())


def test_folds_made_while_the_data_were_missing_are_refused_as_well(ready):
    write_folds(make_job().folds, [], {"dataset": "toy"})
    with pytest.raises(UserError, match="made for other rows"):
        run_unit(make_job())


def test_missing_data_become_rows_with_the_reason(ready):
    meta = json.dumps({"dataset": "toy", "available": False, "reason": "ask the authors"})
    np.savez(DATA / "ready" / "toy.npz", meta=np.array(meta))
    job = make_job()
    rows = run_unit(job)
    assert [(r.repeat, r.fold, r.status) for r in rows] == [(0, i, UNAVAILABLE) for i in range(4)]
    assert all("ask the authors" in row.error for row in rows)
    assert read_rows(job.record) == rows
    assert read_predictions(job.record) == {}


# ---------------------------------------------------------------------- errors

BROKEN = """
import numpy as np
from ldlrepro.models.base import LDLEstimator
class Broken(LDLEstimator):
    count = 0
    def _fit(self, X, D):
        Broken.count += 1
        if Broken.count == 2:
            raise {error}
        self.mean_ = D.mean(axis=0)
    def _predict(self, X):
        return np.tile(self.mean_, (len(X), 1))
"""


def add_broken(checkout, error: str) -> None:
    checkout.module("broken_method", BROKEN.format(error=error))
    checkout.write("config/methods/broken.yaml", "title: b\nclass: broken_method.Broken\n")


def test_an_error_in_a_method_is_a_row_and_the_other_folds_go_on(ready):
    add_broken(ready, "ZeroDivisionError('in the second fold')")
    job = make_job("broken")
    rows = run_unit(job)
    assert [row.status for row in rows] == [OK, FAILED, OK, OK]
    assert "Traceback" in rows[1].error
    assert rows[1].error.strip().endswith("ZeroDivisionError: in the second fold")
    assert rows[1].predictions_sha256 == ""
    assert set(read_predictions(job.record)) == {(0, 0), (0, 2), (0, 3)}
    scored = local_units(Places(RESULTS, DATA), [job.chunk.unit])[
        job.chunk.unit.protocol, "toy", "broken"
    ]
    assert len(scored.values("kl")) == 3
    assert np.isnan(scored.scores["kl"][1])


@pytest.mark.parametrize("error", ["MemoryError()", "OSError(28, 'No space left on device')"])
def test_an_error_of_the_machine_fails_the_job_and_keeps_what_was_done(ready, error):
    add_broken(ready, error)
    job = make_job("broken")
    with pytest.raises((MemoryError, OSError)):
        run_unit(job)
    assert not job.record.exists()
    assert [path.name for path in journals("broken")] == ["r000_f000.npz"]
    assert origins(job) == ["journal", "computed", "computed", "computed"]


def test_only_failed_folds_are_computed_again(ready):
    add_broken(ready, "ValueError('once')")
    job = make_job("broken")
    run_unit(job)
    assert len(journals("broken")) == 3
    assert origins(job) == ["journal", "computed", "journal", "journal"]
    assert {row.status for row in read_rows(job.record)} == {OK}
    assert journals("broken") == []


def test_warnings_of_a_method_are_kept_with_its_fold(ready):
    add_broken(ready, "ValueError('once')")
    ready.edit(
        "own/broken_method.py",
        "self.mean_ =",
        "import warnings; warnings.warn('late'); self.mean_ =",
    )
    rows = run_unit(make_job("broken"))
    assert rows[0].diagnostics["warnings"] == ["late"]


# ---------------------------------------------------------------------- the journal


def test_after_a_kill_finished_folds_are_taken_as_they_were(ready, monkeypatch):
    job = interrupted(monkeypatch)
    assert not job.record.exists()
    assert len(journals()) == 2
    monkeypatch.setattr(unit_module, "_process_age", lambda: 8.0)
    saved = [json.loads(str(np.load(path)["row"])) for path in journals()]
    rows = run_unit(job)
    assert [row.started_at for row in rows[:2]] == [row["started_at"] for row in saved]
    assert [row.fit_s for row in rows[:2]] == [row["fit_s"] for row in saved]
    assert all(row.status == OK for row in rows)
    assert journals() == []


def test_a_resumed_unit_has_the_bytes_of_an_undisturbed_one(ready, monkeypatch):
    job = interrupted(monkeypatch)
    run_unit(job)
    resumed = predictions_path(job.record).read_bytes()
    run_unit(job)
    assert predictions_path(job.record).read_bytes() == resumed


@pytest.mark.parametrize("damage", ["cut", "garbled", "empty", "other predictions", "other row"])
def test_a_damaged_journal_file_is_computed_again(ready, monkeypatch, damage):
    job = interrupted(monkeypatch)
    path = journals()[0]
    content = path.read_bytes()
    with np.load(path) as stored:
        row, P = stored["row"], stored["predictions"]
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "garbled":
        path.write_bytes(content[:200] + b"\0" * 40 + content[240:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "other predictions":
        np.savez(path, row=row, predictions=P + 1e-9)
    else:
        np.savez(path, row=np.array('{"no": "row"}'), predictions=P)
    assert origins(job) == ["computed", "journal", "computed", "computed"]
    assert read_predictions(job.record)[0, 0].tolist() == P.tolist()


def test_a_temporary_file_of_a_killed_writer_is_not_read(ready, monkeypatch):
    job = interrupted(monkeypatch)
    first = journals()[0]
    first.rename(first.with_name(f".{first.name}.123.part"))
    assert origins(job) == ["computed", "journal", "computed", "computed"]


def change_settings(checkout, patch):
    checkout.edit("config/methods/aa_knn.yaml", "n_neighbors: 4", "n_neighbors: 3")


def change_code(checkout, patch):
    patch.setattr(unit_module.provenance, "code_digest", lambda path: "0" * 64)


def change_folds(checkout, patch):
    make_fold_file(seed=1)


def change_data(checkout, patch):
    checkout.edit("config/datasets/toy.yaml", "seed: 1", "seed: 2")
    fetch("toy", DATA, [], offline=True, progress=False)
    prepare("toy", DATA)
    make_fold_file()


def change_versions(checkout, patch):
    patch.setattr(unit_module.provenance, "versions", lambda: {"numpy": "3"})


@pytest.mark.parametrize(
    "change", [change_settings, change_code, change_folds, change_data, change_versions]
)
def test_a_fold_computed_with_anything_else_is_not_taken_up(ready, monkeypatch, change):
    job = interrupted(monkeypatch)
    change(ready, monkeypatch)
    assert origins(job) == ["computed"] * 4


def test_a_fold_of_another_seed_is_not_taken_up(ready, monkeypatch):
    job = interrupted(monkeypatch)
    assert origins(replace(job, seed=1)) == ["computed"] * 4


def test_another_measure_to_select_by_makes_another_grid_search(ready, monkeypatch):
    job = interrupted(monkeypatch, method="aa_knn@grid")
    ready.edit("config/papers/tiny.yaml", "folds: 4,", "folds: 4, select_by: clark,")
    assert origins(job) == ["computed"] * 4
    assert {row.selection["by"] for row in read_rows(job.record)} == {"clark"}


def test_titles_resources_and_threads_do_not_cost_finished_folds(ready, monkeypatch):
    job = interrupted(monkeypatch)
    ready.edit("config/methods/aa_knn.yaml", "title: AA-kNN", "title: Neighbours")
    ready.edit("config/methods/aa_knn.yaml", "mem_mb: 900", "mem_mb: 1900")
    assert origins(replace(job, threads=2))[:2] == ["journal", "journal"]


def test_a_chunk_that_is_done_leaves_the_journal_of_another_alone(ready, monkeypatch):
    other = interrupted(monkeypatch, folds=1, chunk="0-1")
    run_unit(make_job(chunk="2-3"))
    assert origins(other) == ["journal", "computed"]

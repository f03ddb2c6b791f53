"""Disks that are full or may not be written to, clocks that jump, files that were damaged: a clear
message, no damage, and the next run mends it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ldlrepro.core.checksums import array_sha256
from ldlrepro.core.errors import ELSEWHERE
from ldlrepro.data.dataset import fingerprint
from ldlrepro.data.registry import load_ready
from ldlrepro.folds.splits import read_folds, write_folds
from ldlrepro.train.records import predictions_path, read_predictions, read_rows
from ldlrepro.train.unit import run_unit

RUN = ["run", "tiny", "toy", "near"]


@pytest.fixture
def done(ready):
    """The tiny paper with both units computed."""
    for method in ("near", "train_mean"):
        run_unit(ready.job(method))
    return ready


# ---------------------------------------------------------------------- disks


def test_a_full_disk_keeps_finished_folds_and_the_same_command_ends_the_work(
    ready, disks, ask, refused
):
    assert ask(*RUN)[0] == 0
    job = ready.job()
    expected = predictions_path(job.record).read_bytes()
    journal = job.journal
    shutil.rmtree(journal)
    job.record.unlink()
    disks.small(journal.parent, "16k")
    told = refused(*RUN)
    assert "no room left on the disk" in told
    assert "give the same command again" in told
    kept = sorted(path.name for path in journal.rglob("r*.npz"))
    assert 0 < len(kept) < 4
    assert not job.record.exists()
    assert not list(journal.rglob("*.part"))
    disks.resize(journal.parent, "1m")
    status, _, told = ask(*RUN)
    assert status == 0
    assert told.count("from the journal") == len(kept)
    assert predictions_path(job.record).read_bytes() == expected


def test_read_only_results_are_named_with_what_to_do_and_stay_as_they_are(
    done, disks, ask, refused
):
    results = done.root / "results"
    before = {p: p.read_bytes() for p in results.rglob("*") if p.is_file()}
    disks.read_only(results)
    for arguments in (RUN, ["compare", "tiny"], ["report", "tiny"]):
        told = refused(*arguments)
        assert "Read-only file system" in told
        assert "results/" in told
        assert ELSEWHERE in told
    assert {p: p.read_bytes() for p in results.rglob("*") if p.is_file()} == before
    assert ask("status")[0] == 0, "looking needs no right to write"


# ---------------------------------------------------------------------- damaged files


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def garble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[20:60] = os.urandom(40)
    path.write_bytes(bytes(content))


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "part"), [(cut, "record"), (garble, "predictions"), (empty, "record")]
)
def test_a_damaged_record_is_named_with_the_command_that_renews_it(
    done, ask, refused, damage, part
):
    record = done.job().record
    whole = predictions_path(record).read_bytes()
    path = record if part == "record" else predictions_path(record)
    damage(path)
    told = refused("compare", "tiny")
    assert str(path) in told
    advice = f"rm -f {record} {predictions_path(record)}"
    assert advice in told
    subprocess.run(advice.split(), check=True)
    run_unit(done.job())
    assert ask("compare", "tiny")[0] == 0
    assert predictions_path(record).read_bytes() == whole


def rewrite(record: Path, change) -> None:
    rows = change(pq.ParquetFile(record).read())
    pq.write_table(rows, record)


@pytest.mark.parametrize("column", ["params", "predictions_sha256"])
def test_a_record_without_a_column_that_counts_is_told_from_a_damaged_one(done, refused, column):
    record = done.job().record
    rewrite(record, lambda table: table.drop_columns([column]))
    before = record.read_bytes()
    told = refused("compare", "tiny")
    assert f"{record}: written by another version of ldlrepro" in told
    assert column in told
    assert "rm -f" in told
    assert record.read_bytes() == before


@pytest.mark.parametrize("damage", [cut, empty])
def test_damaged_folds_are_named_with_what_to_type(done, ask, refused, damage):
    damage(done.job().folds)
    for arguments in (RUN, ["compare", "tiny"]):
        told = refused(*arguments)
        assert f"rm {done.job().folds}" in told.replace(f"{done.root}/", "")
    done.make_folds()
    assert ask("compare", "tiny")[0] == 0


def changed(path: Path, **arrays: np.ndarray) -> None:
    """Write other arrays into an .npz file; what it says of itself stays."""
    with np.load(path) as stored:
        np.savez_compressed(path, **{**stored, **arrays})


def rows_on_both_sides(done):
    path = done.job().folds
    folds, meta = read_folds(path)
    both = [replace(fold, train=np.arange(60)) for fold in folds]
    write_folds(path, both, meta)
    return "repeat 0, fold 0 trains on 15 of its 15 test rows", f"rm {path}"


def validation_outside(done):
    path = done.job().folds
    folds, meta = read_folds(path)
    write_folds(path, [replace(fold, validation=fold.test) for fold in folds], meta)
    return "15 validation rows that are not training rows", f"rm {path}"


def other_indices(done):
    path = done.job().folds
    fold = read_folds(path)[0][2]
    changed(path, r000_f002_train=np.setdiff1d(fold.train, fold.fitting[:1]))
    return "indices were changed since they were drawn", f"rm {path}"


def labels_over_features(done):
    return other_rows(done, X=load_ready(done.job().ready).D)


def other_persons(done):
    return other_rows(done, groups=np.arange(60))


def other_rows(done, **arrays: np.ndarray):
    path = done.job().ready
    changed(path, **arrays)
    return "rows were changed since they were prepared", f"rm {path}; ldlrepro prepare toy"


def labels_with_their_digest(done):
    path = done.job().ready
    data = load_ready(path)
    X = np.column_stack([data.X[:, 0], data.D[:, 1]])
    with np.load(path) as stored:
        meta = json.loads(str(stored["meta"]))
    meta["fingerprint"] = fingerprint(X, data.D)
    changed(path, X=X, meta=np.array(json.dumps(meta)))
    return "feature column 1 is label column 1", f"rm {path}; ldlrepro prepare toy"


@pytest.mark.parametrize(
    "leak",
    [
        rows_on_both_sides,
        validation_outside,
        other_indices,
        labels_over_features,
        other_persons,
        labels_with_their_digest,
    ],
)
def test_what_tells_methods_the_answers_neither_runs_nor_is_scored(done, refused, leak):
    said, command = leak(done)
    for arguments in (RUN, ["compare", "tiny"], ["verdicts", "tiny"]):
        told = refused(*arguments)
        assert said in told
        assert command in told.replace(f"{done.root}/", "")


# ---------------------------------------------------------------------- two at once


def test_two_runs_of_one_unit_at_once_leave_one_whole_record(ready):
    job = ready.job()
    run_unit(job)
    expected = predictions_path(job.record).read_bytes()
    for folder in (job.journal, job.record.parent):
        shutil.rmtree(folder)
    command = [sys.executable, "-m", "ldlrepro.cli", *RUN]

    def run(_: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True)

    with ThreadPoolExecutor(3) as pool:
        ran = list(pool.map(run, range(3)))
    assert [(r.returncode, "Traceback" in r.stderr) for r in ran] == [(0, False)] * 3
    assert predictions_path(job.record).read_bytes() == expected
    stored = read_predictions(job.record)
    assert [array_sha256(stored[0, r.fold]) for r in read_rows(job.record)] == [
        r.predictions_sha256 for r in read_rows(job.record)
    ]
    assert sorted(os.listdir(job.record.parent)) == ["folds_0-3.npz", "folds_0-3.parquet"]

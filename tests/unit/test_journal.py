"""The journal: a kill loses no finished fold, and nothing stale is taken up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldlrepro import cli
from ldlrepro.train import selection
from ldlrepro.train import unit as unit_module
from ldlrepro.train.records import OK, read_predictions, read_rows
from ldlrepro.train.unit import UnitJob, run_unit


class Killed(BaseException):
    """What no code catches."""


def interrupted(checkout, monkeypatch, after: int = 2, **job_options) -> UnitJob:
    """A job whose process ended while the fold after so many was computed."""
    job = checkout.job(**job_options)
    original, count = selection.run_fold, iter(range(100))

    def run_fold(*args, **options):
        if next(count) >= after:
            raise Killed
        return original(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(unit_module.selection, "run_fold", run_fold)
        with pytest.raises(Killed):
            run_unit(job)
    return job


def origins(job: UnitJob) -> list[str]:
    """Per fold, whether it came from the journal."""
    lines: list[str] = []
    run_unit(job, lines.append)
    return ["journal" if line.endswith("from the journal") else "computed" for line in lines]


def journals(job: UnitJob) -> list[Path]:
    return sorted(job.journal.glob("*/r*.npz"))


def test_after_a_kill_finished_folds_are_taken_as_they_were(ready, monkeypatch):
    job = interrupted(ready, monkeypatch)
    assert not job.record.exists()
    assert len(journals(job)) == 2
    monkeypatch.setattr(unit_module, "process_age", lambda: 8.0)
    saved = [json.loads(str(np.load(path)["row"])) for path in journals(job)]
    rows = run_unit(job)
    assert [row.started_at for row in rows[:2]] == [row["started_at"] for row in saved]
    assert [row.fit_s for row in rows[:2]] == [row["fit_s"] for row in saved]
    assert all(row.status == OK for row in rows)


def test_a_unit_that_is_run_again_takes_its_folds_from_the_journal_unless_told_otherwise(
    ready, monkeypatch
):
    """Snakemake runs a finished unit again when it was killed before it took note."""
    job = interrupted(ready, monkeypatch)
    monkeypatch.setattr(unit_module, "process_age", lambda: 8.0)
    run_unit(job)
    job.record.unlink()
    assert set(origins(job)) == {"journal"}
    assert set(origins(replace(job, fresh=True))) == {"computed"}


@pytest.mark.parametrize("damage", ["cut", "garbled", "empty", "other predictions", "other row"])
def test_a_damaged_journal_file_is_computed_again(ready, monkeypatch, damage):
    job = interrupted(ready, monkeypatch)
    path = journals(job)[0]
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
    job = interrupted(ready, monkeypatch)
    first = journals(job)[0]
    first.rename(first.with_name(f".{first.name}.123.part"))
    assert origins(job) == ["computed", "journal", "computed", "computed"]


def change_settings(checkout, patch):
    checkout.edit("config/methods/near.yaml", "n_neighbors: 4", "n_neighbors: 3")


def change_code(checkout, patch):
    patch.setattr(unit_module.digests, "method_digest", lambda spec: "0" * 64)


def change_folds(checkout, patch):
    checkout.make_folds(seed=1)


def change_data(checkout, patch):
    checkout.edit("config/datasets/toy.yaml", "licence:", "noise_variance: 0.1\nlicence:")
    checkout.make_data()
    checkout.make_folds()


def change_versions(checkout, patch):
    patch.setattr(unit_module.provenance, "versions", lambda: {"numpy": "3"})


@pytest.mark.parametrize(
    "change", [change_settings, change_code, change_folds, change_data, change_versions]
)
def test_a_fold_computed_with_anything_else_is_not_taken_up(ready, monkeypatch, change):
    interrupted(ready, monkeypatch)
    change(ready, monkeypatch)
    assert origins(ready.job()) == ["computed"] * 4


def test_a_fold_of_another_seed_is_not_taken_up(ready, monkeypatch):
    job = interrupted(ready, monkeypatch)
    assert origins(replace(job, seed=1)) == ["computed"] * 4


def test_another_measure_to_select_by_makes_another_grid_search(ready, monkeypatch):
    interrupted(ready, monkeypatch, method="near@grid")
    ready.edit("papers/tiny/paper.yaml", "folds: 4,", "folds: 4, select_by: clark,")
    job = ready.job(method="near@grid")
    assert origins(job) == ["computed"] * 4
    assert {row.selection["by"] for row in read_rows(job.record)} == {"clark"}


def test_titles_resources_and_threads_do_not_cost_finished_folds(ready, monkeypatch):
    interrupted(ready, monkeypatch)
    ready.edit("config/methods/near.yaml", "title: neighbours", "title: Neighbours")
    ready.edit("config/methods/near.yaml", "mem_mb: 700", "mem_mb: 1900")
    assert origins(ready.job(threads=2))[:2] == ["journal", "journal"]


def test_a_chunk_leaves_the_folds_of_another_alone(ready, monkeypatch):
    other = interrupted(ready, monkeypatch, after=1, folds="0-1")
    run_unit(ready.job(folds="2-3"))
    assert origins(other) == ["journal", "computed"]


# ---------------------------------------------------------------------- thrown away


def half_file(job: UnitJob) -> Path:
    """Write the half of a record that a kill leaves."""
    path = job.record.parent / f".{job.record.name}.123.part"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_judging_throws_nothing_away_and_tidying_only_what_a_record_holds(ready, monkeypatch):
    done = ready.job("train_mean")
    run_unit(done)
    begun = interrupted(ready, monkeypatch)
    halves = {job: half_file(job) for job in (done, begun)}
    assert cli.main(["compare", "tiny"]) == 0
    assert (len(journals(done)), len(journals(begun))) == (4, 2)
    before = {path: path.read_bytes() for path in done.record.parent.glob("folds_*")}
    assert cli.main(["tidy", "tiny"]) == 0
    assert not done.journal.exists()
    assert not halves[done].exists()
    assert {path: path.read_bytes() for path in done.record.parent.glob("folds_*")} == before
    assert len(journals(begun)) == 2
    assert halves[begun].exists()
    assert origins(begun)[:2] == ["journal", "journal"]


def test_a_unit_with_a_failed_fold_keeps_its_journal(ready, monkeypatch):
    original = selection.run_fold

    def run_fold(method, X, D, fold, **options):
        if fold.fold == 3:
            raise ValueError("no")
        return original(method, X, D, fold, **options)

    monkeypatch.setattr(unit_module.selection, "run_fold", run_fold)
    job = ready.job()
    run_unit(job)
    assert cli.main(["tidy", "tiny"]) == 0
    assert len(journals(job)) == 3

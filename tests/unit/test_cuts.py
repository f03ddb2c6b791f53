"""Another cut of a unit into chunks computes nothing again and changes no record."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from ldlrepro.judge.reference import write_reference
from ldlrepro.judge.scores import UnitScores
from ldlrepro.plan import Chunk, Plan
from ldlrepro.train.records import read_predictions, read_rows
from ldlrepro.train.unit import UnitJob, run_unit

KEY = "tiny/toy/near"


def local(checkout) -> list[UnitScores]:
    judge = checkout.judge
    return list(judge.local_units([judge.plan.unit_of(KEY)]).values())


def cut(monkeypatch, *edges: tuple[int, int]) -> None:
    """Cut every unit at these folds from now on."""
    monkeypatch.setattr(Plan, "chunks", lambda self, unit: [Chunk(unit, *each) for each in edges])


def origins(job: UnitJob) -> list[str]:
    lines: list[str] = []
    run_unit(job, lines.append)
    return [line.rpartition(", ")[2].partition(" ")[2] for line in lines]


@pytest.fixture
def uncut(ready):
    """All folds in one record, and no journal any more."""
    job = ready.job(folds="0-3")
    run_unit(job)
    for path in job.journal.glob("*/r*.npz"):
        path.unlink()
    return ready


def test_folds_come_from_the_record_of_another_cut(uncut):
    rows = read_rows(uncut.job(folds="0-3").record)
    old = read_predictions(uncut.job(folds="0-3").record)
    for part in ("0-1", "2-3"):
        job = uncut.job(folds=part)
        assert set(origins(job)) == {"another record"}
        first, last = map(int, part.split("-"))
        assert [asdict(r) for r in read_rows(job.record)] == [
            asdict(r) for r in rows[first : last + 1]
        ]
        for key, P in read_predictions(job.record).items():
            assert P.tobytes() == old[key].tobytes()


def test_pieces_come_together_again_and_only_the_missing_fold_is_computed(uncut):
    for part in ("0-1", "2-2"):
        run_unit(uncut.job(folds=part))
    uncut.job(folds="0-3").record.unlink()
    for path in uncut.job().journal.glob("*/r*.npz"):
        path.unlink()
    taken = origins(uncut.job(folds="0-3"))
    assert taken[:3] == ["another record"] * 3
    assert taken[3] != "another record"


def change_settings(checkout, patch):
    checkout.edit("config/methods/near.yaml", "n_neighbors: 4", "n_neighbors: 3")


def test_the_reference_is_the_same_before_and_after_another_cut(uncut, monkeypatch, tmp_path):
    def written(name: str) -> dict[str, str]:
        paths = write_reference(uncut.plan, tmp_path / name, local(uncut), "")
        return {path.name: path.read_text() for path in paths}

    before = written("before")
    assert set(before) == {"near.csv", "near.json"}
    cut(monkeypatch, (0, 1), (2, 3))
    assert written("to be cut") == before, "results of the old cut are out of sight"
    for part in ("0-1", "2-3"):
        run_unit(uncut.job(folds=part))
    assert written("cut") == before


def test_pieces_of_an_old_cut_count_beside_those_that_are_of_today_s(uncut, monkeypatch):
    for part in ("0-1", "2-3"):
        run_unit(uncut.job(folds=part))
    uncut.job(folds="0-3").record.unlink()
    cut(monkeypatch, (0, 1), (2, 2), (3, 3))
    (found,) = local(uncut)
    assert [row.fold for row in found.rows] == [0, 1, 2, 3]


def test_of_several_old_cuts_every_fold_counts_once_and_settings_are_not_mixed(uncut, monkeypatch):
    run_unit(uncut.job(folds="1-3"))
    cut(monkeypatch, *((n, n) for n in range(4)))
    (found,) = local(uncut)
    assert [row.fold for row in found.rows] == [0, 1, 2, 3]
    change_settings(uncut, monkeypatch)
    run_unit(uncut.job(folds="0-2"))
    (found,) = local(uncut)
    assert [row.fold for row in found.rows] == [0, 1, 2]
    assert len({row.spec_sha256 for row in found.rows}) == 1

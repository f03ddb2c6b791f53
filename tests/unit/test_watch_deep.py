"""A small deep forest inside a unit: killed, gone on with, the same bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ldlrepro import cli
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.pixels import make_pixels
from ldlrepro.train.long_training import FoldWatch
from ldlrepro.train.records import OK, read_predictions
from ldlrepro.train.unit import UnitJob, run_unit
from tests import here


@pytest.fixture
def job(checkout) -> UnitJob:
    checkout.edit("config/datasets/drawn_morph.yaml", "persons: 32", "persons: 6")
    text = Path("config/methods/drf.yaml").read_text()
    small = "  small:\n    parameters: {<<: *trial, max_iter: 12, batch_size: 4, leaf_batches: 3}\n"
    checkout.write("config/methods/drf.yaml", f"{text}{small}    resources: *small\n")
    for words in (["fetch", "drawn_morph"], ["prepare", "drawn_morph"]):
        assert cli.main(words) == 0
    assert cli.main(["folds", "drf_morph", "drawn_morph"]) == 0
    make_pixels(here.known("drawn_morph"), Workspace())
    return here.job(here.unit("drf_morph", "drawn_morph", "drf@small"), "0-0")


def test_a_killed_training_ends_with_the_bits_of_one_that_was_not(job, monkeypatch):
    from ldl.deep import _training

    monkeypatch.setattr(_training, "KEEP_SECONDS", 0.0)  # after every step
    monkeypatch.setattr(_training, "REPORT_STEPS", 1)
    whole = replace(job, record=Path("whole") / "record.parquet", journal=Path("whole"))
    assert [row.status for row in run_unit(whole)] == [OK]

    keep = FoldWatch.keep

    def keep_and_die(self: FoldWatch, state) -> None:
        keep(self, state)
        if state["step"] == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(FoldWatch, "keep", keep_and_die)
    with pytest.raises(KeyboardInterrupt):
        run_unit(job)
    (state,) = job.journal.rglob("*.state")
    monkeypatch.setattr(FoldWatch, "keep", keep)
    said: list[str] = []
    assert [row.status for row in run_unit(job, said.append)] == [OK]
    assert any("goes on at step 8 of 12" in line for line in said)
    assert not state.exists()
    first, second = (read_predictions(path)[0, 0] for path in (whole.record, job.record))
    assert first.tobytes() == second.tobytes()

"""`ldlrepro run` and `ldlrepro gate` typed by a person: what was missing is looked for again, and
what was not run says why and what to type."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ldlrepro.folds.splits import write_folds
from ldlrepro.train import cards
from ldlrepro.train.records import FAILED, OK, read_rows
from ldlrepro.train.unit import run_unit

DATA, RESULTS = Path("data"), Path("results")
IN_TWO = "resources: {folds_per_job: 2}\n"


@pytest.fixture
def stale(ready):
    """Prepared and folded while the data could not be had."""
    meta = json.dumps({"dataset": "toy", "available": False, "reason": "ask the authors"})
    np.savez(DATA / "ready" / "toy.npz", meta=np.array(meta))
    write_folds(RESULTS / "folds" / "tiny" / "toy.npz", [], {"dataset": "toy"})
    return ready


# ---------------------------------------------------------------------- data that were missing


@pytest.mark.parametrize("fetched", [True, False, None])
def test_data_that_can_be_had_by_now_are_taken_up_with_their_folds(stale, ask, fetched):
    status_file = DATA / "raw" / "toy" / "fetch.json"
    status = json.loads(status_file.read_text())
    status_file.write_text(json.dumps({**status, "available": fetched, "reason": "ask"}))
    if fetched is None:  # thrown away, with all that is raw
        status_file.unlink()
    status, _, told = ask("run", "tiny", "toy", "near", "--inputs")
    assert status == 0
    assert "4 folds, 0 failed" in told
    assert {row.status for row in read_rows(stale.job().record)} == {OK}


def test_without_its_inputs_a_run_names_what_lacks_and_the_option_that_makes_it(tiny, ask, refused):
    missing = [DATA / "ready" / "toy.npz", RESULTS / "folds" / "tiny" / "toy.npz"]
    for path in missing:
        told = refused("run", "tiny", "toy", "near")
        assert told == (
            f"ldlrepro: {path}: no such file. Add --inputs to make what is missing, or let "
            "snakemake do it all.\n"
        )
        assert not path.exists()
        tiny.make_data()
    assert not (RESULTS / "units").exists()
    assert ask("run", "tiny", "toy", "near", "--inputs")[0] == 0


# ---------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    "words",
    [
        ["fetch", "fgnet", "toy"],
        ["prepare", "fgnet"],
        ["folds", "tiny", "fgnet"],
        ["run", "tiny", "fgnet", "near"],
        ["run", "tiny", "toy", "broken"],
    ],
    ids=" ".join,
)
def test_what_failed_or_lacks_is_1_for_a_person_and_a_row_for_the_workflow(ready, ask, words):
    ready.break_method("ValueError('always')", True, IN_TWO)
    for before in (["fetch", "fgnet"], ["prepare", "fgnet"], ["folds", "tiny", "fgnet"]):
        assert ask(*before)[0] == 1
    assert ask(*words)[0] == 1
    assert ask(*words, "--of-workflow")[0] == 0


def test_code_that_raises_is_told_with_its_place(ready, ask):
    ready.break_method("ValueError('always')", True, IN_TWO)
    _, _, told = ask("run", "tiny", "toy", "broken")
    assert "Traceback (most recent call last)" in told
    assert "ValueError: always" in told
    assert "2 failed. Type the same with --fresh to run them again" in " ".join(told.split())


# ---------------------------------------------------------------------- errors for people

DEEP = """title: deep
class: ldl.DeepLDLF
needs: [images]
parameters:
  network: tiny
"""


def test_a_mistake_that_the_user_can_mend_is_one_line_and_no_traceback(ready, ask):
    ready.break_method("UserError('first this.\\n  then that')", True, IN_TWO)
    _, _, told = ask("run", "tiny", "toy", "broken")
    rows = read_rows(ready.job("broken", folds="0-1").record)
    assert [(row.status, row.error) for row in rows] == [(FAILED, "first this. then that")] * 2
    assert "tiny/toy/broken fold 1/2 failed, first this. then that" in told


# ---------------------------------------------------------------------- the gate


def test_the_gate_names_every_unit_left_out_and_the_records_that_wait_for_a_card(
    ready, ask, monkeypatch
):
    monkeypatch.setattr(cards, "listed", lambda: [])
    monkeypatch.delenv(cards.DEVICE, raising=False)
    monkeypatch.delenv(cards.VISIBLE, raising=False)
    ready.edit("config/methods/near.yaml", "threads: 1", "gpu: 1")
    ready.write("config/methods/deep.yaml", DEEP)
    ready.edit("papers/tiny/paper.yaml", "Mean: train_mean", "Deep: deep")
    for method in ("near", "deep"):
        run_unit(ready.job(method))
    status, _, told = ask("gate", "tiny")
    assert status == 0
    assert "left out: needs a GPU, and there is none here" in told
    assert "left out: needs images: toy has no pixels" in told
    assert "of tiny/toy/near" in told
    assert "of tiny/toy/deep" in told
    assert told.count("  rm ") == 1
    assert f"  rm {ready.job().record}\n" in told

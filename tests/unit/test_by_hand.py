"""`ldlrepro run` and `ldlrepro gate` typed by a person: what was missing is looked for again, and
what was not run says why and what to type."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ldlrepro import cli
from ldlrepro.protocols.folds import write_folds
from ldlrepro.runs import unit as unit_module
from ldlrepro.runs.records import FAILED, read_rows

DATA, RESULTS = Path("data"), Path("results")
BROKEN = """
from ldlrepro.errors import UserError
from ldlrepro.models.base import LDLEstimator
class Broken(LDLEstimator):
    def _fit(self, X, D):
        raise {error}
"""
IN_TWO = "title: b\nclass: broken_method.Broken\nresources: {folds_per_job: 2}\n"


def say(capsys, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    return cli.main(arguments), capsys.readouterr().err


def add_broken(checkout, error: str) -> None:
    checkout.module("broken_method", BROKEN.format(error=error))
    checkout.write("config/methods/broken.yaml", IN_TWO)


@pytest.fixture
def stale(ready):
    """Prepared and folded while the data could not be had."""
    meta = json.dumps({"dataset": "toy", "available": False, "reason": "ask the authors"})
    np.savez(DATA / "ready" / "toy.npz", meta=np.array(meta))
    write_folds(RESULTS / "folds" / "tiny" / "toy.npz", [], {"dataset": "toy"})
    return ready


# ---------------------------------------------------------------------- chunks


def test_failed_folds_are_counted_for_each_record(ready, capsys):
    add_broken(ready, "ValueError('always')")
    _, told = say(capsys, "run", "tiny", "toy", "broken")
    assert told.count("2 folds, 2 failed") == 2


def test_only_the_first_chunk_bears_the_start_of_the_process(ready, monkeypatch):
    ready.edit("config/methods/near.yaml", "threads: 1", "folds_per_job: 2")
    monkeypatch.setattr(unit_module, "process_age", lambda: 800.0)
    assert cli.main(["run", "tiny", "toy", "near"]) == 0
    first, second = (
        sum(row.overhead_s for row in read_rows(ready.job(folds=f).record)) for f in ("0-1", "2-3")
    )
    assert (first > 700, second) == (True, 0.0)


# ---------------------------------------------------------------------- errors for people


def test_a_mistake_that_the_user_can_mend_is_one_line_and_no_traceback(ready, capsys):
    add_broken(ready, "UserError('first this.\\n  then that')")
    _, told = say(capsys, "run", "tiny", "toy", "broken")
    rows = read_rows(ready.job("broken", folds="0-1").record)
    assert [(row.status, row.error) for row in rows] == [(FAILED, "first this. then that")] * 2
    assert "tiny/toy/broken fold 1/2 failed, first this. then that" in told

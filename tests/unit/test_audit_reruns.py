"""Folds that an audit cannot compute again are not computed, and not wrong."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from ldlrepro.audit import Check
from ldlrepro.audit.certificate import Extent, certificate
from ldlrepro.audit.rerun import check_reruns, every_fold
from ldlrepro.core.workspace import Workspace
from tests.report_pages import PROJECT, measured, paper
from tests.unit.judged import PLAN

UNIT = PLAN.unit("mslp", "sjaffe", "aa_knn")


def reruns(monkeypatch, tmp_path, status: int, said: str) -> Check:
    """The check of one fold, whose run ends with this status and these last words."""
    ended = subprocess.CompletedProcess([], status, "", f"some line\n{said}\n")
    monkeypatch.setattr("ldlrepro.audit.rerun.subprocess.run", lambda *_, **__: ended)
    workspace = Workspace(tmp_path / "results", tmp_path / "data")
    scope = SimpleNamespace(workspace=workspace, seed=1, project=PROJECT, plan=PLAN)
    draws = every_fold(UNIT, measured(UNIT.ids, {"kl": [0.1]}))
    return check_reruns(scope, draws, lambda line: None)


def test_a_run_that_was_refused_is_not_computed_and_says_why(monkeypatch, tmp_path):
    said = "ldlrepro: data/ready/sjaffe.npz: no such file."
    check = reruns(monkeypatch, tmp_path, 2, said)
    assert [remark.text for remark in check.skipped] == [said]
    assert check.failed == check.passed == []
    found = certificate(PROJECT, [paper("tiny")], [check], Extent("ldlrepro audit", 1, 10, {}))
    assert found["verdict"] == "not computed"
    assert found["summary"] == f"NOT COMPUTED, 0 of 1 rerun; 1 not computed ({said})"


@pytest.mark.parametrize("status", [1, -9])
def test_a_run_that_broke_is_wrong(monkeypatch, tmp_path, status):
    check = reruns(monkeypatch, tmp_path, status, "Segmentation fault")
    assert [remark.text for remark in check.failed] == [
        f"the run ended with {status}: Segmentation fault"
    ]
    assert check.skipped == []

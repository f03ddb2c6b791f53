"""The audit passes what is right, and finds whatever was changed behind its back."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ldlrepro.audit import Check
from ldlrepro.audit.certificate import certificate
from ldlrepro.audit.seals import NAME, check_seals
from ldlrepro.data.checksums import sha256_of
from ldlrepro.report.html import audit_page
from ldlrepro.runs import records

if TYPE_CHECKING:
    from conftest import Project

UNIT = "tiny/drawn_faces/aa_knn@grid"
CELLS = "results/compare/tiny/cells.csv"


@pytest.fixture
def finished(undisturbed: Project, tmp_path: Path) -> Project:
    """A copy of finished results, to be tampered with."""
    shutil.copytree(undisturbed.root, tmp_path / "project", symlinks=True)
    return replace(undisturbed, root=tmp_path / "project")


def audited(project: Project, *arguments: str, status: int = 1) -> dict[str, dict]:
    project.run("ldlrepro", "audit", "tiny", "--units", "1", *arguments, status=status)
    found = json.loads((project.root / "results/audit/audit.json").read_text())
    assert found["verdict"] == ("fail" if status else "pass")
    return {check["id"]: check for check in found["checks"]}


def wrong(check: dict) -> str:
    return " ".join(f"{r['subject']}: {r['text']}" for r in check["failed"])


def record_of(project: Project, unit: str) -> Path:
    (record,) = (project.root / "results" / "units" / unit).glob("*.parquet")
    return record


def seal_again(project: Project) -> None:
    """As somebody would who knows of the checksums."""
    sums = project.root / "results/compare/tiny" / NAME
    names = [line.partition("  ")[2] for line in sums.read_text().splitlines()]
    lines = [f"{sha256_of(project.root / name)}  {name}" for name in names]
    sums.write_text("\n".join(lines) + "\n")


def test_untouched_results_pass_and_every_check_has_looked_at_something(finished) -> None:
    finished.run("ldlrepro", "sync", "tiny")
    checks = audited(finished, status=0)
    verdicts = {name: check["verdict"] for name, check in checks.items()}
    assert verdicts.pop("too good") == "skipped"  # this paper varies no fold seeds
    assert verdicts == dict.fromkeys(
        ("files", "data", "folds", "records", "tables", "tracking", "reruns"), "pass"
    )
    assert checks["records"]["passed"] == 4


def test_each_of_a_hundred_changed_bytes_is_found(finished, monkeypatch) -> None:
    monkeypatch.chdir(finished.root)
    sums = (finished.root / "results/compare/tiny" / NAME).read_text().splitlines()
    files = [Path(line.partition("  ")[2]) for line in sums]
    kinds = {path.parts[:2] for path in files}
    assert {("data", "ready"), ("results", "folds"), ("results", "units")} < kinds
    lot = np.random.default_rng(7)
    for _ in range(100):
        path = files[lot.integers(len(files))]
        before = path.read_bytes()
        damaged = bytearray(before)
        damaged[lot.integers(len(damaged))] ^= 1 << int(lot.integers(8))
        path.write_bytes(damaged)
        check = check_seals(["tiny"], Path("results"))
        assert [remark.subject for remark in check.failed] == [str(path)]
        path.write_bytes(before)
    assert check_seals(["tiny"], Path("results")).verdict == "pass"


def test_a_number_edited_in_a_table_is_found_without_the_checksums(finished) -> None:
    table = finished.root / CELLS
    table.write_text(table.read_text().replace("paper", "papyrus", 1))
    seal_again(finished)
    checks = audited(finished)
    assert checks["files"]["verdict"] == "pass"
    assert "cells.csv: not what the records give now" in wrong(checks["tables"])


def test_other_folds_with_new_checksums_are_found(finished) -> None:
    finished.run("ldlrepro", "folds", "tiny", "drawn_faces", "--seed", "99")
    seal_again(finished)
    assert "not the folds of the protocol" in wrong(audited(finished)["folds"])


def test_a_record_made_by_other_settings_is_found(finished) -> None:
    finished.edit("config/methods/aa_knn.yaml", "n_neighbors: [", "n_neighbors: [1, ")
    assert f"{UNIT}: made with another setting" in wrong(audited(finished)["records"])


def test_predictions_of_another_run_are_found_by_computing_them_again(finished) -> None:
    """Forged with all digests: only the computation itself can tell."""
    record = record_of(finished, UNIT)
    rows, predictions = records.read_rows(record), records.read_predictions(record)
    for row in rows:
        P = predictions[row.repeat, row.fold] + 0.01
        predictions[row.repeat, row.fold] = P / P.sum(axis=1, keepdims=True)
        row.predictions_sha256 = records.digest(predictions[row.repeat, row.fold])
    records.write_record(record, rows, predictions)
    finished.run("ldlrepro", "compare", "tiny")
    checks = audited(finished, "--unit", UNIT)
    assert {name for name, check in checks.items() if check["failed"]} == {"reruns"}
    assert "predictions up to" in wrong(checks["reruns"])


def test_a_run_that_mlflow_lacks_is_found(finished) -> None:
    finished.run("ldlrepro", "sync", "tiny")
    record = record_of(finished, UNIT)
    rows, predictions = records.read_rows(record), records.read_predictions(record)
    rows[0].fit_s += 1
    records.write_record(record, rows, predictions)
    told = wrong(audited(finished)["tracking"])
    assert told == f"tiny: {UNIT}: tracked before the record changed"


def test_a_record_cut_short_is_an_answer_and_no_crash(finished) -> None:
    record = record_of(finished, UNIT)
    record.write_bytes(record.read_bytes()[:-40])
    checks = audited(finished)
    assert UNIT in wrong(checks["records"])
    assert str(record.relative_to(finished.root)) in wrong(checks["files"])


def test_the_same_lot_draws_the_same_folds(finished) -> None:
    first = audited(finished, "--lot", "5", status=0)["reruns"]["subjects"]
    assert audited(finished, "--lot", "5", status=0)["reruns"]["subjects"] == first


def test_a_fold_that_takes_too_long_is_named_with_the_command_for_it(finished) -> None:
    checks = audited(finished, "--longest", "0", status=0)
    assert checks["reruns"]["verdict"] == "skipped"
    assert f"--unit {UNIT}" in " ".join(r["command"] for r in checks["reruns"]["skipped"])


def test_nothing_to_look_at_is_no_pass() -> None:
    assert certificate(["tiny"], [Check("data", "?")], "")["verdict"] == "fail"


def test_the_page_shows_what_is_wrong_and_runs_nothing_of_it() -> None:
    check = Check("data", "Right?")
    check.judge("<script>x</script>", "changed", "type this")
    page = audit_page(certificate(["tiny"], [check], "ldlrepro audit tiny"))
    assert "<script>" not in page
    assert "type this" in page
    assert "fail" in page

"""The audit passes what is right, and finds whatever was changed behind its back."""

from __future__ import annotations

import csv
import itertools
import json
import re
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ldlrepro import catalogue, cli
from ldlrepro.audit import Check
from ldlrepro.audit.certificate import Extent, certificate
from ldlrepro.audit.rerun import same_digits
from ldlrepro.audit.seals import NAME, PRINTED_SUMS, REFERENCE_SUMS, check_seals
from ldlrepro.core.checksums import array_sha256, sha256_of
from ldlrepro.judge.reference import ReferenceUnits
from ldlrepro.report.html import audit_page
from ldlrepro.track import sync as track
from ldlrepro.train import records
from tests.report_pages import PROJECT, paper

if TYPE_CHECKING:
    from conftest import Project

UNIT = "tiny/drawn_faces/aa_knn@grid"
NO_RERUN = ("--longest", "0.000001")
"""For what other checks find."""
EXTENT = Extent("ldlrepro audit tiny", 1, 40, {})
CELLS, ANSWER = "results/compare/tiny/cells.csv", "results/compare/tiny/answer.json"


@pytest.fixture
def finished(undisturbed: Project, tmp_path: Path) -> Project:
    """A copy of finished results, to be tampered with."""
    return undisturbed.copy(tmp_path / "project")


@pytest.fixture
def tracked(whole: Project, tmp_path: Path) -> Project:
    """A copy of a run to its end, with its runs in MLflow."""
    return whole.copy(tmp_path / "project")


def audited(project: Project, *arguments: str, status: int = 1) -> dict[str, dict]:
    project.run("ldlrepro", "audit", "tiny", "--units", "1", *arguments, status=status)
    found = json.loads((project.root / "results/audit/audit.json").read_text())
    computed = found["reruns"]["computed"] or any(check["failed"] for check in found["checks"])
    assert found["verdict"] == ("pass" if not status else "fail" if computed else "not computed")
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


def test_untouched_results_pass_and_every_check_has_looked_at_something(tracked) -> None:
    checks = audited(tracked, status=0)
    verdicts = {name: check["verdict"] for name, check in checks.items()}
    assert verdicts.pop("too good") == "skipped"  # this paper varies no fold seeds
    assert verdicts == dict.fromkeys(
        ("files", "data", "folds", "records", "tables", "tracking", "reruns"), "pass"
    )
    assert checks["records"]["passed"] == 4


def sealed(sums: Path) -> list[Path]:
    return [Path(line.partition("  ")[2]) for line in sums.read_text().splitlines()]


def one_bit_off(value: float | str, lot: np.random.Generator) -> float | str:
    if isinstance(value, str):
        damaged = bytearray(value.encode())
        damaged[lot.integers(len(damaged))] ^= 1 << int(lot.integers(7))
        return damaged.decode()
    damaged = bytearray(struct.pack("<d", value))
    damaged[lot.integers(8)] ^= 1 << int(lot.integers(8))
    (other,) = struct.unpack("<d", damaged)
    return other if np.isfinite(other) else one_bit_off(value, lot)


def change_a_file(files: list[Path], lot: np.random.Generator) -> tuple[Path, bytes]:
    path = files[lot.integers(len(files))]
    before = path.read_bytes()
    damaged = bytearray(before)
    damaged[lot.integers(len(damaged))] ^= 1 << int(lot.integers(8))
    path.write_bytes(damaged)
    return path, before


def change_a_number(store: sqlite3.Connection, lot: np.random.Generator) -> Callable[[], None]:
    """Of MLflow, what the charts show, the run table or the parameters; returns what mends it."""
    table = ("metrics", "latest_metrics", "params")[lot.integers(3)]
    rows = store.execute(f"SELECT rowid, value FROM {table}").fetchall()
    rowid, value = rows[lot.integers(len(rows))]
    text = f"UPDATE {table} SET value = ? WHERE rowid = ?"
    store.execute(text, (one_bit_off(value, lot), rowid))
    store.commit()

    def mend() -> None:
        store.execute(text, (value, rowid))
        store.commit()

    return mend


def test_each_of_fifty_changed_bytes_is_found(finished, monkeypatch) -> None:
    """Ten each of results, reference, printed numbers, the seals, MLflow's numbers."""
    finished.run("ldlrepro", "record", "tiny")
    monkeypatch.chdir(finished.root)
    seals = [Path("results/compare/tiny") / NAME, REFERENCE_SUMS, PRINTED_SUMS]
    here, reference, printed = map(sealed, seals)
    assert {path.name for path in printed} == {"cells.csv"}
    kinds = {path.parts[:2] for path in here}
    assert {("data", "ready"), ("results", "folds"), ("results", "units")} < kinds
    assert {path.suffix for path in reference} == {".csv", ".json"}
    units = list(ReferenceUnits(Path("reference"), catalogue.Project.open(finished.root)).values())
    uri = f"sqlite:///{finished.root}/mlflow.db"
    track.sync("tiny", "A tiny paper", units, uri)
    lot = np.random.default_rng(7)

    def found() -> list[str]:
        return [r.subject for r in check_seals(["tiny"], Path("results"), finished.root).failed]

    def told_wrong() -> int:
        return sum(map(bool, track.differences("tiny", units, uri).values()))

    for files in (here, reference, printed, seals):
        for _ in range(10):
            path, before = change_a_file(files, lot)
            assert found() == [str(path)] if files is not seals else found(), path
            path.write_bytes(before)
    assert found() == []
    with sqlite3.connect(uri.removeprefix("sqlite:///")) as store:
        for _ in range(10):
            mend = change_a_number(store, lot)
            assert told_wrong() == 1
            mend()
    assert told_wrong() == 0


def only_the_reference(project: Project, *edits: tuple[str, str, Callable[[str], str]]) -> None:
    """Nothing was run here; ``edits`` (method, column, change) with checksums made anew."""
    project.run("ldlrepro", "record", "tiny")
    for part in ("units", "compare"):
        shutil.rmtree(project.root / "results" / part)
    for method, column, change in edits:
        table = project.root / "reference/tiny" / f"{method}.csv"
        with table.open(newline="") as handle:
            rows = list(csv.DictReader(handle))
        for row in rows:
            row[column] = change(row[column])
        with table.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    (project.root / REFERENCE_SUMS).unlink()
    project.run("ldlrepro", "record")


def test_numbers_edited_in_the_reference_are_found_without_the_checksums(finished) -> None:
    only_the_reference(
        finished,
        ("aa_knn", "kl", lambda text: f"{float(text) / 10:.12g}"),
        ("rf", "params", lambda text: text.replace('"n_estimators": 50', '"n_estimators": 51')),
        ("sa_bfgs", "n_test", lambda text: str(int(text) + 1)),
    )
    checks = audited(finished, "--units", "4")  # a fold of each
    assert {name for name, check in checks.items() if check["failed"]} == {"reruns"}
    said = {r["subject"].partition(",")[0]: r["text"] for r in checks["reruns"]["failed"]}
    edited = {"aa_knn@grid": "kl", "rf": "params.n_estimators", "sa_bfgs": "n_test"}
    assert set(said) == {f"tiny/drawn_faces/{name}" for name in edited}
    for name, column in edited.items():
        assert said[f"tiny/drawn_faces/{name}"].startswith(f"{column} is ")
        assert ";" not in said[f"tiny/drawn_faces/{name}"]
    assert checks["reruns"]["passed"] == 1


def test_a_score_is_the_same_to_the_digits_that_the_reference_keeps() -> None:
    exact = 0.0123456789012345
    assert same_digits(float(f"{exact:.12g}"), exact)
    assert not same_digits(0.0123456789013, exact)
    on_the_edge = 0.1234567890125  # rounds up or down by its last bits
    assert same_digits(float(f"{on_the_edge * (1 + 3e-15):.12g}"), on_the_edge * (1 - 3e-15))


def test_the_reference_may_not_lack_its_checksums_nor_have_more_files(finished) -> None:
    finished.run("ldlrepro", "record", "tiny")
    (finished.root / "reference/tiny/more.csv").write_text("method\n")
    check = check_seals([], Path("results"), finished.root)
    assert [(r.subject, r.text) for r in check.failed] == [
        ("reference/tiny/more.csv", "has no checksum")
    ]
    (finished.root / REFERENCE_SUMS).unlink()
    (failed,) = check_seals([], Path("results"), finished.root).failed
    assert failed.subject == str(REFERENCE_SUMS)


def test_recording_does_not_seal_what_others_have_changed(finished) -> None:
    finished.run("ldlrepro", "record", "tiny")
    sums = (finished.root / REFERENCE_SUMS).read_bytes()
    finished.edit("reference/tiny/rf.csv", "0.", "1.")
    assert "rf.csv" in finished.run("ldlrepro", "record", "tiny", status=2)
    assert (finished.root / REFERENCE_SUMS).read_bytes() == sums


def test_numbers_edited_in_a_table_and_in_the_answer_are_found_without_the_checksums(
    finished,
) -> None:
    """Report, figures and MLflow are made from the answer."""
    table, answer = finished.root / CELLS, finished.root / ANSWER
    table.write_text(table.read_text().replace("paper", "papyrus", 1))
    text = answer.read_text()
    assert '"scores":{' in text
    answer.write_text(re.sub(r'("kl":\[)[^,]+', r"\g<1>0.001", text, count=1))
    assert answer.read_text() != text
    seal_again(finished)
    checks = audited(finished, *NO_RERUN)
    assert checks["files"]["verdict"] == "pass"
    for name in ("answer.json", "cells.csv"):
        assert f"{name}: not what the records give now" in wrong(checks["tables"])


def test_other_folds_with_new_checksums_are_found(finished) -> None:
    finished.run("ldlrepro", "folds", "tiny", "drawn_faces", "--seed", "99")
    seal_again(finished)
    assert "not the folds of the protocol" in wrong(audited(finished, *NO_RERUN)["folds"])


def test_a_record_made_by_other_settings_is_found(finished) -> None:
    finished.edit("config/methods/aa_knn.yaml", "n_neighbors: [", "n_neighbors: [1, ")
    assert f"{UNIT}: made with another setting" in wrong(audited(finished, *NO_RERUN)["records"])


def forge(project: Project, shift: float, cpu: str | None = None) -> None:
    """Move the predictions of UNIT, with all digests made anew."""
    record = record_of(project, UNIT)
    rows, predictions = records.read_rows(record), records.read_predictions(record)
    for row in rows:
        P = predictions[row.repeat, row.fold] + shift
        predictions[row.repeat, row.fold] = P / P.sum(axis=1, keepdims=True)
        row.predictions_sha256 = array_sha256(predictions[row.repeat, row.fold])
        if cpu:
            row.machine["cpu"] = cpu
    records.write_record(record, rows, predictions)
    project.run("ldlrepro", "compare", "tiny")


def test_predictions_of_another_run_are_found_by_computing_them_again(finished) -> None:
    forge(finished, 0.01)
    checks = audited(finished, "--unit", UNIT)
    assert {name for name, check in checks.items() if check["failed"]} == {"reruns"}
    assert "predictions up to" in wrong(checks["reruns"])


def test_all_folds_of_a_named_unit_are_computed_again(finished) -> None:
    """A draw of one fold would miss the only one that was altered."""
    fold = itertools.count()
    only_the_reference(finished, ("aa_knn", "kl", lambda text: "0.01" if next(fold) == 2 else text))
    checks = audited(finished, "--unit", UNIT)
    assert [*checks] == ["files", "data", "folds", "records", "reruns"]  # and of this unit alone
    reruns = checks["reruns"]
    (failed,) = reruns["failed"]
    assert failed["text"].startswith("kl is ")
    assert reruns["passed"] == next(fold) - 1


def test_bits_of_another_kind_of_processor_are_right_where_the_scores_are(finished) -> None:
    forge(finished, 1e-9, cpu="Abacus")
    reruns = audited(finished, "--unit", UNIT, status=0)["reruns"]
    notes = reruns["noted"]
    note = notes[0]
    assert reruns["passed"] == len(notes) == len(records.read_rows(record_of(finished, UNIT)))
    assert note["text"].startswith("other bits on ")
    assert note["text"].endswith(" than on Abacus")
    assert "Right, with a note" in (finished.root / "results/audit/audit.html").read_text()


def test_scores_of_another_kind_of_processor_are_held_against_ours(finished) -> None:
    forge(finished, 0.001, cpu="Abacus")
    checks = audited(finished, "--unit", UNIT)
    assert "kl is " in wrong(checks["reruns"])


def test_a_run_that_mlflow_lacks_is_found(tracked) -> None:
    record = record_of(tracked, UNIT)
    rows, predictions = records.read_rows(record), records.read_predictions(record)
    rows[0].fit_s += 1
    records.write_record(record, rows, predictions)
    told = wrong(audited(tracked, *NO_RERUN)["tracking"])
    assert told == f"tiny: {UNIT}: tracked before the record changed"


def test_a_record_cut_short_is_an_answer_and_no_crash(finished) -> None:
    record = record_of(finished, UNIT)
    record.write_bytes(record.read_bytes()[:-40])
    checks = audited(finished, "--unit", UNIT)
    assert UNIT in wrong(checks["records"])
    assert str(record.relative_to(finished.root)) in wrong(checks["files"])


def test_folds_that_are_gone_and_a_table_without_a_checksum_are_told(finished) -> None:
    (folds,) = (finished.root / "results/folds").rglob("drawn_faces.npz")
    folds.unlink()
    sums = finished.root / "results/compare/tiny" / NAME
    lines = sums.read_text().splitlines(keepends=True)
    sums.write_text("".join(line for line in lines if CELLS not in line))
    checks = audited(finished, *NO_RERUN)
    assert f"{folds.relative_to(finished.root)} is missing" in wrong(checks["records"])
    assert f"{CELLS}: has no checksum" in wrong(checks["files"])


def test_the_same_lot_draws_the_same_folds(finished) -> None:
    first = audited(finished, "--lot", "5", status=0)["reruns"]["subjects"]
    assert audited(finished, "--lot", "5", status=0)["reruns"]["subjects"] == first


def test_a_fold_that_takes_too_long_is_named_and_without_reruns_nothing_passes(finished) -> None:
    checks = audited(finished, *NO_RERUN)
    assert f"--unit {UNIT}" in " ".join(r["command"] for r in checks["reruns"]["skipped"])
    assert not any(check["failed"] for check in checks.values())
    assert json.loads((finished.root / "results/audit/audit.json").read_text())["reruns"] == {
        "asked": 1,
        "computed": 0,
        "in_scope": 20,
        "finds_one_altered_fold": 0.0,
    }


def test_the_first_line_says_how_many_of_the_folds_asked_for_were_rerun(finished) -> None:
    # On a slow machine one of the four folds takes more than the default of 30 seconds.
    arguments = ("--units", "20", "--longest", "3600")
    said = finished.run("ldlrepro", "audit", "tiny", *arguments)
    assert "\nPASS, 4 of 20 rerun" in said
    told = json.loads((finished.root / "results/audit/audit.json").read_text())
    assert told["summary"].startswith("PASS, 4 of 20 rerun")
    assert told["reruns"] == {
        "asked": 20,
        "computed": 4,
        "in_scope": 20,
        "finds_one_altered_fold": 4 / 20,
    }
    assert told["records"]["present code"] == 4
    page = (finished.root / "results/audit/audit.html").read_text()
    assert "PASS, 4 of 20 rerun" in page
    assert f"files with results/compare/tiny/{NAME}" in page


def test_an_unknown_unit_is_refused_before_any_check(finished) -> None:
    said = finished.run("ldlrepro", "audit", "tiny", "--unit", "tiny/drawn_faces", status=2)
    assert "unknown measured unit 'tiny/drawn_faces'" in said
    assert "files:" not in said


def test_a_limit_under_which_no_fold_is_drawn_is_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        cli.main(["audit", "--longest", "nan"])
    assert "is no time; write 90s" in capsys.readouterr().err


def test_nothing_to_look_at_is_no_pass() -> None:
    looked, nothing = Check("data", "?", passed=["a"]), Check("reruns", "?")
    assert certificate(PROJECT, [paper("tiny")], [looked, nothing], EXTENT)["verdict"] != "pass"


def test_the_page_shows_what_is_wrong_and_runs_nothing_of_it() -> None:
    check = Check("data", "Right?")
    check.judge("<script>x</script>", "changed", "type this")
    page = audit_page(certificate(PROJECT, [paper("tiny")], [check], EXTENT))
    assert "<script>" not in page
    assert "type this" in page
    assert "fail" in page

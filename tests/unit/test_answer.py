"""One answer per paper: what is written is what is read, and an old answer is never taken."""

from __future__ import annotations

import math
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ldlrepro.catalogue import Paper
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge import judging
from ldlrepro.judge.answer import (
    Curve,
    CurvePoint,
    PaperAnswer,
    Photographs,
    Trouble,
    read_answer,
    write_answer,
)
from ldlrepro.judge.claims import ClaimRow
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.persons import Line, PersonsApart
from ldlrepro.judge.scores import REFERENCE
from ldlrepro.train.records import FAILED
from ldlrepro.train.unit import run_unit
from tests.report_pages import answer, cell, fold, measurement, unit

HERE = Workspace()
MINE = Path("results/answers/tiny.json")
KEY = "tiny/toy/near"
HEADER = "paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note\n"
PUBLISHED = HEADER + "tiny,1,toy,,Near,kl,0.5,,lower,,\ntiny,1,toy,,Mean,kl,0.5,0.1,lower,,\n"


def whole_answer() -> PaperAnswer:
    """Something of everything that an answer can hold."""
    wild = {"loss": math.nan, "steps": [1, 2.0, -math.inf, None, "Sørensen ≤ 1"], "went": True}
    failed = fold(1, status=FAILED, error="Traceback\nValueError: no", diagnostics=wild)
    record = Path("results/units/cv/toy/rf/folds_0-1.parquet")
    return answer(
        rows=[cell(), cell("not run", reason="needs licensed images")],
        units=[
            unit(rows=[fold(0), failed], scores={"kl": [0.1 + 0.2, math.nan]}, files=[record]),
            unit("rf@n_estimators=9", source=REFERENCE),
        ],
        claims=[
            ClaimRow("demo", "a", "RF first", "holds partly", "3 of 3", "2 of 3", "against it: toy")
        ],
        curves=[
            Curve("5", "depth", "kl", "max_depth", "share", [CurvePoint(0.2, 2, [1 / 3])], 10),
            Curve("6", "size", "kl", "trees", "", [CurvePoint(None, "sqrt", [])], 10),
        ],
        experiments={"times": measurement()},
        persons=[PersonsApart("cv", "toy", [Line("rf", 0.1, 0.2, None, 1, 2)], {"kl": 1 / 3})],
        photographs=[Photographs("faces", 9, 2, [("broken", 3, "unread")], Path("data/a.csv"))],
        leaks=[("cv", "toy", "two rows have a twin")],
        troubles=[Trouble("cv/toy/rf", FAILED, ["ValueError: no"], 2, [record])],
        own_files=["method mine"],
    )


@pytest.fixture
def measured(ready):
    """The tiny paper with printed numbers and both units computed."""
    ready.write("papers/tiny/cells.csv", PUBLISHED)
    for method in ("near", "train_mean"):
        run_unit(ready.job(method))
    return ready


# ---------------------------------------------------------------------- the file


def test_an_answer_reads_back_as_it_was_written_missing_numbers_too(tmp_path):
    path = tmp_path / "answer.json"
    write_answer(whole_answer(), path)
    again = read_answer(path)
    assert repr(again) == repr(whole_answer()), "as text, for NaN equals nothing"
    assert math.isnan(again.units[0].scores["kl"][1])
    assert again.curves[0].values == {(0.2, 2): [1 / 3]}


@pytest.mark.parametrize("text", ["", '[{"paper": "tiny"', '[{"paper": 3}]', "{}"])
def test_a_damaged_answer_is_named_with_the_command_that_removes_it(tmp_path, text):
    path = tmp_path / "answer.json"
    path.write_text(text)
    with pytest.raises(UserError, match="not an answer") as caught:
        read_answer(path)
    assert str(caught.value).endswith(f"\n  rm {path}")


# ---------------------------------------------------------------------- the answer of now


@pytest.fixture
def judged(monkeypatch) -> list[str]:
    """The papers that have been judged so far."""
    papers: list[str] = []
    original = Judge.anew

    def judge(self: Judge, paper: Paper) -> PaperAnswer:
        papers.append(paper.id)
        return original(self, paper)

    monkeypatch.setattr(Judge, "anew", judge)
    return papers


def anew(checkout) -> PaperAnswer:
    judge = checkout.judge
    return judge.anew(judge.project.paper("tiny"))


def now(checkout) -> PaperAnswer:
    judge = checkout.judge
    return judge.answer(judge.project.paper("tiny"))


def remove_a_record(checkout) -> None:
    checkout.job().record.unlink()


def print_another_number(checkout) -> None:
    checkout.edit("papers/tiny/cells.csv", "0.5,,lower", "0.6,,lower")


def add_a_reference(checkout) -> None:
    from ldlrepro import cli

    assert cli.main(["record", "tiny"]) == 0


CHANGES = [remove_a_record, print_another_number, add_a_reference]


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_or_goes_is_judged_again(measured, judged, change):
    before = now(measured)
    change(measured)
    after = now(measured)
    assert judged == ["tiny"] * 2
    assert after == anew(measured)
    assert (after != before) or change is add_a_reference


@pytest.mark.parametrize("gone", ["tiny/near.csv", "."])
def test_a_reference_that_goes_is_judged_again(measured, judged, gone):
    add_a_reference(measured)
    shutil.rmtree("results/units")
    assert now(measured).unit(KEY).source == REFERENCE
    place = measured.root / "reference" / gone
    place.unlink() if place.is_file() else shutil.rmtree(place)
    assert now(measured).unit(KEY) is None
    assert judged == ["tiny"] * 2


def test_a_record_that_comes_while_others_are_judged_is_seen_the_next_time(measured, monkeypatch):
    original = Judge.anew

    def slow(self: Judge, paper: Paper) -> PaperAnswer:
        found = original(self, paper)
        remove_a_record(measured)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Judge, "anew", slow)
        assert now(measured).unit(KEY) is not None
    assert now(measured).unit(KEY) is None


def test_compiled_code_beside_a_source_makes_no_answer_old_and_another_source_does(
    measured, judged, monkeypatch, tmp_path
):
    code = tmp_path / "src" / "ldl"
    code.mkdir(parents=True)
    (code / "knn.py").write_text("")
    monkeypatch.setattr(judging, "CODE", code.parent)
    now(measured)
    (code / "__pycache__").mkdir()
    (code / "__pycache__" / "knn.nbc").write_bytes(b"compiled")
    later = time.time() + 100
    for path in (code / "__pycache__" / "knn.nbc", code / "__pycache__", code):
        os.utime(path, (later, later))
    now(measured)
    assert judged == ["tiny"]
    os.utime(code / "knn.py", (later, later))
    now(measured)
    assert judged == ["tiny"] * 2


# ---------------------------------------------------------------------- the workflow's answer


def files_of_the_workflow() -> dict[Path, tuple[bytes, int]]:
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in Path("results").rglob("*")
        if path.is_file() and path.parent.name != "answers"
    }


def test_an_answer_of_the_workflow_that_is_of_now_is_read(measured, judged):
    written = replace(anew(measured), leaks=[("tiny", "toy", "told by the workflow")])
    write_answer(written, HERE.answer("tiny"))
    judged.clear()
    assert now(measured) == written
    assert judged == []
    assert not MINE.exists()


def test_where_neither_results_nor_the_checkout_are_nothing_is_written(measured, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    judge = Judge(measured.plan, Workspace(elsewhere / "results", elsewhere / "data"))
    assert judge.answer(judge.project.paper("tiny")).rows
    assert not list(elsewhere.iterdir())


def test_an_old_answer_of_the_workflow_is_left_as_it_is_and_another_is_kept(measured, judged):
    from ldlrepro import cli

    assert cli.main(["compare", "tiny"]) == 0
    remove_a_record(measured)
    before = files_of_the_workflow()
    judged.clear()
    assert now(measured).unit(KEY) is None
    assert judged == ["tiny"]
    assert files_of_the_workflow() == before
    assert MINE.is_file()
    assert read_answer(HERE.answer("tiny")).unit(KEY) is not None


def test_jobs_of_the_workflow_read_its_answer_and_people_get_that_of_now(measured, capsys):
    from ldlrepro import cli

    assert cli.main(["compare", "tiny"]) == 0
    assert capsys.readouterr().err.endswith("\nWhat holds: ldlrepro verdicts tiny\n")
    remove_a_record(measured)
    for given, units in ((["--of-workflow"], 2), ([], 1)):
        capsys.readouterr()
        assert cli.main(["tidy", "tiny", *given]) == 0
        assert f"tiny: saved folds of {units} units deleted" in capsys.readouterr().err

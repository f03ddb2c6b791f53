"""The gate at the end of a workflow: what was left out, what failed, and whether that is an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.judge.answer import PaperAnswer, Trouble
from ldlrepro.judge.gate import pass_gate
from ldlrepro.judge.scores import REFERENCE
from ldlrepro.train.records import FAILED
from tests.report_pages import answer, unit

KEY = "cv/toy/rf"
RECORD = Path("results/units/cv/toy/rf/folds_0-1.parquet")
NEXT = "What holds: ldlrepro verdicts demo"
BROKEN = Trouble(KEY, FAILED, ["Traceback\nValueError: no", "again"], 5, [RECORD])


def passed(tmp_path: Path, *answers: PaperAnswer, page: bool = False) -> tuple[bool, str]:
    told: list[str] = []
    place = tmp_path / "all.html"
    if page:
        place.touch()
    good = pass_gate(answers, place, told.append)
    return good, "\n".join(told)


def test_where_nothing_failed_it_lets_pass_and_names_the_report(tmp_path):
    done = answer(units=[unit()])
    assert passed(tmp_path, done) == (
        True,
        f"no report yet; `snakemake --cores all demo` makes it\n{NEXT}",
    )
    page = tmp_path / "all.html"
    assert passed(tmp_path, done, page=True) == (True, f"report: {page}\n{NEXT}")


def test_where_nothing_has_run_it_says_what_to_type(tmp_path):
    papers = [answer("one", units=[unit(source=REFERENCE)]), answer("two")]
    with pytest.raises(UserError, match=r"nothing of one, two has run here.*all one two`"):
        passed(tmp_path, *papers)
    assert passed(tmp_path, *papers, page=True)[0]


def test_a_failed_unit_is_told_once_with_its_last_words_and_its_records(tmp_path):
    papers = [answer(name, troubles=[BROKEN]) for name in ("one", "two")]
    good, told = passed(tmp_path, *papers)
    assert not good
    assert told.count("FAILED cv/toy/rf: 2 of 5 folds: ValueError: no") == 1
    assert told.count(f"  rm {RECORD}\n") == 1

"""The gate at the end of a workflow: what was left out, what failed, and whether that is an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.judge.answer import PaperAnswer
from ldlrepro.judge.gate import pass_gate
from ldlrepro.judge.scores import REFERENCE
from tests.report_pages import answer, unit


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
        "no report yet; `snakemake --cores all demo` makes it",
    )
    assert passed(tmp_path, done, page=True) == (True, f"report: {tmp_path / 'all.html'}")


def test_where_nothing_has_run_it_says_what_to_type(tmp_path):
    papers = [answer("one", units=[unit(source=REFERENCE)]), answer("two")]
    with pytest.raises(UserError, match=r"nothing of one, two has run here.*all one two`"):
        passed(tmp_path, *papers)
    assert passed(tmp_path, *papers, page=True)[0]

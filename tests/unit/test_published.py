"""The printed numbers: all there, and nothing is wrong with the files of a paper."""

from __future__ import annotations

import pytest

from ldlrepro.doctor.lines import BAD
from ldlrepro.doctor.papers import check_paper
from tests.unit.judged import PLAN, PROJECT, verdicts

PAPERS = PROJECT.real_papers()


def test_there_are_4415_printed_numbers():
    counts = {paper.id: len(PLAN.cells(paper)) for paper in PAPERS}
    assert sum(counts.values()) == 4415
    five = {"structrf": 494, "ldlf": 119, "ldldf": 1233, "mslp": 390, "drf": 109}
    assert counts == {**five, "df_ldl": 884, "ldl4c": 358, "ldl_hr": 288, "ssg_ldl": 540}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.id)
def test_nothing_is_wrong_with_a_paper_and_every_name_in_it_is_printed(paper):
    """By `ldlrepro check`: cells, claims, numbers that cannot be, misprints that nothing shows."""
    findings = list(check_paper(PLAN, paper))
    assert [finding.found for finding in findings if finding.state == BAD] == []
    assert [finding.found for finding in findings if "nobody can verify" in finding.found] == []
    rows = PLAN.published(paper)
    for column, named in (("method", paper.methods), ("table", paper.tables)):
        assert {row[column] for row in rows} == set(named)


def test_the_demos_printed_numbers_are_the_maintainers_records():
    from ldlrepro.judge.reference import ReferenceUnits

    reference = ReferenceUnits(PROJECT.root / "reference", PROJECT)
    rows = verdicts("demo", reference=reference)
    assert len(rows) == 48
    for row in rows:
        assert row.measured is not None
        assert row.printed == f"{row.measured:.4f}", row.cell

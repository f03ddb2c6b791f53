"""The numbers on the page of findings are those of the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.answer import PaperAnswer
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.verdicts import EXACT, JUDGED, MET, MISPRINT, WORSE, VerdictRow
from ldlrepro.plan import Plan
from tests.report_pages import PROJECT

PAGE = Path(__file__).resolve().parents[2] / "docs" / "findings.md"


@pytest.fixture
def answers(fresh_clone, monkeypatch) -> dict[str, PaperAnswer]:
    monkeypatch.chdir(fresh_clone)
    papers = PROJECT.real_papers()
    return {a.paper: a for a in Judge(Plan(PROJECT), Workspace()).answers(papers)}


def count(rows: list[VerdictRow], *verdicts: str, **where: str) -> int:
    """The rows of some verdicts whose fields have these values."""
    return sum(
        row.verdict in verdicts and all(getattr(row, k) == v for k, v in where.items())
        for row in rows
    )


def test_its_counts_are_those_of_the_records(answers):
    rows = {paper: answer.rows for paper, answer in answers.items()}
    claims = {claim.id: claim for answer in answers.values() for claim in answer.claims}
    printed = {row.method_id.partition("@")[0] for row in rows["structrf"]}
    lost = {
        one.dataset: [
            round(100 * line.lost)
            for line in one.lines
            if line.lost is not None and line.method in printed
        ]
        for one in answers["structrf"].persons
        if one.protocol == "structrf_persons"
    }
    structrf = [row for row in rows["structrf"] if row.method == "StructRF"]
    by_forest = [row for row in structrf if row.yardsticks.get("an ordinary forest") in MET]
    with_bfgs = [row for row in rows["ssg_ldl"] if row.method == "SSG-LDL+BFGS"]
    first, better = claims["mslp-first"], claims["ldl4c-first-01"]
    hr = [row for row in rows["ldl_hr"] if row.method == "LDL-HR"]
    slips = sum(count(found, MISPRINT) for found in rows.values())
    said = " ".join(PAGE.read_text(encoding="utf-8").split())
    for phrase in (
        f"{count(structrf, *MET)} of StructRF's {count(structrf, *JUDGED)} judged numbers are "
        f"met, {count(by_forest, *MET)} of them by the forest too",
        f"best of thirteen methods in {first.printed.partition(' of ')[0]} of 30 printed cells, "
        f"and in {first.measured.partition(' of ')[0]} of ours",
        f"k-NN is exact in {count(rows['ssg_ldl'], EXACT, method='k-NN')} of "
        f"{count(rows['ssg_ldl'], *JUDGED, method='k-NN')} cells",
        f"plain BFGS meets all {count(with_bfgs, *MET)} met numbers of SSG-LDL with BFGS",
        f"Of {count(hr, *JUDGED)} judged numbers of LDL-HR itself {count(hr, *MET)} are met and "
        f"{count(hr, WORSE)} are worse",
        f"lowest 0/1 loss on {better.measured} data sets, where the paper prints "
        f"{better.printed.partition(' of ')[0]}",
        f"{min(lost['sjaffe'])} to {max(lost['sjaffe'])}% on s-JAFFE, and "
        f"{min(lost['sbu_3dfe'])} to {max(lost['sbu_3dfe'])}% on s-BU_3DFE",
        f"Of {count(rows['mslp'], *JUDGED, dataset='scut_fbp')} numbers of the MSLP paper on it "
        f"{count(rows['mslp'], *MET, dataset='scut_fbp')} are met",
        f"`ldlrepro verdicts --show misprint` lists {slips} with proofs",
    ):
        assert phrase in said, phrase
    assert not any(row.holds for row in with_bfgs)

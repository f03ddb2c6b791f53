"""Reasons for missed numbers: each selects what it says, and its evidence exists."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from ldlrepro.cli import openings, parser
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.bands import SeedNoise, bands_of
from ldlrepro.judge.cells import _Cells
from ldlrepro.judge.experiment_cells import MeasuredBy
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.misses import idle, in_sentences, unexplained
from ldlrepro.judge.scores import Sources
from ldlrepro.judge.verdicts import MET
from ldlrepro.plan import Unit
from tests.unit.judged import PLAN, PROJECT, verdicts
from tests.unit.test_cells import HEADER, by_key, scored

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "papers").glob("*/misses.yaml"))
ENTRIES = [
    pytest.param(path.parent.name, entry, id=f"{path.parent.name}-{number}")
    for path in FILES
    for number, entry in enumerate(yaml.safe_load(path.read_text())["misses"])
]

MISSES = """
misses:
  - {metrics: [cosine], kind: unknown, reason: never, evidence: nothing}
  - {metrics: [kl], kind: run, reason: other folds, evidence: "tiny/{dataset}/near"}
  - {kind: argument, reason: anything else, evidence: tiny/toy/near}
"""


def judged(tiny, *values: float):
    """Verdicts of cells that print .500 of KL, Clark and Canberra."""
    metrics = ("kl", "clark", "canberra")
    lines = "".join(f"tiny,1,toy,,Near,{metric},0.500,,lower,,\n" for metric in metrics)
    tiny.write("papers/tiny/cells.csv", HEADER + lines)
    means = dict(zip(metrics, values, strict=True))
    units = by_key(scored({m: [v] * 4 for m, v in means.items()}))
    return verdicts("tiny", units, plan=tiny.plan)


def test_a_missed_cell_gets_the_first_reason_that_speaks_of_it(tiny):
    tiny.write("papers/tiny/misses.yaml", MISSES)
    rows = judged(tiny, 0.9, 0.1, 0.5)
    assert [row.verdict for row in rows] == ["worse", "better", "exact"]
    assert rows[0].reason == "a run meets it: other folds; tiny/toy/near"
    assert rows[1].reason == "argument: anything else; tiny/toy/near"
    assert rows[2].reason == ""
    assert unexplained(rows) == []


def test_a_reason_that_is_not_known_explains_nothing(tiny):
    tiny.write("papers/tiny/misses.yaml", MISSES.replace("cosine", "clark"))
    rows = judged(tiny, 0.9, 0.1, 0.5)
    assert unexplained(rows) == [rows[1]]
    said = openings.of_unexplained([rows[1]], len(rows))
    assert said.startswith("Of 3 printed numbers, none misses without an entry in misses.yaml.")
    assert "For 1 no reason is known" in said


def test_a_reason_for_what_was_met_is_idle(tiny):
    tiny.write("papers/tiny/misses.yaml", MISSES)
    rows = judged(tiny, 0.9, 0.5, 0.5)
    assert idle(rows, tiny.project.paper("tiny")) == ["never"]


def test_a_reason_for_an_unknown_method_is_refused(tiny):
    tiny.write(
        "papers/tiny/misses.yaml", MISSES.replace("{metrics: [cosine],", "{methods: [Nera],")
    )
    with pytest.raises(UserError, match=r"tiny/misses\.yaml: misses\.0\.methods: 'Nera'.*Near"):
        _ = tiny.project.paper("tiny").misses


@cache
def planned() -> set[Unit]:
    return {unit for paper in PROJECT.papers for unit in PLAN.units(paper)}


@cache
def cells_of(paper: str) -> set[str]:
    return {row.cell for row in verdicts(paper)}


@pytest.mark.parametrize(("paper", "entry"), ENTRIES)
def test_the_evidence_exists(paper: str, entry: dict[str, str]) -> None:
    evidence = entry["evidence"]
    if evidence.startswith("ldlrepro "):
        args = parser.parse(shlex.split(evidence)[1:])
        if "cell" in args:
            assert args.cell in cells_of(paper)
    elif evidence.startswith(("docs/", "papers/")):
        path, _, anchor = evidence.partition("#")
        titles = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE)
        known = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert anchor in known
    elif evidence.startswith("experiment "):
        home, _, name = evidence.removeprefix("experiment ").partition("/")
        assert name in PROJECT.paper(home).experiments
    else:
        found = [evidence.replace("{dataset}", name) for name in entry.get("datasets", [""])]
        assert {PLAN.unit_of(unit) for unit in found} <= planned()


@pytest.mark.slow
def test_a_run_that_is_named_as_a_reason_meets_the_number(fresh_clone):
    judge = Judge(PLAN, Workspace(fresh_clone / "results", fresh_clone / "data"))
    wrong, seen = [], 0
    for paper in PROJECT.real_papers():
        answer = judge.answer(paper)
        noise = SeedNoise(bands_of(answer.units, PROJECT), judge.reference_bands)
        sources = Sources({}, judge.reference)
        cells = _Cells(PLAN, paper, sources, noise, MeasuredBy(PLAN, paper, sources, {}))
        for cell, row in zip(PLAN.cells(paper), answer.rows, strict=True):
            where = in_sentences(row.reason)[1] if row.reason_kind == "run" else ""
            if where and not where.startswith("experiment "):
                found = cells._under(replace(cell, unit=PLAN.unit_of(where)))
                wrong += [row.cell] * (found.verdict not in MET)
                seen += 1
    assert (wrong, seen > 80) == ([], True)

"""The same experiment in several papers: what is found, and how far apart."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ldlrepro import cli
from ldlrepro.judge.contradictions import contradictions
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.conclusions import of_contradictions
from tests.report_pages import cell

ROW = cell("not run", paper="one", printed="0.0100", method_id="aa_knn", protocol="one")


def other(**changes) -> VerdictRow:
    return replace(ROW, paper="two", protocol="two", **changes)


def test_a_planted_contradiction_surfaces_before_all_others():
    planted = other(printed="0.2135", method="k-NN", method_id="aa_knn@k5")
    near = [replace(ROW, metric="clark"), other(metric="clark", printed="0.0110")]
    first, second = contradictions([*near, ROW, planted])
    assert [row.printed for row in first.rows] == ["0.0100", "0.2135"]
    assert first.times == pytest.approx(21.35)
    assert second.times == pytest.approx(1.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "sjaffe"},
        {"metric": "clark"},
        {"method_id": "sa_bfgs"},
        {"setting": "with reuse"},
    ],
    ids=str,
)
def test_what_is_another_experiment_is_no_contradiction(changes):
    assert contradictions([ROW, other(**changes)]) == []


def test_a_paper_that_prints_a_number_twice_counts_once():
    assert contradictions([ROW, replace(ROW, table="2")]) == []
    (one,) = contradictions([ROW, replace(ROW, table="2", printed="0.9"), other()])
    assert len(one.rows) == 2


def test_a_misprint_is_named_and_contradicts_nothing():
    misprint = replace(ROW, printed="0.9", verdict="misprint")
    (one,) = contradictions([misprint, other()])
    assert f"printed {misprint.printed} by {misprint.paper}" in of_contradictions([one])
    assert (one.misprints, one.times) == (["one"], 1.0)
    third = replace(ROW, paper="three", printed="0.0200")
    (one,) = contradictions([misprint, other(), third])
    assert one.times == pytest.approx(2.0)


def test_a_number_that_papers_copy_is_one_number():
    copied = replace(ROW, paper="three")
    (one,) = contradictions([ROW, other(printed="0.0200"), copied])
    assert one.numbers == {"0.0100": [ROW, copied], "0.0200": [other(printed="0.0200")]}


def test_the_verb_lists_those_of_the_papers(checkout, capsys):
    assert cli.main(["contradictions", "structrf", "mslp", "--dataset", "sjaffe", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (kl,) = [line for line in found if (line["method"], line["measure"]) == ("sa_bfgs", "kl")]
    assert kl["printed"] == {"mslp": "0.0674", "structrf": "0.0861"}
    assert {line["data set"] for line in found} == {"sjaffe"}
    assert cli.main(["contradictions", "mslp", "--dataset", "sjaffe", "--json"]) == 0
    against_all = json.loads(capsys.readouterr().out)
    assert all("mslp" in line["printed"] for line in against_all)
    assert {"ldldf", "structrf"} <= {paper for line in against_all for paper in line["printed"]}

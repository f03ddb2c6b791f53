"""Papers of a user's own: found, checked line by line, counted apart; templates to begin from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldlrepro import experiments
from ldlrepro.catalogue import from_environment
from ldlrepro.catalogue.digests import stage_digest
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.plan import Plan
from ldlrepro.workflow.rules import Rules

PAPER = """
title: Mine
authors: me
venue: here
year: 2026
protocols:
  mine: {scheme: kfold, folds: 4, validation: next_fold, text: four}
datasets: [toy]
own: [One]
methods:
  One: aa_knn
  Two: {method: train_mean, by_setting: {late: uniform}}
  Three: {note: nobody has it}
tables:
  "1": {title: first}
  "2": {title: second, settings: {early: {}, late: {}}}
"""

CELLS = """table,dataset,setting,method,metric,mean,std,rank,note
1,toy,,One,kl,0.0110,0.0030,1,
1,toy,,One,chebyshev,0.0500,,1,
1,toy,,One,intersection,0.9500,,1,
1,toy,,Two,kl,.1210,0.0100,2,
1,toy,,Three,kl,,,,printed as a dash
2,toy,early,Two,kl,0.1210,,,
2,toy,late,Two,kl,0.1300,,,
"""


@pytest.fixture
def folder(tiny, tmp_path, monkeypatch):
    """A folder outside the checkout, with a paper in it."""
    place = tmp_path / "elsewhere" / "mine"
    place.mkdir(parents=True)
    (place / "paper.yaml").write_text(PAPER)
    (place / "cells.csv").write_text(CELLS)
    monkeypatch.setenv(OWN_FILES, str(place.parent))
    return place


def now() -> Plan:
    """The plan of the files as they are now."""
    return Plan(from_environment())


# ---------------------------------------------------------------------- found


def test_a_paper_is_found_by_its_folder_its_parent_or_its_file(folder, monkeypatch):
    for named in (folder, folder.parent, folder / "paper.yaml"):
        monkeypatch.setenv(OWN_FILES, str(named))
        plan = now()
        assert plan.project.own_ids("paper") == ["mine"]
        assert len(plan.cells(plan.project.paper("mine"))) == 6
        told = Rules(plan, plan.project.run).environment()
        assert told[OWN_FILES] == str(named)  # for jobs


def test_what_lies_beside_it_runs_in_it_alone(folder):
    plan = now()
    before = set(plan.units(plan.project.paper("structrf")))
    (folder / "beside.yaml").write_text(
        "title: b\nclass: ldl.AAKNN\nparameters: {n_neighbors: 3}\n"
    )
    paper = folder / "paper.yaml"
    paper.write_text(PAPER.replace("One: aa_knn", "One: beside"))
    plan = now()
    assert plan.project.own_ids("method") == ["beside"]
    assert plan.cells(plan.project.paper("mine"))[0].unit == plan.unit("mine", "toy", "beside")
    assert set(plan.units(plan.project.paper("structrf"))) == before


MEASUREMENT = """
from ldlrepro.experiments import Outcome

from .beside import TWICE

def measure(inputs, size):
    return Outcome(facts={"rows": TWICE * len(inputs.load("toy").D), "size": size})
"""


def test_its_measurements_lie_beside_it(folder, ready, ask):
    """Also where another paper has a module of the same name."""
    text = f"{PAPER}experiments:\n  mine: {{title: t, code: times, datasets: [toy]}}\n"
    (folder / "paper.yaml").write_text(text.replace("[toy]}", "[toy], parameters: {size: 3}}"))
    (folder / "times.py").write_text(MEASUREMENT)
    (folder / "beside.py").write_text("TWICE = 2\n")
    assert ask("experiment", "mine", "mine")[0] == 0
    project = from_environment()
    mine, structrf = project.paper("mine"), project.paper("structrf")
    found = experiments.read(mine, "mine", Path("results"))
    assert found.facts == {"rows": 120, "size": 3}
    assert experiments.drawings(mine, found) == {}
    code = experiments.module_name(mine, "times")
    assert found.provenance.code_sha256 == stage_digest(code)
    assert stage_digest(code) != stage_digest(experiments.module_name(structrf, "times"))


def test_one_broken_file_in_a_folder_is_a_warning_and_stops_nothing(folder, tiny, capsys):
    other = folder.parent / "broken"
    other.mkdir()
    (other / "paper.yaml").write_text(PAPER.replace("title: Mine", "titel: Mine"))
    worse = folder.parent / "worse"
    worse.mkdir()
    (worse / "paper.yaml").write_text("protocols: [")
    (folder / "half.yaml").write_text("class: [")
    project = now().project
    assert project.own_ids("paper") == ["mine"]
    assert project.own_ids("method") == []
    project.real_papers()
    warned = capsys.readouterr().err
    for name in ("broken/paper.yaml", "worse/paper.yaml", "half.yaml"):
        assert warned.count(f"warning: left out: {folder.parent}") == 3
        assert name in warned
    assert "Did you mean 'title'?" in warned


# ---------------------------------------------------------------------- mistakes in cells.csv

ONE = "1,toy,,One,kl,0.0110,0.0030,1,"
MISTAKES = [
    # old, new, and what the one line must hold
    (ONE, "9,toy,,One,kl,0.0110,0.0030,1,", ["line 2", "table: '9'", "paper.yaml"]),
    (ONE, "1,toy,,Oen,kl,0.0110,0.0030,1,", ["line 2", "method: 'Oen'", "'One'?"]),
    ("toy,early,", "toy,erly,", ["line 7", "setting: 'erly'", "'early'?"]),
    (ONE, "1,toy,,One,KL,0.0110,0.0030,1,", ["line 2", "metric: 'KL'", "'kl'?"]),
    (ONE, "1,toy,,One,kl,0.3O,0.0030,1,", ["mean: '0.3O'", "Did you mean 0.30?"]),
    (ONE, '1,toy,,One,kl,"0,0110",0.0030,1,', ["mean: '0,0110'", "Write 0.0110."]),
    (ONE, "1,toy,,One,kl,1.1%,0.0030,1,", ["mean: '1.1%'", "per cent"]),
    (ONE, "1,toy,,One,kl,0.0110±0.0030,,1,", ["0.0110 as mean", "0.0030 as std"]),
    (ONE, "1,toy,,One,kl,0.0110,0.0030,first,", ["rank: 'first'"]),
    (ONE, f"{ONE}\n{ONE}", ["line 3: the same cell as line 2"]),
    (ONE, "1,toy,,One,kl,0.0110,0.0030", ["line 2: 7 fields", "9 columns"]),
    ("metric,mean", "measure,mean", ["line 1: there is no column 'metric'"]),
    (CELLS, CELLS.replace(",", ";"), ["line 1: columns are separated by semicolons"]),
]


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES, ids=[m[1][:32] for m in MISTAKES])
def test_a_mistake_in_the_printed_numbers_is_one_clear_line(folder, refused, old, new, words):
    assert old in CELLS
    (folder / "cells.csv").write_text(CELLS.replace(old, new, 1))
    err = refused("check", folder / "paper.yaml")
    (line,) = [line for line in err.splitlines() if "cells.csv: " in line][:1]
    for word in words:
        assert word in line


# ---------------------------------------------------------------------- numbers that cannot be


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kl,0.0110", "kl,-0.0110", ["Table 1, toy, One: kl -0.0110", "0 or more"]),
        ("intersection,0.9500", "intersection,0.9900", ["chebyshev needs a misplaced mass"]),
        ("kl,0.0110,0.0030", "kl,0.0010,0.0003", ["intersection 0.9500", "kl allows 0.02"]),
        (
            "late: uniform",
            "late: unifrom",
            ["methods.Two: there is no method 'unifrom'", "'uniform'?"],
        ),
    ],
)
def test_what_cannot_be_is_found(folder, ask, old, new, words):
    for file, text in (("cells.csv", CELLS), ("paper.yaml", PAPER)):
        (folder / file).write_text(text.replace(old, new, 1))
    status, out, _ = ask("check", folder / "paper.yaml")
    assert status == 1
    (line,) = [line for line in out.splitlines() if "  BAD  " in line]
    for word in words:
        assert word in line


LISTED = "kind: misprint, datasets: [toy], methods: [One], metrics: [chebyshev]"


@pytest.mark.parametrize(
    ("listed", "state", "words"),
    [
        (
            f"{LISTED}, tables: ['2'], proof: odd",
            "BAD",
            "Table 2, toy, One, chebyshev, but no",
        ),
        (
            f"{LISTED}, tables: ['1'], proof: I do not like it",
            "note",
            "no number beside Table 1, toy, One, chebyshev shows that it is a misprint, so nobody "
            "can verify it: I do not like it",
        ),
    ],
)
def test_the_ground_of_a_misprint_is_looked_for(folder, ask, listed, state, words):
    (folder / "paper.yaml").write_text(f"{PAPER}remarks: [{{{listed}}}]\n")
    _, out, _ = ask("check", folder / "paper.yaml")
    (line,) = [line for line in out.splitlines() if "remarks: " in line]
    assert f"  {state}  " in line
    assert words in line


CLAIMS = """claims:
  - {id: first, text: One wins, test: {kind: best, methods: [One, Tow], tables: ["3"]}}
  - id: second
    text: it costs
    test:
      kind: checks
      checks: [{dataset: toy, metric: kl, to: [mine, aa_kn], at_most: 1}]
"""


def test_names_in_claims_exist(folder, ask):
    (folder / "claims.yaml").write_text(CLAIMS)
    status, out, _ = ask("check", folder / "paper.yaml")
    found = [line.partition("  BAD  ")[2] for line in out.splitlines() if "  BAD  " in line]
    assert found == [
        "claims.yaml: first: methods: 'Tow' does not exist. Did you mean 'Two'?",
        "claims.yaml: first: tables: '3' does not exist.",
        "claims.yaml: second: checks: 'aa_kn' does not exist. Did you mean 'aa_knn'?",
    ]
    assert status == 1
    names = (("Tow", "Two"), ('"3"', '"1"'), ("aa_kn]", "aa_knn]"))
    text = CLAIMS
    for wrong, right in names:
        text = text.replace(wrong, right)
    (folder / "claims.yaml").write_text(text)
    assert ask("check", folder / "paper.yaml")[0] == 0


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("aa_knn@n_neighbours=3", "no parameter 'n_neighbours'. Did you mean 'n_neighbors'?"),
        ("aa_knn@n_neighbors=46", "n_neighbors is 46, but mine on toy trains on 45"),
    ],
)
def test_parameters_behind_an_at_exist_and_fit_the_rows(folder, ask, method, words):
    (folder / "paper.yaml").write_text(PAPER.replace("One: aa_knn", f"One: {method}"))
    status, out, _ = ask("check", folder / "paper.yaml")
    (line,) = [line for line in out.splitlines() if "  BAD  " in line]
    assert words in line
    assert status == 1
    (folder / "paper.yaml").write_text(PAPER.replace("One: aa_knn", "One: aa_knn@n_neighbors=45"))
    assert ask("check", folder / "paper.yaml")[0] == 0


def test_a_key_that_stands_twice_is_refused_with_its_lines(folder, ask, refused):
    (folder / "paper.yaml").write_text(PAPER.replace("own: [One]", "own: [One]\nyear: 2025"))
    err = refused("check", folder / "paper.yaml")
    assert "line 10: the key 'year' stands in line 5 already" in err
    same = PAPER.replace("  One: aa_knn\n", "  One: aa_knn\n  One: uniform\n")
    (folder / "paper.yaml").write_text(same)
    assert "the key 'One'" in ask("check", folder / "paper.yaml")[2]


# ---------------------------------------------------------------------- templates


@pytest.mark.parametrize("kind", ["paper", "method", "dataset", "measure"])
def test_a_template_passes_its_check_as_it_is(tiny, tmp_path, ask, kind):
    status, out, _ = ask("new", kind, f"my_{kind}", "--folder", tmp_path)
    assert status == 0
    command = out.splitlines()[-1].split()
    assert command[:2] == ["ldlrepro", "check"]
    status, out, _ = ask(*command[1:])
    assert status == 0, out
    assert "Nothing wrong" in out
    assert "  note  not so" not in out


def test_a_template_overwrites_nothing(tiny, tmp_path, ask, refused):
    ask("new", "measure", "mine", "--folder", tmp_path)
    err = refused("new", "measure", "mine", "--folder", tmp_path)
    assert "mine.yaml is there already" in err
    assert "'aa_knn' is taken" in ask("new", "method", "aa_knn", "--folder", tmp_path)[2]

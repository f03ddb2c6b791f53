"""The linter of printed tables: silent on what is true, and it finds what is known to be wrong."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ldl.metrics import ZERO_CONVENTIONS, age_errors, evaluate, label_errors
from ldlrepro import cli
from ldlrepro.core.errors import UserError
from ldlrepro.lint.deviations import widest
from ldlrepro.lint.findings import IMPOSSIBLE, Finding
from ldlrepro.lint.linter import Beside, examine, table_of_paper
from ldlrepro.lint.relations import broken_pair
from ldlrepro.lint.tables import BETTER, Cell, Printed, read_table
from tests.unit.judged import PROJECT

ROOT = Path(__file__).resolve().parents[2]


def cell(measure: str, mean: str, std: str = "", labels: int | None = None, **more) -> Cell:
    place = {"source": "x", "line": 2, "table": "1", "dataset": "d", "setting": "", "method": "A"}
    beside = {"better": BETTER[measure], "labels": labels, **more}
    return Cell(
        **place, measure=measure, mean=Printed(mean), std=Printed(std) if std else None, **beside
    )


# ---------------------------------------------------------------------- no false alarm


def records(protocol: Path) -> list[Cell]:
    """The means and deviations of all units of a protocol, in four digits.

    Sets of labels alone have the training mean only, so they stand beside the table.
    """
    cells: list[Cell] = []
    for path in sorted(protocol.glob("*.csv")):
        with open(path, encoding="utf-8", newline="") as handle:
            rows = sorted(csv.DictReader(handle), key=lambda row: (row["method"], row["dataset"]))
        for (method, dataset), folds in groupby(rows, lambda row: (row["method"], row["dataset"])):
            mine = list(folds)
            if PROJECT.data_set(dataset).labels_of:
                continue
            shape = PROJECT.data_set(dataset).shape
            for measure in BETTER:
                values = [float(fold[measure]) for fold in mine if fold.get(measure)]
                if values:
                    one = cell(measure, f"{fmean(values):.4f}", labels=shape and shape.c)
                    std = Printed(f"{stdev(values):.4f}") if len(values) > 1 else None
                    place = {"dataset": dataset, "method": method, "line": len(cells)}
                    cells.append(replace(one, std=std, **place))
    return cells


PROTOCOLS = sorted({path.parent for path in ROOT.glob("reference/*/*.csv")})


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=[path.name for path in PROTOCOLS])
def test_no_record_of_ours_is_impossible(protocol):
    """And few look odd: runs that differ on few data sets, or that are one run under two names."""
    cells = records(protocol)
    units = {(one.dataset, one.method) for one in cells}
    found = examine(cells, Beside())
    assert units
    assert [finding for finding in found if finding.state == IMPOSSIBLE] == []
    assert {finding.rule for finding in found} <= {"column twice", "gap", "row twice", "shifted"}
    assert len(found) <= max(1, len(units) // 10)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    labels=st.integers(2, 70),
    folds=st.integers(1, 5),
    rows=st.integers(1, 30),
    digits=st.integers(2, 10),
    kind=st.sampled_from(["drawn", "steps", "exchanged"]),
    zeros=st.floats(0, 0.9),
    near=st.sampled_from([0.0, 0.001, 0.1, 0.5, 1.0]),
    peaked=st.sampled_from([0.02, 0.3, 1.0, 20.0]),
    convention=st.sampled_from([name for name in ZERO_CONVENTIONS if name != "exact"]),
    known=st.booleans(),
)
def test_means_of_true_measures_are_never_impossible(
    seed, labels, folds, rows, digits, kind, zeros, near, peaked, convention, known
):
    rng = np.random.default_rng(seed)
    shape = (folds, rows, labels)
    D, noise = (_with_zeros(rng, shape, peaked, zeros, kind == "steps") for _ in range(2))
    P = rng.permuted(D, axis=-1) if kind == "exchanged" else near * noise + (1 - near) * D
    ages = np.arange(labels)
    scores = [
        {**evaluate(d, p, convention), **label_errors(d, p), **age_errors(d @ ages, p @ ages)}
        for d, p in zip(D, P, strict=True)
    ]
    cells = []
    for measure in scores[0]:
        values = [score[measure] for score in scores]
        std = f"{stdev(values):.{digits}f}" if folds > 1 else ""
        text = f"{fmean(values):.{digits}f}"
        cells.append(cell(measure, text, std, labels if known else None))
    found = examine(cells, Beside(parts=folds if folds > 1 else None))
    assert [finding for finding in found if finding.state == IMPOSSIBLE] == []


def _with_zeros(rng: np.random.Generator, shape, peaked: float, zeros: float, steps: bool):
    """Distributions, some of whose degrees are zero, but never all of a row."""
    raw = np.where(rng.random(shape) < 0.5, peaked, 1.0) if steps else rng.gamma(peaked, size=shape)
    raw += 1e-300
    kept = rng.random(shape) >= zeros
    kept[..., 0] |= ~kept.any(axis=-1)
    raw = np.where(kept, raw, 0.0)
    return raw / raw.sum(axis=-1, keepdims=True)


# ---------------------------------------------------------------------- what is known to be wrong

NAME = ("table", "dataset", "setting", "method", "metric")
LISTED = [(paper, entry) for paper in PROJECT.real_papers() for entry in paper.misprints]


@cache
def table(paper: str) -> tuple[list[Cell], Beside]:
    return table_of_paper(PROJECT, PROJECT.paper(paper))


@cache
def found_in(paper: str, with_misprints: bool) -> list[Finding]:
    cells, beside = table(paper)
    return examine(cells, replace(beside, misprints=frozenset()) if with_misprints else beside)


@pytest.mark.parametrize(
    ("paper", "entry"), LISTED, ids=[f"{p.id}/{e.table}/{e.method}/{e.metric}" for p, e in LISTED]
)
def test_every_misprint_of_nine_papers_is_found(paper, entry):
    name = tuple(getattr(entry, key) for key in NAME)
    mine = [
        f for f in found_in(paper.id, True) if any((*c.row, c.measure) == name for c in f.suspects)
    ]
    assert any(finding.std_alone == bool(entry.std_reads) for finding in mine)
    if entry.std_reads:
        assert float(entry.std_reads) in [float(f.std_reads or 0) for f in mine]


def test_known_oddities_of_the_papers_are_found():
    wanted = {
        "ldl4c": [("rank", "LDL4C", "yeast_dtt")],
        "ldl_hr": [("rank", "LDL-HR", "scut_fbp5500"), ("slip", "LDL4C", "yeast_spo")],
        "df_ldl": [("rank", "StructRF", "sbu_3dfe"), ("row twice", "DF-LDL", "natural_scene")],
        "ldldf": [
            ("alike", "LDLCL", "yeast_alpha"),
            ("slip", "LDLDF", "human_gene"),
            ("below the mean", "LDL-HR", "scut_fbp5500"),  # whose labels alone are public
        ],
        "structrf": [("two tables", "StructRF", "movie"), ("below the mean", "RF", "sjaffe")],
    }
    for name, oddities in wanted.items():
        found = found_in(name, False)
        assert {(f.rule, f.cell.method, f.cell.dataset) for f in found} >= {*oddities}


# ---------------------------------------------------------------------- bounds


@pytest.mark.parametrize("labels", [2, 3, 4, 9])
def test_no_bound_is_wider_than_it_must_be(labels):
    """Distributions that reach a bound: a thousandth beyond it is impossible."""
    far = np.eye(labels)[[0]], np.eye(labels)[[1]]
    half = labels // 2
    even = np.full((1, labels), 1 / labels)
    step = np.zeros((1, labels))
    step[0, :half], step[0, half : 2 * half] = 0.5 / labels, -0.5 / labels
    top, spread, apart = (
        evaluate(*pair) for pair in ((far), (even, even + step), (even + step, even - step))
    )
    beyond = [
        (top, "chebyshev", "intersection", 1),
        (top, "euclidean", "intersection", 1),
        (spread, "chebyshev", "intersection", -1),
        (apart, "canberra", "clark", 1 if labels % 2 == 0 else 0),
        (apart, "canberra", "intersection", -1 if labels == 2 else 0),
        (apart, "squared_chi2", "fidelity", 0),
    ]
    for scores, one, other, sign in beyond:
        texts = [f"{scores[one]:.6f}", f"{scores[other]:.6f}"]
        pair = [cell(one, texts[0]), cell(other, texts[1])]
        assert not broken_pair(*pair, labels)
        if sign:
            moved = cell(one, f"{scores[one] + sign * 1e-3:.6f}")
            assert broken_pair(moved, pair[1], labels) or broken_pair(pair[1], moved, labels)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_no_values_deviate_by_more_than_the_widest(values):
    mean = Printed(f"{fmean(values):.4f}")
    assert stdev(values) <= widest(mean, 1.0, len(values)) + 1e-9
    assert stdev(values) <= widest(mean, math.inf, len(values)) + 1e-9
    assert stdev(values) <= widest(mean, 1.0, None) + 1e-9
    assert widest(mean, math.inf, None) == math.inf


# ---------------------------------------------------------------------- files and answers

WIDE = """Data set,Method,Chebyshev,Clark,Canberra,K-L,Intersec.
s-JAFFE,ours,0.1560±0.0050,0.41,0.82,0.06,0.850
s-JAFFE,rival,0.0915,0.3235,.6615,0.0399,0.8870
"""


def test_a_wide_table_is_read_by_the_names_that_people_write(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text(WIDE)
    cells = read_table(file, "mine")
    assert [one.measure for one in cells[:5]] == [
        *("chebyshev", "clark", "canberra", "kl", "intersection")
    ]
    assert str(cells[0]) == "chebyshev 0.1560 ± 0.0050"
    assert cells[7].mean.value == 0.6615


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0.41", "0,41", "line 2: '0,41' is not a number"),
        ("Method", "Algorithm", "no column 'method'"),
        ("rival", "ours", "line 3: the same cell as line 2"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, old, new, words):
    file = tmp_path / "table.csv"
    file.write_text(WIDE.replace(f"{old},", f'"{new}",', 1))
    with pytest.raises(UserError, match=words):
        read_table(file, "mine")


def test_the_example_of_the_page_is_impossible(tmp_path):
    page = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    file = tmp_path / "table.csv"
    file.write_text(page.partition("```text\n")[2].partition("```")[0])
    (finding,) = examine(read_table(file, "mine"), Beside())
    assert (finding.rule, finding.cell.measure) == ("relation", "intersection")


def test_the_verb_says_what_is_wrong_in_sentences_json_and_misprints(
    checkout, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "table.csv"
    file.write_text(WIDE)
    assert cli.main(["lint", str(file)]) == 1
    out = capsys.readouterr().out
    first, *lines = out.splitlines()
    assert "numbers some are impossible" in " ".join([first, lines[0]])
    assert f"{file}:2: impossible (relation)" in lines
    assert max(len(line) for line in lines if str(file) not in line) <= 80
    assert cli.main(["lint", str(file), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["line"], found["dataset"], found["method"]) == (2, "sjaffe", "ours")
    assert cli.main(["lint", str(file), "--misprints"]) == 1
    listed = yaml.safe_load(capsys.readouterr().out)["remarks"]
    assert [entry["metrics"] for entry in listed] == [["intersection"], ["chebyshev"]]
    file.write_text(WIDE.replace("0.850", "0.844"))
    assert cli.main(["lint", str(file)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "none contradicts another; nothing looks suspicious" in told


@pytest.mark.parametrize(
    ("head", "meant"), [("Chebyshv", "chebyshev"), ("Cosine similarity", "cosine"), ("stds", "std")]
)
def test_a_misspelt_head_is_refused_and_another_column_is_left_alone(tmp_path, head, meant):
    path = tmp_path / "table.csv"
    path.write_text(f"dataset,method,KL,{head}\nd,m,0.9,1.7\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"line 1.*'{head}'.*'{meant}'"):
        read_table(path, "")
    path.write_text("dataset,method,KL,year,folds\nd,m,0.9,2017,5\n", encoding="utf-8")
    assert [cell.measure for cell in read_table(path, "")] == ["kl"]

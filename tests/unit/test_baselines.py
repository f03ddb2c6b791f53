"""Numbers to cite: the same bytes each time, of whole records, with the folds that they rest on."""

from __future__ import annotations

import ast
import csv
import json
import re
import statistics
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldlrepro import cli
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import load_ready
from ldlrepro.judge.verdicts import JUDGED, MET
from ldlrepro.report.badges import GREEN, RED, write_badges
from tests.report_pages import cell

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ran(ready):
    """The tiny paper with every fold of two methods, and one fold of another."""
    ready.write("CITATION.cff", (ROOT / "CITATION.cff").read_text())
    for method in ("near", "train_mean"):
        assert cli.main(["run", "tiny", "toy", method]) == 0
    assert cli.main(["run", "tiny", "toy", "near@grid", "--folds", "0-0"]) == 0
    return ready


def test_a_run_of_all_folds_ends_with_its_score_and_what_to_type(ready, capsys):
    for folds, scores in (["--folds", "0-0"], 0), ([], 1):
        assert cli.main(["run", "tiny", "toy", "near", *folds]) == 0
        said = " ".join("".join(capsys.readouterr()).split())
        told = r"KL [\d.]+ ± [\d.]+ over 4 folds. Beside other methods: `ldlrepro leaderboard "
        assert len(re.findall(told, said)) == scores


def written(folder: Path, *options: str) -> dict[str, bytes]:
    assert cli.main(["baselines", "--dataset", "toy", "--out", str(folder), *options]) == 0
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_made_again_every_byte_is_the_same(ran):
    first = written(ran.root / "one")
    assert first == written(ran.root / "two")
    assert sorted(first) == ["baselines.json", "by_fold.csv", "cite.bib", "folds/tiny/toy.csv"]


def test_every_key_is_explained_and_every_fold_has_its_mean(ran):
    files = written(ran.root / "out")
    tree = json.loads(files["baselines.json"])
    page = (ROOT / "docs/baselines.md").read_text(encoding="utf-8")
    entries = [*tree["protocols"].values(), *tree["units"], *tree["baselines"]]
    assert {key for entry in (tree, *entries) for key in entry} <= set(re.findall(r"`(\w+)`", page))
    assert {unit["method"] for unit in tree["units"]} == {"near", "train_mean"}
    assert "@software" in tree["cite"][0]
    by_fold: dict[tuple[str, str], list[float]] = {}
    for row in csv.DictReader(files["by_fold.csv"].decode().splitlines()):
        by_fold.setdefault((row["method"], row["measure"]), []).append(float(row["score"]))
    for line in tree["baselines"]:
        scores = by_fold[line["method"], line["measure"]]
        assert line["folds"] == len(scores) == 4
        assert line["mean"] == pytest.approx(statistics.fmean(scores), rel=1e-4)
        assert line["std"] == pytest.approx(statistics.stdev(scores), rel=1e-2, abs=1e-9)


def test_the_script_of_the_page_runs_on_what_was_written(ran):
    written(ran.root / "out")
    page = (ROOT / "docs/baselines.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown = "../baselines/folds/structrf_contiguous/sjaffe.csv"
    assert shown in script
    data = load_ready(Workspace().ready("toy"))
    names = {"X": data.X, "D": data.D}
    script = script.replace(shown, str(ran.root / "out/folds/tiny/toy.csv"))
    *before, last = ast.parse(script.replace("StructRF()", "StructRF(n_estimators=2)")).body
    exec(compile(ast.Module(before, []), "page", "exec"), names)
    scores = eval(compile(ast.Expression(last.value), "page", "eval"), names)
    assert np.isfinite(scores).all()
    assert len(scores) == 4


def test_it_is_said_which_protocols_keep_people_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = ["baselines", "--method", "sa_bfgs", "--dataset", "sjaffe"]
    assert cli.main([*asked, "sbu_3dfe", "--json"]) == 0
    protocols = json.loads(capsys.readouterr().out)["protocols"]
    apart = {name: told["persons_apart"] for name, told in protocols.items()}
    assert apart["structrf_persons"] == {"sbu_3dfe": True, "sjaffe": True}
    assert apart["structrf"] == {"sbu_3dfe": False, "sjaffe": False}
    # Ten folds of 250 rows end with a person of 25 rows; those of s-JAFFE do not.
    assert apart["structrf_contiguous"] == {"sbu_3dfe": True, "sjaffe": False}
    assert cli.main(asked) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "mslp_persons and structrf_persons keep people apart; in the others the same" in said


def test_what_can_be_cited_comes_first_and_what_cannot_only_where_all_is_asked_for(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)

    def shown(*more: str) -> list[list[str]]:
        names = ["sa_bfgs", "structrf", "aa_knn", "structrf@no_replacement"]
        asked = ["--dataset", "sjaffe", "--protocol", "structrf_contiguous", "--method", *names]
        assert cli.main(["baselines", *asked, "--wide", *more]) == 0
        out = capsys.readouterr().out
        return [line.split() for line in out.splitlines() if " structrf_contiguous " in line]

    first, whole = shown(), shown("--all")
    marks = [row[6] == "yes" for row in whole]
    assert marks == sorted(marks)
    assert [row[:4] for row in first] == [row[:4] for row in whole[: marks.count(False)]]
    assert 0 < len(first) < len(whole)
    means = [float(row[3].rstrip("*")) for row in first]
    assert means == sorted(means)
    starred = {row[0] for row in first if row[3].endswith("*")}  # the training mean has 0.0731
    assert starred == {row[0] for row in first if float(row[3].rstrip("*")) > 0.0732}


def test_the_numbers_of_a_column_have_the_same_decimals(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = ["baselines", "--protocol", "structrf", "--dataset", "sjaffe", "yeast_alpha"]
    for more, decimals in ([], 6), (["--measure", "canberra"], 4):
        assert cli.main([*asked, *more, "--wide"]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if " structrf  " in line]
        numbers = [list(re.finditer(r" \d+\.(\d+)", line))[:2] for line in lines]
        assert len(lines) == 20
        assert {len(number[1]) for mean_and_std in numbers for number in mean_and_std} == {decimals}
        assert all(len({one.end() for one in column}) == 1 for column in zip(*numbers, strict=True))


# ---------------------------------------------------------------------- badges


def fills(path: Path) -> list[str]:
    tree = ET.parse(path)
    return [rect.get("fill", "") for rect in tree.iter("{http://www.w3.org/2000/svg}rect")]


@pytest.mark.parametrize(
    ("verdicts", "colour", "text"),
    [
        ({"exact": 9, "worse": 1}, GREEN, "9 of 10 hold"),
        ({"exact": 1, "better": 9}, RED, "1 of 10 hold"),
    ],
)
def test_a_badge_says_what_held_and_better_is_no_praise(verdicts, colour, text, tmp_path):
    row = cell(paper="tiny", protocol="tiny", method_id="near", yardsticks={"the mean": "near"})
    rows = [
        replace(row, verdict=name, evidence="blind" if name in MET else "")
        for name, count in verdicts.items()
        for _ in range(count)
    ]
    paper, *methods = write_badges(tmp_path, rows)
    assert paper == tmp_path / "tiny.svg"
    assert len(methods) == any(name in JUDGED for name in verdicts)
    assert fills(paper)[1] == colour
    assert ET.parse(paper).getroot().get("aria-label") == f"tiny: {text}"

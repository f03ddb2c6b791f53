"""The notebooks show what they show now, and hold no logic of their own."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ldlrepro.report import notebooks
from ldlrepro.report.study import Study, examined, misplaced_mass
from tests.report_pages import PROJECT

ROOT = Path(__file__).resolve().parents[2]
NAMES = notebooks.names(PROJECT)
LOGIC = (ast.For, ast.While, ast.If, ast.Try, ast.With, ast.Lambda)
DUMPS = re.compile(r"object at 0x|array\(|<ldl|<class|Traceback|dtype")
POSSIBLE = "dataset,method,KL,Intersection\ns-JAFFE,ours,0.0440,0.8830\n"


def committed(name: str) -> Any:
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def shown(book: Any) -> list[str]:
    """What the code cells of a notebook show, as text."""
    return [
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]


def test_there_are_five_with_their_questions() -> None:
    titles = [notebooks.title(PROJECT, name) for name in NAMES]
    assert titles == [
        "One number, from print to verdict",
        "Choose a method",
        "A method of your own",
        "Why protocols matter",
        "Audit a table of your own",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_committed_outputs_are_those_of_now(name, fresh_clone, monkeypatch) -> None:
    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    monkeypatch.chdir(fresh_clone)
    now = shown(notebooks.executed(PROJECT, name))
    assert now == shown(committed(name)), "type: python -m ldlrepro.report.notebooks"
    assert len(now) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_hold_no_logic_and_dump_nothing(name) -> None:
    book = committed(name)
    for cell in book.cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            assert not [node for node in ast.walk(tree) if isinstance(node, LOGIC)], cell.source
    assert not [text for text in shown(book) if DUMPS.search(text)]


def test_no_column_mixes_two_protocols(monkeypatch, fresh_clone) -> None:
    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    monkeypatch.chdir(fresh_clone)
    study = Study("mslp")
    of_one = {u.key: u.mean("kl") for u in study.answer.units if u.protocol == study.protocol.id}
    table = study.persons("sjaffe")
    apart = {
        u.method: u.mean("kl")
        for u in study.answer.units
        if u.key.startswith("mslp_persons/sjaffe/")
    }
    for method, row in table.iterrows():
        assert float(row["KL, same people"]) == pytest.approx(
            of_one[f"mslp/sjaffe/{method}"], abs=6e-5
        )
        assert float(row["KL, other people"]) == pytest.approx(apart[method], abs=6e-5)


def test_legends_stand_outside_the_axes(monkeypatch, fresh_clone) -> None:
    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    monkeypatch.chdir(fresh_clone)
    drawn = []
    monkeypatch.setattr(
        "ldlrepro.report.study.as_svg", lambda figure, **_: drawn.append(figure) or ""
    )
    study = Study("mslp")
    study.number().folds(), study.persons_picture("sjaffe")
    misplaced_mass(POSSIBLE)
    assert len(drawn) == 3
    for figure in drawn:
        figure.draw_without_rendering()
        (axes,) = figure.axes
        assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


def test_a_paper_without_measured_numbers_breaks_nothing(monkeypatch, fresh_clone) -> None:
    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    monkeypatch.chdir(fresh_clone)
    study = Study("drf")
    number = study.number()
    assert "does not hold" in repr(number.verdict())
    assert "Nothing was measured" in repr(number.folds())
    assert number.parameters().empty
    assert study.persons("sjaffe").empty
    assert "no protocol" in repr(study.persons_picture("sjaffe"))


def test_a_table_is_examined_in_words(monkeypatch) -> None:
    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    assert repr(examined(POSSIBLE)) == "Nothing is impossible or suspicious."
    told = repr(examined(POSSIBLE.replace("0.0440", "0.0010")))
    assert told.startswith("Line 2 is impossible.\n  sjaffe, ours: ")

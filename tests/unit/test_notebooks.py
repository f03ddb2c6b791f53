"""The notebooks show what they show now, and hold no logic of their own."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ldlrepro.report import notebooks
from ldlrepro.report.study import Study
from tests.report_pages import PROJECT

ROOT = Path(__file__).resolve().parents[2]
NAMES = notebooks.names(PROJECT)
LOGIC = (ast.For, ast.While, ast.If, ast.Try, ast.With, ast.Lambda)
DUMPS = re.compile(r"object at 0x|array\(|<ldl|<class|Traceback|dtype|^[\[{]", re.MULTILINE)


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


def test_the_first_notebook_shows_a_number_that_holds_and_one_that_is_missed() -> None:
    verdicts = [text for text in shown(committed("01_one_number")) if " printed " in text]
    assert ["The number holds: " in text for text in verdicts] == [True, False]
    assert "The number does not hold: it is not met.\n\nWhy\n  A run meets it: " in verdicts[1]


def test_the_second_notebook_ends_on_the_answer() -> None:
    answer = shown(committed("02_choose_a_method"))[-1]
    assert answer.startswith("Use ")
    assert "cannot be told from it" in " ".join(answer.split())


def test_no_column_mixes_two_protocols(monkeypatch, fresh_clone) -> None:
    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    monkeypatch.chdir(fresh_clone)
    study = Study("mslp")
    of_one = {
        u.key: u.mean("kl")
        for u in study.answer.units
        if u.protocol == study.paper.main_protocol.id
    }
    table = study.persons("sjaffe")
    apart = {
        u.method: u.mean("kl")
        for u in study.answer.units
        if u.key.startswith("mslp_persons/sjaffe/")
    }
    assert set(table["gain lost"]) >= {"59%", "all of it", "no gain"}
    ids = {study.project.method(method).title: method for method in apart}
    assert "CCA *" in table.index  # printed numbers chose its settings
    for name, row in table.iterrows():
        method = ids[str(name).removesuffix(" *")]
        assert float(row["KL, same people"]) == pytest.approx(
            of_one[f"mslp/sjaffe/{method}"], abs=6e-5
        )
        assert float(row["KL, other people"]) == pytest.approx(apart[method], abs=6e-5)

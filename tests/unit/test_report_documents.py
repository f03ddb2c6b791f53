"""A report of several papers: its files, the links between them, and the findings."""

from __future__ import annotations

import re

import pytest

from ldlrepro.report.documents import Documents
from ldlrepro.report.html import write_report
from tests.report_pages import cell, content, page, unit


@pytest.fixture
def two():
    shared = unit()
    return content(
        page([cell(paper="one")], [shared, unit("mine")], name="one"),
        page([cell(paper="two")], [shared], name="two"),
    )


def test_one_paper_stands_in_one_file_and_several_have_a_page_each(tmp_path, two):
    one = Documents(content(page()), tmp_path / "demo.html", ["leaderboard"])
    assert [doc.path.name for doc in one.all] == ["demo.html"]
    several = Documents(two, tmp_path / "all.html", ["leaderboard"])
    assert [doc.path.relative_to(tmp_path).as_posix() for doc in several.all] == [
        *("all.html", "all/one.html", "all/two.html", "all/leaderboard.html")
    ]


def test_the_evidence_of_a_note_is_in_the_report_itself(tmp_path):
    reason = "it stops early; papers/ldlf/note.md#rivals-on-natural_scene"
    missed = cell("worse", paper="ldlf", reason=reason)
    text = write_report(content(page([missed], name="ldlf")), tmp_path / "ldlf.html").read_text()
    links = set(re.findall(r'href="([^"]*)"', text))
    assert "#/ldlf/reproduction/rivals-on-natural_scene" in links
    assert 'id="/ldlf/reproduction/rivals-on-natural_scene"' in text
    assert [link for link in links if link[:1] != "#" and ".md" in link] == []

"""A report of several papers: its files, the links between them, and the findings."""

from __future__ import annotations

import pytest

from ldlrepro.report.documents import Documents
from ldlrepro.report.html import write_report
from tests.report_pages import cell, content, packed_in, page, unit


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


def test_every_page_knows_the_numbers_of_all_papers(tmp_path, two):
    front = write_report(two, tmp_path / "all.html")
    for file, prefix in ((front, "all/"), (tmp_path / "all" / "leaderboard.html", "")):
        places = packed_in(file.read_text(), "jump-data")
        tables = [place for place in places if place[1]]
        assert [place[3] for place in tables] == [
            f"{prefix}{name}.html#/{name}/table/1" for name in ("one", "two")
        ]
        assert tables[0][4:] == [[["kl", "KL"]], [["toy", "RF", "", [1]]]]
        sections = {(place[0], place[2]): place[3] for place in places if not place[1]}
        assert sections["two", "Records"] == f"{prefix}two.html#/two/records"
        assert sections["", "Doubt a number"].endswith("#/about/doubt")

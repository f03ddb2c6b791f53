"""The report as text: nothing lost, nothing unescaped, no link that leads nowhere."""

import math
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

from ldlrepro.judge.claims import ClaimRow
from ldlrepro.report.content import Figure, ReportContent
from ldlrepro.report.html import write_report
from ldlrepro.report.places import ABOUT, ALSO, Place, words_of
from ldlrepro.report.record_views import record_data
from ldlrepro.report.written import PAGES
from tests.report_pages import cell, content, fold, measurement, page, unit

DRAWING = "<svg xmlns='http://www.w3.org/2000/svg'/>"
NUMBERS = [["data set", "rank"], ["toy", "1.5"]]
HOSTILE = "</script><img src=x onerror=alert(1)> | & \"'"


def no_log(key: str) -> str:
    return ""


class Reading(HTMLParser):
    """Ids, numbers and tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.numbers: Counter[str] = Counter()
        self.tags: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        for key, found in (("id", self.ids), ("data-v", self.numbers)):
            if key in named:
                found[named[key]] += 1


def written(report: ReportContent, folder: Path) -> tuple[str, Reading]:
    text = write_report(report, folder / "report.html").read_text(encoding="utf-8")
    return text, Reading(text)


def rich_content() -> ReportContent:
    """Every verdict, a control, a failed fold, a run without printed numbers, all sections."""
    rows = [
        cell("reproduced"),
        cell("better", "clark", table="2"),
        cell("worse", "cosine", better="higher"),
        cell("not run", method="Other", reason="needs licensed images"),
        cell("quoted", method="Third", reason="from [27]", note="three decimals"),
        cell("misprint", method="Third", metric="cosine", reason="exceeds 1"),
    ]
    failed = [fold(0), fold(1, status="failed", error="Traceback: boom")]
    units = [
        unit(rows=failed, scores={"kl": [0.1, math.nan], "cosine": [0.9, math.nan]}),
        unit("uniform"),
        unit("mine"),
        unit("rf@released", protocol="as_released"),
    ]
    whole = page(
        rows,
        units,
        leaks=[("cv", "toy", "two rows have a twin")],
        figures={"figure_1": Figure("Figure 1", DRAWING, "a drawing", NUMBERS)},
        claims=[
            ClaimRow("demo", "a", "RF first", "holds partly", "3 of 3", "2 of 3", "not: toy kl"),
            ClaimRow("demo", "faces", "on faces too", "not tested", "", "", "licensed images"),
        ],
        measured={"times": measurement()},
        experiments={
            "times": {"title": "Times side by side", "text": "In turns.", "code": "times"}
        },
    )
    return content(whole)


# ---------------------------------------------------------------------- the HTML file


def test_every_printed_number_stands_in_the_page_once(tmp_path):
    report = rich_content()
    _, reading = written(report, tmp_path)
    expected = Counter(row.verdict.replace(" ", "-") for row in report.pages[0].rows)
    assert {name: reading.numbers[name] for name in expected} == expected


def test_text_from_data_cannot_become_markup(tmp_path):
    row = cell("not run", method=HOSTILE, reason=HOSTILE, dataset=HOSTILE, setting=HOSTILE)
    bad = unit(rows=[fold(0, status="failed", error=HOSTILE, params={"a": HOSTILE})])
    whole = unit(dataset=HOSTILE)
    hostile = page([cell(), row], [bad, whole], title=HOSTILE)
    text, reading = written(content(hostile, machine=HOSTILE), tmp_path)
    assert reading.tags["script"] == 7
    assert reading.tags["img"] == 0
    assert HOSTILE not in text


def test_a_report_without_anything_measured_is_still_a_report(tmp_path):
    empty = page([cell("not run", reason="no data")], [], tables={})
    text, _ = written(content(empty), tmp_path)
    assert "None of 1 printed number was computed again" in text
    assert "No records yet" in text


def test_claims_on_stand_ins_are_counted_and_shown_apart(tmp_path):
    claims = [
        ClaimRow("demo", "a", "RF first", "holds", "3 of 3", "3 of 3", ""),
        ClaimRow("demo", "b", "RF first", "holds", "", "2 of 2", "", stand_in="drawn faces"),
        ClaimRow("demo", "c", "RF fast", "fails", "", "0 of 2", "slow", stand_in="drawn faces"),
    ]
    text, reading = written(content(page(claims=claims)), tmp_path)
    front = text.partition('id="/demo"')[0]
    assert '<td class="n">1</td>' in front
    assert '<td class="n">1 of 2 hold</td>' in front
    own, apart = text.split("On substitute data: drawn faces")
    assert 'id="/demo/claim/a"' in own
    assert 'id="/demo/claim/b"' in apart
    assert 'id="/demo/claim/c"' in apart
    assert all(reading.ids[f"/demo/claim/{name}"] == 1 for name in "abc")


# ---------------------------------------------------------------------- records


def test_record_files_are_linked_only_in_the_folder_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside, outside = Path("runs/a b.parquet"), tmp_path.parent / "rf.csv"
    for folder in (Path("report"), tmp_path / "report"):
        data = record_data(unit(files=[inside, outside]), content(), no_log, folder)
        assert data["files"] == [["a b.parquet", "../runs/a%20b.parquet"], ["rf.csv", ""]]


def test_words_of_the_box_belong_to_a_section_or_a_question():
    parts = {"Persons apart", "Claims", "Left out", "Misprints"}  # of a paper
    menu = {"How to read this report", "Data", "Contradictions between papers"}
    assert set(ALSO) <= {*ABOUT.values(), *PAGES.values(), *parts, *menu}


def test_the_words_of_a_place_are_those_that_a_reader_sees():
    data = '<script type="application/gzip">qk/ERO+x</script>'
    text = f'<section id="/a">Ranks of <b>methods</b> {data} agree</section>'
    assert words_of([text], [Place("A", ("a",))]) == {("a",): "agree methods of ranks"}

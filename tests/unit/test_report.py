"""The report as text: nothing lost, nothing unescaped, no link that leads nowhere."""

import math
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

from ldlrepro.experiments import MeasuredTable, Measurement, Provenance
from ldlrepro.judge.answer import Photographs
from ldlrepro.judge.claims import ClaimRow
from ldlrepro.report.content import Figure, ReportContent
from ldlrepro.report.html import render_report, write_report
from ldlrepro.report.record_views import record_data
from tests.report_pages import cell, content, fold, page, unit

MEASURED = Measurement(
    paper="demo",
    experiment="times",
    facts={},
    cells=[],
    tables=[MeasuredTable("Fit", ["data set", "RF"], [["toy", 0.123456]])],
    series={},
    provenance=Provenance(
        started_at="2026-01-01T00:00:00+00:00",
        seconds=1.0,
        git_commit="0123456789abcdef",
        code_sha256="",
        lock_sha256="",
        data_sha256={},
        versions={},
        machine={"cpu": "a processor"},
    ),
    source="reference",
)
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
        measured={"times": MEASURED},
        experiments={
            "times": {"title": "Times side by side", "text": "In turns.", "code": "times"}
        },
    )
    return content(whole)


# ---------------------------------------------------------------------- the HTML file


def test_a_figure_stands_beside_the_page_with_its_numbers(tmp_path):
    text, _ = written(rich_content(), tmp_path)
    place = tmp_path / "report" / "figures" / "demo"
    assert (place / "figure_1.svg").read_text() == DRAWING
    assert (place / "figure_1.csv").read_text() == "data set,rank\ntoy,1.5\n"
    assert '<th scope="row">toy</th><td class="n">1.5</td>' in text


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
    assert "None of them has been measured yet" in text
    assert "No records yet" in text


def test_a_paper_without_printed_numbers_shows_its_runs(tmp_path):
    text, reading = written(content(page([], [unit("mine")])), tmp_path)
    assert "This page shows runs for which no number is printed." in text
    assert reading.numbers["measured"] == 2


def test_claims_on_stand_ins_are_counted_and_shown_apart(tmp_path):
    claims = [
        ClaimRow("demo", "a", "RF first", "holds", "3 of 3", "3 of 3", ""),
        ClaimRow("demo", "b", "RF first", "holds", "", "2 of 2", "", stand_in="drawn faces"),
        ClaimRow("demo", "c", "RF fast", "fails", "", "0 of 2", "slow", stand_in="drawn faces"),
    ]
    text, reading = written(content(page(claims=claims)), tmp_path)
    counts = text.partition("counted apart.</caption>")[2].partition("</tbody>")[0]
    assert re.findall(r'<td class="n">(.*?)</td>', counts) == ["1", "0", "0", "0", "1 of 2 hold"]
    own, apart = text.split("On a stand-in: drawn faces")
    assert 'id="/demo/claim/a"' in own
    assert 'id="/demo/claim/b"' in apart
    assert 'id="/demo/claim/c"' in apart
    assert all(reading.ids[f"/demo/claim/{name}"] == 1 for name in "abc")


def test_an_experiment_shows_its_tables_and_where_they_come_from(tmp_path):
    text, reading = written(rich_content(), tmp_path)
    assert "/demo/experiment/times" in reading.ids
    assert '<td class="n">0.1235</td>' in text
    assert "ldlrepro experiment demo times" in text
    assert "Source: reference, 2026-01-01, commit <code>0123456789</code>, a processor" in text


# ---------------------------------------------------------------------- records


def test_a_record_holds_means_over_the_folds_that_have_a_value(tmp_path):
    half = unit(scores={"kl": [0.2, math.nan], "cosine": [math.nan, math.nan]})
    data = record_data(half, content(), no_log, tmp_path)
    assert data["measures"] == [["kl", "KL"]]
    assert (data["mean"], data["std"], data["scores"]) == ([0.2], [None], [[0.2, None]])


def test_candidates_are_listed_best_first_in_the_direction_of_the_measure(tmp_path):
    tried = [{"depth": 5, "cosine": 0.7}, {"depth": 9, "cosine": 0.8}]
    searched = unit(rows=[fold(0, selection={"by": "cosine", "rows": 3, "tried": tried}), fold(1)])
    selection = record_data(searched, content(), no_log, tmp_path)["selection"]
    assert selection["candidates"] == [[[9], 0.8, [0.8, None]], [[5], 0.7, [0.7, None]]]


def test_problems_of_photographs_are_counted_and_their_list_is_linked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = Path("data/ready/faces.images.csv")
    found = [
        Photographs("faces", 1001, 82, [("broken", 3, "cannot be decoded")], table),
        Photographs("others", 7, 2, [], tmp_path.parent / "elsewhere.csv"),
    ]
    files = render_report(content(page(photographs=found)), Path("results/report/faces.html"))
    (html,) = files.values()
    (row, other) = re.findall(r'<tr><th scope="row">(?:faces|others).*?</tr>', html, re.S)
    assert "3 broken" in row
    assert "cannot be decoded" in row
    assert 'href="../../data/ready/faces.images.csv"' in row
    assert "none" in other
    assert "href" not in other


def test_record_files_are_linked_only_in_the_folder_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside, outside = Path("runs/a b.parquet"), tmp_path.parent / "rf.csv"
    for folder in (Path("report"), tmp_path / "report"):
        data = record_data(unit(files=[inside, outside]), content(), no_log, folder)
        assert data["files"] == [["a b.parquet", "../runs/a%20b.parquet"], ["rf.csv", ""]]


def test_the_front_page_says_what_verdicts_are_worth_and_counts_own_methods_apart(tmp_path):
    rows = [
        cell("exact", evidence="blind", yardsticks={"the mean": "worse"}, difference=0.001),
        cell(evidence="fitted", yardsticks={"the mean": "worse"}, difference=0.04),
        cell("better", method="kNN", difference=-0.3),
    ]
    text, _ = written(content(page(rows, own=["RF"])), tmp_path)
    front = text.partition('id="/demo"')[0]
    assert "2 numbers are met: 1 blind, 0 predicted, 1 fitted." in front
    assert "1 of them hold: neither the training mean nor" in front
    own = front.partition("The papers' own methods")[2].partition("</tbody>")[0]
    counts = [int(count) for count in re.findall(r'<td class="n">(?:<b>)?(\d+)', own)]
    assert counts == [2, 1, 2, 0, 0, 0, 1, 1, 2, 2]

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
    assert "None of the 1 printed numbers has been measured yet" in text
    assert "No records yet" in text


def test_a_paper_without_printed_numbers_shows_its_runs(tmp_path):
    text, reading = written(content(page([], [unit("mine")])), tmp_path)
    assert "The papers in this report print no numbers." in text
    assert reading.numbers["measured"] == 2


def test_claims_on_stand_ins_are_counted_and_shown_apart(tmp_path):
    claims = [
        ClaimRow("demo", "a", "RF first", "holds", "3 of 3", "3 of 3", ""),
        ClaimRow("demo", "b", "RF first", "holds", "", "2 of 2", "", stand_in="drawn faces"),
        ClaimRow("demo", "c", "RF fast", "fails", "", "0 of 2", "slow", stand_in="drawn faces"),
    ]
    text, reading = written(content(page(claims=claims)), tmp_path)
    front = text.partition('id="/demo"')[0]
    assert "Of 1 tested claim, 1 holds." in front
    assert "On substitute data, 1 of 2 hold." in front
    own, apart = text.split("On substitute data: drawn faces")
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


def test_the_front_page_says_what_verdicts_are_worth_and_counts_each_method(tmp_path):
    rows = [
        cell("exact", evidence="blind", yardsticks={"the mean": "worse"}, difference=0.001),
        cell(evidence="fitted", yardsticks={"the mean": "worse"}, difference=0.04),
        cell("better", method="kNN", method_id="aa_knn", difference=-0.3),
    ]
    text, _ = written(content(page(rows, own=["RF"])), tmp_path)
    front = text.partition('id="/demo"')[0]
    assert "By the strict count, 1 of the 3 printed numbers that we measured hold." in front
    assert "2 numbers are met: 1 blind, 0 predicted, 1 fitted. Of these, 1 hold:" in front
    line = front.partition("<small>rf</small>")[2].partition("</tr>")[0]
    assert "<b>demo</b>" in line  # the paper whose own it is
    counts = [int(count) for count in re.findall(r'<td class="n">(?:<b>)?(\d+)', line)]
    assert counts == [2, 1, 2, 0, 0, 0, 1, 1, 2, 2]


def test_a_reason_is_sentences_with_a_link_to_its_evidence(tmp_path):
    told = {
        "conjecture: A (refuted by B); experiment demo/times": (
            "Conjecture: A. It would be refuted by B. "
            '<a href="#/demo/experiment/times">See the experiment demo/times</a>.'
        ),
        "not known; cv/toy/mine": (
            'Not known. <a href="#/record/cv/toy/mine">See the record cv/toy/mine</a>.'
        ),
        "no run of `x`": "No run of <code>x</code>.",
        "argument: A; gone/toy/mine": "Argument: A. (gone/toy/mine)",
    }
    report = rich_content()
    cells = [cell("worse", method=f"M{at}", reason=text) for at, text in enumerate(told)]
    report.pages[0].rows.extend(cells)
    text, _ = written(report, tmp_path)
    notes = text.partition('<ol class="notes">')[2]
    for expected in told.values():
        assert f'<span class="reason">{expected}</span>' in notes


def test_every_verdict_opens_its_cell_and_every_page_says_how_to_doubt_it(tmp_path):
    text, _ = written(rich_content(), tmp_path)
    assert '<a class="v" href="#/cell/demo/1/toy/RF/kl"' in text
    assert '<body data-doubt="#/about/doubt">' in text
    assert 'id="/about/doubt"' in text
    (tmp_path / "site" / "report").mkdir(parents=True)
    (tmp_path / "site" / "doubt.html").touch()  # the report lies inside the documentation
    inside = write_report(rich_content(), tmp_path / "site" / "report" / "index.html").read_text()
    assert '<body data-doubt="../doubt.html">' in inside
    assert '<a href="../index.html">Documentation</a>' in inside

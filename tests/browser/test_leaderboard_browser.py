"""The leaderboard in a real browser: what it ranks is what Python ranks, whatever is chosen."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.significance import ranking
from ldlrepro.report.conclusions import of_board
from ldlrepro.report.content import PaperPage
from ldlrepro.report.html import write_report
from ldlrepro.report.leaderboard import collect, standings
from tests.report_pages import PROJECT, content, measured, page

pytestmark = pytest.mark.browser

METHODS = ["sa_bfgs", "aa_knn", "pt_bayes", "rf", "cpnn"]
"""Printed numbers chose the settings of ``rf``."""
CONTROLS = ["train_mean", "true_labels"]
DATASETS = [*(f"d{number:02d}" for number in range(12)), "sjaffe", "yeast_spoem"]


def unit(protocol: str, dataset: str, method: str, score: float) -> UnitScores:
    scores = {"kl": [score, score], "cosine": [1 - score / 2, 1 - score / 2]}
    return measured((protocol, dataset, method), scores, "reference", fit_s=score, peak_mb=90)


@pytest.fixture(scope="module")
def pages() -> list[PaperPage]:
    """Scores with ties, a method that lacks data, a protocol with few sets that the mean leads."""
    rng = random.Random(3)
    units = [
        unit("cv", dataset, method, round(0.1 + 0.05 * place + 0.2 * rng.random(), 1 + place % 2))
        for dataset in DATASETS
        for place, method in enumerate([*METHODS, *CONTROLS])
        if method != "cpnn" or dataset < "d07"
    ]
    few = [
        unit("few", dataset, method, rng.random())
        for dataset in ("d00", "other")
        for method in ("sa_bfgs", "rf", "ldsvr")
    ]
    few += [unit("few", dataset, "train_mean", 0.01) for dataset in ("d00", "other")]
    for dataset in ("d00", "d01"):
        units.append(unit("cv", dataset, "aa_bp", 0.5))
        units[-1].rows[1].status = "failed"
    return [page([], units, "first"), page([], few, "second")]


@pytest.fixture(scope="module")
def report(pages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("board") / "report.html"
    write_report(content(*pages), path)
    return path.with_suffix("") / "leaderboard.html"


@pytest.fixture
def board(page: Any, report: Path) -> Any:
    page.problems = []
    page.on("console", lambda m: m.type in ("error", "warning") and page.problems.append(m.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(report.as_uri() + "#/leaderboard")
    page.locator(".board tbody tr").first.wait_for()
    yield page
    assert page.problems == []


def choose(page: Any, **values: str) -> None:
    for name, value in values.items():
        page.locator(f"#board-form select[name={name}]").select_option(value)


def column(page: Any, head: str) -> list[str]:
    """The texts below a head, the ids of the methods, or nothing below a head that is hidden."""
    return page.evaluate(
        """(head) => {
        const heads = [...document.querySelectorAll(".board thead th")];
        const at = heads.findIndex((cell) => cell.textContent.startsWith(head));
        return [...document.querySelectorAll(".board tbody tr")].map((row) =>
            head === "method" ? row.dataset.method : row.cells[at]?.textContent ?? "");
    }""",
        head,
    )


def shown_ranks(page: Any) -> dict[str, float]:
    pairs = zip(column(page, "method"), column(page, "mean rank"), strict=True)
    return {name: float(rank) for name, rank in pairs if rank[:1].isdigit()}


def shown_p(page: Any) -> dict[tuple[str, str], float]:
    found = page.evaluate("""() => {
        const rows = [...document.querySelectorAll(".pairs-board tbody tr")];
        const names = rows.map((row) => row.dataset.method);
        return rows.flatMap((row, i) =>
            names.map((name, j) => [names[i], name, row.cells[j + 1].dataset.p]));
    }""")
    return {(one, other): float(p) for one, other, p in found if p}


def assert_as_python(page: Any, found: Any) -> None:
    assert shown_ranks(page) == {n: pytest.approx(r, abs=0.006) for n, r in found.ranks.items()}
    pairs = shown_p(page)
    if found.p is None:
        assert pairs == {}
        assert found.refusal in page.locator("#board .test").inner_text()
        return
    assert len(pairs) == len(found.ranks) * (len(found.ranks) - 1)
    for (one, other), p in pairs.items():
        assert p == pytest.approx(found.p.loc[one, other], rel=1e-5)


@pytest.mark.parametrize(
    ("paper", "protocol", "measure"), [("first", "cv", "cosine"), ("second", "few", "kl")]
)
def test_ranks_and_tests_are_those_of_python(board, pages, paper, protocol, measure):
    choose(board, protocol=protocol, measure=measure)
    found = standings(collect(PROJECT, pages), paper, protocol, measure)
    assert_as_python(board, found.compared)
    assert board.locator("#conclusion").inner_text() == of_board(found)


def test_ticked_methods_and_data_sets_are_ranked_as_python_would(board, pages):
    choose(board, protocol="cv", measure="kl")
    assert "cpnn" not in shown_ranks(board)
    board.locator(".board input[value=cpnn]").check()
    board.locator(".board input[value=rf]").uncheck()
    board.locator("#board-form summary").click()
    board.locator("#board-datasets input[value=d00]").uncheck()
    names = [name for name in METHODS if name != "rf"]
    means = {
        (e.dataset, e.method): e.means["kl"]
        for e in collect(PROJECT, pages).entries
        if e.protocol == "cv"
    }
    losses = {d: {n: means[d, n] for n in names if (d, n) in means} for d in DATASETS[1:]}
    assert_as_python(board, ranking(names, losses, PROJECT.families))
    assert "d00" not in board.locator("#board .on").inner_text()
    board.locator("#board-form button[type=reset]").click()
    board.locator(".board input[value=rf]:checked").wait_for()
    assert "cpnn" not in shown_ranks(board)


def test_gains_are_those_of_python(board, pages):
    choose(board, protocol="cv", measure="kl")
    shown = dict(zip(column(board, "method"), column(board, "gain"), strict=True))
    for line in standings(collect(PROJECT, pages), "first", "cv").lines:
        gain = "" if line.gain is None else f"{100 * line.gain:.1f}%"
        assert shown[line.contestant.id] == gain.replace("-0.0", "0.0")
    assert shown["train_mean"] == "0.0%"


def test_one_kind_of_data_set_is_ranked_alone(board):
    choose(board, protocol="cv", kind="with persons")
    assert board.locator("#board .on").inner_text() == "Ranked on: sjaffe."
    assert board.locator("#board-datasets input:checked").count() == 1
    kinds = board.locator("#board-form select[name=kind] option").all_inner_texts()
    assert "of the family yeast" in kinds
    choose(board, kind="")
    assert "d00" in board.locator("#board .on").inner_text()


def test_a_paper_offers_its_protocols_and_all_of_them_count_a_data_set_once(board):
    choose(board, paper="second")
    options = board.locator("#board-form select[name=protocol] option").all_inner_texts()
    assert options == ["few", "all of these"]
    assert set(shown_ranks(board)) == {"sa_bfgs", "rf", "ldsvr"}
    choose(board, paper="")
    choose(board, protocol="")
    for name in ("aa_knn", "pt_bayes"):
        board.locator(f".board input[value={name}]").uncheck()
    places = board.locator("#board .on").inner_text()
    assert places.count("d00") == 1
    assert "d00 (cv)" in places
    assert "other (few)" in places
    assert set(shown_ranks(board)) == {"sa_bfgs", "rf"}


def test_the_keyboard_alone_reaches_every_choice(board):
    board.locator("#board-form select[name=paper]").focus()
    reached = set()
    for _ in range(40):
        board.keyboard.press("Tab")
        reached.add(
            board.evaluate("document.activeElement.name || document.activeElement.dataset.column")
        )
    assert {"protocol", "measure", "compare", "1", "6"} <= reached
    box = board.locator(".board input[value=rf]")
    box.focus()
    board.keyboard.press("Space")
    assert "rf" not in shown_ranks(board)
    assert board.evaluate("document.activeElement.value") == "rf"


def test_without_script_every_protocol_has_its_ranking(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    view = page.locator("[id='/leaderboard']")
    assert view.locator("h2").all_inner_texts() == ["cv, by KL", "few, by KL"]
    assert "4 methods on 14 of 14 data sets" in view.inner_text()
    assert not view.locator("form").is_visible()
    context.close()

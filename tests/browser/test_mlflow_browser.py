"""MLflow's own page on our runs: the view of a table, and methods beside each other.

With --pictures docs/pictures the tests renew the pictures of docs/tracking.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.track.page import page_of
from ldlrepro.track.sync import sync
from ldlrepro.train.records import FoldRow
from tests.mlflow_server import free_port, wait_until_healthy

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTH = 1400
CELLS = """() => {
  const edge = document.querySelector(".ag-center-cols-viewport").getBoundingClientRect().right;
  const all = [...document.querySelectorAll(".ag-header-cell, .ag-center-cols-container .ag-cell")];
  const seen = all.filter((cell) => /^(metrics|tags)\\./.test(cell.getAttribute("col-id")))
    .map((cell) => ({ cell, text: cell.innerText.trim(), box: cell.getBoundingClientRect() }));
  const whole = ({ cell, box }) => {
    const inside = cell.querySelector(".ag-cell-value, [role=columnheader]");
    return box.right <= edge && inside.scrollWidth <= inside.clientWidth;
  };
  const last = seen.find(({ text }) => text === "done").box.left;
  return seen.filter(({ box }) => box.left <= last)
    .sort((a, b) => a.box.top - b.box.top || a.box.left - b.box.left)
    .map((one) => [one.text, whole(one)]);
}"""
"""From above and left, what the table shows up to the column `done`, and whether it is whole."""
KL = {"knn": 0.050, "forest": 0.040, "maxent": 0.060, "mean": 0.073}
"""Method -> its KL."""


def unit(method: str, kl: float) -> UnitScores:
    rows = [
        FoldRow(
            "paper",
            "faces",
            method,
            0,
            fold,
            "ok",
            params={"k": 5, "random_state": fold},
            fit_s=10 * kl,
            started_at="2026-03-01T10:00:00+00:00",
        )
        for fold in range(3)
    ]
    scores = {"kl": [kl - 0.001, kl, kl + 0.001], "cosine": [1 - kl] * 3}
    return UnitScores("paper", "faces", method, rows, scores, LOCAL)


def printed(method: str, kl: float) -> VerdictRow:
    """A cell that prints 0.05 for every method."""
    verdict = "reproduced" if kl == KL["knn"] else "better" if kl < KL["knn"] else "worse"
    return VerdictRow(
        *("paper", "1", "Faces", "", method, "kl", "0.05", "0.001", "lower", verdict),
        measured=kl,
        difference=kl / 0.05 - 1,
        reason=f"a run meets it: {method} with another start",
        reason_kind="run" * (verdict == "worse"),
        protocol="paper",
        method_id=method,
        unit_dataset="faces",
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """Server of `ldlrepro ui` with four runs of one table."""
    folder = tmp_path_factory.mktemp("mlflow")
    units = [unit(*item) for item in KL.items()]
    # The first run of the table has no printed number, and is the user's.
    cells = [printed(*item) for item in KL.items() if item[0] != "forest"]
    uri = f"sqlite:///{folder}/served.db"
    sync("paper", "A paper", units, uri, rows=cells, own=["forest"])
    port = free_port()
    command = [sys.executable, "-m", "ldlrepro.cli", "ui", "--no-browser", "--port", str(port)]
    log = folder / "log"
    with open(log, "wb") as handle:
        page = subprocess.Popen([*command, "--tracking-uri", uri], stdout=handle, stderr=handle)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", page, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        page.kill()
        page.wait()
    assert "Warning" not in log.read_text()


@pytest.fixture
def page(browser) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": WIDTH, "height": 800})
    opened.set_default_timeout(90_000)
    yield opened
    opened.close()


@pytest.fixture
def keep(request, page) -> Callable[[str], None]:
    """Take a picture of the page where somebody asked for pictures."""
    folder = request.config.getoption("--pictures")

    def take(name: str) -> None:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}.jpg", type="jpeg", quality=60)

    return take


def names_in(page: Any) -> list[str]:
    """Runs of the table from top to bottom."""
    links = page.locator("a[href*='/runs/']").filter(has_text=re.compile("|".join(KL)))
    links.first.wait_for()
    return list(dict.fromkeys(links.all_inner_texts()))


def test_the_saved_view_of_a_table_lists_its_methods_the_best_first(address, page, keep) -> None:
    page.goto(f"{address}/#/experiments/1/runs?viewStateShareKey=paper-faces")
    shown = names_in(page)
    keep("mlflow-table")
    assert shown == sorted(KL, key=KL.__getitem__)
    columns = ["kl", "kl_std", "kl_printed", "kl_off_percent", "KL verdict", "why", "holds", "done"]
    cells = page.evaluate(CELLS)
    assert [text for text, _ in cells[: len(columns)]] == columns
    assert {text for text, whole in cells if not whole} == set()
    shown = {text for text, _ in cells}
    assert {"0.05", "0.001", "reproduced", "not printed", "a run meets it", "3 of 3"} < shown
    assert not page.get_by_text("Override saved view").is_visible()


def test_a_click_on_a_head_sorts_by_size(address, page) -> None:
    page.goto(f"{address}/#/experiments/1/runs?viewStateShareKey=paper-faces")
    names_in(page)
    page.get_by_role("columnheader", name="kl_off_percent").first.click()
    page.get_by_text("Sort: kl_off_percent").wait_for()
    page.reload()  # the address has the order
    assert names_in(page)[:3] == ["mean", "maxent", "knn"]


def test_the_description_of_a_run_stands_there_whole(address, page) -> None:
    page.goto(f"{address}/#/experiments/1/runs?viewStateShareKey=paper-faces")
    page.locator("a[href*='/runs/']").filter(has_text="knn").first.click()
    page.get_by_text("ran as").wait_for()
    page.get_by_text("Show less").wait_for()
    assert page.get_by_text("In print it is 0.05").is_visible()
    row = "Table 1, KL: 0.0500 ± 0.0010, in print 0.05 (0.0%): reproduced"
    assert page.get_by_role("listitem").filter(has_text=row).is_visible()


def test_the_description_of_an_experiment_leads_to_its_first_table(address, page) -> None:
    page.goto(f"{address}/#/experiments/1/runs")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="its first table").click()
    opened.value.get_by_role("columnheader", name="KL verdict").first.wait_for()
    assert names_in(opened.value) == sorted(KL, key=KL.__getitem__)


def test_a_click_on_the_paper_in_the_list_shows_its_first_table(address, page) -> None:
    page.goto(address)
    page.get_by_role("link", name="paper", exact=True).click()
    assert names_in(page) == sorted(KL, key=KL.__getitem__)
    page.get_by_role("columnheader", name="KL verdict").first.wait_for()
    page.get_by_text("Model training").wait_for()
    page.goto(f"{address}/#/experiments")
    page.get_by_text("holds: 0 of 3 judged").wait_for()
    assert not page.get_by_text("Default", exact=True).count()


def test_the_page_that_ui_opens_for_a_paper_shows_its_first_table(address, page) -> None:
    page.goto(address + page_of(address, "paper"))
    assert names_in(page) == sorted(KL, key=KL.__getitem__)


def test_runs_beside_each_other_have_axes_by_method_and_measure(address, page, keep) -> None:
    runs = json.loads(_post(address, "runs/search", {"experiment_ids": ["1"]}))["runs"]
    ids = quote(json.dumps([run["info"]["run_id"] for run in runs]))
    page.goto(f"{address}/#/compare-runs?runs={ids}&experiments={quote(json.dumps(['1']))}")
    page.get_by_text("Parallel Coordinates Plot").wait_for()
    page.get_by_text("Scatter Plot").wait_for()
    page.get_by_text("Parameters:").wait_for()
    page.wait_for_function("document.body.innerText.includes('forest')")
    page.locator(".js-plotly-plot").first.wait_for()
    text = page.inner_text("body")
    keep("mlflow-compare")
    assert "Comparing 4 Runs" in text
    assert "random_state" not in text  # seeds differ by fold and would only be in the way


def _post(address: str, path: str, content: dict[str, Any]) -> bytes:
    request = urllib.request.Request(
        f"{address}/api/2.0/mlflow/{path}",
        json.dumps(content).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bytes(answer.read())

"""The documentation site in a real browser: for everybody's eyes, and a stranger's questions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import faults

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
KINDS_OF_PAGES = ("index", "numbers", "benchmarks", "commands", "library/base", "papers/structrf")
QUESTIONS = {
    "What holds?": "report/index.html",
    "Which paper's numbers hold?": "verdicts.html",
    "One number": "report/ldldf.html",
    "My own method": "add-a-method.html",
    "My own data": "my-data.html",
    "Which method should I use?": "choosing.html",
    "Run it on a cluster": "cluster.html",
    "Track it with MLflow": "tracking.html",
    "Where are the raw predictions?": "tour.html",
    "I doubt this number": "doubt.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--no-strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_everybody_can_use_every_kind_of_page(browser: Any, site: Path, scheme: str, width: int):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    for name in KINDS_OF_PAGES:
        page.goto((site / f"{name}.html").as_uri())
        page.locator("h1").first.wait_for()
        page.wait_for_timeout(200)  # the theme's scripts wrap tables
        assert faults(page) == [], name
        wide = "document.documentElement.scrollWidth > innerWidth"
        assert not page.evaluate(wide), f"{name} is wider than the window"
    context.close()


def visible_links(page: Any) -> dict[str, Any]:
    """Return the links that a reader sees, by their addresses."""
    links = page.locator("a[href]:visible").all()
    return {link.evaluate("a => a.href.split('#')[0]"): link for link in reversed(links)}


@pytest.mark.parametrize("target", QUESTIONS.values(), ids=list(QUESTIONS))
def test_two_clicks_from_the_front_page_answer(browser: Any, site: Path, target: str) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    start, wanted = (site / "index.html").as_uri(), (site / target).as_uri()
    page.goto(start)
    first = visible_links(page)
    if wanted in first:  # the report is written after the site, so here its pages are links alone
        context.close()
        return
    tabs = page.locator(".md-tabs__link").evaluate_all("all => all.map((a) => a.href)")
    for tab in tabs:
        if "/report/" in tab:  # its menu stands on every page
            hidden = page.locator(f"nav a[href='{target}']").count()
            if hidden:
                break
            continue
        page.goto(tab)
        if wanted in visible_links(page):
            break
    else:
        pytest.fail(f"{target} takes more than two clicks")
    context.close()

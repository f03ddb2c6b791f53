"""The documentation site in a real browser: for everybody's eyes, and a stranger's questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import faults

pytestmark = [pytest.mark.browser, pytest.mark.slow]

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


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
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


def visible_links(page: Any) -> set[str]:
    """Return the addresses of the links that a reader sees, without their anchors."""
    seen = page.locator("a[href]:visible")
    return set(seen.evaluate_all("all => all.map((a) => a.href.split('#')[0])"))


@pytest.fixture(scope="module")
def reached(browser: Any, site: Path) -> set[str]:
    """Text that two clicks from the front page show.

    The report is written after the site, so here its own pages are links alone.
    """
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    found = visible_links(page)
    tabs = page.locator(".md-tabs__link").evaluate_all("all => all.map((a) => a.href)")
    if any("/report/" in tab for tab in tabs):  # its menu stands on every page, folded
        menu = page.locator("nav a[href*='report/']")
        found |= set(menu.evaluate_all("all => all.map((a) => a.href)"))
    for address in tabs:
        if "/report/" not in address:
            page.goto(address)
            found |= visible_links(page)
    context.close()
    return found


@pytest.mark.parametrize("target", QUESTIONS.values(), ids=list(QUESTIONS))
def test_two_clicks_from_the_front_page_answer(reached: set[str], site: Path, target: str) -> None:
    assert (site / target).as_uri() in reached

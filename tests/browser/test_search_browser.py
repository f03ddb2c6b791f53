"""The site's search finds the page that a user means, opened from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FIRST = 2
"""A page is found if it is among so many."""
QUESTIONS = {
    "which method should I use": "choosing",
    "which method": "choosing",
    "best method": "choosing",
    "recommend": "choosing",
    "my own data": "my-data",
    "my own csv": "my-data",
    "I doubt this number": "doubt",
    "add my method": "add-a-method",
    "own method": "add-a-method",
    "raw predictions": "choosing",
    "which numbers hold": "verdicts",
    "cluster": "cluster",
    "MLflow": "tracking",
    "is this table possible": "lint",
    "GPU": "training",
}
LINKS = ".md-search-result__item > a.md-search-result__link"


def test_the_search_finds_pages_by_the_words_of_users(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    box = page.locator("[data-md-component=search-query]")
    found = {}
    for question in QUESTIONS:
        box.click()
        box.fill("")
        box.press("Backspace")
        page.wait_for_function(f"document.querySelectorAll('{LINKS}').length == 0")
        box.fill(question[:-1])
        box.press(question[-1])
        page.wait_for_selector(LINKS)
        page.wait_for_timeout(300)  # the list grows while words are typed
        links = page.locator(LINKS).evaluate_all("all => all.map(one => one.href)")
        pages = dict.fromkeys(Path(link.partition("?")[0].partition("#")[0]).stem for link in links)
        found[question] = list(pages)[:FIRST]
    wrong = {
        question: found[question]
        for question, name in QUESTIONS.items()
        if name not in found[question]
    }
    assert wrong == {}

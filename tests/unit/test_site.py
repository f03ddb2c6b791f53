"""The documentation site has every page, verb and estimator, and every link leads somewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ldl
from ldlrepro import cli
from tests.site_pages import build_site

ROOT = Path(__file__).resolve().parents[2]


PLANTED = ("nowhere.md", "numbers.md#no-such-part")
"""Links of a copy of the project that lead nowhere."""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, list[str]]:
    """The site, and the warnings of its build, any of which would stop it but for an option."""
    project = tmp_path_factory.mktemp("project")
    for name in ("docs", "config", "packages", "papers", "src", "tools"):
        shutil.copytree(ROOT / name, project / name)
    for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / name, project / name)
    with open(project / "docs/faq.md", "a") as page:
        page.writelines(f"\n[there]({link})\n" for link in PLANTED)
    said = build_site(project, project / "site")
    return project / "site", [line for line in said.splitlines() if "WARNING" in line]


@pytest.fixture
def site(built) -> Path:
    return built[0]


def test_links_that_lead_nowhere_are_told_and_nothing_else_is(built):
    assert "\nstrict: true\n" in (ROOT / "mkdocs.yml").read_text()
    assert len(built[1]) == len(PLANTED), built[1]
    for link in PLANTED:
        assert any(link.rpartition("#")[2] in line for line in built[1]), link


def test_every_page_of_docs_is_in_the_menu(site):
    # Strict mode fails for a page that the menu of mkdocs.yml leaves out.
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists(), page


def test_links_of_the_readme_lead_to_pages_of_the_site(site):
    text = (site / "index.html").read_text()
    assert 'href="verdicts.html"' in text
    assert 'href="contributing.html"' in text
    assert 'href="docs/' not in text


def test_every_estimator_is_described_with_its_parameters(site):
    pages = {page.stem: page.read_text() for page in (site / "library").glob("*.html")}
    for module, names in ldl._FAMILIES.items():
        for name in names:
            assert f'id="{module}.{name}"' in pages[module.split(".")[1]]
            assert f"#{module}.{name}" in pages["index"]
    assert "max_features" in pages["forests"]


def test_every_verb_is_described(site):
    text = (site / "commands.html").read_text()
    for verb in cli.verbs():
        assert f'id="{verb}"' in text


def test_nothing_is_asked_of_the_network(site):
    for page in site.rglob("*.html"):
        for word in ('src="http', 'rel="stylesheet" href="http', "unpkg"):
            assert word not in page.read_text(), (page, word)

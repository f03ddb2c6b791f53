"""The documentation site has every page, verb and estimator, and every link leads somewhere."""

from __future__ import annotations

import re

import ldl
from ldlrepro import cli
from tests.site_pages import PLANTED, ROOT


def test_links_that_lead_nowhere_are_told_and_nothing_else_is(site):
    """Any warning of its build would stop it but for an option."""
    assert "\nstrict: true\n" in (ROOT / "mkdocs.yml").read_text()
    said = site.with_suffix(".told").read_text().splitlines()
    warnings = [line for line in said if "WARNING" in line]
    assert len(warnings) == len(PLANTED), warnings
    for link in PLANTED:
        assert any(link.rpartition("#")[2] in line for line in warnings), link


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
            assert f"#{module}.{name}" in pages["estimators"]
    assert "max_features" in pages["forests"]
    assert 'id="ldl.metrics.kl"' in pages["measures"]
    assert 'id="ldl.metrics._' not in pages["measures"]


def test_estimators_that_lose_to_the_training_mean_by_default_say_so(site):
    pages = "".join(page.read_text() for page in (site / "library").glob("*.html"))
    table = (ROOT / "docs" / "defaults.md").read_text()
    lost = re.findall(r"^\| \w+ \|.*\| ([1-9]\d*) of 20 \|", table, re.MULTILINE)
    said = re.findall(r"worse than the training mean on (\d+) of", pages)
    assert sorted(said) == sorted(lost)
    assert lost


def test_the_sites_lead_to_each_other(site):
    assert 'href="library/index.html"' in (site / "index.html").read_text()
    library = (site / "library" / "forests.html").read_text()
    for address in re.findall(r'href="(\.\./[\w.]+)', library):
        assert (site / "library" / address).resolve().is_file(), address
    assert 'href="../index.html"' in library


def test_every_verb_is_described(site):
    text = (site / "commands.html").read_text()
    for verb in cli.verbs():
        assert f'id="{verb}"' in text


def test_nothing_is_asked_of_the_network(site):
    for page in site.rglob("*.html"):
        for word in ('src="http', 'rel="stylesheet" href="http', "unpkg"):
            assert word not in page.read_text(), (page, word)


def test_the_pages_of_modules_show_their_own_names_and_their_examples_as_code(site):
    for page in ("measures", "datasets", "plot"):
        text = (site / "library" / f"{page}.html").read_text()
        assert "<blockquote>" not in text, page
    measures = (site / "library" / "measures.html").read_text()
    assert 'id="ldl.metrics.measure"' in measures
    assert 'id="ldl.metrics.nearest"' not in measures

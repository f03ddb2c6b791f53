"""The report in a real browser: looked at, clicked through, at two widths, light and dark.

`check_page` is what any report has to pass, not only the one that these tests write.
"""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from ldlrepro.arena.advice import recommend
from ldlrepro.arena.standings import Standings, lines, read, tables
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.tallies import tally
from ldlrepro.plan import Plan
from ldlrepro.report.build import report_content
from ldlrepro.report.content import PaperPage, ReportContent
from ldlrepro.report.figures import write_figures
from ldlrepro.report.html import write_report
from tests.browser.accessibility import faults
from tests.report_pages import PROJECT

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 800}
RECORDS_LOOKED_AT = 25

# ---------------------------------------------------------------------- for any report


def listen(page: Any) -> list[str]:
    """Everything that goes wrong in the page from now on, and every request to elsewhere."""
    problems: list[str] = []
    page.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
    page.on("pageerror", lambda error: problems.append(f"JavaScript: {error}"))
    page.on("requestfailed", lambda request: problems.append(f"failed: {request.url[:200]}"))

    def outside(request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            problems.append(f"asks for {request.url[:200]}")

    page.on("request", outside)
    return problems


def visit(page: Any, route: str) -> None:
    page.evaluate("route => { location.hash = route }", route)
    settle(page)


def settle(page: Any) -> None:
    """Wait until the page shows what its address says."""
    page.evaluate("""() => new Promise((done) => {
        const there = () => [undefined, location.hash].includes(document.body.dataset.shown);
        const look = () => there()
            ? requestAnimationFrame(() => setTimeout(done))
            : setTimeout(look, 10);
        look();
    })""")


def files_of(report: Path) -> list[Path]:
    """Return the report's pages, the front page first."""
    return [report, *sorted(report.with_suffix("").glob("*.html"))]


def check_page(page: Any, report: Path) -> None:
    """Fails on a script error, a broken link, an empty table or a page wider than the window.

    Goes through every view of every file at two widths, and through records spread over them.
    """
    problems = listen(page)
    files = files_of(report)
    ids: dict[Path, set[str]] = {}
    links: dict[Path, set[str]] = {}
    for file in files:
        page.set_viewport_size(PHONE)
        page.goto(file.resolve().as_uri())
        ids[file.resolve()] = set(page.eval_on_selector_all("[id]", "all => all.map(e => e.id)"))
        links[file] = set(hrefs(page, "a[href]"))
        views = page.eval_on_selector_all(".view", "v => v.map(e => '#' + e.id)")
        views = [view for view in views if view not in ("#/record", "#/nowhere")]
        records = sorted(link for link in links[file] if link.startswith("#/record/"))
        step = max(1, len(records) * len(files) // RECORDS_LOOKED_AT)
        for route in [*views, *records[::step]]:
            visit(page, route)
            for size in (PHONE, WIDE):
                page.set_viewport_size(size)
                problems += [f"{file.name}{route}: {text}" for text in faults_in_view(page)]
            if route.startswith("#/record/"):
                links[file] |= set(hrefs(page, "#\\/record a[href]"))
    for file in files:
        problems += broken_links(file, links[file], ids)
    assert not problems, "\n".join(problems)


def hrefs(page: Any, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "all => all.map(a => a.getAttribute('href'))")


def broken_links(file: Path, links: set[str], ids: dict[Path, set[str]]) -> list[str]:
    """Links to a page need their target in it, links to other files need the file."""
    broken = []
    for link in links:
        address = urlparse(link)
        target = file.parent / unquote(address.path) if address.path else file
        if address.scheme not in ("", "file"):
            broken.append(f"{file.name}: link to elsewhere {link}")
        elif not target.is_file():
            broken.append(f"{file.name}: broken file link {link}")
        elif address.fragment and unquote(address.fragment) not in ids.get(
            target.resolve(), {unquote(address.fragment)}
        ):
            broken.append(f"{file.name}: broken link {link}")
    return broken


def faults_in_view(page: Any) -> list[str]:
    return page.evaluate("""() => {
        const faults = [];
        const view = document.querySelector(".view.on");
        if (view.id === "/nowhere") faults.push("no such page");
        if (!view.querySelector("h1")?.textContent.trim()) faults.push("no heading");
        for (const table of view.querySelectorAll("table")) {
            const rows = [...table.querySelectorAll("tbody tr")];
            if (!table.checkVisibility()) continue; // folded
            const full = rows.filter((row) => row.querySelector("td")?.textContent.trim() !== "");
            const name = table.caption?.textContent || table.className;
            if (!rows.length || !full.length) faults.push(`empty table: ${name}`);
            else if (table.getBoundingClientRect().height < 20) faults.push(`unseen: ${name}`);
        }
        for (const image of view.querySelectorAll("img")) {
            image.loading = "eager";
            if (image.complete && !image.naturalWidth) faults.push(`no picture: ${image.alt}`);
        }
        if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the window");
        return faults;
    }""")


# ---------------------------------------------------------------------- the report of this checkout


@pytest.fixture(scope="module")
def reference(
    fresh_clone: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, ReportContent]:
    """The report of all papers, as in a fresh clone."""
    judge = Judge(Plan(PROJECT), Workspace(fresh_clone / "results", fresh_clone / "data"))
    answers = [judge.answer(paper) for paper in PROJECT.real_papers()]
    written = Workspace(tmp_path_factory.mktemp("clone") / "results")
    for answer in answers:
        write_figures(PaperPage.of(PROJECT, answer), written.figures(answer.paper))
    arena = tables(judge.workspace.results, PROJECT.root / "reference")
    content = report_content(PROJECT, answers, written.results / "figures", arena=arena)
    return write_report(content, written.results / "report" / "all.html"), content


@pytest.fixture
def report(reference: Any) -> Path:
    return reference[0]


def address(report: Path, route: str = "#/") -> str:
    """Return the address of a place: that of the file whose name the route has, and the route."""
    names = route.removeprefix("#/").split("/")
    files = {file.stem: file for file in files_of(report)[1:]}
    return next((files[name] for name in names if name in files), report).as_uri() + route


def opened(page: Any, report: Path, route: str = "#/") -> list[str]:
    problems = listen(page)
    page.goto(address(report, route))
    settle(page)
    return problems


def arrived(page: Any, route: str) -> None:
    """Wait until a click has led to a place, maybe in another file."""
    page.wait_for_url(lambda url: unquote(url).endswith(route))
    page.wait_for_load_state()
    settle(page)


def unfold(page: Any) -> None:
    page.evaluate("document.querySelectorAll('.view.on details').forEach((d) => { d.open = true })")


def current(page: Any) -> str:
    return page.evaluate("document.querySelector('.view.on').id")


def visible_numbers(page: Any) -> list[str]:
    """The verdicts of the cells that a reader sees now."""
    return page.evaluate("""() => [...document.querySelectorAll(".view.on .table td [data-v]")]
        .filter((cell) => cell.checkVisibility({ visibilityProperty: true }))
        .map((cell) => cell.dataset.v)""")


# ---------------------------------------------------------------------- tests


def test_the_check_sees_a_script_error_a_broken_link_and_an_empty_table(page, tmp_path):
    faulty = tmp_path / "report.html"
    faulty.write_text(
        "<section class='view on' id='/'><h1>x</h1><a href='#/gone'>y</a><a href='gone.log'>z</a>"
        "<table><caption>t</caption><tbody></tbody></table></section>"
        "<script>undefinedFunction()</script>"
    )
    with pytest.raises(AssertionError) as caught:
        check_page(page, faulty)
    for fault in ("undefinedFunction", "#/gone", "gone.log", "empty table: t"):
        assert fault in str(caught.value)


def test_a_count_on_the_overview_leads_to_its_cells(page, report):
    opened(page, report)
    unfold(page)
    link = page.locator("table.counts a[href$='#/ldldf/show/misprint']")
    expected = int(link.inner_text())
    link.click()
    arrived(page, "#/ldldf/show/misprint")
    assert current(page) == "/ldldf"
    assert visible_numbers(page) == ["misprint"] * expected
    assert page.locator(".view.on form.filter").bounding_box()["y"] < WIDE["height"]


def test_a_number_leads_to_its_record_and_back_to_the_same_place(page, report):
    problems = opened(page, report, "#/structrf/table/16")
    link = page.locator(".table[id='/structrf/table/16'] a.m").first
    link.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    link.click()
    record = page.locator("[id='/record'].on")
    record.wait_for()
    assert "on sjaffe" in record.locator("h1").inner_text()
    assert "ldlrepro run structrf" in record.inner_text()
    assert record.locator("a[href='#/structrf/table/16']").count() > 0
    page.go_back()
    page.locator("[id='/structrf'].on").wait_for()
    assert page.evaluate("scrollY") == before
    assert problems == []


def test_the_filter_keeps_the_chosen_verdicts_and_words(page, report):
    opened(page, report, "#/structrf")
    form = page.locator(".view.on form.filter")
    unfold(page)
    everything = len(visible_numbers(page))
    for box in form.locator("input[name=verdict]").all():
        box.set_checked(box.get_attribute("value") == "worse")
    worse = visible_numbers(page)
    assert set(worse) == {"worse"}
    form.locator("input[name=text]").fill("movie")
    narrowed = visible_numbers(page)
    assert 0 < len(narrowed) < len(worse) < everything
    assert form.locator("output").inner_text().startswith(f"{len(narrowed)} of ")
    form.locator("button[type=reset]").click()
    sync_api.expect(form.locator("output")).to_have_text(re.compile("^all "))
    assert len(visible_numbers(page)) == everything


def test_an_old_address_of_the_front_page_leads_to_the_page_of_the_paper(page, report):
    page.goto(report.as_uri() + "#/mslp/table/2")
    arrived(page, f"/{report.stem}/mslp.html#/mslp/table/2")
    assert current(page) == "/mslp"


def test_the_keyboard_reaches_navigation_filter_and_numbers(page, report):
    page.goto(address(report, "#/ldlf").split("#")[0])
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    for place, key in (("Papers", "Enter"), ("Label distribution learning forests", "Enter")):
        while not page.locator(":focus").inner_text().startswith(place):
            page.keyboard.press("Tab")
            assert page.locator("header.site :focus").count() == 1
        page.keyboard.press(key)
    page.locator("[id='/ldlf'].on").wait_for()
    for place in (".view.on form.filter input:focus", ".view.on .table summary:focus"):
        tabs = 0
        while page.locator(place).count() == 0 and tabs < 60:
            page.keyboard.press("Tab")
            tabs += 1
        assert page.locator(place).count() == 1
    if not page.locator(".table details").first.evaluate("part => part.open"):
        page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.locator(".view.on .table a.m:focus").count():
            break
    else:
        pytest.fail("no number is reached")


def test_without_script_all_parts_are_there_and_links_unfold_them(browser, report):
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)
    page = context.new_page()
    page.goto(address(report))
    assert page.locator("h1:visible").count() > 1
    page.goto(address(report, "#/mslp/table/2"))
    assert page.locator("h1:visible").count() == 1
    assert page.locator(".table[id='/mslp/table/2']").is_visible()
    assert not page.locator("form.filter").first.is_visible()
    name = page.locator(".table details:not([open]) [data-v][id]").first.get_attribute("id")
    cell = page.locator(f"[id='{name}']")
    assert not cell.is_visible()
    page.goto(f"{address(report, '#/mslp').split('#')[0]}#{name}")
    assert cell.is_visible()
    context.close()


@pytest.mark.slow
def test_a_fresh_clone_shows_all_papers_from_the_reference(page: Any, reference: Any) -> None:
    report, content = reference
    check_page(page, report)
    page.goto(report.as_uri())
    real = [paper for paper in content.pages if paper.rows and not paper.paper.synthetic]
    counts = tally(row for paper in real for row in paper.rows)
    assert counts.judged > 0, "reference/ holds no record"
    assert counts.sentence(" of 9 papers") in page.inner_text(".view.on")
    assert all(row.source in ("", "reference") for paper in content.pages for row in paper.rows)


LARGEST_BYTES = 6_000_000
TALLEST = 6000
"""Pixels of a page before anything is unfolded."""
"""Far above the aim of 1500, because machines that test are busy with other things."""


def test_every_page_is_light_and_short_at_first_sight(page: Any, reference: Any) -> None:
    front, *others = files_of(reference[0])
    page.set_viewport_size(PHONE)
    places = [front.as_uri() + route for route in ("", "#/findings", "#/errata", "#/left-out")]
    assert all(file.stat().st_size < LARGEST_BYTES for file in (front, *others))
    for place in [*places, *(file.as_uri() for file in others)]:
        page.goto(place)
        settle(page)
        assert page.evaluate("document.documentElement.scrollHeight") < TALLEST, place


@pytest.mark.parametrize(
    ("scheme", "size"), [("light", WIDE), ("dark", PHONE)], ids=["light", "dark"]
)
def test_everybody_can_use_every_kind_of_page(browser, reference, scheme, size):
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    views = ("", "about", "methods", "findings", "errata", "ldlf", "drf", "leaderboard", "records")
    for route in [*(f"#/{view}" for view in views), "#/record/ldlf/movie/sldlf"]:
        page.goto(address(reference[0], route))
        settle(page)
        unfold(page)
        page.evaluate("dispatchEvent(new Event('resize'))")
        assert faults(page) == [], route
    context.close()


# ---------------------------------------------------------------------- a stranger's questions


def asked(page: Any, report: Path, words: str) -> None:
    """Type into the jump box of the front page and take the first place that it offers."""
    page.goto(report.as_uri())
    settle(page)
    page.locator("#jump input").fill(words)
    page.locator("#jump-list [role=option]").first.wait_for()
    page.keyboard.press("Enter")


def test_is_the_kl_of_ldldf_on_sjaffe_reproduced(page: Any, reference: Any) -> None:
    asked(page, reference[0], "s-JAFFE KL LDLDF")
    arrived(page, "#/cell/ldldf/6/sjaffe/LDLDF/kl")
    cell = page.locator("td.here")
    assert "(0.0399" in cell.inner_text()
    assert "worse" in cell.inner_text()
    sync_api.expect(cell).to_be_in_viewport()
    name = page.locator("tr:has(td.here) th").bounding_box()
    assert cell.bounding_box()["x"] >= name["x"] + name["width"]


@pytest.mark.parametrize(
    ("words", "place", "answer"),
    [
        ("holds", "#/about/verdicts", "A number holds when"),
        ("cite", "#/about/cite", "ldlrepro baselines"),
        ("own method", "#/about/own", "ldlrepro new method"),
        ("my own csv", "#/about/own", "ldlrepro arena FILE.csv"),
        ("which method", "#/leaderboard", "Leaderboard"),
        ("best method", "#/leaderboard", "Leaderboard"),
        ("recommend", "#/leaderboard", "Leaderboard"),
        ("my own data", "#/about/own", "ldlrepro arena FILE.csv"),
        ("raw predictions", "#/about/run/predictions", "--predictions FILE.parquet"),
        ("I doubt this number", "#/about/doubt", "ldlrepro audit"),
        ("how long does it take", "#/about/run/time", "ldlrepro status PAPER"),
        ("cluster", "#/about/run/cluster", "profiles/slurm"),
        ("why is it worse", "#/about/doubt", "ldlrepro explain"),
        ("errata", "#/errata", "were wrong"),
        ("docker", "#/about/run/again", "envs/Dockerfile"),
        ("misprint", "#/about/verdicts", "evident slip"),
        ("misprints of ldldf", "#/ldldf/show/misprint", "Show all"),
        ("which method for wq", "#/data/wq", "Water quality"),
        ("Elo", "#/leaderboard", "Leaderboard"),
        ("Which method for data with persons?", "#/leaderboard/with-persons", "over 3 public sets"),
        ("SA-BFGS", "#/methods/sa_bfgs", "judged numbers of SA-BFGS hold"),
        ("leak of sLDLF", "#/findings/the-printed-numbers-of-sldlf-fit-a-leak", "six of ten"),
        ("CatBoost", "#/leaderboard/CatBoost", "CatBoost (default) has place"),
        ("kernel ridge", "#/leaderboard/KernelRidge", "has place 1 of"),
        ("which numbers of SA-BFGS hold", "#/methods/sa_bfgs", "judged numbers of SA-BFGS hold"),
        ("fastest method", "#/leaderboard", "Leaderboard"),
        ("python api", "#/about/run/python", "import ldl"),
        ("folds", "#/about/run/folds", "how its test folds were made"),
        ("MAE", "#/about/measures/MAE", "in years"),
        ("Movie dataset", "#/data/movie", "leads in the arena"),
        ("best method for movie ratings", "#/data/movie", "leads in the arena"),
        ("what is a leak", "#/findings/the-printed-numbers-of-sldlf-fit-a-leak", "six of ten"),
        ("Gonzalez", "#/df_ldl", "DF-LDL"),
        ("BFGS-LLD", "#/methods/sa_bfgs", "judged numbers of SA-BFGS hold"),
        ("k-NN", "#/methods/aa_knn", "judged numbers of AA-kNN hold"),
        ("random seed", "#/about/run/folds", "how its test folds were made"),
        ("band", "#/about/reading", "one standard deviation over folds"),
        ("papers disagree", "#/contradictions", "Contradictions between papers"),
        ("Wilcoxon", "#/leaderboard/ranking", "How methods are ranked"),
        ("why is human gene missing", "#/data/human_gene", "Human Gene"),
        ("fgnet features", "#/data/fgnet_features", "leads in the arena"),
        ("structrf/16/sjaffe/SA-BFGS/kl", "#/cell/structrf/16/sjaffe/SA-BFGS/kl", "0.0861"),
        ("same bits", "#/about/run", "How it was run"),
        ("PT-Bayes", "#/methods/pt_bayes", "judged numbers of PT-Bayes hold"),
        ("González 2021", "#/df_ldl", "DF-LDL"),
        ("where do I get the data?", "#/about/run/data", "ldlrepro fetch DATASET"),
        ("how were the folds made", "#/about/run/folds", "how its test folds were made"),
        ("which papers", "#/", "Each bar is"),
        ("which numbers of StructRF hold", "#/structrf/show/holds", "only what holds"),
        ("What is KL", "#/about/measures/KL", "Kullback-Leibler"),
        ("what is Chebyshev", "#/about/measures/Chebyshev", "max_j"),
        ("MLflow", "#/about/run/mlflow", "ldlrepro ui"),
        ("random MLflow artifacts", "#/about/run/mlflow", "ldlrepro ui"),
        ("install", "#/about/run/again", "make setup"),
        ("bibtex", "#/about/cite", "ldlrepro cite"),
        ("license", "#/about/run/licence", "MIT for the code"),
        ("does it use a GPU", "#/about/run/gpu", "Only the deep methods"),
        ("time", "#/about/run/time", "ldlrepro status PAPER"),
        ("how do I add a method", "#/about/own", "ldlrepro new method"),
        ("which method is best for jaffe", "#/data/sjaffe", "s-JAFFE"),
    ],
)
def test_the_box_finds_what_a_word_means_and_what_to_type(page, reference, words, place, answer):
    asked(page, reference[0], words)
    arrived(page, place)
    sync_api.expect(page.locator(".view.on").get_by_text(answer).first).to_be_in_viewport()


@pytest.fixture(scope="module")
def report_in_site(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all papers, with two pages of the documentation beside it."""
    site = tmp_path_factory.mktemp("site")
    titles = {"add-a-method.html": "Add my own method", "faq.html#seed": "Another <i>seed</i>?"}
    docs = [{"location": place, "title": title} for place, title in titles.items()]
    (site / "search").mkdir()
    (site / "search" / "search_index.json").write_text(json.dumps({"docs": docs}))
    for place in ("doubt.html", "add-a-method.html"):
        (site / place).touch()
    return write_report(reference[1], site / "report" / "index.html")


@pytest.mark.parametrize(
    ("words", "meant", "first"),
    [
        ("(0.0399", "", "ldldf Table 6 · sjaffe · LDLDF · KL · 0.0399"),
        ("What is the KL of LDLDF on s-JAFFE?", "", "ldldf Table 6 · sjaffe · LDLDF · KL · 0.0399"),
        (
            "xqzwv of LDLDF on movie",
            "LDLDF movie",
            "ldldf Table 6 · movie · LDLDF · KL · 0.0863",
        ),
        ("yeast_alpah", "yeast_alpha", "Which method for Yeast-alpha?"),
        ("raw predictoins", "raw predictions", "Where are the raw predictions?"),
        ("how do I add a method", "", "documentation · Add my own method"),
    ],
)
def test_the_box_knows_numbers_questions_typing_errors_and_pages_of_the_site(
    page, report_in_site, words, meant, first
):
    page.goto(report_in_site.with_name("ldlf.html").as_uri())
    page.locator("#jump input").fill(words)
    found = page.locator("#jump-list [role=option]").first
    if meant:
        sync_api.expect(found).to_have_text(f"Nothing has all these words. Did you mean {meant}?")
        page.keyboard.press("Enter")
        assert page.locator("#jump input").input_value() == meant
    sync_api.expect(found).to_have_text(first)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/cell/ldldf/6/|/add-a-method.html$|#/data/|#/about/"))


def test_the_title_of_a_table_says_nothing_of_the_data_set_of_its_cells(page, reference):
    """The first table of mslp is about both s-JAFFE and s-BU_3DFE."""
    page.goto(reference[0].as_uri())
    settle(page)
    page.locator("#jump input").fill("bu_3dfe KL")
    found = page.locator("#jump-list [role=option]")
    found.first.wait_for()
    assert all(" · sbu_3dfe · " in place for place in found.all_inner_texts())


def test_the_box_finds_words_by_their_beginning_and_behind_a_mark(page, reference):
    page.goto(reference[0].as_uri())
    settle(page)
    page.locator("#jump input").fill("jaff LDLDF KL")
    found = page.locator("#jump-list [role=option]").first
    sync_api.expect(found).to_contain_text(" · sjaffe · LDLDF · KL")
    page.locator("#jump input").fill("ero")  # in the middle of zero_one_loss
    sync_api.expect(page.locator("#jump-list")).to_have_text("Nothing has all these words")


def test_a_cell_of_a_short_table_says_what_it_is_of(page, reference):
    page.goto(address(reference[0], "#/cell/structrf/21/yeast_alpha/StructRF*/delta_chebyshev"))
    settle(page)
    sync_api.expect(page.locator("tr.told")).to_contain_text("yeast_alpha, Δ Chebyshev. Measured")


def test_all_that_the_box_finds_is_there(reference):
    text = {file.name: file.read_text(encoding="utf-8") for file in files_of(reference[0])}
    front = text[reference[0].name]
    packed = re.search(r'id="jump-data">([^<]*)<', front)[1]
    sections, tables = json.loads(gzip.decompress(base64.b64decode(packed)))
    routes = [place[3] for place in [*sections, *tables]]
    named = [unquote(route).partition("#") for route in routes if "/show/" not in route]
    text[""] = front
    assert [
        (file, own) for file, _, own in named if f'id="{own}"' not in text[Path(file).name]
    ] == []


def test_no_two_places_of_the_box_have_the_same_name(page, reference):
    page.goto(reference[0].as_uri())
    settle(page)
    page.locator("#jump input").fill("doubt")
    page.locator("#jump-list [role=option]").first.wait_for()
    first, *others = page.locator("#jump-list [role=option]").all_inner_texts()
    assert first == "Doubt a number"
    assert len({first, *others}) == 1 + len(others)


def test_a_phone_shows_the_sentence_a_menu_and_a_cell_with_its_reason(browser, reference):
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.goto(reference[0].as_uri())
    settle(page)
    sync_api.expect(page.locator(".lede").first).to_be_in_viewport(ratio=1)
    page.locator("#menu").click()
    for part in ("Papers", "Methods", "Data", "Leaderboard", "About"):
        sync_api.expect(page.locator("#parts").get_by_text(part, exact=True)).to_be_in_viewport()
    asked(page, reference[0], "s-JAFFE KL LDLDF")
    arrived(page, "#/cell/ldldf/6/sjaffe/LDLDF/kl")
    page.wait_for_timeout(300)
    told = page.locator("tr.told p")
    for place in (page.locator("td.here .v"), told.first, told.nth(1), told.last):
        box = place.bounding_box()
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        assert box["y"] + box["height"] <= PHONE["height"]
    assert "+" in told.first.inner_text()
    assert "RF+XGB+LR meets it with 0.0422" in told.nth(1).inner_text()
    context.close()


def test_a_cell_and_its_record_say_why_and_how_to_doubt_it(page: Any, reference: Any) -> None:
    asked(page, reference[0], "s-JAFFE KL LDLDF")
    arrived(page, "#/cell/ldldf/6/sjaffe/LDLDF/kl")
    reason = page.locator("tr.told p").nth(1).inner_text()
    page.locator("tr.told").get_by_role("link", name="Record", exact=True).click()
    page.locator("[id='/record'].on").wait_for()
    assert reason in page.locator(".view.on").inner_text()
    page.locator(".view.on a", has_text="Doubt this number").click()
    arrived(page, "#/about/doubt")
    assert "ldlrepro audit --unit" in page.locator(".view.on").inner_text()


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_number_takes_three_lines_and_its_record_says_the_rest(page, reference, size):
    page.set_viewport_size(size)
    opened(page, reference[0], "#/ldldf/table/4")
    unfold(page)
    lines = page.evaluate("""() => [...document.querySelectorAll(".view.on .table td > [data-v]")]
        .filter((cell) => cell.checkVisibility())
        .map((cell) => cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight))""")
    assert 2 < max(lines) < 3.5
    visit(page, "#/cell/ldldf/4/sjaffe/combination RF+XGB/LDLDF/cosine")
    rest = "(predicted) (an ordinary forest too)"
    assert rest in page.locator("tr.told p").first.inner_text()
    page.locator("tr.told").get_by_role("link", name="Record", exact=True).click()
    page.locator("[id='/record'].on").wait_for()
    assert rest in page.locator(".view.on").inner_text()


def test_a_cell_says_that_its_mean_is_over_seeds(page: Any, reference: Any) -> None:
    asked(page, reference[0], "mslp Table 1 sjaffe CCA KL")
    arrived(page, "#/cell/mslp/1/sjaffe/CCA/kl")
    assert "(mean over 20 seeds)" in page.locator("tr.told p").first.inner_text()
    page.locator("tr.told").get_by_role("link", name="Record", exact=True).click()
    assert "This is one run" in page.locator(".record caption", has_text="test fold").inner_text()


def test_which_method_is_best_on_sbu_3dfe_with_persons_apart(page: Any, reference: Any) -> None:
    asked(page, reference[0], "mslp persons apart s-BU_3DFE")
    arrived(page, "#/mslp/persons/sbu_3dfe")
    table = page.locator("[id='/mslp/persons/sbu_3dfe'] table")
    sync_api.expect(table).to_be_in_viewport()
    table.locator("thead button", has_text="place, apart").click()
    first = table.locator("tbody tr").first
    assert first.locator("td").last.inner_text() == "1"
    assert first.locator("td, th").first.inner_text() == "CCA (settings chosen by print)"


def test_a_phone_shows_how_far_papers_are_apart_and_we(page: Any, reference: Any) -> None:
    page.set_viewport_size(PHONE)
    page.goto(address(reference[0], "#/contradictions"))
    settle(page)
    for name in ("times", "ours"):
        head = page.locator(".view.on thead th", has_text=name).bounding_box()
        assert head["x"] + head["width"] <= PHONE["width"]


def test_a_phone_shows_which_method_to_use_on_a_data_set_and_how_sure_that_is(browser, reference):
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    asked(page, reference[0], "BU_3DFE")
    arrived(page, "#/data/sbu_3dfe")
    page.wait_for_timeout(300)
    told = page.locator("tr.here + tr.told p")
    for place in (page.locator("tr.here th"), page.locator("tr.here td").nth(1), told):
        box = place.bounding_box()
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        assert box["y"] + box["height"] <= PHONE["height"]
    kept = Workspace(reference[0].parent / "none", reference[0].parent)
    answer = recommend(Judge(Plan(PROJECT), kept), PROJECT.data_set("sbu_3dfe"), "kl").said
    leader, sure = re.fullmatch(
        r"(.+) leads .*folds cannot tell (.*) other methods .*", told.inner_text()
    ).groups()
    assert f"Use {leader}, " in answer
    assert f"folds cannot tell {sure} other methods" in answer
    context.close()


def test_the_arena_is_shown_for_one_kind_of_data_set(page: Any, reference: Any) -> None:
    page.goto(address(reference[0], "#/leaderboard"))
    settle(page)
    page.locator("#leaders").select_option("of the family yeast")
    shown = page.locator("[data-leaders]:visible")
    assert shown.count() == 1
    paths = tables(PROJECT.root, PROJECT.root / "reference")
    board = Standings(read(paths), PROJECT.families).on(n for n in paths if n.startswith("yeast"))
    assert shown.locator("tbody th").first.inner_text() == lines(board)[0]["method"]
    assert "10 public sets of one family" in shown.inner_text()


def test_what_goes_on_to_the_right_fades_until_it_is_scrolled_to_its_end(browser, reference):
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.goto(address(reference[0], "#/leaderboard"))
    settle(page)
    box = page.locator(".view.on .scroll:has(table)").first
    fade = "e => parseFloat(getComputedStyle(e).getPropertyValue('--fade'))"
    assert box.evaluate(fade) > 30
    box.evaluate("e => { e.scrollLeft = e.scrollWidth }")
    page.wait_for_timeout(100)
    assert box.evaluate(fade) < 1
    context.close()


def test_what_leaked_in_ldlf(page: Any, reference: Any) -> None:
    page.goto(reference[0].as_uri())
    page.locator("#parts summary", has_text="About").click()
    page.locator("#parts a", has_text="Findings").click()
    arrived(page, "#/findings")
    found = page.locator(".view.on p", has_text="The printed numbers of sLDLF fit a leak")
    assert "six of ten test rows are also in training" in " ".join(found.inner_text().split())
    found.locator("a", has_text="ldlrepro explain").click()
    arrived(page, "#/cell/ldlf/1/movie/sLDLF/kl")


def test_all_words_of_a_drawing_lie_inside_it(page: Any, reference: Any) -> None:
    drawings = sorted(reference[0].with_suffix("").rglob("*.svg"))
    assert len(drawings) > 40
    for drawing in drawings:
        page.goto(drawing.as_uri())
        outside = page.evaluate("""() => {
            const { width, height } = document.documentElement.viewBox.baseVal;
            const frame = document.documentElement.getScreenCTM().inverse();
            return [...document.querySelectorAll("text")].filter((word) => {
                const box = word.getBoundingClientRect();
                const [start, end] = [[box.left, box.top], [box.right, box.bottom]].map(
                    ([x, y]) => new DOMPoint(x, y).matrixTransform(frame));
                return start.x < 0 || start.y < -1 || end.x > width || end.y > height + 1;
            }).map((word) => word.textContent);
        }""")
        assert outside == [], drawing.name

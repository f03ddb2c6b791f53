"""What the pages say is true: keys, commands, links, and the examples as they stand."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ldlrepro import __version__, cli
from ldlrepro.catalogue.runs import Slice
from ldlrepro.catalogue.schemas import FILES
from ldlrepro.catalogue.yaml_files import checked
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.doctor import config_docs
from ldlrepro.judge.judging import Judge
from ldlrepro.plan import Plan
from ldlrepro.report import citation
from tests import prose
from tests.report_pages import PROJECT, packed_in

ROOT = Path(__file__).resolve().parents[2]
PLAN = Plan(PROJECT)
CONFIG_PAGE = ROOT / "config" / "README.md"
TOP = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
NOTES = sorted((ROOT / "papers").glob("*/note.md"))
PAGES = [*TOP, CONFIG_PAGE, *NOTES, *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXTRA = re.compile(r"# (\S+), under extra:\n(.*)", re.DOTALL)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in FENCE.findall(page.read_text()) if name == language]


def commands(page: Path, program: str) -> list[str]:
    """The lines of a page's shell blocks that call a program."""
    lines = "".join(blocks(page, "sh")).splitlines()
    return [line.partition(" #")[0].strip() for line in lines if line.startswith(program)]


# ---------------------------------------------------------------------- keys


def test_tables_and_schemas_are_those_that_the_models_give():
    for path, text in config_docs.written(ROOT).items():
        assert path.read_text() == text, "type: python -m ldlrepro.doctor.config_docs"
    there = {path.stem for path in (ROOT / "config" / "schemas").glob("*.json")}
    assert there == {f"{kind}.schema" for kind in FILES}
    assert all(len(row.meaning) > 3 for kind in FILES for row in config_docs.key_rows(kind))


def test_the_shown_errors_are_the_real_ones():
    page = CONFIG_PAGE.read_text()
    path = ROOT / "config" / "methods" / "sa_bfgs.yaml"
    wrong = {**yaml.safe_load(path.read_text()), "scaling": "minmax"}
    with pytest.raises(UserError) as error:
        checked(FILES["method"], wrong, "config/methods/sa_bfgs.yaml")
    assert f"    ldlrepro: {error.value}\n" in page
    run = PROJECT.run.model_copy(update={"only": Slice(datasets=["sjafe"])})
    with pytest.raises(UserError) as error:
        PROJECT.check(run, "config/config.yaml")
    assert f"    {error.value}\n" in page


# ---------------------------------------------------------------------- commands and links


def code(page: Path) -> str:
    """All that stands between backticks or in indented blocks."""
    text = page.read_text()
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", FENCE.sub("", text))]
    indented = re.findall(r"^ {4,}(\S.*)$", text, re.MULTILINE)
    return "\n".join([*(block for _, block in FENCE.findall(text)), *spans, *indented])


@every_page
def test_every_verb_exists(page):
    used = re.findall(r"(?:^|[ (])ldlrepro +([a-z_]+)", code(page), re.MULTILINE)
    assert set(used) <= set(cli.verbs())


@every_page
def test_every_make_target_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = re.findall(r"(?:^| )make +([a-z-]+)\b", code(page), re.MULTILINE)
    assert set(used) <= targets


@every_page
def test_every_link_resolves(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            linked = (page.parent / path).resolve() if path else page
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked), target


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_every_path_exists(page):
    """Files of the project that a page names; results, data and placeholders aside."""
    pattern = r"\b((?:src|rules|config|docs|papers|tests|envs|profiles)/[\w./-]+\w)"
    made_up = {"my_method", "my_data", "mine"}
    for name in re.findall(pattern, code(page)):
        if Path(name).stem not in made_up:
            assert (ROOT / name).exists(), name


@every_page
def test_every_cell_exists(page):
    named = set(re.findall(r"ldlrepro explain ([a-z]+/\S+)", code(page)))
    for cell in named:
        paper = PROJECT.paper(cell.partition("/")[0])
        rows = (printed.row for printed in PLAN.cells(paper))
        parts = ("paper", "table", "dataset", "setting", "method", "metric")
        assert cell in {"/".join(row[part] for part in parts if row[part]) for row in rows}


# ---------------------------------------------------------------------- examples


@pytest.fixture(scope="module")
def copied(tmp_path_factory, empty_store):
    """A copy of the project, as the workflow tests make it, and a store with its tables."""
    path = ROOT / "tests" / "workflow" / "conftest.py"
    spec = importlib.util.spec_from_file_location("workflow_conftest", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for annotations
    spec.loader.exec_module(module)
    made = module.copy_project(tmp_path_factory.mktemp("docs") / "project")
    shutil.copy(empty_store, made.root)
    return made


@pytest.fixture
def project(copied):
    """The copy, in which no page leaves its files to the next."""
    yield copied
    for path in (copied.root / "../mine").rglob("*.yaml"):
        path.unlink()


def write_files(project: Any, page: Path) -> list[Path]:
    """Every block that begins with the name of a file, put there; extras into their papers."""
    written = []
    for language in ("python", "yaml", "csv"):
        for text in blocks(page, language):
            if extra := EXTRA.match(text):
                project.edit(extra[1], "\nextra:\n", f"\nextra:\n{extra[2]}")
            else:
                name, _, rest = text.removeprefix("# ").partition("\n")
                written.append(project.root / name)
                written[-1].parent.mkdir(exist_ok=True)
                written[-1].write_text(rest if language == "csv" else text)
    return written


def plans(project: Any, command: str, **begin: str) -> str:
    """What a shell line of a page would run."""
    return project.run(*shlex.split(command), "--dry-run", **begin)


def exported(project: Any, page: Path) -> dict[str, str]:
    """What a page tells its readers to export."""
    lines = re.findall(r"^export (\w+)=(\S+)$", page.read_text(), re.MULTILINE)
    assert lines
    return {name: value.replace("$PWD", str(project.root)) for name, value in lines}


@pytest.mark.slow
def test_adding_a_method_works_as_told(project):
    page = ROOT / "docs" / "add-a-method.md"
    written = write_files(project, page)
    assert {path.parent for path in written} == {project.root / "../mine"}
    begin = exported(project, page)
    told = {"check": "Nothing wrong", "run": "5 folds, 0 failed", "try": "15 of 15: my_method"}
    for command in commands(page, "ldlrepro"):
        assert told[command.split()[1]] in project.run(*shlex.split(command), **begin)
    demo, real = commands(page, "snakemake")
    planned = set(re.findall(r"protocol=mslp, dataset=\w+, method=(\S+),", plans(project, real)))
    assert planned == {"my_method"}
    project.run(*shlex.split(demo))
    assert "Nothing to be done" in project.run(*shlex.split(demo))
    report = (project.root / "results/report/demo/index.html").read_text()
    assert ["my_method", "Ridge on products", "", True, False] in packed_in(report, "board-data")[
        "methods"
    ]
    table = project.root / "results/compare/demo/tables/table_2.md"
    assert "Ridge on products" in table.read_text()
    assert "my_method@firm" in (project.root / "results/compare/demo/scores.csv").read_text()
    assert "Ridge on products" in (project.root / "results/figures/demo/methods.svg").read_text()
    source = (project.root / "../mine/my_method.py").resolve()
    source.write_text(source.read_text().replace("PolynomialFeatures(2)", "PolynomialFeatures(1)"))
    assert "method=my_method" in plans(project, demo)


@pytest.mark.slow
def test_bringing_own_data_works_as_told(project):
    page = ROOT / "docs" / "my-data.md"
    new, table, arrays, sheet, arena, trial, by_hand, board = commands(page, "ldlrepro")
    assert "check ../mine/my_data.yaml" in project.run(*shlex.split(new))
    write_files(project, page)
    (script,) = commands(page, "python")
    project.run(sys.executable, *shlex.split(script)[1:])
    for command in (table, arrays):
        output = project.run(*shlex.split(command))
        assert "30 rows, 2 features, 3 labels" in output
        assert "6 groups" in output
    output = project.run(*shlex.split(sheet))
    assert "3 rows, 1 features, 2 labels" in output
    assert "1 of 4 rows have gaps and are left out (lines 4)" in output
    quick = shlex.split(arena.replace("30s", "5m"))  # a busy machine may fit nothing in 30 s
    output = project.run(*quick, "--methods", "Ridge,AAKNN")
    assert "30 rows, 2 features, 3 labels, 6 different values of person" in output
    assert len(list(project.root.glob("results/arena/own/my_data-*/index.html"))) == 1
    begin = exported(project, page)
    output = project.run(*shlex.split(trial), **begin)
    assert "mslp_persons on my_data: 6 folds; leaks: none found" in output
    assert output.count(" of 5") == 2, "each method but the first is compared with it"
    assert "6 folds, 0 failed" in project.run(*shlex.split(by_hand), **begin)
    assert "aa_knn@grid" in project.run(*shlex.split(board), **begin)
    own, published = commands(page, "snakemake")
    planned = r"protocol=(\w+), dataset=(\w+), method=(\S+),"
    assert {("ours", "my_data", "sa_bfgs"), ("ours", "my_data", "train_mean")} <= set(
        re.findall(planned, plans(project, own, **begin))
    )
    shown = re.findall(planned, plans(project, published, **begin))
    assert {dataset for _, dataset, _ in shown} == {"my_data"}
    assert {"mslp", "sa_bfgs", "uniform"} <= {method for _, _, method in shown}


@pytest.mark.slow
def test_adding_a_paper_works_as_told(project):
    page = ROOT / "docs" / "add-a-paper.md"
    told = {
        "new": "Edit them, then",
        "check": "Nothing wrong",
        "verdicts": "Of 7 printed numbers of smith_2026, 6 were",
        "explain": "measured",
        "audit": "PASS, 1 of 1 rerun",
    }
    begin = exported(project, page)
    (run,) = commands(page, "snakemake")
    verbs = commands(page, "ldlrepro")
    for command in verbs[:4]:
        assert told[command.split()[1]] in project.run(*shlex.split(command))
    write_files(project, page)
    assert "7 printed numbers of 4 methods" in project.run(*shlex.split(verbs[4]))
    project.run(*shlex.split(run))
    for command in verbs[5:]:
        assert told[command.split()[1]] in project.run(*shlex.split(command), **begin)
    report = (project.root / "results/report/smith_2026/index.html").read_text()
    assert "Learning by example" in report
    assert "How near the labels are" in report
    assert "Our way" in report


@pytest.mark.slow
def test_adding_a_measure_works_as_told(project):
    page = ROOT / "docs" / "add-a-measure.md"
    write_files(project, page)
    begin = exported(project, page)
    outputs = [project.run(*shlex.split(line), **begin) for line in commands(page, "ldlrepro")]
    assert "Nothing wrong" in outputs[0]
    scores = (project.root / "results/compare/demo/scores.csv").read_text().splitlines()
    head = scores[0].split(",")
    assert head[-2:] == ["hellinger", "hellinger_std"]
    line = next(row for row in scores if row.startswith("demo,drawn_faces,aa_knn@grid,local"))
    assert 0 < float(line.split(",")[-2]) < 1
    (command,) = commands(page, "snakemake")
    assert "compare" in plans(project, command)


def test_checking_a_record_works_as_told(project):
    page = ROOT / "docs" / "numbers.md"
    (script,) = write_files(project, page)
    for command in commands(page, "ldlrepro"):
        project.run(*shlex.split(command))
    output = project.run(sys.executable, script.name)
    assert len(re.findall(r"^\d 50 72 18 [0-9a-f]{12}$", output, re.MULTILINE)) == 5


@pytest.mark.parametrize("command", commands(CONFIG_PAGE, "snakemake"))
def test_shown_presets_and_slices_are_understood(project, command):
    assert re.search(r"^train +\d+$", plans(project, command), re.MULTILINE)


def test_a_run_can_write_into_another_folder(project, tmp_path):
    text = " ".join((ROOT / "docs" / "faq.md").read_text().split())
    (command,) = re.findall(r"`(snakemake [^`]+ --directory FOLDER [^`]+)`", text)
    plans(project, command.replace("FOLDER", str(tmp_path)))
    assert (tmp_path / ".snakemake").is_dir()


def test_every_suffix_of_a_protocol_is_explained():
    page = (ROOT / "docs" / "protocols.md").read_text()
    for paper in PROJECT.papers:
        for name in paper.protocols:
            for suffix in re.findall(r"_[a-z]+", name.removeprefix(paper.id)):
                assert re.search(rf"`{suffix}(_\d+)?`", page), name


# ---------------------------------------------------------------------- citation and changes


def test_citation_lists_every_paper_under_a_key_of_its_own():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    papers = PROJECT.real_papers()
    printed = {(paper.title, paper.year, paper.authors) for paper in papers}
    assert len(printed) == 9
    assert printed == {
        (entry["title"], entry["year"], ", ".join(p["family-names"] for p in entry["authors"]))
        for entry in cited["references"]
    }
    assert all(p["given-names"] for entry in cited["references"] for p in entry["authors"])
    addresses = [entry.get("doi", entry.get("url")) for entry in cited["references"]]
    readme = (ROOT / "README.md").read_text()
    assert all(address in readme for address in addresses)
    keys = [entry.partition("{")[2].partition(",")[0] for entry in citation.entries(PROJECT)]
    assert len(set(keys)) == 10
    assert "gonzalez2021synthetic" in keys
    assert all(key.isascii() and key.isalnum() for key in keys)


def test_versions_agree():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == __version__
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def table_under(page: Path, mark: str) -> list[dict[str, str]]:
    """The rows of a table that a command wrote into a page."""
    part = page.read_text().partition(f"<!-- {mark} -->\n")[2].partition("<!-- end of")[0]
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|\n").split(" |")] for line in part.splitlines()
    )
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_the_table_says_what_the_verb_says_of_the_reference(monkeypatch, capsys, fresh_clone):
    from ldlrepro.cli import main

    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    monkeypatch.chdir(fresh_clone)
    assert main(["verdicts", "--json"]) == 0
    counted = {row["paper"]: row for row in json.loads(capsys.readouterr().out)}
    shown = table_under(ROOT / "docs/verdicts.md", "verdicts")
    assert {row["paper"] for row in shown} == set(counted)
    for row in shown:
        counts = counted[row["paper"]]
        numbers = {name: f"{counts[name]:,}" for name in row if name != "paper"}
        assert row == {"paper": row["paper"], **numbers}


def test_tables_picture_and_looks_are_those_of_now(monkeypatch, fresh_clone):
    from ldlrepro.report import summary

    judge = Judge(PLAN, Workspace(fresh_clone / "results", fresh_clone / "data"))
    papers = [*PROJECT.real_papers(), PROJECT.paper("peers")]
    answers = {paper.id: judge.answer(paper) for paper in papers}
    monkeypatch.setattr(Judge, "anew", lambda _, paper: answers[paper.id])

    monkeypatch.setenv("LDLREPRO_ROOT", str(ROOT))
    for name, text in summary.renewed(PLAN).items():
        assert (ROOT / name).read_text() == text, "type: python -m ldlrepro.report.summary"


def test_records_of_one_commit_are_those_of_a_clean_tree():
    text = (ROOT / "docs/numbers.md").read_text()
    commit, of_one, of_all = re.search(
        r"Commit `(\w{8})` computed [\d,]+ of them, and ([\d,]+) of all ([\d,]+) records", text
    ).groups()
    provenance = [path.read_text() for path in (ROOT / "reference").glob("*/*.json")]
    commits = re.findall(r'"git_commit": "(\w+\+?)"', "".join(provenance))
    clean = [each for each in commits if each.startswith(commit) and not each.endswith("+")]
    assert (of_one, of_all) == (f"{len(clean):,}", f"{len(commits):,}")


def test_what_github_runs_is_what_the_makefile_has():
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    made = {words[1] for words in map(str.split, commands) if words[0] == "make"}
    assert {"lint", "docs", "demo", "test"} <= made <= targets
    assert any(".ci/run" in command for command in commands)


# ---------------------------------------------------------------------- plain English

READ = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *NOTES]
LONGEST = 30
EASE = 55

every_read_page = pytest.mark.parametrize(
    "page", READ, ids=lambda page: str(page.relative_to(ROOT))
)


def too_long(text: str) -> list[str]:
    return [one for one in prose.sentences(text) if prose.length(one) > LONGEST]


def test_the_documentation_is_short():
    counted = {page: prose.words(page.read_text()) for page in READ}
    readme = counted.pop(ROOT / "README.md")
    assert readme <= 800
    assert {str(note): counted[note] for note in NOTES if counted[note] > 900} == {}
    assert sum(counted.values()) <= 24_000


@every_read_page
def test_sentences_are_short_and_plain(page):
    text = page.read_text()
    assert too_long(text) == []
    assert prose.ease(text) >= EASE


def test_a_planted_long_sentence_is_found_where_people_read_and_nowhere_else():
    plain = "The rows are in order. Each fold has a tenth of them.\n"
    planted = "It " + "and this one goes on " * 6 + "until it ends."
    assert prose.length(planted) == 34
    assert too_long(plain) == []
    for page in (f"{plain}{planted}\n", f"- {plain}- {planted}\n", f"> **{planted}**\n"):
        assert len(too_long(page)) == 1
    for text in (page.read_text() for page in READ):
        assert len(too_long(f"{text}\n\n{planted}\n")) == len(too_long(text)) + 1
    for page in (
        f"# {planted}\n\n{plain}",
        f"| {planted} |\n|---|\n\n{plain}",
        f"```text\n{planted}\n```\n\n{plain}",
        f"<!-- counts -->\n{planted}\n<!-- end of counts -->\n\n{plain}",
        f"{plain}[rows](https://example.org/{planted.replace(' ', '-')})\n",
    ):
        assert too_long(page) == []

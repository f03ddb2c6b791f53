"""Which code and settings the rules are planned again for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from ldlrepro.audit.seals import seal
from ldlrepro.catalogue import RunConfig
from ldlrepro.core.errors import UserError
from ldlrepro.data.fetch import MIRRORS, OFFLINE, default_mirrors
from ldlrepro.plan import Plan
from ldlrepro.workflow.rules import Rules
from tests.unit.judged import PROJECT
from tests.unit.sources import copied, forget

ROOT = Path(__file__).resolve().parents[2]

RUNS_AT_IMPORT = "\nprint('what runs when a module is imported counts for all who use it')\n"
WHOLE: dict[tuple[Callable[..., str], tuple[str, ...]], dict[str, str]] = {}
"""Digests of whole sources, which take a second and are the same for every copy."""


@pytest.fixture
def replanned(tmp_path, monkeypatch, checkout) -> Iterator[Callable[..., set[str]]]:
    """Tell for which names ``ask`` answers otherwise once a file has changed."""
    sources = copied(tmp_path, monkeypatch)
    templates = sources.root / "ldlrepro/report/templates"
    monkeypatch.setattr("ldlrepro.workflow.rules.TEMPLATES", templates)

    def names(file: str, ask: Callable[[Rules, str], str], *among: str) -> set[str]:
        def answers() -> dict[str, str]:
            rules = checkout.rules()
            return {name: ask(rules, name) for name in among}

        before = WHOLE.get((ask, among)) or answers()
        WHOLE[ask, among] = before
        if file.startswith("papers/"):
            text = (checkout.root / file).read_text(encoding="utf-8")
            checkout.write(file, text + RUNS_AT_IMPORT)
            forget()
        else:
            sources.append(f"ldlrepro/{file}", RUNS_AT_IMPORT)
        after = answers()
        return {name for name in among if before[name] != after[name]}

    yield names
    monkeypatch.undo()
    forget()


def reading(rules: Rules, dataset: str) -> str:
    return rules.reader_code(SimpleNamespace(dataset=dataset))


def folding(rules: Rules, place: str) -> str:
    protocol, _, dataset = place.partition("/")
    return rules.fold_code(SimpleNamespace(protocol=protocol, dataset=dataset))


TABLES, FACES, PHOTOGRAPHS = ("sjaffe", "toy"), ("jaffe_images", "drawn_fgnet"), ("fgnet", "cacd")


@pytest.mark.parametrize(
    ("file", "read_by"),
    [
        ("data/readers.py", (*TABLES, *FACES, *PHOTOGRAPHS)),
        ("data/images/layouts.py", (*FACES, *PHOTOGRAPHS)),
        ("data/features/lbp.py", (*FACES, *PHOTOGRAPHS)),
    ],
)
def test_a_data_set_is_read_again_for_the_code_of_its_reader(replanned, file, read_by):
    assert replanned(file, reading, *TABLES, *FACES, *PHOTOGRAPHS) == set(read_by)


@pytest.mark.parametrize(
    ("file", "made_by"),
    [
        ("folds/leaks.py", {"ldlf/movie", "drf_fgnet/fgnet", "drf_cacd_val/cacd"}),
        ("folds/parts.py", {"drf_cacd_val/cacd"}),
        ("data/photographs.py", {"drf_fgnet/fgnet", "drf_cacd_val/cacd"}),
    ],
)
def test_folds_are_made_again_for_the_code_that_makes_them(replanned, file, made_by):
    asked = ("ldlf/movie", "drf_fgnet/fgnet", "drf_cacd_val/cacd")
    assert replanned(file, folding, *asked) == made_by


# ---------------------------------------------------------------------- pages


def figures(rules: Rules, paper: str) -> str:
    return rules.figure_code(SimpleNamespace(paper=paper))


def pages(rules: Rules, rule: str) -> str:
    ask = {"compare": rules.judge_code, "report": rules.report_code}[rule]
    return ask(SimpleNamespace(paper="mslp"))


def test_figures_are_drawn_again_for_the_experiments_of_their_paper(replanned):
    drawn = "papers/mslp/two_dimensions_drawn.py"
    assert replanned(drawn, figures, "mslp", "ldlf", "structrf") == {"mslp"}
    shared = "experiments/protocols.py"
    assert replanned(shared, figures, "mslp", "demo", "structrf") == {"mslp", "structrf"}
    assert replanned("report/figures.py", figures, "mslp", "ldlf") == {"mslp", "ldlf"}


@pytest.mark.parametrize(
    ("file", "made_again"),
    [
        ("report/templates/report.js", {"report"}),
        ("report/html.py", {"report"}),
        ("judge/verdicts.py", {"compare", "report"}),
    ],
)
def test_pages_are_made_again_for_what_they_are_made_from(replanned, file, made_again):
    assert replanned(file, pages, "compare", "report") == made_again


# ---------------------------------------------------------------------- resources


def rules_with(run: RunConfig, **changes: object) -> Rules:
    return Rules(Plan(PROJECT), run.model_copy(update=changes))


def test_jobs_are_told_where_raw_files_may_come_from(monkeypatch):
    run = PROJECT.run
    monkeypatch.setenv(MIRRORS, "/of the shell")
    rules = rules_with(run, mirrors=("/of the run", "near"), offline=True)
    told = rules.environment()
    assert [str(folder) for folder in rules.mirrors[:3]] == ["/of the run", "near", "/of the shell"]
    assert told[OFFLINE] == "1"
    monkeypatch.setenv(MIRRORS, told[MIRRORS])
    assert default_mirrors(rules.project) == rules.mirrors
    with pytest.raises(UserError, match="a mirror's path must not hold ':'"):
        rules_with(run, mirrors=("/with:colon",)).environment()


# ---------------------------------------------------------------------- damaged files

PLANNED_BY = (
    "papers/demo/cells.csv",
    "reference/demo/aa_knn.csv",
    "reference/demo/aa_knn.json",
)


@pytest.mark.parametrize("damaged", PLANNED_BY)
@pytest.mark.parametrize("sealed", [True, False])
def test_damaged_files_are_told_when_the_snakefile_is_read(checkout, damaged, sealed):
    for name in PLANNED_BY:
        checkout.write(name, (ROOT / name).read_text())
    if sealed:
        seal(checkout.root)
    checkout.rules().check_files()
    with open(checkout.root / damaged, "a") as file:
        file.write("garbage\n")
    with pytest.raises(WorkflowError, match=damaged.removesuffix(".json")):
        checkout.rules().check_files()

"""What other tools expect of a Snakemake workflow: its place, its own report, its notebooks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

if TYPE_CHECKING:
    from conftest import Project

ROOT = Path(__file__).resolve().parents[2]


def test_the_workflow_is_also_found_where_the_catalog_looks(project) -> None:
    listed = project.run("snakemake", "-s", "workflow/Snakefile", "--list").split()
    assert {"notebooks", "structrf", "mslp"} <= set(listed)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("structr", "no target 'structr'. Did you mean 'structrf'?"),
        ("aa_knn@grid", "It is a method; add to a paper: --config 'only={methods: [aa_knn@grid]}'"),
    ],
)
def test_a_wrong_target_is_told_the_right_one(project, target, words) -> None:
    said = project.run("snakemake", "-n", target, status=1)
    assert words in said


def test_the_report_of_snakemake_itself_has_categories_and_captions(whole, tmp_path) -> None:
    copy = whole.copy(tmp_path / "copy")
    copy.snakemake("results/report/tiny", "--report", "packed.zip")
    shutil.unpack_archive(copy.root / "packed.zip", tmp_path)
    page = (tmp_path / "packed" / "report.html").read_text()
    assert "Verdicts" in page
    assert "Every printed number of tiny" in page
    (ours,) = (tmp_path / "packed").glob("data/raw/*/index.html")
    links = re.findall(r'(?:href|src)="([^"#:]+)[^":]*"', ours.read_text())
    logs = [link for link in links if link.endswith(".log")]
    assert any(link.startswith("figures/tiny/") for link in links)
    assert [link for link in {*links} - {*logs} if not (ours.parent / unquote(link)).exists()] == []


OF_A_PAPER = sorted(
    path.stem for path in (ROOT / "notebooks").glob("*.ipynb") if '"parameters"' in path.read_text()
)


@pytest.fixture(scope="module")
def finished(whole: Project, tmp_path_factory) -> Project:
    """Finished results, with data and a method of the user's own."""
    copy = whole.copy(tmp_path_factory.mktemp("finished") / "project")
    for kind in ("dataset", "method"):
        copy.run("ldlrepro", "new", kind, f"my_{kind}", "--folder", str(copy.root / "mine"))
    return copy


@pytest.mark.parametrize("name", OF_A_PAPER)
def test_notebooks_about_a_paper_run_on_small_results_and_own_files(name, finished) -> None:
    """The others show the same wherever they run: tests/unit/test_notebooks.py."""
    own = str(finished.root / "mine")
    finished.run("ldlrepro", "notebook", name, "--paper", "tiny", LDLREPRO_OWN_FILES=own)
    page = (finished.root / "results" / "notebooks" / f"{name}.html").read_text()
    assert "Traceback" not in page
    assert "data:image/svg+xml" in page or '<table border="1" class="dataframe">' in page
    assert '<span class="s2">"tiny"</span>' in page


def test_a_notebook_that_fails_says_where_and_leaves_no_page(finished, tmp_path) -> None:
    copy = finished.copy(tmp_path / "copy")
    shutil.rmtree(copy.root / "results" / "notebooks", ignore_errors=True)
    copy.edit("notebooks/03_your_own_method.ipynb", "pull=0.0", "pul=0.0")
    told = copy.run("ldlrepro", "notebook", "03_your_own_method", "--paper", "tiny", status=2)
    assert "a cell failed: TypeError" in told
    assert not (copy.root / "results/notebooks/03_your_own_method.html").exists()

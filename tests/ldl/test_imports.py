"""Importing the library stays quick, and it knows nothing of the workflow around it.

The workflow's own commands load no more than they need either.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ldl
from tests.imports import imported
from tests.ldl.estimators import TABLES

HOME = Path(ldl.__file__).parent
MODULES = sorted(HOME.rglob("*.py"))
HEAVY = {"numba", "torch", "xgboost", "matplotlib", "mlflow", "snakemake", "ldlrepro"}
SCIKIT_LEARN = {"sklearn", "scipy", "joblib", "pandas"}
"""Packages that scikit-learn's base of estimators loads; pandas where it is installed."""
# Of the standard library: whoever reads files, and who may.
FILES = {"pathlib", "io", "shutil", "tempfile"}
MAY_READ_FILES = {
    "comparison/compare.py": "the folder that is asked for",
    "comparison/store.py": "finished folds of a comparison",
    "_machine_code.py": "what was compiled before",
    "_memory.py": "the limits that the system sets to a process",
    "datasets/__init__.py": "public data sets, kept in a folder",
    "deep/_networks.py": "a file of weights",
    "folds.py": "a table of folds that somebody has published",
    "deep/weights.py": "a file of weights",
}
NEVER = {
    "ldlrepro",
    "matplotlib",
    "mlflow",
    "pandas",
    "requests",
    "snakemake",
    "sqlalchemy",
    "yaml",
}
ONLY_WHERE_ASKED_FOR = {
    "base.py": {"pandas"},
    "comparison/result.py": {"pandas"},
    "datasets/__init__.py": {"pandas"},
    "plot.py": {"matplotlib"},
}
"""Packages that a module imports when somebody wants what they are for."""


def loaded_by(code: str) -> set[str]:
    """Packages that a fresh process has loaded after this code."""
    code += "\nimport sys\nprint(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_every_estimator_is_imported_so_but_for_those_on_images():
    assert loaded_by(f"from ldl import {', '.join(TABLES)}") & HEAVY == set()
    assert loaded_by("import ldl.checks, ldl.datasets, ldl.plot") & HEAVY == set()
    alone = loaded_by("import ldl.metrics, ldl.errors, ldl.watch")
    assert alone & (HEAVY | SCIKIT_LEARN) == set()


def test_nothing_is_loaded_before_it_is_asked_for():
    code = "import sys, ldl\nassert not [name for name in sys.modules if name.startswith('ldl.')]"
    assert "numpy" not in loaded_by(code)


def test_neighbours_are_searched_without_compiled_code():
    code = """
import numpy as np
from ldl import AAKNN, MSLP, PCAKNN, SSGLDL
generator = np.random.default_rng(0)
X, D = generator.random((20, 3)), generator.dirichlet(np.ones(3), size=20)
for method in (AAKNN(), MSLP(), PCAKNN(), SSGLDL()):
    method.fit(X, D).predict(X)
"""
    assert loaded_by(code) & {"numba", "llvmlite"} == set()


def test_nothing_is_compiled_when_it_is_imported():
    """Numba's functions are made when a method first needs them."""
    code = """
import importlib, pkgutil, ldl
for found in pkgutil.walk_packages(ldl.__path__, "ldl."):
    if ".deep." not in found.name and not found.name.rpartition(".")[2].startswith("_"):
        importlib.import_module(found.name)
"""
    assert loaded_by(code) & {"numba", "llvmlite"} == set()


def test_an_unknown_name_is_an_attribute_error_that_names_the_nearest():
    with pytest.raises(AttributeError, match=r"no attribute 'StructForest'"):
        _ = ldl.StructForest
    with pytest.raises(AttributeError, match=r"no attribute 'StrucRF'\. Did you mean 'StructRF'\?"):
        _ = ldl.StrucRF


# ---------------------------------------------------------------------- the workflow's commands

FOR_OTHERS = (HEAVY | {"jinja2", "requests"}) - {"ldlrepro"}
"""Loaded by some verbs or methods; none of it is needed to start a job and to write its record."""
JOB = ("run", "demo", "drawn_faces", "pt_bayes", "--folds", "0-0", "--seed", "1")


def calling(*arguments: str) -> str:
    return f"from ldlrepro.cli import main\nassert main({list(arguments)}) == 0"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, with the configuration of this checkout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LDLREPRO_ROOT", str(HOME.parents[1]))
    monkeypatch.setenv("PYTHONPATH", str(HOME.parent))


@pytest.mark.usefixtures("place")
def test_a_job_loads_what_its_method_computes_with_and_no_more():
    loaded_by(calling(*JOB, "--inputs"))  # makes data and folds, which jobs find
    loaded = loaded_by(calling(*JOB, "--fresh"))
    assert {"numpy", "pyarrow", "yaml"} <= loaded
    assert loaded & FOR_OTHERS == set()
    assert list(Path("results/units").rglob("folds_0-0.parquet"))


@pytest.mark.usefixtures("place")
def test_help_reads_and_computes_nothing():
    code = "import contextlib\nwith contextlib.suppress(SystemExit):\n    "
    loaded = loaded_by(code + calling("--help").replace("\n", "; "))
    assert "ldlrepro" in loaded
    assert (
        loaded & (FOR_OTHERS | SCIKIT_LEARN | {"jsonschema", "numpy", "pyarrow", "yaml"}) == set()
    )


# ---------------------------------------------------------------------- by reading


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(HOME).as_posix())
def test_no_module_knows_the_workflow_or_reads_files(path):
    name = path.relative_to(HOME).as_posix()
    assert imported(path) & NEVER == ONLY_WHERE_ASKED_FOR.get(name, set())
    if name not in MAY_READ_FILES:
        assert imported(path) & FILES == set()
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        calls = [node for node in tree if isinstance(node, ast.Call)]
        opened = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "open"]
        assert opened == []

"""Digests: what must change them, and what must not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ldlrepro import config
from ldlrepro.train import provenance
from ldlrepro.train.provenance import code_digest, module_digest, spec_digest

KNN, MEAN = "ldl.neighbours.knn.AAKNN", "ldl.baselines.controls.TrainMean"
FOREST, BAYES = "ldl.forests.random_forest.RFRegression", "ldl.baselines.bayes.PTBayes"
SABFGS = "ldl.linear.maxent.SABFGS"


@pytest.fixture
def source(tmp_path, monkeypatch, checkout):
    """A copy of the package that the digests are taken from."""
    package = tmp_path / "ldlrepro"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ldlrepro.__file__).parent, package, ignore=ignore)
    monkeypatch.setattr(provenance, "PACKAGE", package)
    return package


def changed_by(edit) -> set[str]:
    """The classes whose digest ``edit()`` changes."""
    classes = (KNN, MEAN, FOREST, BAYES, SABFGS)
    _forget()
    before = {name: code_digest(name) for name in classes}
    edit()
    _forget()
    return {name for name in classes if code_digest(name) != before[name]}


def _forget() -> None:
    for value in vars(provenance).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


# ---------------------------------------------------------------------- code


def test_a_methods_own_code_changes_its_digest_and_no_others(source):
    assert changed_by(lambda: append(source / "models/knn.py", "\nLIMIT = 3\n")) == {KNN}


def test_what_a_method_imports_of_ours_changes_its_digest(source):
    assert changed_by(lambda: append(source / "models/_bfgs.py", "\nLIMIT = 3\n")) == {SABFGS}


@pytest.mark.parametrize(
    "module",
    ["protocols/selection.py", "protocols/scaling.py", "metrics.py", "models/base.py"],
)
def test_what_all_methods_share_changes_every_digest(source, module):
    assert len(changed_by(lambda: append(source / module, "\nLIMIT = 3\n"))) == 5


@pytest.mark.parametrize(
    "module",
    ["track.py", "cli.py", "report/html.py", "compare/verdicts.py", "runs/unit.py", "errors.py"],
)
def test_what_moves_no_number_changes_no_digest(source, module):
    assert changed_by(lambda: append(source / module, "\nLIMIT = 3\n")) == set()


def test_comments_docstrings_and_layout_do_not_count(source):
    path = source / "models/knn.py"

    def edit() -> None:
        text = path.read_text()
        assert '"""Mean of the labels' in text
        text = text.replace('"""Mean of the labels', '"""Average of the labels')
        text = text.replace("_SPARE = 8\n", "_SPARE = (  # spare\n    8\n)\n\n\n")
        path.write_text("# A new comment.\n" + text)

    assert changed_by(edit) == set()


def test_a_string_that_is_no_docstring_counts(source):
    path = source / "models/knn.py"

    def edit() -> None:
        text = path.read_text()
        assert 'kind="stable"' in text
        path.write_text(text.replace('kind="stable"', 'kind="heapsort"'))

    assert changed_by(edit) == {KNN}


def test_a_users_own_module_and_its_package_count(checkout):
    checkout.write("own/mine/__init__.py", "")
    helper = checkout.write("own/mine/helper.py", "A = 1\n")
    unused = checkout.write("own/mine/unused.py", "A = 1\n")
    text = "from mine import helper\nfrom ldl.base import LDLEstimator\n"
    own = checkout.write("own/mine/model.py", text + "class Mine(LDLEstimator): pass\n")
    seen = [code_digest("mine.model.Mine")]
    for path, counts in ((own, True), (helper, True), (unused, False)):
        append(path, "\nB = 2\n")
        _forget()
        seen.append(code_digest("mine.model.Mine"))
        assert (seen[-1] != seen[-2]) == counts, path


def test_a_module_that_does_not_exist_has_a_digest_all_the_same():
    """Planning goes on; running the method says what is wrong."""
    assert code_digest("no.such.module.Method") == module_digest("ldlrepro.train.selection")


def test_relative_imports_are_followed(source):
    (source / "models" / "near.py").write_text("A = 1\n")
    append(source / "models/knn.py", "\nfrom .near import A\nfrom . import near\n")
    assert changed_by(lambda: append(source / "models/near.py", "\nB = 1\n")) == {KNN}


# ---------------------------------------------------------------------- settings

SPEC = {
    "title": "a",
    "class": "a.B",
    "parameters": {"k": 1, "s": "x"},
    "grid": {},
    "scaling": "none",
    "sees_test_labels": False,
}


@pytest.mark.parametrize(
    "change",
    [
        {"title": "b"},
        {"description": "b"},
        {"resources": {"threads": 9, "mem_mb": 9000}},
        {"choices": [{"switch": "k"}]},
        {"needs": {"gpu": True}},
        {"control": True},
        {"parameters": {"s": "x", "k": 1}},
    ],
)
def test_texts_and_resources_do_not_change_the_settings_digest(change):
    assert spec_digest(SPEC | change, "kl") == spec_digest(SPEC, "kl")


@pytest.mark.parametrize(
    "change",
    [
        {"class": "a.C"},
        {"parameters": {"k": 2, "s": "x"}},
        {"parameters": {"k": "1", "s": "x"}},
        {"grid": {"k": [1, 2]}},
        {"grid": {"k": [2, 1]}},
        {"scaling": "standard"},
        {"sees_test_labels": True},
    ],
)
def test_what_decides_the_numbers_changes_the_settings_digest(change):
    assert spec_digest(SPEC | change, "kl") != spec_digest(SPEC, "kl")


def test_the_measure_that_selects_counts_where_there_is_something_to_select():
    grid = SPEC | {"grid": {"k": [1, 2]}}
    assert spec_digest(grid, "kl") != spec_digest(grid, "clark")
    assert spec_digest(SPEC, "kl") == spec_digest(SPEC, "clark")


def test_no_two_methods_share_their_settings():
    specs = {name: spec_digest(config.load_method(name), "kl") for name in config.method_ids()}
    assert len(set(specs.values())) == len(specs)


# ---------------------------------------------------------------------- surroundings


def test_the_lock_digest_follows_the_lock_file(checkout):
    assert provenance.lock_digest() == ""
    checkout.write("envs/lock.txt", "numpy==2.0\n")
    first = provenance.lock_digest()
    checkout.write("envs/lock.txt", "numpy==2.1\n")
    assert len({"", first, provenance.lock_digest()}) == 3


def test_outside_git_there_is_no_commit(checkout, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout.root.parent))
    assert provenance.git_commit() == ""


def test_the_machine_is_described_without_its_name():
    import platform

    found = provenance.machine()
    assert set(found) == {"cpu", "system", "machine"}
    assert platform.node() not in found.values()


def test_versions_name_what_computes():
    assert {"python", "ldlrepro", "numpy", "scipy", "scikit-learn"} <= set(provenance.versions())

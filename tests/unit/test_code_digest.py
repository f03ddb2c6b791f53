"""Digests of code and settings: what must change them, and what must not."""

from __future__ import annotations

import pytest

from ldlrepro.catalogue import Method, from_environment
from ldlrepro.catalogue.digests import method_digest, spec_digest
from ldlrepro.core.code_digest import code_digest
from tests.unit.sources import copied, forget

KNN, MEAN, FOREST = "aa_knn", "train_mean", "rf_reg"
BAYES, SABFGS = "pt_bayes", "sa_bfgs"
SOME = (KNN, MEAN, FOREST, BAYES, SABFGS)


@pytest.fixture
def sources(tmp_path, monkeypatch, checkout):
    yield copied(tmp_path, monkeypatch)
    monkeypatch.undo()
    forget()


def digests_of(methods) -> dict[str, str]:
    project = from_environment()
    return {name: method_digest(project.method(name)) for name in methods}


WHOLE: dict[tuple[str, ...], dict[str, str]] = {}
"""Digests of unchanged sources, which take a second and are the same for every copy."""


def changed_by(edit, methods=SOME) -> set[str]:
    """Return the methods whose digest ``edit()`` changes in a copy that was not changed before."""
    names = tuple(methods)
    before = WHOLE.get(names) or digests_of(names)
    WHOLE[names] = before
    edit()
    after = digests_of(names)
    return {name for name in names if before[name] != after[name]}


def bases() -> list[str]:
    """Methods of the packages, whose sources are copied; those beside a paper stay where it is."""
    known = from_environment().methods
    return [m.id for m in known if m.id == m.base and m.class_path.startswith("ldl")]


# ---------------------------------------------------------------------- what decides


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("ldl/neighbours/knn.py", "_UNDERFLOW = 1e-37", "_UNDERFLOW = 1e-36", {KNN}),
        ("ldl/neighbours/knn.py", "import numpy as np\n", "import scipy as np\n", {KNN}),
        ("ldl/linear/_bfgs.py", "return ", "return 0 or ", {SABFGS}),
        ("ldlrepro/train/selection.py", "model.fit(scaler", "model.fit(not scaler or scaler", SOME),
        ("ldlrepro/train/scaling.py", "return ", "return None or ", SOME),
        ("ldl/metrics.py", "apart.max(axis=1)", "apart.min(axis=1)", SOME),
        ("ldl/base.py", "SHORT = 8", "SHORT = 9", SOME),
        ("ldlrepro/folds/splits.py", "np.setdiff1d(self.train", "np.union1d(self.train", SOME),
    ],
)
def test_a_change_of_code_changes_the_digests_of_all_who_use_it(sources, file, old, new, changed):
    assert changed_by(lambda: sources.edit(file, old, new)) == set(changed)


def test_the_code_of_a_base_that_settings_name_changes_the_wrappers_digest(sources):
    def edit() -> None:
        sources.edit("ldl/linear/_bfgs.py", "return ", "return 0 or ")

    wrappers = ("df_ldl", "df_ldl@sa_bfgs", "ssg_ldl", "ssg_ldl@sa_bfgs")
    assert changed_by(edit, wrappers) == {"df_ldl@sa_bfgs", "ssg_ldl@sa_bfgs"}


def test_swapping_two_imports_changes_the_digest(sources):
    file = "ldl/baselines/controls.py"
    line = "from ldl.base import LDLEstimator"
    straight = f"{line}\nfrom ldl.base import check_features as one, child_seeds as other"
    swapped = f"{line}\nfrom ldl.base import child_seeds as one, check_features as other"
    sources.edit(file, line, straight)
    sources.edit(file, "self.mean_ = D.mean(axis=0)", "self.mean_ = (one, other)")
    before = digests_of([MEAN])
    sources.edit(file, straight, swapped)
    assert digests_of([MEAN]) != before


# ---------------------------------------------------------------------- what decides nothing


DECIDE_NOTHING = (
    "ldlrepro/track/sync.py",
    "ldlrepro/cli/__init__.py",
    "ldlrepro/report/html.py",
    "ldlrepro/judge/verdicts.py",
    "ldlrepro/train/unit.py",
    "ldlrepro/train/records.py",
    "ldlrepro/core/files.py",
    "ldlrepro/core/errors.py",
    "ldl/errors.py",
    "ldl/watch.py",
)


def test_writing_records_progress_and_errors_count_for_nothing(sources):
    def edit() -> None:
        for file in DECIDE_NOTHING:
            sources.append(file, "\n\nCHANGED = print('runs when the module is imported')\n")

    assert changed_by(edit, bases()) == set()


def test_comments_docstrings_layout_annotations_and_error_texts_do_not_count(sources):
    def edit() -> None:
        sources.edit("ldl/neighbours/knn.py", "kneighbors(self, X: Any)", "kneighbors(self, X)")
        sources.edit("ldl/base.py", '"""Divide rows by their sums', '"""Make rows sum to one')
        sources.edit("ldl/base.py", "contains negative label degrees", "has negative degrees")
        path = sources.root / "ldl/neighbours/knn.py"
        path.write_text('"""Another docstring."""\n# A comment.\n' + path.read_text())
        forget()

    assert changed_by(edit) == set()


def test_moving_and_renaming_modules_changes_no_digest(sources):
    def edit() -> None:
        sources.rename("ldl/base.py", "ldl/core/contract.py")
        sources.rename("ldl/neighbours/knn.py", "ldl/nearest/neighbours.py")
        sources.rename("ldl/linear/_bfgs.py", "ldl/optimisers.py")
        sources.rename("ldl/kernels/ldsvr.py", "ldl/machines/support_vectors.py")
        sources.rename("ldlrepro/train/scaling.py", "ldlrepro/scales.py")

    assert changed_by(edit, bases()) == set()


def test_renaming_a_function_changes_no_digest(sources):
    def edit() -> None:
        for path in (sources.root / "ldl").rglob("*.py"):
            path.write_text(path.read_text().replace("to_simplex", "as_distributions"))
        forget()

    assert changed_by(edit) == set()


# ---------------------------------------------------------------------- own files


def test_a_module_that_does_not_exist_has_a_digest_all_the_same():
    """Planning goes on; running the method says what is wrong."""
    names = ("no.such.module:Method", "ldl:NoSuchMethod", "ldl.no_such_module")
    assert len({code_digest(name) for name in names}) == 3


def test_relative_imports_are_followed(sources):
    (sources.root / "ldl/neighbours/near.py").write_text("A = 1\n")
    sources.edit(
        "ldl/neighbours/knn.py",
        "_FEWEST_ROWS = 64\n",
        "from .near import A\n_FEWEST_ROWS = 63 + A\n",
    )
    before = digests_of([KNN])
    sources.edit("ldl/neighbours/near.py", "A = 1", "A = 2")
    assert digests_of([KNN]) != before


# ---------------------------------------------------------------------- settings

SPEC = {
    "title": "a",
    "class": "a.B",
    "parameters": {"k": 1, "s": "x"},
    "grid": {},
    "scaling": "none",
}


def settings(**change) -> Method:
    return Method.model_validate({**SPEC, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"title": "b"},
        {"resources": {"threads": 9, "mem_mb": 9000}},
        {"parameters": {"s": "x", "k": 1}},
        {"class": "another.module.B"},
    ],
)
def test_texts_and_resources_do_not_change_the_settings_digest(change):
    assert spec_digest(settings(**change), "kl") == spec_digest(settings(), "kl")


@pytest.mark.parametrize(
    "change",
    [
        {"class": "a.C"},
        {"parameters": {"k": "1", "s": "x"}},
        {"grid": {"k": [1, 2]}},
        {"grid": {"k": [2, 1]}},
        {"scaling": "standard"},
        {"roles": ["sees_test_labels"]},
    ],
)
def test_what_decides_the_numbers_changes_the_settings_digest(change):
    assert spec_digest(settings(**change), "kl") != spec_digest(settings(), "kl")


def test_the_measure_that_selects_counts_where_there_is_something_to_select():
    grid = settings(grid={"k": [1, 2]})
    assert spec_digest(grid, "kl") != spec_digest(grid, "clark")
    assert spec_digest(settings(), "kl") == spec_digest(settings(), "clark")


def test_no_two_methods_share_their_settings():
    specs = {m.id: spec_digest(m, "kl") for m in from_environment().methods}
    assert len(set(specs.values())) == len(specs)

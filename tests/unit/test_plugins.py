"""Methods, data sets and measures of one's own: found, planned, followed, refused in words."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from ldlrepro.catalogue import digests, from_environment
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import Dataset
from ldlrepro.data.fetch import default_mirrors, fetch
from ldlrepro.data.registry import load_ready, prepare
from ldlrepro.judge import measures
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import UnitScores
from ldlrepro.plan import Plan
from ldlrepro.train.unit import run_unit
from ldlrepro.workflow.rules import Rules
from tests.unit.sources import forget

METHOD = """
title: Mine
class: {module}.Mine
parameters: {{shift: 1.0}}
variants:
  more: {{parameters: {{shift: 2.0}}}}
"""
CODE = """
import {helper}
from ldl.base import LDLEstimator

class Mine(LDLEstimator):
    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def _fit(self, X, D):
        self.mean_ = D.mean(axis=0)

    def _predict(self, X):
        return self.mean_ + {helper}.SHIFT * self.shift + 0 * X[:, :1]
"""
DATA = """
title: Rows of mine
reader: csv
files: [{name: rows.csv}]
labels: [good, bad]
keys: {groups: who, target: age}
"""
METRIC = """
title: Largest error
function: {module}.largest
better: lower
"""
MEASURE = """
import numpy as np

def largest(D, P):
    return np.abs(D - P).max(axis=1)
"""


class Folder:
    """A folder outside the checkout; modules have names that no other test imports."""

    def __init__(self, root: Path, checkout, monkeypatch) -> None:
        self.root, self.checkout, self.monkeypatch = root, checkout, monkeypatch
        root.mkdir()
        self.tag = f"own_{abs(hash(str(root))):x}"

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.write_text(text)
        forget()  # what digests of code remember of it
        return path

    def name(self, *paths: Path | str) -> None:
        """Let the environment name own files, or the folder."""
        listed = os.pathsep.join(map(str, paths or [self.root]))
        self.monkeypatch.setenv(OWN_FILES, listed)

    def method(self) -> Path:
        helper = f"{self.tag}_helper"
        self.write(f"{helper}.py", "SHIFT = 1.0\n")
        self.write(f"{self.tag}.py", CODE.format(helper=helper))
        return self.write("mine.yaml", METHOD.format(module=self.tag))

    def data(self, rows: int = 12) -> Path:
        generator = np.random.default_rng(0)
        lines = ["good,x,bad,who,age,y"]
        for number in range(rows):
            good, x, y = generator.random(3).round(3)
            lines.append(f"{good},{x},{1 - good:.3f},p{number // 3},{20 + number},{y}")
        self.write("rows.csv", "\n".join(lines) + "\n")
        return self.write("rows_of_mine.yaml", DATA)

    def metric(self) -> Path:
        self.write(f"{self.tag}_measure.py", MEASURE)
        return self.write("largest.yaml", METRIC.format(module=f"{self.tag}_measure"))


@pytest.fixture
def folder(tiny, tmp_path, monkeypatch) -> Folder:
    monkeypatch.setattr("sys.path", list(sys.path))
    return Folder(tmp_path / "mine", tiny, monkeypatch)


def plan_now() -> Plan:
    return Plan(from_environment())


def rules_now() -> Rules:
    plan = plan_now()
    return Rules(plan, plan.project.run)


# ---------------------------------------------------------------------- found


def test_a_file_a_folder_and_both_lead_to_the_same(folder):
    path = folder.method()
    for given in ([path], [folder.root], [folder.root, path]):
        folder.name(*given)
        assert from_environment().own_ids("method") == ["mine", "mine@more"]
    told = rules_now().environment()[OWN_FILES]
    assert told.split(os.pathsep) == [str(folder.root), str(path)]  # for jobs
    assert from_environment().method("mine@more").parameters == {"shift": 2.0}
    assert from_environment().method("mine").estimator().shift == 1.0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("My-Method.yaml", "class: a.B\n", r"small letters.*my_method\.yaml"),
        ("rf.yaml", "title: a\nclass: a.B\n", r"'rf' is the id of config/methods/rf\.yaml"),
        ("other.yaml", "title: a\n", "neither paper, method, data set, measure nor weights"),
        ("other.yaml", "raeder: csv\n", "weight.. Did you mean 'reader'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(folder, name, text, message):
    path = folder.write(name, text)
    folder.name(path)
    project = from_environment()
    with pytest.raises(UserError, match=message):
        project.check(project.run, "config/config.yaml")


def test_a_module_that_another_one_hides_is_refused(folder):
    folder.write("json.py", CODE.format(helper="math"))
    folder.name(folder.write("mine.yaml", METHOD.format(module="json")))
    with pytest.raises(UserError, match=r"Python finds another module 'json' first"):
        from_environment().method("mine")


# ---------------------------------------------------------------------- digests


def test_code_and_settings_of_an_own_method_are_followed(folder):
    path = folder.method()
    folder.name(path)
    unused = folder.write("unused.py", "A = 1\n")

    def now() -> tuple[str, str]:
        forget()
        method = from_environment().method("mine")
        return digests.method_digest(method), digests.spec_digest(method, "kl")

    code, settings = now()
    used = {folder.tag: ("mean(axis=0)", "mean(0)"), f"{folder.tag}_helper": ("1.0", "1.5")}
    for module, (old, new) in used.items():
        changed = folder.root / f"{module}.py"
        text = changed.read_text()
        assert old in text
        changed.write_text(text.replace(old, new))
        before, (code, _) = code, now()
        assert code != before, changed.name
    unused.write_text("A = 2\n")
    assert now() == (code, settings)
    path.write_text(path.read_text().replace("1.0", "3.0"))
    assert now()[0] == code
    assert now()[1] != settings


def test_a_regressor_of_ones_own_counts_although_the_yaml_alone_names_it(folder):
    module = f"{folder.tag}_regressor"
    source = folder.write(f"{module}.py", "class Flat:\n    LEVEL = 1\n")
    parameters = f"{{regressor: {module}.Flat}}"
    text = f"title: m\nclass: ldl.Regression\nparameters: {parameters}\n"
    folder.name(folder.write("flat.yaml", text))
    before = digests.method_digest(from_environment().method("flat"))
    source.write_text("class Flat:\n    LEVEL = 2\n")
    forget()
    assert digests.method_digest(from_environment().method("flat")) != before


def test_digests_of_our_methods_do_not_hear_of_own_files(folder):
    before = {m: digests.method_digest(from_environment().method(m)) for m in ("rf", "aa_knn@grid")}
    folder.method()
    folder.write("numpy_helper.py", "A = 1\n")
    folder.name()
    assert before == {m: digests.method_digest(from_environment().method(m)) for m in before}


# ---------------------------------------------------------------------- data


def prepared(folder: Folder, rows: int = 12):
    folder.data(rows)
    folder.name()
    return brought()


def brought() -> Dataset:
    """The rows, fetched from beside their YAML and prepared."""
    project = from_environment()
    mine = project.data_set("rows_of_mine")
    fetch(mine, Path("data"), default_mirrors(project), offline=True, progress=False)
    return load_ready(prepare(mine, Path("data")))


def test_a_csv_becomes_features_labels_groups_and_target(folder):
    data = prepared(folder)
    assert (data.X.shape, data.D.shape, data.labels) == ((12, 2), (12, 2), ["good", "bad"])
    np.testing.assert_allclose(data.D.sum(axis=1), 1)
    assert len(set(data.groups)) == 4
    assert list(data.target[:2]) == [20, 21]
    first = (folder.root / "rows.csv").read_text().splitlines()[1].split(",")
    assert list(data.X[0]) == [float(first[1]), float(first[5])]
    assert data.D[0, 0] == float(first[0])


def test_a_changed_file_of_ones_own_is_noticed(folder):
    assert prepared(folder).D.shape == (12, 2)
    wildcards = type("W", (), {"dataset": "rows_of_mine"})
    before = rules_now().dataset_source(wildcards)
    folder.data(rows=15)
    assert rules_now().dataset_source(wildcards) != before
    assert prepared(folder, rows=15).D.shape == (15, 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("good,x", "god,x", r"no column 'good'\. Did you mean 'god'"),
        ("0.637", "much", r"line 2, column 'good': 'much' is not a number"),
        ("0.637", "0.9", r"label row 1 sums to 1\.263.* write `renormalise: true` into"),
        ("0.637", "-0.6", r"line 2, column 'good' has -0\.6\. The degrees of labels are 0 or more"),
        (",p0,20,", ",p0,inf,", r"line 2, column 'age' has inf, and a number must be finite"),
        ("good,x,bad,who,age,y\n", "", r"line 1 has numbers .* such as x1,x2,x3,x4,x5,x6,"),
        ("0.637", '"0,637"', r"'0,637' has a comma, but so have columns; write a decimal point"),
    ],
)
def test_check_says_what_is_wrong_with_a_table(folder, ask, old, new, message):
    path = folder.data()
    text = (folder.root / "rows.csv").read_text()
    assert old in text
    folder.write("rows.csv", text.replace(old, new, 1))
    status, out, _ = ask("check", str(path))
    assert status == 1
    assert re.search(message, " ".join(out.split())), out
    assert str(folder.root / "rows.csv") in out


def test_check_says_that_rows_or_groups_are_too_few(folder, ask):
    path = folder.data(rows=6)
    _, out, _ = ask("check", str(path))
    said = " ".join(out.split())
    assert "note 6 rows are too few to compare methods; 20 are needed" in said
    assert "note groups must tell at least 3 persons or things apart" in said
    folder.data(rows=20)
    assert "few" not in ask("check", str(path))[1]


def test_check_says_where_its_next_command_works(folder, ask, monkeypatch):
    path, said = str(folder.data()), f"Snakemake runs in the checkout: `cd {folder.checkout.root}`"
    assert said not in ask("check", path)[1]
    monkeypatch.chdir(folder.root)
    assert said in ask("check", path)[1]


def test_check_of_a_table_says_what_to_write_beside_it(folder, refused):
    folder.data()
    assert "The columns are: good, x, bad, who, age, y." in refused(
        "check", f"{folder.root}/rows.csv"
    )
    assert "line 1 has numbers" in refused("check", str(folder.write("bare.csv", "1;2\n3;4\n")))
    assert "no such file" in refused("check", f"{folder.root}/none.csv")


# ---------------------------------------------------------------------- measures


def test_an_own_measure_is_scored_beside_the_ten_without_a_new_fit(folder, ready):
    job = ready.job()
    run_unit(job)
    stamp = job.record.stat().st_mtime_ns

    def local() -> UnitScores:
        planned = Plan(from_environment())
        return Judge(planned, Workspace()).local_units([job.chunk.unit])[job.chunk.unit.key]

    assert "largest" not in local().scores
    folder.metric()
    folder.name()
    scored = local().scores
    np.testing.assert_allclose(scored["largest"], scored["chebyshev"])
    assert job.record.stat().st_mtime_ns == stamp


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("np.abs(D - P).max(axis=1)", "np.abs(D - P)", r"array of shape \(\d+, \d+\)"),
        ("np.abs(D - P).max(axis=1)", "1 / 0", r"ZeroDivisionError"),
    ],
)
def test_a_measure_that_cannot_be_used_is_told_why(folder, old, new, message):
    path = folder.metric()
    folder.write(f"{folder.tag}_measure.py", MEASURE.replace(old, new))
    folder.name(path)
    with pytest.raises(UserError, match=message):
        measures.evaluate(np.full((3, 2), 0.5), np.full((3, 2), 0.5), from_environment().measures)


# ---------------------------------------------------------------------- check


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class Mine(LDLEstimator)", "class Mine", "does not derive from LDLEstimator.*Regression"),
        (
            "def _fit(self, X, D):",
            "def _fit(self, X, D)",
            r"SyntaxError: expected ':' .*line \d+\)\.$",
        ),
        (
            "shift: float = 0.0",
            "shifts: float = 0.0",
            "no parameter 'shift'.*mean 'shifts'",
        ),
    ],
)
def test_check_says_what_is_wrong_with_a_class(folder, refused, old, new, message):
    path = folder.method()
    text = CODE.format(helper=f"{folder.tag}_helper").replace(old, new)
    folder.write(f"{folder.tag}.py", text)
    error = refused("check", str(path))
    assert re.search(message, error), error
    assert str(folder.root) in error


def test_check_tests_nothing_more_of_a_class_that_always_raises(folder, ask):
    path = folder.method()
    text = CODE.format(helper=f"{folder.tag}_helper")
    folder.write(
        f"{folder.tag}.py", text.replace("_fit(self, X, D):", "_fit(self, X, D):\n        1 / 0")
    )
    status, out, error = ask("check", str(path))
    assert (status, error) == (1, "2 findings to mend, marked BAD.\n")  # and its variant
    assert "refuses bad labels" not in out
    assert re.search(r"note\s+not tested: \d+ other checks", out), out

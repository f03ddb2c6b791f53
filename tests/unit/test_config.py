"""Configuration: what is filled in, how variants merge, and how names are found."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pydantic import ValidationError

from ldlrepro.catalogue import Project, from_environment
from ldlrepro.core.errors import UserError
from tests.unit.judged import PROJECT

RUN = "config/config.yaml"


# ---------------------------------------------------------------------- the files as they are


def test_every_configuration_file_is_valid():
    PROJECT.check(PROJECT.run, RUN)
    assert len(PROJECT.papers) == 11


# ---------------------------------------------------------------------- defaults and variants


def test_nobody_changes_a_value():
    method = PROJECT.method("aa_knn@grid")
    with pytest.raises(ValidationError, match="frozen"):
        method.scaling = "standard"
    estimator = PROJECT.method("df_ldl").estimator()
    for value in estimator.get_params(deep=False).values():
        if isinstance(value, dict):
            value["changed"] = True
    assert "changed" not in str(PROJECT.method("df_ldl").parameters)


BASE = """
title: Base
class: a.B
parameters: {a: 1, b: 2}
grid: {b: [1, 2], c: [3, 4]}
scaling: standard
resources: {threads: 2, mem_mb: 500}
variants:
  other: {parameters: {a: 7}, resources: {mem_mb: 900}}
  fixed: {parameters: {b: 9}}
  regridded: {parameters: {b: 9}, grid: {b: [5, 6]}, scaling: none, title: Mine}
"""


def test_a_variant_replaces_single_parameters_and_resources(checkout):
    checkout.write("config/methods/base.yaml", BASE)
    other = checkout.project.method("base@other")
    assert other.parameters == {"a": 7, "b": 2}
    assert (other.resources.threads, other.resources.mem_mb) == (2, 900)
    assert other.grid == {"b": (1, 2), "c": (3, 4)}
    assert other.scaling == "standard"
    assert (other.id, other.title) == ("base@other", "Base (other)")


def test_a_variant_that_fixes_a_parameter_takes_it_out_of_the_grid(checkout):
    checkout.write("config/methods/base.yaml", BASE)
    fixed = checkout.project.method("base@fixed")
    assert fixed.grid == {"c": (3, 4)}
    assert fixed.parameters["b"] == 9


INNER = """
title: Inner
class: ldl.Regression
parameters: {regressor: sklearn.linear_model.Ridge, settings: {tol: 0.5}}
grid: {settings__alpha: [1, 2], random_state: [0, 1], settings__solver: [lsqr, svd]}
variants:
  fixed: {parameters: {settings__alpha: 7}}
  bare: {parameters: {settings: null}, grid: {settings__alpha: [3, 4]}}
"""


def test_a_grid_reaches_settings_inside_a_parameter(checkout):
    checkout.write("config/methods/inner.yaml", INNER)
    grid = checkout.project.method("inner").grid
    assert grid["random_state"] == (0, 1)
    assert [(one["alpha"], one["solver"]) for one in grid["settings"]] == [
        *((1, "lsqr"), (1, "svd"), (2, "lsqr"), (2, "svd")),
    ]
    assert all(one["tol"] == 0.5 for one in grid["settings"])
    bare = checkout.project.method("inner@bare")
    assert bare.grid == {"settings": ({"alpha": 3}, {"alpha": 4})}


def test_a_project_is_sent_to_another_process_by_its_paths(checkout):
    project = checkout.project
    assert project.method("aa_knn").id == "aa_knn"
    sent = pickle.dumps(project)
    assert len(sent) < 500
    assert pickle.loads(sent).method("aa_knn") == project.method("aa_knn")


# ---------------------------------------------------------------------- names and places


def test_a_protocol_may_not_be_defined_in_two_papers(checkout):
    checkout.edit("papers/drf/paper.yaml", "  drf_fgnet:", "  mslp:")
    with pytest.raises(UserError) as caught:
        _ = checkout.project.protocols
    for word in ("papers/mslp/paper.yaml", "papers/drf/paper.yaml", "protocols.mslp"):
        assert word in str(caught.value)


def test_a_folder_without_configuration_is_refused_with_what_to_do(monkeypatch, tmp_path, checkout):
    monkeypatch.setenv("LDLREPRO_ROOT", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="set LDLREPRO_ROOT"):
        from_environment()
    (tmp_path / "nowhere" / "config" / "schemas").mkdir(parents=True)
    with pytest.raises(UserError, match=r"there is no config/config\.yaml"):
        from_environment()


def test_the_checkout_is_found_from_a_folder_below_it(monkeypatch, checkout):
    below = checkout.root / "results" / "deep"
    below.mkdir(parents=True)
    monkeypatch.delenv("LDLREPRO_ROOT")
    monkeypatch.chdir(below)
    assert Project.open().root == Path(checkout.root).resolve()

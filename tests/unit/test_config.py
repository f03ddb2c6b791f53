"""Configuration: what is filled in, how variants merge, and how names are found."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from ldl import metrics
from ldlrepro import config, models, plan
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.doctor import config_docs

RUN = "config/config.yaml"


def load_everything() -> None:
    """What Snakemake reads before it plans, and what planning reads."""
    config.load_run_config()
    for paper in config.paper_ids():
        plan.cells(paper)
        plan.paper_units(paper)
    plan.protocols()


# ---------------------------------------------------------------------- the files as they are


def test_every_configuration_file_is_valid():
    load_everything()
    assert len(config.paper_ids()) == 11
    for name in config.method_ids():
        config.load_method(name)


@pytest.mark.parametrize("name", config.method_ids())
def test_parameters_and_grid_of_every_method_are_known_to_its_class(name):
    model = models.load(name)
    spec = config.load_method(name)
    grid = spec.get("grid", {})
    fixed = {k: v for k, v in spec.get("parameters", {}).items() if k not in grid}
    if "weights" in spec:  # a path, which counts from the checkout
        fixed["weights"] = str(config.project_root() / fixed["weights"])
    assert fixed.items() <= model.get_params().items()
    assert set(grid) <= set(model.get_params())


def test_every_key_of_the_schemas_is_described():
    def undescribed(tree, where):
        for key, rule in tree.get("properties", {}).items():
            if "$ref" not in rule and "description" not in rule:
                yield f"{where}.{key}"
            yield from undescribed(rule, f"{where}.{key}")
            yield from undescribed(rule.get("items", {}), f"{where}.{key}")

    for kind in config_docs.KINDS:
        assert list(undescribed(config.schema(kind), kind)) == []


def test_grids_may_be_decided_by_any_measure():
    rule = config.schema("paper")["$defs"]["protocol"]["properties"]["select_by"]
    assert rule["enum"] == [*metrics.BETTER, *metrics.LABEL_BETTER]


# ---------------------------------------------------------------------- defaults and variants


def test_defaults_are_filled_in(checkout):
    checkout.write("config/methods/bare.yaml", "title: bare\nclass: a.B\n")
    bare = config.load_method("bare")
    filled = {key: bare[key] for key in ("control", "sees_test_labels", "scaling")}
    assert filled == {"control": False, "sees_test_labels": False, "scaling": "none"}
    checkout.write("config/datasets/bare.yaml", "title: b\nreader: images\nlicence: l\n")
    assert config.load_dataset("bare")["sparse"] is False
    assert config.load_paper("mslp")["synthetic"] is False


def test_a_run_configuration_needs_papers_only(checkout):
    checkout.write(RUN, "papers: [mslp]\n")
    run = config.load_run_config()
    assert run == {
        "papers": ["mslp"],
        "only": {},
        "seed": 2026,
        "mirrors": [],
        "extra_papers": [],
        "offline": False,
        "tracking_uri": "sqlite:///mlflow.db",
        "plan": "runnable",
        "extra": True,
        "extra_methods": [],
        "extra_datasets": [],
        "extra_metrics": [],
        "extra_weights": [],
    }
    assert len(plan.run_units(run, "mslp")) == len(plan.paper_units("mslp"))


def test_what_a_caller_changes_stays_with_the_caller():
    first = config.load_method("aa_knn@grid")
    untouched = copy.deepcopy(first)
    first["grid"]["n_neighbors"].append(99)
    first["parameters"].clear()
    assert config.load_method("aa_knn@grid") == untouched
    dataset = config.load_dataset("movie")
    dataset["files"][0]["name"] = "other"
    assert config.load_dataset("movie")["files"][0]["name"] == "Movie.mat"


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
    other = config.load_method("base@other")
    assert other["parameters"] == {"a": 7, "b": 2}
    assert other["resources"] == {"threads": 2, "mem_mb": 900}
    assert other["grid"] == {"b": [1, 2], "c": [3, 4]}
    assert other["scaling"] == "standard"
    assert other["title"] == "Base (other)"


def test_a_variant_that_fixes_a_parameter_takes_it_out_of_the_grid(checkout):
    checkout.write("config/methods/base.yaml", BASE)
    fixed = config.load_method("base@fixed")
    assert fixed["grid"] == {"c": [3, 4]}
    assert fixed["parameters"]["b"] == 9


def test_a_variants_own_grid_replaces_the_grid(checkout):
    checkout.write("config/methods/base.yaml", BASE)
    mine = config.load_method("base@regridded")
    assert (mine["grid"], mine["scaling"], mine["title"]) == ({"b": [5, 6]}, "none", "Mine")


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [("ldsvr@C=10.0", "C", 10.0), ("sa_bfgs@max_iter=7", "max_iter", 7)],
)
def test_a_name_may_change_any_parameter_of_its_method(name, parameter, value):
    assert config.load_method(name)["parameters"][parameter] == value


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
    grid = config.load_method("inner")["grid"]
    assert grid["random_state"] == [0, 1]
    assert [(one["alpha"], one["solver"]) for one in grid["settings"]] == [
        *((1, "lsqr"), (1, "svd"), (2, "lsqr"), (2, "svd")),
    ]
    assert all(one["tol"] == 0.5 for one in grid["settings"])
    assert config.load_method("inner@bare")["grid"] == {"settings": [{"alpha": 3}, {"alpha": 4}]}


def test_a_variant_that_fixes_an_inner_setting_takes_it_out_of_the_grid(checkout):
    checkout.write("config/methods/inner.yaml", INNER)
    for name, alpha in (("inner@fixed", 7), ("inner@settings__alpha=0.5", 0.5)):
        fixed = config.load_method(name)
        assert fixed["parameters"]["settings"] == {"tol": 0.5, "alpha": alpha}
        assert fixed["grid"]["settings"] == [
            {"tol": 0.5, "alpha": alpha, "solver": solver} for solver in ("lsqr", "svd")
        ]


def test_an_inner_setting_of_what_holds_none_is_refused(checkout):
    checkout.write("config/methods/inner.yaml", INNER.replace("{tol: 0.5}", "5"))
    with pytest.raises(UserError, match="'settings' is 5 and holds no settings"):
        config.load_method("inner")


def test_variants_follow_their_method_in_the_list(checkout):
    checkout.write("config/methods/base.yaml", BASE)
    names = config.method_ids()
    at = names.index("base")
    assert names[at : at + 4] == ["base", "base@other", "base@fixed", "base@regridded"]


# ---------------------------------------------------------------------- names and places


@pytest.mark.parametrize(
    ("load", "word", "wanted"),
    [
        (config.load_dataset, "sjafe", "Did you mean 'sjaffe'? `ldlrepro list datasets`"),
        (config.load_method, "sa_bfg", "Did you mean 'sa_bfgs'? `ldlrepro list methods`"),
        (config.load_method, "aa_knn@grit", "Did you mean 'aa_knn@grid'?"),
        (config.load_method, "aa_knn@", "unknown method 'aa_knn@'"),
        (config.load_method, "../papers/mslp", "unknown method"),
        (config.load_paper, "structr", "Did you mean 'structrf'? `ldlrepro list papers`"),
        (plan.protocol, "ldlf_ratio_11", "Did you mean 'ldlf_ratio_10'?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_where_to_look(load, word, wanted):
    with pytest.raises(UserError) as caught:
        load(word)
    assert wanted in str(caught.value)


def test_a_far_off_name_gets_no_silly_suggestion():
    assert nearest("zzzz", ["sjaffe", "movie"]) == ""


def test_a_protocol_may_not_be_defined_in_two_papers(checkout):
    checkout.edit("papers/drf/paper.yaml", "  drf_fgnet:", "  mslp:")
    with pytest.raises(UserError) as caught:
        plan.protocols()
    for word in ("papers/mslp/paper.yaml", "papers/drf/paper.yaml", "protocols.mslp"):
        assert word in str(caught.value)


def test_a_folder_without_configuration_is_refused_with_what_to_do(monkeypatch, tmp_path, checkout):
    config.project_root.cache_clear()
    monkeypatch.setenv("LDLREPRO_ROOT", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="set LDLREPRO_ROOT"):
        config.project_root()


def test_the_checkout_is_found_from_a_folder_below_it(monkeypatch, checkout):
    below = checkout.root / "results" / "deep"
    below.mkdir(parents=True)
    monkeypatch.delenv("LDLREPRO_ROOT")
    monkeypatch.chdir(below)
    config.project_root.cache_clear()
    assert config.project_root() == Path(checkout.root).resolve()


def test_diagnostics_name_the_method_whose_numbers_they_may_explain() -> None:
    named = {config.load_method(method).get("diagnoses") for method in config.method_ids()}
    assert {"ldldf", "sldlf"} <= named
    assert all(config.method_exists(name) for name in named - {None})

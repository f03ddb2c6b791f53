"""Methods that answer printed rows say of every parameter where its value comes from."""

from __future__ import annotations

import pytest

from ldlrepro.catalogue.yaml_files import read_yaml
from ldlrepro.judge.chosen import NO_PAPERS, chosen_by
from ldlrepro.judge.explain import CODE, OPEN, OURS, PLUMBING, origin_of
from tests.unit.judged import PLAN, PROJECT

ANSWERING = sorted(
    {
        unit.method.id
        for paper in PROJECT.papers
        for cell in PLAN.cells(paper)
        for unit in (cell.unit, cell.base, *cell.others)
        if unit is not None and not cell.skip
    }
)


@pytest.mark.parametrize("method", ANSWERING)
def test_every_parameter_of_a_method_with_printed_rows_has_an_origin(method: str) -> None:
    value = PROJECT.method(method)
    parameters = set(value.kind._get_param_names())
    said = [*value.origins.print, *(n for names in value.origins.named.values() for n in names)]
    assert set(said) <= parameters | {"scaling"}, "misspelt"
    named = {part.partition("=")[0] for part in method.partition("@")[2].split(",")}
    settled = {*said, *value.choices, *named}
    assert parameters - PLUMBING <= settled, "write them in origins"


@pytest.mark.parametrize("method", ANSWERING)
def test_what_a_variant_changes_is_not_left_to_the_origins_of_the_method(method: str) -> None:
    family, _, variant = method.partition("@")
    changes = read_yaml(PROJECT.file_of("method", family)).get("variants", {}).get(variant)
    if changes is None:
        return
    said = {name for names in changes.get("origins", {}).values() for name in names}
    assert said == {*changes.get("parameters", {}), *changes.get("grid", {})}


@pytest.mark.parametrize("method", ANSWERING)
def test_origins_are_papers_code_or_ours_and_ours_excludes_the_others(method: str) -> None:
    origins = dict(PROJECT.method(method).origins.named)
    assert set(origins) <= {*PROJECT.paper_ids, *NO_PAPERS}
    suggested = {name for look in PROJECT.method(method).origins.print.values() for name in look.at}
    assert suggested <= {*PROJECT.data_set_ids, *PROJECT.families.values()}
    ours = set(origins.pop("ours", []))
    assert not ours & {name for names in origins.values() for name in names}


@pytest.mark.parametrize(
    ("method", "parameter", "paper", "origin"),
    [
        ("sa_bfgs", "max_iter", "structrf", "the paper, structrf"),
        ("sa_bfgs", "solver", "structrf", OPEN),
        ("sa_bfgs@toolbox", "solver", "mslp", CODE),
        ("structrf", "n_estimators", "ldldf", "another paper, structrf"),
        ("ldldf", "validation_fraction", "ldldf", OURS),
    ],
)
def test_the_paper_comes_before_the_code_and_the_code_before_other_papers(
    method: str, parameter: str, paper: str, origin: str
) -> None:
    assert origin_of(parameter, PROJECT.method(method), PROJECT.paper(paper)) == origin


@pytest.mark.parametrize(
    ("method", "parameter", "paper", "why"),
    [
        ("sa_bfgs", "max_iter", "structrf", "stated"),
        ("sa_bfgs", "solver", "structrf", "ours"),
        ("sa_bfgs@toolbox", "solver", "mslp", "print"),  # though it is the released code's
        ("mslp", "u", "mslp", "validation"),  # among the paper's candidates
        ("ldl_ldm", "alpha", "ldldf", "print"),  # validation rows choose among what was seen
        ("ldl_ldm@as_released", "alpha", "ldldf", "released code"),
    ],
)
def test_the_print_comes_before_every_other_reason(
    method: str, parameter: str, paper: str, why: str
) -> None:
    assert chosen_by(parameter, PROJECT.method(method), PROJECT.paper(paper)) == why


PAPERS_SAY = {
    "structrf": [
        ("structrf", {"n_estimators": 50, "max_depth": 20, "max_samples": 0.8}),
        ("structrf_star", {"alpha": 0.25, "beta": 8.0}),
        ("rf", {"n_estimators": 50}),
        ("sa_iis", {"max_iter": 200}),
        ("sa_bfgs", {"max_iter": 300}),
    ],
    "ldlf": [
        ("sldlf", {"n_estimators": 5, "depth": 7, "units": 64}),
        ("sldlf", {"leaf_repeats": 20, "leaf_batches": 100}),
        ("sldlf", {"max_iter": 25000}),
    ],
    "ldldf": [
        ("ldldf", {"max_layers": 10, "learners_per_layer": 6}),
        ("ldldf", {"n_estimators": 40, "n_estimators_step": 20}),
        ("ldldf", {"max_estimators": 100, "max_depth": 3, "max_depth_step": 3, "n_neighbors": 3}),
        ("ldldf", {"tol": 0.005, "cv": 5}),
    ],
    "mslp": [
        ("mslp", {"k_plus": [5, 10], "alpha": [5, 10], "beta": [0.0, 0.1, 0.5]}),
        ("mslp", {"lam": [0.0, 0.01, 0.1], "n_neighbors": [5, 10, 15]}),
        ("cpnn", {"hidden_layer_sizes": 50}),
        ("aa_bp", {"hidden_layer_sizes": [50]}),
        ("lpp_knn", {"graph_neighbors": [5, 10, 15]}),
    ],
    "drf": [
        ("drf", {"n_estimators": 5, "depth": 6, "units": 128}),
        ("drf", {"leaf_repeats": 20, "leaf_batches": 50}),
        ("drf", {"learning_rate": 0.05, "drop_every": 10000, "drop_factor": 0.5, "batch_size": 16}),
        ("drf", {"max_iter": 30000, "temperature": 1.0, "temperature_factor": 0.9, "tau": 0.5}),
    ],
}
"""Numbers that stand in the papers' texts."""


@pytest.mark.parametrize("paper", PAPERS_SAY)
def test_numbers_of_the_papers_texts_are_told_as_theirs_and_are_what_runs(paper: str) -> None:
    for method, numbers in PAPERS_SAY[paper]:
        value = PROJECT.method(method)
        values = value.estimator().get_params()
        assert {name: values[name] for name in numbers} == numbers
        assert {origin_of(name, value, PROJECT.paper(paper)) for name in numbers} == {
            f"the paper, {paper}"
        }

"""Configured methods keep their papers' settings where the library's defaults are others."""

import pytest

import ldl
from ldl._self_tuned import SelfTuned
from ldlrepro.catalogue import Project

PROJECT = Project.open()
OWN_DEFAULTS = ("SABFGS", "LDLHR", "CPNN", "LDSVR", "PTBayes")
"""Classes whose defaults are not those of papers and releases."""
SAME_EVERYWHERE = {"random_state", "solver", "kernel", "form"}
"""Their defaults are the papers' and the library's."""


def named(method: str) -> tuple[str, set[str]]:
    """Return the class whose settings decide, and the names that the YAML gives settings for."""
    told = PROJECT.method(method)
    given = told.parameters
    if "estimator" in given:
        return given["estimator"].rpartition(".")[2], set(given["settings"])
    return told.class_path.rpartition(".")[2], {*given, *told.grid}


METHODS = [m for m in PROJECT.method_ids if named(m)[0] in OWN_DEFAULTS]


@pytest.mark.parametrize("method", METHODS)
def test_yaml_names_every_setting_that_the_library_may_choose_otherwise(method):
    kind, names = named(method)
    decisive = set(getattr(ldl, kind)._parameter_names()) - SAME_EVERYWHERE
    assert decisive <= names


@pytest.mark.parametrize(
    "method", [m for m in PROJECT.method_ids if issubclass(PROJECT.method(m).kind, SelfTuned)]
)
def test_nothing_is_scaled_mixed_or_chosen_where_a_paper_does_not_say_so(method):
    told = PROJECT.method(method)
    made = told.estimator()
    assert "mean_share" in told.parameters
    assert made.mean_share is None
    assert made.scales_itself or told.parameters["standardise"] is False
    left = {name for name in made.candidates if getattr(made, name) == "auto"}
    assert left <= set(told.grid)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (
            "sa_bfgs",
            {
                "max_iter": 300,
                "solver": "lbfgs",
                "fit_intercept": False,
                "alpha": 0.0,
                "init": "identity",
                "random_state": None,
                "pairs": 20,
                "tol": 0.0,
                "standardise": False,
            },
        ),
        (
            "cpnn",
            {"smallest_step": 0.0024787521766663585, "hidden_layer_sizes": 50, "max_iter": 100},
        ),
        ("ldsvr", {"C": 1.0, "epsilon": 0.1, "width": 1.0}),
        ("pt_bayes", {"covariance_type": "shrunk", "worth": None}),
        (
            "ldl_hr",
            {"alpha": 1e-4, "margin_weight": 1e4, "max_iter": 1000, "standardise": False},
        ),
    ],
)
def test_resolved_settings_are_those_of_the_records(method, expected):
    found = PROJECT.method(method).estimator().get_params()
    assert {name: found[name] for name in expected} == expected

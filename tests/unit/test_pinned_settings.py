"""Configured methods keep their papers' settings where the library's defaults are others."""

import pytest

import ldl
from ldl._self_tuned import SelfTuned
from ldl._tempered import Tempered
from tests.unit.judged import PROJECT

OWN_DEFAULTS = ("SABFGS", "LDLHR", "CPNN", "LDSVR", "PTBayes")
"""Classes whose defaults are not those of papers and releases."""
SAME_EVERYWHERE = {"random_state", "solver", "kernel", "form", "verbose"}
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
    decisive = set(getattr(ldl, kind)._get_param_names()) - SAME_EVERYWHERE
    assert decisive <= names


@pytest.mark.parametrize(
    "method", [m for m in PROJECT.method_ids if issubclass(PROJECT.method(m).kind, Tempered)]
)
def test_nothing_is_scaled_mixed_or_chosen_where_a_paper_does_not_say_so(method):
    told = PROJECT.method(method)
    made = told.estimator()
    assert "mean_share" in told.parameters
    assert made.mean_share is None
    if not isinstance(made, SelfTuned):
        return
    assert made.scales_itself or told.parameters["standardise"] is False
    left = {name for name in made.candidates if getattr(made, name) == "auto"}
    assert left <= set(told.grid)

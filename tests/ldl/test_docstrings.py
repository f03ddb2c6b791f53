"""Docstrings of the public estimators and functions: complete, true, and their examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import ldl
from ldl import checks, datasets, metrics, plot
from ldl.checks import sample
from tests.ldl.docstrings import Docstring, read
from tests.ldl.estimators import IMAGES, NAMES, cheap, images

PUBLIC = {name: getattr(ldl, name) for name in ldl.__all__}


def public(module: Any) -> dict[str, Callable[..., Any]]:
    return {
        f"{module.__name__}.{name}": found
        for name, found in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(found) or inspect.isclass(found))
        and found.__module__ == module.__name__
    }


FUNCTIONS = public(metrics) | public(checks) | public(datasets) | public(plot)
EVERYTHING = PUBLIC | FUNCTIONS
everything = pytest.mark.parametrize("name", EVERYTHING)
LACKING = {
    "torch": (not find_spec("torch"), (*IMAGES,)),
}
MUST_HAVE_EXAMPLES = [name for name in EVERYTHING if not name.startswith("ldl.checks.")]


def skip_without_extras(name: str) -> None:
    for package, (lacks, users) in LACKING.items():
        if lacks and name in users:
            pytest.skip(f"{package} is not installed")


# ---------------------------------------------------------------------- words


def docstring(name: str) -> Docstring:
    return read(EVERYTHING[name])


# ---------------------------------------------------------------------- parameters


def parameters(documented: Callable[..., Any]) -> dict[str, Any]:
    """Names and defaults of the signature; ``inspect._empty`` where there is none."""
    called = documented.__init__ if inspect.isclass(documented) else documented  # type: ignore[misc]
    every = inspect.signature(called).parameters.values()
    if called is object.__init__:
        return {}
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {stars.get(p.kind, "") + p.name: p.default for p in every if p.name != "self"}


def compare_parameters(documented: Callable[..., Any]) -> None:
    items, wanted = read(documented).items("Parameters"), parameters(documented)
    assert set(items) == set(wanted)
    for name, default in wanted.items():
        item = items[name]
        assert item.kind, f"{name} has no type"
        assert item.text, f"{name} has no text"
        if default is inspect.Parameter.empty:
            assert item.default is None, f"{name} has no default"
        elif callable(default):
            assert item.default, f"{name}: no default"
        else:
            assert item.default is not None, f"{name} has the default {default!r}"
            assert same(item.default, default), f"{name}: default={item.default} is {default!r}"


def same(written: str, default: Any) -> bool:
    """True if what is written is the default, such as 1e-3 or 1/9; words stand in quotes."""
    value = eval(written, {"__builtins__": {}})
    return type(value) is type(default) and value == default


@everything
def test_parameters_are_those_of_the_signature_with_their_defaults(name):
    compare_parameters(EVERYTHING[name])


# ---------------------------------------------------------------------- attributes


def fitted_attributes(name: str) -> tuple[set[str], Any]:
    X, D = images(12) if name in IMAGES else sample(n=24)
    model = cheap(name).fit(X, D)
    return {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}, model


@pytest.mark.parametrize("name", NAMES)
def test_attributes_are_those_that_fit_sets(name):
    skip_without_extras(name)
    documented = docstring(name).items("Attributes")
    there, model = fitted_attributes(name)
    absent = [key for key in documented if not hasattr(model, key)]
    # Others are set by other parameters, and say so.
    assert [key for key in absent if "only " not in documented[key].text] == []
    assert there - set(documented) == set()
    for key, item in documented.items():
        assert item.kind, f"{key} has no type"
        assert item.text, f"{key} has no text"
        shape = re.search(r"of shape \((.*?)\)", item.kind)
        if shape and isinstance(value := getattr(model, key, None), np.ndarray):
            axes = [axis for axis in shape[1].split(",") if axis.strip()]
            assert len(axes) == value.ndim, f"{key}: {item.kind}, but {value.shape}"


# ---------------------------------------------------------------------- examples


def run_examples(name: str, documented: Any) -> int:
    found = doctest.DocTestFinder(recurse=False).find(documented, name, globs={})
    runner = doctest.DocTestRunner(verbose=False)
    output: list[str] = []
    for case in found:
        runner.run(case, out=output.append)
    assert runner.failures == 0, "".join(output)
    return runner.tries


@everything
def test_examples_run(name):
    skip_without_extras(name)
    tries = run_examples(name, EVERYTHING[name])
    assert tries or name not in MUST_HAVE_EXAMPLES, "no example"
    assert ("Examples" in docstring(name).sections) == bool(tries)


@pytest.mark.parametrize(
    "module", [ldl, metrics, checks, datasets], ids=lambda module: module.__name__
)
def test_examples_of_modules_run(module):
    run_examples(module.__name__, module)


@pytest.mark.parametrize("name", NAMES)
def test_papers_are_named(name):
    if name not in ("Uniform", "TrainMean", "Regression"):
        assert re.search(r"\b(19|20)\d\d\b", docstring(name).sections.get("References", "")), name

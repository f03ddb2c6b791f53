"""``ldlrepro check``: finds what is wrong with a user's own paper, method, data set or measure."""

from __future__ import annotations

import importlib
import json
import shlex
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ldl import checks as contract
from ldlrepro import config
from ldlrepro.config import plugins
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.doctor.papers import check_paper

SEED = 7
T = TypeVar("T")


def examine(file: str) -> tuple[str, str, Path, Iterator[Finding]]:
    """Return kind, id and path of an own file, and the findings one by one."""
    path = plugins.absolute(file)
    kind = plugins.kind_of(path, config.read_yaml(path))
    name = plugins.id_of(kind, path)
    if path != config.file_of(kind, name):  # else it is one of the checkout
        plugins.announce({"own_files": str(path)})
    return kind, name, path, CHECKS[kind](name, path)


def next_command(kind: str, path: Path) -> str:
    """Return the command that runs an own paper, or another own file on drawn data."""
    if kind == "paper":
        given = f" --config {shlex.quote(f'own_files={path.parent}')}"
        is_ours = path.is_relative_to(config.project_root() / "config")
        return f"snakemake --cores all {path.parent.name}{'' if is_ours else given}"
    given = shlex.quote(f"own_files={path}")
    if kind == "weight":
        return f"snakemake --cores all PAPER --config {given}"
    return f"snakemake --cores all demo --configfile config/demo.yaml --config {given}"


# ---------------------------------------------------------------------- methods


def check_method(name: str, path: Path) -> Iterator[Finding]:
    """Yield the findings about an own method."""
    _find_class(config.load_method(name)["class"], path)
    for method in config.own_ids("method"):
        if method.partition("@")[0] == name:
            yield from _check_settings(method)


def _find_class(class_path: str, path: Path) -> None:
    """Say in words what a class lacks."""
    from ldl.base import LDLEstimator

    module_name, _, class_name = class_path.rpartition(".")
    module = import_beside(module_name, path, "class")
    kind = getattr(module, class_name, None)
    if kind is None:
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise UserError(
            f"{path}: class: {module_name} has no '{class_name}'.{nearest(class_name, classes)} "
            f"It has: {', '.join(classes) or 'no class'}"
        )
    if not (isinstance(kind, type) and issubclass(kind, LDLEstimator)):
        raise UserError(
            f"{path}: class: {class_path} does not derive from LDLEstimator. A regressor with fit "
            "and predict becomes a method by `class: ldl.baselines.regression.Regression` and "
            f"`parameters: {{regressor: {class_path}}}`."
        )


def import_beside(module_name: str, path: Path, key: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"{path}: {key}: {error}. Write the name of the Python file beside {path.name}, "
            "without .py, then a dot and the name in it."
        ) from error
    except Exception as error:  # somebody else's code
        raise UserError(f"{path}: {key}: importing {module_name} fails: {words(error)}") from error


def _check_settings(method: str) -> Iterator[Finding]:
    value = config.current().method(method)
    value.estimator()
    yield Finding(method, GOOD, "its file, its class and the names of its parameters")

    def build(**parameters: Any) -> Any:
        known = value.kind._parameter_names()
        wanted = {"random_state": SEED, **parameters}
        return value.estimator(**{key: v for key, v in wanted.items() if key in known})

    if value.sees_test_labels:
        yield Finding(method, NOTE, "is given the test labels: it is shown, but never ranked")
        return
    if value.needs.images:
        yield Finding(method, NOTE, "is given images, which the rules here are not about")
        return
    rules = list(contract.RULES)
    if value.grid:
        rules.append(contract.grid_rule(value.grid))
    for rule in rules:
        yield _judged(method, rule, contract.Trial(build))


def _judged(method: str, rule: contract.Rule, trial: contract.Trial) -> Finding:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rule.check(trial)
        except Exception as error:
            text = str(error) if isinstance(error, AssertionError) else words(error)
            if rule.must:
                return Finding(method, BAD, f"{rule.text}: no, {text}")
            return Finding(method, NOTE, f"not so: {rule.text}; {text}")
    return Finding(method, GOOD, rule.text)


def words(error: BaseException) -> str:
    """Describe an error, with the line of the user's own file that raised it."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno})"
    folders = plugins.folders()
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if Path(frame.filename).parent in folders]
    place = f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {error}{place}"


# ---------------------------------------------------------------------- data sets


def _prepared(name: str, path: Path, data: Path, prepare: Callable[[str, Path], T]) -> T | Finding:
    """Fetch and prepare what an own file describes; a problem names the user's folder."""
    from ldlrepro.data.fetch import default_mirrors, fetch

    status = fetch(name, data, default_mirrors(), offline=True, progress=False)
    if not status.available:
        return Finding(name, BAD, status.reason)
    try:
        return prepare(name, data)
    except UserError as error:
        text = str(error).partition(" Remove the file and type")[0]
        return Finding(name, BAD, text.replace(str(data / "raw" / name), str(path.parent)))


def check_dataset(name: str, path: Path) -> Iterator[Finding]:
    """Fetch and read a data set in a folder that is thrown away."""
    from ldlrepro.data.registry import defects_found, load_ready, prepare

    with tempfile.TemporaryDirectory() as folder:
        dataset = _prepared(
            name, path, Path(folder), lambda name, data: load_ready(prepare(name, data))
        )
        if isinstance(dataset, Finding):
            yield dataset
            return
    n, q = dataset.X.shape
    yield Finding(name, GOOD, f"{n} rows, {q} features, {dataset.D.shape[1]} labels")
    if dataset.groups is not None:
        yield Finding(name, GOOD, f"{len(set(dataset.groups.tolist()))} groups")
    for text in defects_found(dataset):
        yield Finding(name, NOTE, text)


# ---------------------------------------------------------------------- measures


def check_metric(name: str, path: Path) -> Iterator[Finding]:
    """Yield the findings about an own measure."""
    from ldl import metrics
    from ldlrepro.judge import measures

    if name in {**metrics.BETTER, **metrics.LABEL_BETTER, **metrics.AGE_BETTER}:
        raise UserError(f"{path}: '{name}' is one of our measures. Rename your file.")
    measure = config.current().measure(name)
    _ = measure.function
    yield Finding(name, GOOD, "its file and its function")
    _, D = contract.sample()
    worst = np.full_like(D, 1 / D.shape[1])
    with_zeros = np.eye(D.shape[1])[D.argmax(axis=1)]
    before = D.copy()
    right, wrong = measures.own_value(measure, D, D.copy()), measures.own_value(measure, D, worst)
    untouched = bool((before == D).all())
    yield Finding(name, GOOD if untouched else BAD, "leaves the distributions as they were")
    again = measures.own_value(measure, D, worst)
    yield Finding(name, GOOD if again == wrong else BAD, "gives the same number twice")
    better = right < wrong if measure.better == "lower" else right > wrong
    text = f"true labels score {right:.4g}, equal degrees {wrong:.4g}"
    yield Finding(name, GOOD if better else BAD, f"is better for the truth: {text}")
    zeros = [measures.own_value(measure, D, with_zeros), measures.own_value(measure, with_zeros, D)]
    finite = bool(np.isfinite(zeros).all())
    yield Finding(name, GOOD if finite else NOTE, "is finite where a degree is zero")


# ---------------------------------------------------------------------- weights


def check_weights(name: str, path: Path) -> Iterator[Finding]:
    """Fetch and read weights in a folder that is thrown away, and probe them."""
    from ldlrepro.data.weights import prepare_weights, weights_facts

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        prepared = _prepared(name, path, data, prepare_weights)
        if isinstance(prepared, Finding):
            yield prepared
            return
        facts = weights_facts(name, data)
    layers = "all layers" if facts["layers"] == "all" else "convolutions alone"
    yield Finding(name, GOOD, f"{facts['network']}, {layers}, SHA-256 {facts['source_sha256']}")
    stated = "probe" in config.load_weights(name)
    shown = f"probe: {json.dumps(facts['probe'])}"
    yield Finding(name, GOOD if stated else NOTE, shown, "" if stated else "not stated so far")


CHECKS = {
    "paper": check_paper,
    "method": check_method,
    "dataset": check_dataset,
    "metric": check_metric,
    "weight": check_weights,
}

"""``ldlrepro check``: finds what is wrong with a user's own paper, method, data set or measure."""

from __future__ import annotations

import csv
import json
import re
import shlex
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ldl import checks as contract
from ldl.comparison.compare import LEAST_ROWS
from ldlrepro.catalogue import DataSet, Method, Project, Weights
from ldlrepro.catalogue.own_files import PAPER, absolute, id_of, kind_of
from ldlrepro.catalogue.yaml_files import read_yaml
from ldlrepro.core.errors import UserError, in_words
from ldlrepro.data.csv_tables import SEPARATORS
from ldlrepro.data.dataset import Dataset
from ldlrepro.data.own_table import demand_groups, names_wanted
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.doctor.papers import check_paper
from ldlrepro.plan.planning import Plan

SEED = 7
TABLES = (".csv", ".tsv", ".txt")
S = TypeVar("S", DataSet, Weights)
T = TypeVar("T")


@dataclass(frozen=True)
class Examined:
    """An own file, and the plan of a project that knows it."""

    plan: Plan
    kind: str
    id: str
    path: Path

    @property
    def project(self) -> Project:
        return self.plan.project

    def findings(self) -> Iterator[Finding]:
        """Yield the findings one by one."""
        if self.kind == "paper":
            missing = self.project.without_missing_data(self.id)
            return check_paper(self.plan, self.project.paper(self.id), missing)
        return CHECKS[self.kind](self)

    def next_command(self) -> str:
        """Return the command that runs an own paper, or another own file on drawn data."""
        if self.kind == "paper":
            given = f" --config {shlex.quote(f'own_files={self.path.parent}')}"
            return f"snakemake --cores all {self.id}{given * self.project.is_own(self.path)}"
        given = shlex.quote(f"own_files={self.path}")
        if self.kind == "weight":
            return f"snakemake --cores all PAPER --config {given}"
        return f"snakemake --cores all demo --configfile config/demo.yaml --config {given}"


def examine(file: str, project: Project) -> Examined:
    """Find out what a file describes, and open the project with it."""
    path = _file_of(absolute(file))
    if path.suffix in TABLES and path.exists():
        raise UserError(_around(path))
    kind = kind_of(path, read_yaml(path))
    name = id_of(kind, path)
    if path != project.file_of(kind, name):  # else it is one of the checkout
        project = Project.open(project.root, [*project.own_paths, path])
    return Examined(Plan(project), kind, name, path)


def _around(path: Path) -> str:
    """Say what to write around a table, which alone does not say what its columns are."""
    separator, (head, *_) = _table(path)
    if wanted := names_wanted(head, separator):
        return f"{path}: {wanted}."
    name = re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_") or "mine"
    yaml = path.parent / f"{name}.yaml"
    return (
        f"{path} is a table. `check` reads the YAML file that describes it. For a data set, write "
        f"into {yaml}:\n\n  title: {path.stem}\n  description: What a row is.\n  reader: csv\n"
        f"  files: {path.name}\n  labels: [the columns with label degrees]\n\n"
        f"The columns are: {', '.join(head) or 'unknown'}. All others are features; "
        f"docs/my-data.md tells more. Then type `ldlrepro check {shlex.quote(str(yaml))}`.\n"
        f"If it is a table of printed results, type `ldlrepro lint {shlex.quote(str(path))}`."
    )


def _table(path: Path) -> tuple[str, list[list[str]]]:
    """Return the separator of a text file, and its rows; of an empty one a row without names."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    rows = csv.reader(text.splitlines(), delimiter=separator)
    return separator, [[cell.strip() for cell in row] for row in rows] or [[""]]


def _file_of(path: Path) -> Path:
    """Return the file to check: the paper of a folder that is one, else the path itself."""
    if not path.is_dir():
        return path
    if (path / PAPER).is_file():
        return path / PAPER
    inside = sorted(str(found) for found in (*path.glob("*.yaml"), *path.glob(f"*/{PAPER}")))
    raise UserError(
        f"{path} is a folder without {PAPER}. Name the file to check: "
        f"{', '.join(inside) or 'there is no YAML file in it'}."
    )


# ---------------------------------------------------------------------- methods


def check_method(mine: Examined) -> Iterator[Finding]:
    """Yield the findings about an own method."""
    method = mine.project.method(mine.id)
    yield from _check_settings(method)
    for name in method.variant_ids:
        yield from _check_settings(mine.project.method(name))


def _check_settings(method: Method) -> Iterator[Finding]:
    method.refuse_mistakes()
    yield Finding(method.id, GOOD, "its file, its class and the names of its parameters")

    def build(**parameters: Any) -> Any:
        known = method.kind._get_param_names()
        wanted = {"random_state": SEED, **parameters}
        return method.estimator(**{key: v for key, v in wanted.items() if key in known})

    if method.sees_test_labels:
        yield Finding(method.id, NOTE, "sees the test labels, so it is shown but never ranked")
        return
    if method.needs.images:
        yield Finding(method.id, NOTE, "reads images, which these checks do not cover")
        return
    rules = list(contract.RULES)
    if method.grid:
        rules.append(contract.grid_rule(method.grid))
    causes: Counter[str] = Counter()
    worst: dict[str, str] = {}
    for rule in rules:
        finding, cause = _judged(method, rule, contract.Trial(build))
        causes[cause] += 1
        if not cause or causes[cause] == 1:
            yield finding
        if finding.state == BAD or cause not in worst:
            worst[cause] = finding.state
        if cause and rule is rules[0]:  # one that always raises seems to refuse what it should
            left = len(rules) - 1
            yield Finding(method.id, NOTE, f"not tested: {left} other checks, which need this one")
            return
    for cause, count in causes.items():
        if cause and count > 1:
            said = f"{count - 1} more checks end with the same: {cause}"
            yield Finding(method.id, worst[cause], said)


def _judged(method: Method, rule: contract.Rule, trial: contract.Trial) -> tuple[Finding, str]:
    """Return what a rule finds, and the error that keeps it from finding anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rule.check(trial)
        except AssertionError as error:
            text, cause = str(error), ""
        except Exception as error:
            text = cause = in_words(error, method.file)
        else:
            return Finding(method.id, GOOD, rule.text), ""
    if rule.must:
        return Finding(method.id, BAD, f"{rule.text}: no, {text}"), cause
    return Finding(method.id, NOTE, f"not so: {rule.text}; {text}"), cause


# ---------------------------------------------------------------------- data sets and weights


def _prepared(
    mine: Examined, source: S, data: Path, prepare: Callable[[S, Path], T]
) -> T | Finding:
    """Fetch and prepare what an own file describes; a problem names the user's folder."""
    from ldlrepro.data.fetch import default_mirrors, fetch

    mirrors = [mine.path.parent, *default_mirrors(mine.project)]
    status = fetch(source, data, mirrors, offline=True, progress=False)
    if not status.available:
        return Finding(mine.id, BAD, status.reason)
    try:
        return prepare(source, data)
    except UserError as error:
        text = str(error).partition(" Remove the file and type")[0].partition(", then type")[0]
        if text.endswith("not to 1."):
            text += " To divide rows by their sums, write `renormalise: true` into the YAML."
        raw, folder = data / "raw" / mine.id, str(mine.path.parent)
        if isinstance(source, DataSet) and source.reader == "csv":
            path = raw / source.files[0].name
            if wrong := _first_wrong(path, source):
                text = f"{path}: {wrong}."
        return Finding(mine.id, BAD, text.replace(str(raw), folder))


def _first_wrong(path: Path, data_set: DataSet) -> str:
    """Say where a table has the first number that can be none, or that its columns lack names."""
    separator, (head, *rows) = _table(path)
    if wanted := names_wanted(head, separator, data_set.labels):
        return wanted
    for line, row in enumerate(rows, start=2):
        for name, text in zip(head, row, strict=False):
            place = f"line {line}, column '{name}' has {text}"
            with suppress(ValueError):
                number = float(text.replace(",", "."))
                if np.isinf(number):
                    return f"{place}, and a number must be finite"
                if number < 0 and name in data_set.labels:
                    return f"{place}. The degrees of labels are 0 or more"
    return ""


def check_dataset(mine: Examined) -> Iterator[Finding]:
    """Fetch and read a data set in a folder that is thrown away."""
    from ldlrepro.data.registry import defects_found, load_ready, prepare

    source, name = mine.project.data_set(mine.id), mine.id
    with tempfile.TemporaryDirectory() as folder:
        dataset = _prepared(mine, source, Path(folder), lambda *told: load_ready(prepare(*told)))
        if isinstance(dataset, Finding):
            yield dataset
            return
    n, q = dataset.X.shape
    yield Finding(name, GOOD, f"{n} rows, {q} features, {dataset.D.shape[1]} labels")
    if dataset.groups is not None:
        different = len(set(dataset.groups.tolist()))
        yield Finding(name, GOOD, f"{different} group{'s' * (different != 1)}")
    yield from (Finding(name, NOTE, text) for text in _too_few(dataset))
    for text in defects_found(dataset):
        yield Finding(name, NOTE, text)


def _too_few(dataset: Dataset) -> Iterator[str]:
    """Say of what a data set has too few to compare methods."""
    if (rows := len(dataset.D)) < LEAST_ROWS:
        yield f"{rows} rows are too few to compare methods; {LEAST_ROWS} are needed"
    try:
        demand_groups(dataset.groups, "groups")
    except UserError as error:
        yield str(error)


def check_weights(mine: Examined) -> Iterator[Finding]:
    """Fetch and read weights in a folder that is thrown away, and probe them."""
    from ldlrepro.data.weights import prepare_weights, weights_facts

    weights, name = mine.project.weights(mine.id), mine.id
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        prepared = _prepared(mine, weights, data, prepare_weights)
        if isinstance(prepared, Finding):
            yield prepared
            return
        facts = weights_facts(name, data)
    layers = "all layers" if facts["layers"] == "all" else "convolutions alone"
    yield Finding(name, GOOD, f"{facts['network']}, {layers}, SHA-256 {facts['source_sha256']}")
    shown, state = f"probe: {json.dumps(facts['probe'])}", GOOD if weights.probe else NOTE
    yield Finding(name, state, shown, "" if weights.probe else "not stated so far")


# ---------------------------------------------------------------------- measures


def check_measure(mine: Examined) -> Iterator[Finding]:
    """Yield the findings about an own measure."""
    from ldl import metrics
    from ldlrepro.judge.measures import own_value

    name = mine.id
    if name in {**metrics.BETTER, **metrics.LABEL_BETTER, **metrics.AGE_BETTER}:
        raise UserError(f"{mine.path}: '{name}' is one of our measures. Rename your file.")
    measure = mine.project.measure(name)
    _ = measure.function
    yield Finding(name, GOOD, "its file and its function")
    _, D = contract.sample()
    worst = np.full_like(D, 1 / D.shape[1])
    with_zeros = np.eye(D.shape[1])[D.argmax(axis=1)]
    before = D.copy()
    right, wrong = own_value(measure, D, D.copy()), own_value(measure, D, worst)
    untouched = bool((before == D).all())
    yield Finding(name, GOOD if untouched else BAD, "leaves the distributions as they were")
    again = own_value(measure, D, worst)
    yield Finding(name, GOOD if again == wrong else BAD, "gives the same number twice")
    better = right < wrong if measure.better == "lower" else right > wrong
    text = f"true labels score {right:.4g}, equal degrees {wrong:.4g}"
    yield Finding(name, GOOD if better else BAD, f"is better for the truth: {text}")
    zeros = [own_value(measure, D, with_zeros), own_value(measure, with_zeros, D)]
    finite = bool(np.isfinite(zeros).all())
    yield Finding(name, GOOD if finite else NOTE, "is finite where a degree is zero")
    found = [value for value in (right, wrong, *zeros) if np.isfinite(value)]
    beyond = [f"{value:.4g}" for value in found if not measure.allows(value)]
    if measure.range and beyond:
        told = f"{', '.join(beyond)} of drawn distributions {'is' if len(beyond) < 2 else 'are'}"
        yield Finding(name, BAD, f"range: {told} outside of {measure.range_in_words}")


CHECKS = {
    "method": check_method,
    "dataset": check_dataset,
    "measure": check_measure,
    "weight": check_weights,
}

"""Reads and checks the YAML files under ``config/`` and ``papers/``.

Every file is validated against its schema in ``config/schemas`` before anything runs, and every
complaint names the file, the key, what is allowed, and the nearest name that exists.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

from ldlrepro.config import plugins
from ldlrepro.config.files import Keys as Keys
from ldlrepro.config.files import check as check
from ldlrepro.config.files import copied, with_defaults
from ldlrepro.config.files import project_root as project_root
from ldlrepro.config.files import read_yaml as read_yaml
from ldlrepro.config.files import schema as schema
from ldlrepro.config.files import shown as shown
from ldlrepro.config.inner_parameters import gathered
from ldlrepro.core.errors import UserError, nearest, unknown
from ldlrepro.core.workspace import Workspace

_SETTING = r"[A-Za-z][A-Za-z0-9_]*=[A-Za-z0-9_.+-]+"
_SETTINGS = re.compile(rf"{_SETTING}(,{_SETTING})*")


# ---------------------------------------------------------------------- single files


def dataset_ids() -> list[str]:
    return list(_ids("dataset"))


def method_ids() -> list[str]:
    """Return all methods, each followed by its variants."""
    names = []
    for base in _ids("method"):
        names.append(base)
        names += [f"{base}@{variant}" for variant in _file("method", base).get("variants", {})]
    return names


def paper_ids() -> list[str]:
    return _ids("paper")


FIVE = "the five papers"
"""The group of papers that the project began with, whose totals stand in the README."""


def real_papers(group: str = "") -> list[str]:
    """Return the papers that print numbers on real data, maybe of a group; the five come first."""
    trees = {paper: load_paper(paper) for paper in paper_ids()}
    printed = [paper for paper in trees if paper_file(paper, "cells.csv").is_file()]
    real = [paper for paper in printed if not trees[paper]["synthetic"]]
    wanted = [paper for paper in real if group in ("", trees[paper]["group"])]
    return sorted(wanted, key=lambda paper: (trees[paper]["group"] != FIVE, trees[paper]["group"]))


def own_ids(kind: str) -> list[str]:
    """Return the user's own papers, methods (with variants), data sets, metrics or weights."""
    _hear_of_own_files()
    theirs = _theirs(kind)
    if kind != "method":
        return sorted(theirs)
    return [name for name in method_ids() if name.partition("@")[0] in theirs]


def load_metric(metric: str) -> Keys:
    """Read and check the file of an own metric."""
    if metric not in own_ids("metric"):
        raise unknown("own metric", metric, own_ids("metric"), "They stand in extra_metrics.")
    return _fresh("metric", metric)


def load_dataset(dataset: str) -> Keys:
    """Read and check the file of a data set."""
    if dataset not in dataset_ids():
        raise unknown("data set", dataset, dataset_ids(), "`ldlrepro list datasets` lists them.")
    return _fresh("dataset", dataset)


def weight_ids() -> list[str]:
    return list(_ids("weight"))


def load_weights(weights: str) -> Keys:
    """Read and check the file of a network's weights."""
    if weights not in weight_ids():
        raise unknown("weights", weights, weight_ids(), "`ldlrepro list weights` lists them.")
    return _fresh("weight", weights)


def load_source(name: str) -> Keys:
    """Read and check the file of whatever can be fetched, a data set or weights."""
    return load_weights(name) if name in weight_ids() else load_dataset(name)


def decisive_weights(weights: str) -> Keys:
    """Return what decides the numbers of a network that begins with these weights."""
    tree = load_weights(weights)
    (entry,) = tree["files"]
    return {"file": entry.get("sha256", entry["name"])} | {
        key: tree[key] for key in ("layout", "preprocessing")
    }


def count_persons(dataset: str) -> int | None:
    """Return how many persons a data set's file says there are; None where it does not say."""
    spec = load_dataset(dataset) if dataset in dataset_ids() else {}
    sizes = spec.get("rows_per_person")
    if isinstance(sizes, list):
        return len(sizes)
    return spec.get("persons", spec.get("generator", {}).get("persons"))


def only_photographs(dataset: Keys) -> bool:
    """Tell whether a data set has images but no table of features."""
    return "layout" in dataset and "features" not in dataset


def load_paper(paper: str) -> Keys:
    """Read and check the file of a paper."""
    if paper not in paper_ids():
        owners = [p for p in paper_ids() if paper in _file("paper", p)["protocols"]]
        hint = (
            f"It is a protocol of {owners[0]}." if owners else "`ldlrepro list papers` lists them."
        )
        raise unknown("paper", paper, paper_ids(), hint)
    return _fresh("paper", paper)


def method_exists(method: str) -> bool:
    base, at, variant = method.partition("@")
    return base in _ids("method") and (
        not at
        or variant in _file("method", base).get("variants", {})
        or _SETTINGS.fullmatch(variant) is not None
    )


def load_method(method: str) -> Keys:
    """Return a method with its variant merged in: parameters one by one, the rest as a whole.

    A variant is one that the method's file names, or settings: ``structrf@trees=20,max_depth=5``.
    """
    if not method_exists(method):
        raise unknown("method", method, method_ids(), "`ldlrepro list methods` lists them.")
    base, _, variant = method.partition("@")
    variants = _file("method", base).get("variants", {})
    merged = _fresh("method", base, without="variants")
    if _SETTINGS.fullmatch(variant):
        variants = {variant: {"parameters": _settings(variant)}}
    if variant:
        changes = copied(variants[variant])
        merged["title"] = changes.pop("title", f"{merged['title']} ({variant})")
        merged["origins"] = _origins(merged.get("origins", {}), changes)
        changes.pop("origins", None)
        for key in ("parameters", "resources"):
            merged[key] = {**merged.get(key, {}), **changes.pop(key, {})}
        merged.update(changes)
        # A variant that fixes a parameter takes it out of the inherited grid.
        fixed = variants[variant].get("parameters", {})
        if "grid" not in variants[variant]:
            merged["grid"] = {k: v for k, v in merged.get("grid", {}).items() if k not in fixed}
    named = {key: merged.get(key, {}) for key in ("parameters", "grid")}
    if any("__" in name for names in named.values() for name in names):
        merged["parameters"], merged["grid"] = gathered(**named)
    return _with_weights(method, merged)


def _with_weights(method: str, merged: Keys) -> Keys:
    """Put the prepared files of weights where a method on images names weights by their ids.

    ``weights`` of the answer tells which, with what decides their numbers.
    """
    if not (merged.get("needs", {}).get("images") and merged["class"].startswith("ldl.")):
        return merged
    if merged.get("parameters", {}).get("random_weights"):  # instead of those of a file
        kept = {k: v for k, v in merged["parameters"].items() if k != "weights"}
        return {**merged, "parameters": kept}
    named: Keys = {}

    def file_of_weights(name: object) -> object:
        if name is None:
            return None
        if name not in weight_ids():
            hint = "`ldlrepro list weights` lists them; for a file of your own see docs/images.md."
            where = f"{shown(file_of('method', method.partition('@')[0]))}: weights"
            raise UserError(f"{where}: {unknown('weights', str(name), weight_ids(), hint)}")
        named[str(name)] = decisive_weights(str(name))
        # Paths in a method's YAML count from the checkout, and the data lie where the run is.
        return os.path.relpath(Workspace().weights(str(name)), project_root())

    for key in ("parameters", "grid"):
        values = merged.get(key, {})
        if "weights" in values:
            given = values["weights"]
            files = [file_of_weights(each) for each in given] if key == "grid" else None
            merged[key] = {**values, "weights": files or file_of_weights(given)}
    return {**merged, "weights": named} if named else merged


def _origins(base: Keys, changes: Keys) -> Keys:
    """Return the origins of parameters, without the inherited origin of those a variant changes."""
    changed = {*changes.get("parameters", {}), *changes.get("grid", {})}
    changed |= {"scaling"} & set(changes)
    theirs = changes.get("origins", {})
    merged: Keys = {}
    for source in {**base, **theirs}:
        kept = [name for name in base.get(source, []) if name not in changed]
        merged[source] = [*kept, *theirs.get(source, [])]
    if "print" in merged:  # names with what was looked at
        looks = {**base.get("print", {}), **theirs.get("print", {})}
        merged["print"] = {name: looks[name] for name in merged["print"]}
    return merged


def with_settings(method: str, settings: Keys) -> str:
    """Return the id of a method with parameters set: structrf@trees=20,max_depth=5."""
    named = ",".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in settings.items()
    )
    return f"{method}@{named}"


def _settings(variant: str) -> Keys:
    """Return the settings that an id holds: values as in JSON; what is not JSON is a word."""
    found: Keys = {}
    for part in variant.split(","):
        name, _, value = part.partition("=")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


# ---------------------------------------------------------------------- the run configuration


def load_run_config() -> Keys:
    """Read and check config/config.yaml."""
    path = project_root() / "config" / "config.yaml"
    return check_run_config(read_yaml(path), path)


def check_run_config(tree: Keys, source: Path | str) -> Keys:
    """Check a merged run configuration and every file that it leads to; return it."""
    check(tree, "config", source)
    tree = with_defaults(tree, "config")
    plugins.announce(tree)
    where = shown(source)
    _check_known(tree["papers"], paper_ids(), f"{where}: papers")
    _check_known(tree["only"].get("datasets", []), dataset_ids(), f"{where}: only.datasets")
    named = [method for method in tree["only"].get("methods", []) if "=" not in method]
    _check_known(named, method_ids(), f"{where}: only.methods")
    for paper in paper_ids():
        load_paper(paper)
    for dataset in dataset_ids():
        named = load_dataset(dataset).get("features", {}).get("weights")
        if named is not None:
            place = f"{shown(file_of('dataset', dataset))}: features.weights"
            _check_known([named], weight_ids(), place)
    for weights in weight_ids():
        load_weights(weights)
        if weights in dataset_ids():
            raise UserError(f"{file_of('weight', weights)}: a data set has this id. Rename yours.")
    for kind in plugins.DECISIVE_KEY:
        for name in plugins.files(kind):
            _file(kind, name)
    return tree


def tracking_uri(run: Keys) -> str:
    """Return where runs are tracked; MLFLOW_TRACKING_URI wins over the configuration."""
    return os.environ.get("MLFLOW_TRACKING_URI") or str(run["tracking_uri"])


# ---------------------------------------------------------------------- plumbing


def _ids(kind: str) -> list[str]:
    ours = _our_ids(kind)
    _hear_of_own_files()
    theirs = _theirs(kind)
    for name in sorted(ours & theirs.keys()):
        what = "folder" if kind == "paper" else "file"
        raise UserError(
            f"{theirs[name]}: '{name}' is the id of {shown(_our_file(kind, name))}. "
            f"Rename your {what}."
        )
    return sorted(ours | theirs.keys())


@cache
def _our_ids(kind: str) -> frozenset[str]:
    if kind == "paper":
        found = (project_root() / "papers").glob(f"*/{plugins.PAPER}")
        return frozenset(path.parent.name for path in found)
    files = (project_root() / "config" / f"{kind}s").glob("*.yaml")
    return frozenset(path.stem for path in files) | plugins.of_papers_here(kind).keys()


def _theirs(kind: str) -> dict[str, Path]:
    """Return the user's own files, without broken ones that merely lie in a folder they named."""
    return {
        name: path
        for name, path in plugins.files(kind).items()
        if plugins.is_named(kind, path) or _is_usable(kind, name, path)
    }


@cache
def _is_usable(kind: str, name: str, path: Path) -> bool:
    try:
        _file(kind, name)
    except UserError as error:
        plugins.leave_out(path, str(error))
        return False
    return True


@cache
def _hear_of_own_files() -> None:
    """Announce the own files of config.yaml to verbs typed by hand; jobs are told by their run."""
    plugins.announce(read_yaml(project_root() / "config" / "config.yaml"))


def file_of(kind: str, name: str) -> Path:
    """Return the YAML file of a data set, method (without its variant), metric, paper or weight."""
    return plugins.files(kind).get(name) or _our_file(kind, name)


def paper_file(paper: str, name: str = plugins.PAPER) -> Path:
    """Return a file in the folder of a paper; it need not exist."""
    return file_of("paper", paper).with_name(name)


def _our_file(kind: str, name: str) -> Path:
    if kind == "paper":
        return project_root() / "papers" / name / plugins.PAPER
    beside = plugins.of_papers_here(kind).get(name)
    return beside or project_root() / "config" / f"{kind}s" / f"{name}.yaml"


def _fresh(kind: str, name: str, without: str = "") -> Keys:
    """Return a tree that the caller may change; ``without`` is a key to leave out."""
    tree = _file(kind, name)
    return {key: copied(value) for key, value in tree.items() if key != without}


@cache
def _file(kind: str, name: str) -> Keys:
    path = file_of(kind, name)
    tree = read_yaml(path)
    if name in plugins.files(kind):
        tree = plugins.completed(kind, tree, path)
    check(tree, kind, path)
    if kind == "paper":
        _check_names_in(tree, shown(path))
        tree = tree | _beside(name, "claims")
        misses = _beside(name, "misses")
        _check_names_in(tree | misses, shown(paper_file(name, "misses.yaml")))
        tree = {"misses": []} | tree | misses
    return with_defaults(tree, kind)


def _beside(paper: str, kind: str) -> Keys:
    """Read the claims or misses of a paper from their own file; not every paper has one."""
    path = paper_file(paper, f"{kind}.yaml")
    if not path.is_file():
        return {}
    tree = read_yaml(path)
    check(tree, kind, path)
    return tree


def _check_names_in(paper: Keys, where: str) -> None:
    """Check the data sets, experiments, tables and printed names that other keys refer to."""
    known = dataset_ids()
    papers = _our_ids("paper") | plugins.files("paper").keys()  # whether they are usable or not
    _check_known(paper["datasets"], known, f"{where}: datasets")
    _check_known(paper.get("use_dataset", {}).values(), known, f"{where}: use_dataset")
    for number, block in enumerate(paper.get("extra", [])):
        _check_known(block.get("datasets", []), known, f"{where}: extra.{number}.datasets")
    _check_known(paper.get("own", []), paper["methods"], f"{where}: own")
    for key in ("copied", "chosen_by_print", "misses"):
        for number, entry in enumerate(paper.get(key, [])):
            place = f"{where}: {key}.{number}"
            _check_known(entry.get("methods", []), paper["methods"], f"{place}.methods")
            _check_known(entry.get("tables", []), paper["tables"], f"{place}.tables")
            _check_known(entry.get("datasets", []), known, f"{place}.datasets")
            _check_known([entry["from"]] if "from" in entry else [], papers, f"{place}.from")
    experiments = paper.get("experiments", {})
    for name, experiment in experiments.items():
        named = experiment.get("datasets", [])
        _check_known(named, known, f"{where}: experiments.{name}.datasets")
    settings = {name for table in paper["tables"].values() for name in table.get("settings", {})}
    for part in ("tables", "figures"):
        for number, entry in paper.get(part, {}).items():
            place = f"{where}: {part}.{number}"
            for name, setting in entry.get("settings", {}).items():
                named = [setting["dataset"]] if "dataset" in setting else []
                _check_known(named, known, f"{place}.settings.{name}.dataset")
            _check_known(entry.get("methods", []), paper["methods"], f"{place}.methods")
            yardsticks = {*paper["methods"], *(() if entry.get("kind") == "deltas" else settings)}
            for key, names in (
                ("experiment", experiments),
                ("compared_to", yardsticks),
                ("dataset", known),
                ("ranks", paper["tables"]),
            ):
                _check_known([entry[key]] if key in entry else [], names, f"{place}.{key}")


def _check_known(names: Iterable[str], known: Collection[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise UserError(f"{where}: '{name}' does not exist.{nearest(name, known)}")

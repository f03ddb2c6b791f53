"""Reading and checking the YAML files under ``config/``.

Every file is validated against its schema in ``config/schemas`` before anything runs, and every
complaint names the file, the key, what is allowed, and the nearest name that exists.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ldlrepro import own
from ldlrepro.errors import UserError, nearest, unknown

Tree = dict[str, Any]

_SETTING = r"[a-z][a-z0-9_]*=[A-Za-z0-9_.+-]+"
_SETTINGS = re.compile(rf"{_SETTING}(,{_SETTING})*")


@cache
def project_root() -> Path:
    """The checkout: LDLREPRO_ROOT, else here or a parent with config/schemas, else our own."""
    named = os.environ.get("LDLREPRO_ROOT")
    here = Path.cwd()
    own = Path(__file__).resolve().parents[2]
    for folder in [Path(named)] if named else [here, *here.parents, own]:
        if (folder / "config" / "schemas").is_dir():
            return folder.resolve()
    raise UserError(
        f"no ldlrepro checkout at {named or here}: there is no config/schemas folder. "
        "Go to the checkout, or set LDLREPRO_ROOT to it."
    )


# ---------------------------------------------------------------------- single files


def dataset_ids() -> list[str]:
    return list(_ids("datasets"))


def method_ids() -> list[str]:
    """All methods, each followed by its variants."""
    names = []
    for base in _ids("methods"):
        names.append(base)
        names += [f"{base}@{variant}" for variant in _file("method", base).get("variants", {})]
    return names


def paper_ids() -> list[str]:
    return _ids("papers")


def own_ids(kind: str) -> list[str]:
    """Methods (with their variants), data sets or metrics from files of the user's own."""
    _hear_of_own_files()
    if kind != "method":
        return sorted(own.files(kind))
    return [name for name in method_ids() if name.partition("@")[0] in own.files(kind)]


def load_metric(metric: str) -> Tree:
    if metric not in own_ids("metric"):
        raise unknown("own metric", metric, own_ids("metric"), "They stand in extra_metrics.")
    return copy.deepcopy(_file("metric", metric))


def load_dataset(dataset: str) -> Tree:
    if dataset not in dataset_ids():
        raise unknown("data set", dataset, dataset_ids(), "`ldlrepro datasets` lists them.")
    return copy.deepcopy(_file("dataset", dataset))


def count_persons(dataset: str) -> int | None:
    """As the data set's file states it, or None: how many persons there are."""
    spec = load_dataset(dataset) if dataset in dataset_ids() else {}
    sizes = spec.get("rows_per_person")
    if isinstance(sizes, list):
        return len(sizes)
    return spec.get("persons", spec.get("generator", {}).get("persons"))


def only_photographs(dataset: Tree) -> bool:
    """Whether a data set is images without a table of features, for methods that read images."""
    return "layout" in dataset and "features" not in dataset


def load_paper(paper: str) -> Tree:
    if paper not in paper_ids():
        owners = [p for p in paper_ids() if paper in _file("paper", p)["protocols"]]
        hint = f"It is a protocol of {owners[0]}." if owners else "`ldlrepro papers` lists them."
        raise unknown("paper", paper, paper_ids(), hint)
    return copy.deepcopy(_file("paper", paper))


def method_exists(method: str) -> bool:
    base, at, variant = method.partition("@")
    return base in _ids("methods") and (
        not at
        or variant in _file("method", base).get("variants", {})
        or _SETTINGS.fullmatch(variant) is not None
    )


def load_method(method: str) -> Tree:
    """A method with its variant merged in: parameters one by one, the rest as a whole.

    A variant is one that the method's file names, or settings: ``structrf@trees=20,max_depth=5``.
    """
    if not method_exists(method):
        raise unknown("method", method, method_ids(), "`ldlrepro methods` lists them.")
    base, _, variant = method.partition("@")
    merged = copy.deepcopy(_file("method", base))
    variants = merged.pop("variants", {})
    if _SETTINGS.fullmatch(variant):
        variants = {variant: {"parameters": _settings(variant)}}
    if variant:
        changes = copy.deepcopy(variants[variant])
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
    return merged


def _origins(base: Tree, changes: Tree) -> Tree:
    """What a variant changes no longer comes from where the method's own value came from."""
    changed = {*changes.get("parameters", {}), *changes.get("grid", {})}
    kept = {source: [n for n in names if n not in changed] for source, names in base.items()}
    theirs = changes.get("origins", {})
    return {key: kept.get(key, []) + theirs.get(key, []) for key in {**kept, **theirs}}


def with_settings(method: str, settings: Tree) -> str:
    """The id of a method with parameters set by name: structrf@trees=20,max_depth=5."""
    named = ",".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in settings.items()
    )
    return f"{method}@{named}"


def _settings(variant: str) -> Tree:
    """Values as in JSON; what is not JSON is a word."""
    found: Tree = {}
    for part in variant.split(","):
        name, _, value = part.partition("=")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


# ---------------------------------------------------------------------- the run configuration


def load_run_config() -> Tree:
    """config/config.yaml, checked."""
    path = project_root() / "config" / "config.yaml"
    return check_run_config(read_yaml(path), path)


def check_run_config(tree: Tree, source: Path | str) -> Tree:
    """A merged run configuration, with every file that it leads to checked as well."""
    check(tree, "config", source)
    tree = _with_defaults(tree, "config")
    own.announce(tree)
    where = _shown(source)
    _check_known(tree["papers"], paper_ids(), f"{where}: papers")
    _check_known(tree["only"].get("datasets", []), dataset_ids(), f"{where}: only.datasets")
    named = [method for method in tree["only"].get("methods", []) if "=" not in method]
    _check_known(named, method_ids(), f"{where}: only.methods")
    for paper in paper_ids():
        load_paper(paper)
    for dataset in dataset_ids():
        load_dataset(dataset)
    for kind in own.DECISIVE_KEY:
        for name in own.files(kind):
            _file(kind, name)
    return tree


def tracking_uri(run: Tree) -> str:
    """Where runs are tracked: MLFLOW_TRACKING_URI wins over the configuration."""
    return os.environ.get("MLFLOW_TRACKING_URI") or str(run["tracking_uri"])


# ---------------------------------------------------------------------- plumbing


def _ids(folder: str) -> list[str]:
    ours = _our_ids(folder)
    if folder == "papers":
        return sorted(ours)
    _hear_of_own_files()
    theirs = own.files(folder.removesuffix("s"))
    for name in sorted(ours & set(theirs)):
        raise UserError(
            f"{theirs[name]}: '{name}' is the id of config/{folder}/{name}.yaml. Rename your file."
        )
    return sorted(ours | set(theirs))


@cache
def _our_ids(folder: str) -> frozenset[str]:
    return frozenset(p.stem for p in (project_root() / "config" / folder).glob("*.yaml"))


@cache
def _hear_of_own_files() -> None:
    """A verb that is typed by hand knows those of config.yaml; jobs are told by their run."""
    own.announce(read_yaml(project_root() / "config" / "config.yaml"))


def file_of(kind: str, name: str) -> Path:
    """The YAML file of a data set, method (without its variant), metric or paper."""
    theirs = own.files(kind) if kind in own.DECISIVE_KEY else {}
    return theirs.get(name) or project_root() / "config" / f"{kind}s" / f"{name}.yaml"


@cache
def _file(kind: str, name: str) -> Tree:
    path = file_of(kind, name)
    tree = read_yaml(path)
    if kind in own.DECISIVE_KEY and name in own.files(kind):
        tree = own.completed(kind, tree, path)
    check(tree, kind, path)
    if kind == "paper":
        _check_names_in(tree, _shown(path))
        tree = tree | _claims(name)
    return _with_defaults(tree, kind)


def _claims(paper: str) -> Tree:
    """Of a paper, from a file of their own; not every paper has any."""
    path = project_root() / "config" / "claims" / f"{paper}.yaml"
    if not path.is_file():
        return {}
    tree = read_yaml(path)
    check(tree, "claims", path)
    return tree


def _with_defaults(tree: Tree, kind: str) -> Tree:
    rules = schema(kind)["properties"]
    defaults = {key: rule["default"] for key, rule in rules.items() if "default" in rule}
    return {**copy.deepcopy(defaults), **tree}


def _check_names_in(paper: Tree, where: str) -> None:
    """Data sets, experiments, tables and printed names that other keys of the file refer to."""
    known = dataset_ids()
    _check_known(paper["datasets"], known, f"{where}: datasets")
    _check_known(paper.get("use_dataset", {}).values(), known, f"{where}: use_dataset")
    for number, block in enumerate(paper.get("extra", [])):
        _check_known(block.get("datasets", []), known, f"{where}: extra.{number}.datasets")
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


def read_yaml(path: Path) -> Tree:
    import yaml

    try:
        with open(path, encoding="utf-8") as handle:
            tree = yaml.load(handle, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: expected keys and values, found {type(tree).__name__}")
    return tree


@cache
def schema(kind: str) -> Tree:
    return read_yaml(project_root() / "config" / "schemas" / f"{kind}.schema.yaml")


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema(kind))


def check(tree: Tree, kind: str, source: Path | str) -> None:
    """Raise UserError with every violation of the schema, each on its own line."""
    problems = [_explain(error) for error in _validator(kind).iter_errors(tree)]
    if problems:
        raise UserError("\n".join(f"{_shown(source)}: {problem}" for problem in sorted(problems)))


def _shown(source: Path | str) -> str:
    """A path within the checkout relative to it; anything else as it is."""
    try:
        return str(Path(source).relative_to(project_root()))
    except ValueError:
        return str(source)


def _explain(error: Any) -> str:
    """One violation in words."""
    where = ".".join(str(part) for part in error.absolute_path)
    prefix = f"{where}: " if where else ""
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(error.schema.get("properties", {}))
        wrong = [key for key in error.instance if key not in known]
        return "; ".join(
            f"{prefix}unknown key '{key}'.{nearest(key, known)} Allowed: {', '.join(known)}"
            for key in wrong
        )
    if error.validator == "enum":
        allowed = ", ".join(str(value) for value in error.validator_value)
        hint = nearest(str(error.instance), map(str, error.validator_value))
        return f"{prefix}'{error.instance}' is not allowed.{hint} Allowed: {allowed}"
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"{prefix}missing key {', '.join(missing)}"
    if error.validator in ("anyOf", "oneOf"):
        # Complaints about a shape that the value does not have would only mislead.
        at_hand = [e for e in error.context if e.validator != "type" or e.relative_path]
        return " or ".join(dict.fromkeys(map(_explain, at_hand or error.context)))
    if error.validator == "type":
        return f"{prefix}{error.instance!r} should be of type {error.validator_value}"
    return f"{prefix}{error.message}"

"""The YAML files of a checkout, each checked against its schema in ``config/schemas``.

Every complaint names the file, the key, what is allowed, and the nearest name that exists.
"""

from __future__ import annotations

import copy
import os
from functools import cache
from pathlib import Path
from typing import Any

from ldlrepro.core.errors import UserError, nearest

Keys = dict[str, Any]
"""Keys and values of a YAML file."""


@cache
def project_root() -> Path:
    """Find the checkout: LDLREPRO_ROOT, else here or a parent with config/schemas, else ours."""
    named = os.environ.get("LDLREPRO_ROOT")
    here = Path.cwd()
    own = Path(__file__).resolve().parents[3]
    for folder in [Path(named)] if named else [here, *here.parents, own]:
        if (folder / "config" / "schemas").is_dir():
            return folder.resolve()
    raise UserError(
        f"no ldlrepro checkout at {named or here}: there is no config/schemas folder. "
        "Go to the checkout, or set LDLREPRO_ROOT to it."
    )


def read_yaml(path: Path) -> Keys:
    """Return the keys and values of a file, which the caller may change."""
    import yaml

    try:
        tree = copied(_parsed(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: expected keys and values, found {type(tree).__name__}")
    return tree


@cache
def _parsed(text: str) -> object:
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def copied(tree: Any) -> Any:
    """Copy what a YAML file can hold; copy.deepcopy takes several times as long over it."""
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return [copied(value) for value in tree] if isinstance(tree, list) else tree


@cache
def schema(kind: str) -> Keys:
    return read_yaml(project_root() / "config" / "schemas" / f"{kind}.schema.yaml")


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema(kind))


_PASSED: set[tuple[str, str]] = set()
"""Trees that passed, with the schema that they passed; a second look would find nothing else."""


def check(tree: Keys, kind: str, source: Path | str) -> None:
    """Raise UserError with every violation of the schema, each on its own line."""
    known = (repr(tree), repr(schema(kind)))
    if known in _PASSED:
        return
    problems = [_explain(error) for error in _validator(kind).iter_errors(tree)]
    if problems:
        raise UserError("\n".join(f"{shown(source)}: {problem}" for problem in sorted(problems)))
    _PASSED.add(known)


def shown(source: Path | str) -> str:
    """Return a path within the checkout relative to it; return anything else as it is."""
    try:
        return str(Path(source).relative_to(project_root()))
    except ValueError:
        return str(source)


def _explain(error: Any) -> str:
    """Describe one violation in words."""
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


def with_defaults(tree: Keys, kind: str) -> Keys:
    """Return a tree with the defaults of its schema filled in."""
    rules = schema(kind)["properties"]
    defaults = {key: rule["default"] for key, rule in rules.items() if "default" in rule}
    return {**copy.deepcopy(defaults), **tree}

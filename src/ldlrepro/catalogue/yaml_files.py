"""YAML files: where the checkout lies, and how a file is read and checked by its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ldlrepro.core.errors import UserError

if TYPE_CHECKING:
    from ldlrepro.catalogue.entries import Entry

E = TypeVar("E", bound="Entry")

SCHEMAS = Path("config") / "schemas"
"""The folder that tells a checkout from other folders; editors find the schemas of all files there,
and ``python -m ldlrepro.doctor.config_docs`` writes them."""


def find_root(named: str | Path | None = None) -> Path:
    """Find the checkout: the one that is named, else here or a parent of here, else ours."""
    here, own = Path.cwd(), Path(__file__).resolve().parents[3]
    for folder in [Path(named)] if named else [here, *here.parents, own]:
        if (folder / SCHEMAS).is_dir():
            return folder.resolve()
    raise UserError(
        f"no ldlrepro checkout at {named or here}: there is no {SCHEMAS} folder. "
        "Go to the checkout, or set LDLREPRO_ROOT to it."
    )


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the keys and values of a file."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        tree = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: expected keys and values, found {type(tree).__name__}")
    return tree


def checked(model: type[E], tree: dict[str, Any], shown: str) -> E:
    """Return what a file says; raise UserError with every violation on a line of its own."""
    from pydantic import ValidationError

    try:
        return model.model_validate(tree)
    except ValidationError as error:
        from ldlrepro.catalogue.complaints import complaints

        lines = complaints(error, model, tree)
        raise UserError("\n".join(f"{shown}: {line}" for line in lines)) from None

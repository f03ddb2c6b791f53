"""What all models of files share: how they are checked, and what a value knows of its file."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    Strict,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError

from ldlrepro.core.errors import nearest

T = TypeVar("T")
List = Annotated[tuple[T, ...], Strict(False)]
"""A list in a YAML file, kept as a tuple."""
Map = Mapping[str, T]
Values = Mapping[str, Any]
"""Names with values that only an estimator or a drawing knows."""
AS_WRITTEN = WrapValidator(lambda value, check: (check(value), value)[1])
"""Keeps 1 as 1, and not as 1.0, where a digest counts it."""


class Entry(BaseModel):
    """Some keys of a file. No other key is allowed, and no value is turned into another kind.

    The text below a key is what editors and config/README.md say of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of keys, of which exactly one has to be given whole."""
    SOME_OF: ClassVar[tuple[str, ...]] = ()
    """Keys of which at least one has to be given."""
    ASKED_BY: ClassVar[Mapping[str, Mapping[str, tuple[str, ...]]]] = {}
    """Key -> its value -> the keys that this value asks for."""

    @model_validator(mode="wrap")
    @classmethod
    def _with_keys_that_belong_together(
        cls, tree: Any, check: ModelWrapValidatorHandler[Entry]
    ) -> Entry:
        """Check the keys, and which are missing or exclude each other; tell all at once."""
        found: list[InitErrorDetails] = []
        try:
            value = check(tree)
        except ValidationError as error:
            found += [cls._again(each) for each in error.errors(include_url=False)]
        if isinstance(tree, dict) and (problem := cls._lacking(tree)):
            found.append(InitErrorDetails(type=broken(problem), loc=(), input=tree))
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return value

    @classmethod
    def _again(cls, error: ErrorDetails) -> InitErrorDetails:
        """Return an error as it was before it was told, and of an unknown key what is allowed."""
        kind: Any = error["type"]
        loc, context = error["loc"], error.get("ctx", {})
        if kind == "keys":
            kind = broken(context["problem"])
        elif kind == "extra_forbidden" and len(loc) == 1:
            known = [field.alias or name for name, field in cls.model_fields.items()]
            hint = f"{nearest(str(loc[0]), known)} Allowed: {', '.join(known)}"
            kind, loc = broken(f"unknown key '{loc[0]}'.{hint}"), ()
        return InitErrorDetails(type=kind, loc=loc, input=error["input"], ctx=context)

    @classmethod
    def _lacking(cls, tree: dict[str, Any]) -> str:
        """Say which keys are missing, or exclude each other; '' for none."""
        given = {key for key, value in tree.items() if value is not None}
        for key, by_value in cls.ASKED_BY.items():
            asked = by_value.get(str(tree.get(key)), ())
            if missing := [name for name in asked if name not in given]:
                return f"missing key {', '.join(missing)}"
        if cls.SOME_OF and not given & set(cls.SOME_OF):
            return f"missing key {' or '.join(cls.SOME_OF)}"
        ways = [", ".join(keys) for keys in cls.ONE_OF]
        whole = [", ".join(keys) for keys in cls.ONE_OF if set(keys) <= given]
        if ways and not whole:
            return f"missing key {_or(ways)}"
        return f"give only one of {_or(whole)}" if len(whole) > 1 else ""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Tell editors as well what is said of the keys, and which belong together."""
        schema = handler.resolve_ref_schema(handler(core))
        for name, text in _texts(cls).items():
            schema["properties"][cls.model_fields[name].alias or name]["description"] = text
        if cls.ONE_OF:
            schema["oneOf"] = [{"required": list(keys)} for keys in cls.ONE_OF]
        if cls.SOME_OF:
            schema["anyOf"] = [{"required": [key]} for key in cls.SOME_OF]
        rules = [
            {"if": {"properties": {key: {"const": value}}}, "then": {"required": list(keys)}}
            for key, by_value in cls.ASKED_BY.items()
            for value, keys in by_value.items()
        ]
        if rules:
            schema["allOf"] = rules
        return schema

    def plain(self) -> dict[str, Any]:
        """Return what is written, by the names of the keys, as JSON can hold it."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


@cache
def _texts(model: type[Entry]) -> dict[str, str]:
    """Return key -> the text below it. Pydantic would read the sources at every import."""
    parts = [part for part in reversed(model.__mro__) if issubclass(part, Entry)]
    bodies = [ast.parse(inspect.getsource(part)).body[0] for part in parts]
    return {
        key.target.id: " ".join(below.value.value.split())
        for body in bodies
        if isinstance(body, ast.ClassDef)
        for key, below in itertools.pairwise(body.body)
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str) and key.target.id in model.model_fields
    }


def broken(problem: str) -> PydanticCustomError:
    """Return the error of values that do not belong together."""
    return PydanticCustomError("keys", "{problem}", {"problem": problem})


def _or(ways: list[str]) -> str:
    return ("; or " if any("," in way for way in ways) else " or ").join(ways)


class Home(Protocol):
    """What a value asks of the project that it belongs to."""

    @property
    def root(self) -> Path: ...
    @property
    def modules(self) -> Any: ...
    @property
    def data_set_ids(self) -> list[str]: ...
    @property
    def weights_ids(self) -> list[str]: ...
    @property
    def all_paper_ids(self) -> set[str]: ...
    def data_set(self, name: str) -> Any: ...
    def weights(self, name: str) -> Any: ...
    def read(self, model: type[Any], path: Path) -> Any: ...
    def shown(self, path: Path) -> str: ...
    def is_own(self, file: Path) -> bool: ...


class Value(Entry):
    """What a file describes, with its id. Equal ids of one project are one value."""

    _id: str = PrivateAttr("")
    _file: Path = PrivateAttr(Path())
    _project: Home = PrivateAttr()

    @property
    def id(self) -> str:
        return self._id

    @property
    def project(self) -> Home:
        """Return the project that this value belongs to."""
        return self._project

    @property
    def file(self) -> Path:
        """Return the file that describes it."""
        return self._file

    @property
    def shown_file(self) -> str:
        """Return the file as messages name it, within the checkout relative to it."""
        return self.project.shown(self._file)

    @property
    def is_own(self) -> bool:
        """Tell whether it is the user's own, and not the checkout's."""
        return self.project.is_own(self._file)

    def placed(self, name: str, file: Path, project: Home) -> Any:
        """Return the value itself, once it knows its id and its place."""
        self._id, self._file, self._project = name, file, project
        return self

    def __hash__(self) -> int:
        return hash((type(self), self._id))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or type(self) is not type(other) or self._id != other._id:
            return False
        names = type(self).model_fields
        return self is other or all(getattr(self, n) == getattr(other, n) for n in names)

    def __lt__(self, other: Value) -> bool:
        return self._id < other._id

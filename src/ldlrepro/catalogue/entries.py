"""What all models of files share: how they are checked, and what a value knows of its file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    PrivateAttr,
    Strict,
    WrapValidator,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

if TYPE_CHECKING:
    from ldlrepro.catalogue.project import Project

T = TypeVar("T")
List = Annotated[tuple[T, ...], Strict(False)]
"""A list of the file, which nobody changes."""
Map = Mapping[str, T]
Values = Mapping[str, Any]
"""Names with values that only an estimator or a drawing knows."""
AS_WRITTEN = WrapValidator(lambda value, check: (check(value), value)[1])
"""Keeps 1 as 1, and not as 1.0, where a digest counts it."""


class Entry(BaseModel):
    """Some keys of a file. No other key is allowed, and no value is turned into another kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    ONE_OF: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of keys, of which exactly one has to be given whole."""
    SOME_OF: ClassVar[tuple[str, ...]] = ()
    """Keys of which at least one has to be given."""
    ASKED_BY: ClassVar[Mapping[str, Mapping[str, tuple[str, ...]]]] = {}
    """Key -> its value -> the keys that this value asks for."""

    @model_validator(mode="after")
    def _has_what_belongs_together(self) -> Entry:
        given = {field.alias or name for name, field in self._fields() if self._has(name)}
        if problem := self._lacking(given):
            raise PydanticCustomError("keys", "{problem}", {"problem": problem})
        return self

    def _lacking(self, given: set[str]) -> str:
        """Say which keys are missing, or exclude each other; '' for none."""
        for key, by_value in self.ASKED_BY.items():
            missing = [k for k in by_value.get(getattr(self, key), ()) if k not in given]
            if missing:
                return f"missing key {', '.join(missing)}"
        if self.SOME_OF and not given & set(self.SOME_OF):
            return f"missing key {' or '.join(self.SOME_OF)}"
        ways = [", ".join(keys) for keys in self.ONE_OF]
        whole = [", ".join(keys) for keys in self.ONE_OF if set(keys) <= given]
        if ways and not whole:
            return f"missing key {'; or '.join(ways)}"
        return f"give one of {'; or '.join(whole)}" if len(whole) > 1 else ""

    @classmethod
    def _fields(cls) -> Any:
        return cls.model_fields.items()

    def _has(self, name: str) -> bool:
        return name in self.model_fields_set and getattr(self, name) is not None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Tell editors as well which keys belong together."""
        schema = handler.resolve_ref_schema(handler(core))
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


class Value(Entry):
    """What a file describes, with its id. Equal ids of one project are one value."""

    _id: str = PrivateAttr("")
    _file: Path = PrivateAttr(Path())
    _project: Project = PrivateAttr()

    @property
    def id(self) -> str:
        return self._id

    @property
    def project(self) -> Project:
        """Return the project that it was asked of."""
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

    def placed(self, name: str, file: Path, project: Project) -> Any:
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

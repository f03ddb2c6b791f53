"""Constraints of parameters, which stand in their annotations; ``fit`` checks them.

An annotation names one constraint or several, of which one is to be met: ``Count | None``,
``Literal["sgd", "adam"]``, ``Annotated[int, Interval(2, whole=True)]``, or ``Sequence[Count]`` for
a list. None stands for itself. A parameter without a constraint is not looked at.
"""

from __future__ import annotations

import functools
import inspect
import math
import pkgutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin


@dataclass(frozen=True)
class Interval:
    """Numbers between two bounds, which belong to it unless they are open."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False

    def allows(self, value: Any) -> bool:
        """Tell whether a value is a number of the interval."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number = float(value)
        above = number > self.low if self.open_low else number >= self.low
        return above and (number < self.high if self.open_high else number <= self.high)

    def __str__(self) -> str:
        text = f"{'above' if self.open_low else 'at least'} {self.low}"
        if self.high < math.inf:
            text += f" and {'below' if self.open_high else 'at most'} {self.high}"
        return f"a whole number, {text}" if self.whole else text


class Options:
    """Some words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def allows(self, value: Any) -> bool:
        """Tell whether a value is one of the words."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"


@dataclass(frozen=True)
class Listed:
    """A list of numbers of an interval that is not empty."""

    each: Interval

    def allows(self, value: Any) -> bool:
        """Tell whether a value is such a list."""
        return (
            isinstance(value, (list, tuple)) and bool(value) and all(map(self.each.allows, value))
        )

    def __str__(self) -> str:
        return f"a list of numbers, each {self.each}"


class Fits:
    """Objects that can be fitted, which classes of them are not."""

    def allows(self, value: Any) -> bool:
        """Tell whether a value is such an object."""
        return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")

    def __str__(self) -> str:
        return "an object with fit and predict"


FITS = Fits()
Constraint = Interval | Options | Listed | Fits | None

Count = Annotated[int, Interval(1, whole=True)]
Positive = Annotated[float, Interval(0, open_low=True)]
NotNegative = Annotated[float, Interval(0)]
Factor = Annotated[float, Interval(0, 1, open_low=True)]
Part = Annotated[float, Interval(0, 1, open_low=True, open_high=True)]
Auto = Annotated[Any, Options("auto")]
"""Besides other values of a parameter, such as ``NotNegative | Auto``."""


def as_list(value: Any) -> list[Any]:
    """Return a list or tuple as a list, and anything else as a list of one value."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def class_at(parameter: str, path: str, example: str) -> Any:
    """Return what the dotted path that a parameter holds names."""
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{parameter}: cannot find '{path}' ({error}). "
            f"Write the dotted path of its class, such as {example}."
        ) from error


def check_parameters(model: Any) -> None:
    """Refuse by name what no fit could use."""
    for name, allowed in constraints_of(model.__class__).items():
        value = getattr(model, name)
        if not any(value is None if one is None else one.allows(value) for one in allowed):
            text = " or ".join(str(one) for one in allowed)
            raise ValueError(f"{name} must be {text}, got {value!r}")


@functools.cache
def constraints_of(kind: type) -> dict[str, tuple[Constraint, ...]]:
    """Return what each parameter may be, by the annotations of a class and of its bases.

    What a base says holds where a class writes another default without a constraint.
    """
    table = {}
    for base in reversed(kind.__mro__):
        with suppress(Exception):  # annotations may name what only a type checker knows
            for name, hint in inspect.get_annotations(base, eval_str=True).items():
                parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
                allowed = tuple(map(_constraint, parts))
                if any(allowed):
                    table[name] = allowed
    return table


def _constraint(hint: Any) -> Constraint:
    """Return the constraint of a part of an annotation; None where it has none."""
    if get_origin(hint) is Literal:
        return Options(*get_args(hint))
    if get_origin(hint) is Sequence:
        each = _constraint(get_args(hint)[0])
        return Listed(each) if isinstance(each, Interval) else None
    return next(iter(getattr(hint, "__metadata__", ())), None)

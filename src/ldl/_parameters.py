"""Constraints of parameters: each class has a table of them, which ``fit`` checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any


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
class OneOrMore:
    """Numbers of an interval: one of them, or a list that is not empty."""

    each: Interval

    def allows(self, value: Any) -> bool:
        """Tell whether a value is such a number or such a list."""
        values = as_list(value)
        return bool(values) and all(map(self.each.allows, values))

    def __str__(self) -> str:
        return f"{self.each}, or a list of such numbers"


Constraint = Interval | Options | OneOrMore | None
Constraints = Mapping[str, Constraint | tuple[Constraint, ...]]
"""Constraints by parameter: one, or several of which one is to be met.

None stands for itself. What has no constraint is not looked at.
"""

COUNT = Interval(1, whole=True)
POSITIVE = Interval(0, open_low=True)
NOT_NEGATIVE = Interval(0)
FACTOR = Interval(0, 1, open_low=True)
PART = Interval(0, 1, open_low=True, open_high=True)


def as_list(value: Any) -> list[Any]:
    """Return a list or tuple as a list, and anything else as a list of one value."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def check_parameters(model: object) -> None:
    """Refuse by name what no fit could use, by the tables of a model's class and of its bases."""
    table: dict[str, Any] = {}
    for kind in reversed(type(model).__mro__):
        table |= vars(kind).get("_constraints", {})
    for name, constraint in table.items():
        value = getattr(model, name)
        allowed = constraint if isinstance(constraint, tuple) else (constraint,)
        if not any(value is None if one is None else one.allows(value) for one in allowed):
            text = " or ".join(str(one) for one in allowed)
            raise ValueError(f"{name} must be {text}, got {value!r}")

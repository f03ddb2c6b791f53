"""Checks of parameter values that several families share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def check_values(name: str, values: list[Any], accept: Callable[[Any], bool], rule: str) -> None:
    """Refuse values that are no numbers or that ``accept`` turns down; ``rule`` says why."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            raise ValueError(f"{name} must be a number or a list of numbers, got {value!r}")
        if not accept(value):
            raise ValueError(f"{name} must {rule}, got {value}")


def check_counts(name: str, values: list[Any]) -> None:
    """Refuse values other than 1, 2, 3, ..."""
    check_values(name, values, lambda k: k == int(k) and k >= 1, "be a whole number from 1")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a word that is none of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got '{value}'")

"""Names of settings inside a parameter, as scikit-learn writes them: ``settings__alpha``.

What fits methods knows parameters as wholes. So the setting of a parameter that holds settings by
name is put into it here, and a grid over such settings becomes a grid over that parameter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ldlrepro.core.errors import UserError

Keys = dict[str, Any]


def gathered(parameters: Keys, grid: Keys) -> tuple[Keys, Keys]:
    """Return parameters and grid without names of inner settings."""
    whole = {name: value for name, value in parameters.items() if "__" not in name}
    for outer, settings in _by_outer(parameters):
        whole[outer] = {**_held(whole, outer), **settings}
    wholes = {name: values for name, values in grid.items() if "__" not in name}
    for outer, inner in _by_outer(grid):
        fixed = _held(whole, outer)
        combinations = itertools.product(*inner.values())
        wholes[outer] = tuple(
            {**fixed, **dict(zip(inner, values, strict=True))} for values in combinations
        )
    return whole, wholes


def _held(whole: Keys, outer: str) -> Keys:
    held = whole.get(outer) or {}
    if not isinstance(held, dict):
        raise UserError(
            f"parameter '{outer}' is {held!r}, so nothing in it can be set as '{outer}__...'. "
            f"Write {outer} alone."
        )
    return held


def _by_outer(names: Keys) -> Iterator[tuple[str, Keys]]:
    """Yield each parameter that inner settings belong to, and those settings by their own names."""
    inner = [name for name in names if "__" in name]
    for outer in dict.fromkeys(name.partition("__")[0] for name in inner):
        mine = (name for name in inner if name.partition("__")[0] == outer)
        yield outer, {name.partition("__")[2]: names[name] for name in mine}

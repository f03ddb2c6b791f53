"""Measures of a user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from ldlrepro.catalogue.entries import List, Value
from ldlrepro.core.errors import UserError


class Measure(Value):
    """A measure of your own, <id>.yaml."""

    title: str
    """name in tables"""
    description: str = ""
    """what it measures, in a sentence"""
    function_path: str = Field(alias="function", pattern=r"^[a-zA-Z_][\w.]*\.[A-Za-z_]\w*$")
    """dotted path of a function of true and predicted distributions (rows x labels) that returns a
    number per row, or one for all
    """
    better: Literal["lower", "higher"]
    """which direction is better"""
    range: Annotated[List[float | None], Field(min_length=2, max_length=2)] = ()
    """the lowest and the highest value that it can have; null where there is none"""

    def allows(self, value: float) -> bool:
        """Tell whether it can have a value."""
        low, high = self.range or (None, None)
        return (low is None or value >= low) and (high is None or value <= high)

    @property
    def range_in_words(self) -> str:
        low, high = ("any" if end is None else f"{end:g}" for end in self.range)
        return f"{low} to {high}"

    @property
    def function(self) -> Callable[[Any, Any], Any]:
        """Return the function that the file names."""
        where = f"{self.shown_file}: function"
        found = self.project.modules.named(self.function_path, self.file, where)
        if not callable(found):
            raise UserError(f"{where}: {self.function_path} is not a function.")
        return found

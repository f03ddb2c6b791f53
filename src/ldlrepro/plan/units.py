"""Units, the printed cells that they measure, and the chunks of folds that jobs compute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ldlrepro.catalogue import DataSet, Method, Protocol, Request
from ldlrepro.catalogue.digests import spec_digest
from ldlrepro.core.errors import UserError


@dataclass(frozen=True, eq=False)
class Unit:
    """One method on one data set under one protocol."""

    protocol: Protocol
    data_set: DataSet
    method: Method

    @cached_property
    def key(self) -> str:
        """Return the unit's name in messages, tables and paths."""
        return "/".join(self.ids)

    @cached_property
    def ids(self) -> tuple[str, str, str]:
        """Return the ids of protocol, data set and method, for columns and seeds."""
        return self.protocol.id, self.data_set.id, self.method.id

    @property
    def is_own(self) -> bool:
        """Tell whether it includes the user's own method, data set or paper."""
        return self.data_set.is_own or self.method.is_own or self.protocol.is_own

    @property
    def resources(self) -> Request:
        """Return what a job of this unit may use."""
        return self.method.resources.on(self.data_set.id)

    @cached_property
    def spec_sha256(self) -> str:
        """Return the digest of the settings that decide its numbers."""
        return spec_digest(self.method, self.protocol.select_by)

    @cached_property
    def is_drawn(self) -> bool:
        """Tell whether another seed gives other folds or other predictions."""
        return self.protocol.draws_folds(self.data_set.id) or self.method.draws

    def count_folds(self) -> int | None:
        """Return the number of its runs; None where only the data tell the number of persons."""
        return self.protocol.count_folds(self.data_set)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unit) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Unit) -> bool:
        return self.ids < other.ids

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True)
class Cell:
    """A printed number, and the unit that measures it or the reason why none does."""

    row: dict[str, str]
    unit: Unit | None
    skip: str = ""
    note: str = ""
    others: tuple[Unit, ...] = ()
    """Other readings of what the paper leaves open. ``unit`` is the one that the paper states."""
    base: Unit | None = None
    """The unit from which a difference is taken."""
    experiment: str = ""
    """The experiment that measures the number, where no unit does."""
    copied: str = ""
    """Proof that the number comes from another paper, where it does."""


@dataclass(frozen=True)
class Chunk:
    """Folds first..last (positions in the fold file) of a unit: one Snakemake job.

    Without ``last`` the chunk has all folds, because only the data tell their number.
    """

    unit: Unit
    first: int = 0
    last: int | None = None

    @property
    def name(self) -> str:
        return "all" if self.last is None else f"{self.first}-{self.last}"

    def overlaps(self, other: Chunk) -> bool:
        end, other_end = (math.inf if c.last is None else c.last for c in (self, other))
        return self.first <= other_end and other.first <= end

    def record(self, results: str | Path) -> Path:
        """Return the file of its record."""
        return Path(results) / "units" / self.unit.key / f"folds_{self.name}.parquet"

    @classmethod
    def parse(cls, unit: Unit, name: str) -> Chunk:
        if name == "all":
            return cls(unit)
        first, _, last = name.partition("-")
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            raise UserError(f"'{name}' names no folds. Write 'all', or first-last such as 0-4.")
        return cls(unit, int(first), int(last))

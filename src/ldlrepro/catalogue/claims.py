"""Claims of a paper, and reasons why its numbers are missed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ldlrepro.catalogue.entries import Entry, List

SELECTORS = {
    "tables": "table",
    "datasets": "dataset",
    "settings": "setting",
    "methods": "method",
    "metrics": "metric",
}
"""Key that selects printed numbers -> their column."""


class Selection(Entry):
    """Printed numbers that an entry speaks of; a key left out says all."""

    tables: List[str] = Field(default=(), description="table numbers; default all")
    datasets: List[str] = Field(default=(), description="printed data sets; default all")
    settings: List[str] = Field(default=(), description="printed settings; default all")
    methods: List[str] = Field(default=(), description="printed method names; default all")
    metrics: List[str] = Field(default=(), description="measures; default all")

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Return the keys that are given, with their names."""
        return {key: getattr(self, key) for key in SELECTORS if key in self.model_fields_set}

    def covers(self, row: Mapping[str, str]) -> bool:
        """Tell whether it speaks of a printed number."""
        return all(row[SELECTORS[key]] in names for key, names in self.named.items())


class Miss(Selection):
    """A reason for missed cells."""

    verdict: Literal["better", "worse"] | None = Field(
        default=None,
        description="only cells with this verdict; default both",
    )
    reason: str = Field(description="why, in one line", min_length=1, pattern=r"^[^\n]*$")
    evidence: str = Field(
        description=(
            "where to see it - a command, a unit (`protocol/dataset/method`), an experiment "
            "(`experiment paper/name`) or a heading of a note or a page, with its path"
        ),
        min_length=1,
    )


class Misses(Entry):
    """Why printed numbers are missed, papers/<id>/misses.yaml."""

    misses: List[Miss] = Field(
        description=(
            "reasons; the first that selects a cell whose verdict is `better` or `worse` counts"
        ),
    )


class Check(Entry):
    """A number compared with limits."""

    ONE_OF = (
        ("fact", "experiment"),
        ("figure", "from", "to"),
        ("figure", "from", "to_each"),
        ("protocol", "dataset", "metric", "method"),
    )

    experiment: str = Field(default="", description="experiment id")
    fact: str = Field(default="", description="a number that the experiment names")
    figure: str = Field(default="", description="a figure whose points are units")
    start: List[Any] = Field(alias="from", default=(), description="[line, x] of the first point")
    to: List[Any] = Field(default=(), description="[line, x] of the second point")
    to_each: List[Any] = Field(
        default=(),
        description="x of several second points on the line of the first, each a check",
    )
    protocol: str = Field(default="", description="protocol id of a unit")
    dataset: str = Field(default="", description="data set id of a unit")
    metric: str = Field(default="", description="measure of a unit")
    method: str = Field(default="", description="method id of a unit; alone its mean is judged")
    than: str = Field(default="", description="method id of the unit that it is compared with")
    from_protocol: str = Field(
        default="",
        description="protocol of the unit that it is compared with",
    )
    at_least: float | None = Field(
        default=None,
        description="lower limit, of two points or units the change in percent",
    )
    at_most: float | None = Field(default=None, description="upper limit")


class ClaimTest(Entry):
    """How a claim is tested."""

    kind: Literal["order", "best", "advantage", "at_most", "checks", "ranks", "pairs"] = Field(
        description="the kind of test",
    )
    by: Literal["method", "setting"] = Field(
        default="method",
        description="what the test names and compares - printed methods or printed settings",
    )
    methods: List[str] = Field(default=(), description="printed methods from best to worst (order)")
    method: str = Field(default="", description="printed method (best, advantage, ranks)")
    rivals: List[str] = Field(default=(), description="printed methods that it is compared with")
    pairs: List[Annotated[List[str], Field(min_length=2, max_length=2)]] = Field(
        default=(),
        description="[better, worse] (pairs)",
    )
    significant: bool = Field(
        default=False,
        description=(
            "count only differences that a test of significance confirms - over data sets "
            "(ranks), over the folds of each data set (pairs)"
        ),
    )
    protocol: str = Field(
        default="",
        description=(
            "our side takes the runs of all methods under this protocol, not those that the rows "
            "are compared with (ranks)"
        ),
    )
    control: bool = Field(
        default=False,
        description=(
            "compare the method with its rivals only, and not the rivals with each other (ranks); "
            "fewer comparisons to correct for"
        ),
    )
    jointly: bool = Field(
        default=True,
        description="before all rivals at once, or each counted by itself (best)",
    )
    statistic: Literal["mean", "std"] = Field(
        default="mean",
        description="compare means or standard deviations",
    )
    metrics: List[str] = Field(
        default=(),
        description="measures; default all that score distributions",
    )
    tables: List[str] = Field(default=(), description="tables; default all")
    datasets: List[str] = Field(default=(), description="data sets; default all")
    over: Literal["dataset", "metric"] | None = Field(
        default=None,
        description="advantages are averaged per (advantage)",
    )
    values: List[str] = Field(
        default=(),
        description="data sets or measures whose advantage stands out",
    )
    stands_out: Literal["larger", "smaller"] | None = Field(
        alias="is", default=None, description="how it stands out"
    )
    table: str = Field(default="", description="the table whose numbers are small (at_most)")
    limit: float | None = Field(default=None, description="the largest size (at_most)")
    checks: List[Check] = Field(default=(), description="numbers compared with limits (checks)")


class Claim(Entry):
    """A sentence of the paper that can be tested."""

    ONE_OF = (("test",), ("untested",))

    id: str = Field(description="name of the claim")
    text: str = Field(description="what the paper says, in our words")
    where: str = Field(
        default="",
        description="where the paper says so: section, page, table, figure",
        min_length=1,
    )
    stand_in: str = Field(
        default="",
        description=(
            "on what it is tested in place of the paper's own data; such claims are counted apart"
        ),
        min_length=1,
    )
    untested: str = Field(default="", description="why it cannot be tested here")
    test: ClaimTest | None = Field(default=None, description="how it is tested")


class Claims(Entry):
    """What can be tested of what a paper says, papers/<id>/claims.yaml."""

    claims: List[Claim] = Field(description="sentences of the paper that can be tested")

"""Claims of a paper, and reasons why its numbers are missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

    tables: List[str] = ()
    """table numbers; default all"""
    datasets: List[str] = ()
    """printed data sets; default all"""
    settings: List[str] = ()
    """printed settings; default all"""
    methods: List[str] = ()
    """printed method names; default all"""
    metrics: List[str] = ()
    """measures; default all"""

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Return the keys that are given, with their names."""
        return {key: getattr(self, key) for key in SELECTORS if key in self.model_fields_set}

    def covers(self, row: Mapping[str, str]) -> bool:
        """Tell whether it speaks of a printed number."""
        return all(row[SELECTORS[key]] in names for key, names in self.named.items())


KINDS = {
    "run": "a run meets it",
    "argument": "argument",
    "conjecture": "conjecture",
    "unknown": "not known",
}
"""Kind of a reason -> what readers see."""


class Miss(Selection):
    """A reason for missed cells."""

    ASKED_BY = {"kind": {"conjecture": ("refuted_by",)}}  # noqa: RUF012

    kind: Literal["run", "argument", "conjecture", "unknown"]
    """what the reason is - a run that meets the cells and that `evidence` names, an argument from
    the numbers, a conjecture, or unknown
    """
    reason: str = Field(min_length=1, pattern=r"^[^\n]*$")
    """why, in one line"""
    refuted_by: str = ""
    """what would refute it; a conjecture has to say"""
    evidence: str = Field(min_length=1)
    """where to see it - a command, a unit (`protocol/dataset/method`, where `{dataset}` is the
    cell's), an experiment (`experiment paper/name`) or a heading of a note or a page, with its path
    """

    def told(self, dataset: str) -> str:
        """Return the reason as readers of a cell see it."""
        refuted = f" (refuted by {self.refuted_by})" if self.refuted_by else ""
        where = self.evidence.replace("{dataset}", dataset)
        return f"{KINDS[self.kind]}: {self.reason}{refuted}; {where}"


class Misses(Entry):
    """Why printed numbers are missed, papers/<id>/misses.yaml."""

    misses: List[Miss]
    """reasons; the first that selects a cell whose verdict is `better` or `worse` counts"""


Pair = Annotated[List[Any], Field(min_length=2, max_length=2)]


class Check(Entry):
    """A number compared with limits."""

    ONE_OF = (
        ("fact", "experiment"),
        ("figure", "from", "to"),
        ("dataset", "metric", "to"),
    )

    experiment: str = ""
    """experiment id"""
    fact: str = ""
    """a number that the experiment names"""
    figure: str = ""
    """a figure whose points are units"""
    dataset: str = ""
    """data set id of units"""
    metric: str = ""
    """measure of units"""
    start: Pair = Field(alias="from", default=())
    """the first point, [line, x], or the first unit, [protocol, method]"""
    to: Pair = ()
    """the second point, or [line, [x, ...]] for several, each a check; or the second unit, whose
    mean is judged where there is no first
    """
    at_least: float | None = None
    """lower limit, of two points or units the change in percent"""
    at_most: float | None = None
    """upper limit"""

    def each(self) -> Iterator[Check]:
        """Yield a check for each second point."""
        several = self.to and isinstance(self.to[1], list | tuple)
        for x in self.to[1] if several else ():
            yield self.model_copy(update={"to": (self.to[0], x)})
        if not several:
            yield self

    @property
    def judged(self) -> tuple[str, str]:
        """Return protocol and method of the unit that is judged; '' where none is."""
        return (str(self.to[0]), str(self.to[1])) if self.dataset else ("", "")

    @property
    def base(self) -> tuple[str, str]:
        """Return those of the unit that it is compared with: itself, where no other is."""
        is_other = self.dataset and self.start
        return (str(self.start[0]), str(self.start[1])) if is_other else self.judged


class ClaimTest(Entry):
    """How a claim is tested."""

    kind: Literal[
        "order",
        "best",
        "best_of_each",
        "larger_advantage",
        "smaller_advantage",
        "at_most",
        "checks",
        "ranks",
        "pairs",
        "comparable",
        "wins_ties_losses",
    ]
    """what is counted, on one data set in one measure: `methods` stand in this order (order); the
    first is better than all others (best), or than each of them (best_of_each), or not worse by
    more than `within` percent (comparable); it wins, ties or loses at the printed digits
    (wins_ties_losses); the first of a pair is better (pairs). Over data sets: the first has the
    better average rank (ranks), or lowers the loss by a share that is larger or smaller for one of
    `values` than for the others (larger_advantage, smaller_advantage). A number of the table is at
    most `limit` in size (at_most); a fact of an extra measurement, a mean of a unit or a change in
    percent lies within limits (checks)
    """
    by: Literal["method", "setting"] = "method"
    """what the test names and compares - printed methods or printed settings"""
    methods: List[str] = ()
    """printed methods, the best first: all in their order (order), or one and then its rivals in
    any order (best, advantages, ranks, comparable, wins_ties_losses)
    """
    pairs: List[Annotated[List[str], Field(min_length=2, max_length=2)]] = ()
    """[better, worse] (pairs)"""
    confirmed: Literal["all", "rivals"] | None = Field(alias="significant", default=None)
    """count only differences that a test of significance confirms - over data sets (ranks), over
    the folds of each data set (pairs, comparable, wins_ties_losses); corrected for all comparisons,
    or for those of the first method with its rivals alone (ranks). A comparable number is then not
    significantly worse, and a tie is a difference that the test does not confirm
    """
    protocol: str = ""
    """our side takes the runs of all methods under this protocol, not those that the rows are
    compared with (ranks)
    """
    statistic: Literal["mean", "std"] = "mean"
    """compare means or standard deviations"""
    metrics: List[str] = ()
    """measures; default all that score distributions"""
    tables: List[str] = ()
    """tables; default all"""
    datasets: List[str] = ()
    """data sets; default all"""
    values: List[str] = ()
    """data sets or measures whose advantage stands out among the others (larger_advantage,
    smaller_advantage)
    """
    limit: float | None = None
    """the largest size (at_most)"""
    within: float = Field(default=1.0, ge=0)
    """the percentage by which a comparable number may be worse, where no test of significance
    decides (comparable)
    """
    counts: List[int] = Field(default=(), min_length=3, max_length=3)
    """wins, ties and losses that the text states, where its table does not show them
    (wins_ties_losses)
    """
    checks: List[Check] = ()
    """numbers compared with limits (checks)"""

    @property
    def method(self) -> str:
        """Return the method that is compared with its rivals; '' where there is none such."""
        return self.methods[0] if self.methods else ""

    @property
    def rivals(self) -> tuple[str, ...]:
        """Return the methods that it is compared with."""
        return self.methods[1:]

    @property
    def significant(self) -> bool:
        """Tell whether a test of significance has to confirm differences."""
        return bool(self.confirmed)

    @property
    def control(self) -> bool:
        """Tell whether rivals are not compared with each other."""
        return self.confirmed == "rivals"


class Claim(Entry):
    """A sentence of the paper that can be tested."""

    ONE_OF = (("test",), ("untested",))

    id: str
    """name of the claim"""
    text: str
    """what the paper says, in our words"""
    where: str = Field(default="", min_length=1)
    """where the paper says so: section, page, table, figure"""
    stand_in: str = Field(default="", min_length=1)
    """on what it is tested in place of the paper's own data; such claims are counted apart"""
    untested: str = ""
    """why it cannot be tested here"""
    test: ClaimTest | None = None
    """how it is tested"""


class Claims(Entry):
    """What can be tested of what a paper says, papers/<id>/claims.yaml."""

    claims: List[Claim]
    """sentences of the paper that can be tested"""

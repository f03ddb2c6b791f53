"""Which method the records recommend for a data set.

Protocols whose folds are the same rows are one comparison, whatever they are called: equal folds
have equal digests. The comparison with the most methods answers.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl.comparison.contenders import MEAN
from ldl.comparison.result import ALPHA, corrected_t, shown_p, titled
from ldl.metrics import better
from ldlrepro.arena.runs import ARENA
from ldlrepro.arena.standings import (
    Standings,
    best_of_each,
    costs,
    read,
    sentence,
    spoken,
    tables,
)
from ldlrepro.catalogue import DataSet, Method
from ldlrepro.core.errors import UserError
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import UnitScores, is_complete

if TYPE_CHECKING:
    import pandas as pd

FEW = 7
"""Tied methods that a sentence names."""


@dataclass(frozen=True)
class SameFolds:
    """Methods on the same folds of a data set."""

    sources: str
    """Protocols, with commas."""
    measure: str
    scores: dict[str, np.ndarray]
    """Method -> the measure fold by fold."""
    seconds: dict[str, float]
    """Method -> the CPU time of a fold's search and fit."""
    mean: str
    """The method that predicts the mean of the training labels."""
    train: float
    test: float
    """Training and tested rows of a fold."""
    apart: bool
    """Whether persons are kept whole."""

    @cached_property
    def means(self) -> dict[str, float]:
        """Return the measure of each method, averaged over folds, the best first."""
        means = {name: float(values.mean()) for name, values in self.scores.items()}
        return dict(sorted(means.items(), key=lambda item: self._sign * item[1]))

    @property
    def _sign(self) -> float:
        return 1.0 if better(self.measure) == "lower" else -1.0

    @property
    def first(self) -> str:
        return next(iter(self.means))

    @property
    def folds(self) -> int:
        return len(self.scores[self.first])

    def gain(self, name: str) -> float:
        """Return what a method gains over the mean of the training labels, as a share."""
        return self._sign * (1 - self.means[name] / self.means[self.mean])

    def p(self, name: str) -> float:
        """Return the probability of a difference from the first method as large by chance."""
        gains = self.scores[self.first] - self.scores[name]
        return corrected_t(gains, self.train, self.test)

    @cached_property
    def others(self) -> list[str]:
        """Return the best kind of each method but the first one and the mean."""
        best = best_of_each({"method": name} for name in self.means)
        return [row["method"] for row in best[1:] if row["method"] != self.mean]

    @cached_property
    def tied(self) -> list[str]:
        """Return those of them that the folds cannot tell from the first."""
        return [name for name in self.others if self.p(name) > ALPHA]

    @property
    def tied_seconds(self) -> dict[str, float]:
        """Return the CPU time of the first and of all that is tied, kinds of a method apart."""
        names = [name for name in self.means if name != self.mean]
        return {n: self.seconds[n] for n in names if n == self.first or self.p(n) > ALPHA}

    @property
    def doubts(self) -> str:
        """Say whether chance alone could give the gain, and how many others are tied."""
        alike = f"{len(self.tied)} of {len(self.others)} other methods"
        return " Chance alone could give that gain." * (self.p(self.mean) > ALPHA) + (
            f" {self.folds} folds cannot tell {alike} from it." * bool(self.tied)
        )


@dataclass(frozen=True)
class Advice:
    """A sentence, and a line for each method, the best first."""

    said: str
    lines: list[dict[str, Any]]
    cheapest: str
    """The method that is tied with the first and takes the least time; maybe the first itself."""


def use(first: str, seconds: Mapping[str, float], shown: Callable[[str], str] = spoken) -> str:
    """Say which method to use, and what is tied with it and cheapest.

    ``seconds`` has its CPU time and that of all that is tied, other kinds of it among them.
    """
    if len(seconds) == 1:
        return f"Use {spoken(first)}: no other method is tied with it."
    cheapest = min(seconds, key=lambda name: seconds[name])
    if cheapest == first:
        return f"Use {spoken(first)}: what is tied with it takes more time."
    return (
        f"Use {spoken(first)}, or the cheapest that is tied with it: {shown(cheapest)}, "
        f"{seconds[cheapest]:.2g} s of CPU time."
    )


def overall(board: Standings) -> str:
    """Say which method to use for any data, and what that rests on."""
    first, *others = board.table.to_dict("records")
    tied = {row["method"]: row["cost_s"] for row in [first, *others] if row is first or row["tied"]}
    return f"{use(first['method'], tied)}\n\n{sentence(board)}"


def recommend(judge: Judge, data_set: DataSet, measure: str) -> Advice:
    """Say which method is best on a data set, for persons never seen where persons are known."""
    found = [*_of_arena(judge, data_set, measure), *_of_protocols(judge, data_set, measure)]
    known = any(one.apart for one in found)
    fitting = [one for one in found if one.apart == known and one.mean in one.scores]
    if not fitting:
        raise UserError(
            f"nothing has run on {data_set.id} yet. Type `ldlrepro arena {data_set.id}`"
        )
    return _advice(data_set, max(fitting, key=lambda one: len(one.scores)))


def _of_arena(judge: Judge, data_set: DataSet, measure: str) -> Iterator[SameFolds]:
    paths = tables(judge.workspace.results, judge.project.root / "reference")
    if data_set.id not in paths:
        return
    path = paths[data_set.id]
    facts = json.loads(path.with_name("facts.json").read_text(encoding="utf-8"))
    yield of_arena(read({data_set.id: path}), measure, facts["persons"] > 0)


def of_arena(rows: pd.DataFrame, measure: str, apart: bool) -> SameFolds:
    """Return the lines of the arena on one data set."""
    scores = {
        f"{method}, {kind}": part.sort_values("fold")[measure].to_numpy()
        for (method, kind), part in rows.groupby(["method", "kind"])
        if method != MEAN or kind == "default"
    }
    paid = costs(rows)["cost_s"]
    seconds = {f"{method}, {kind}": paid[method, kind] for method, kind in paid.index}
    folds = rows["fold"].nunique()
    whole = {name: values for name, values in scores.items() if len(values) == folds}
    return SameFolds(ARENA, measure, whole, seconds, f"{MEAN}, default", folds - 1, 1, apart)


def _of_protocols(judge: Judge, data_set: DataSet, measure: str) -> Iterator[SameFolds]:
    """Yield the records of papers, those of equal folds together."""
    units = [
        unit
        for paper in judge.project.papers
        for unit in judge.plan.units(paper)
        if unit.data_set.id == data_set.id and _may_be_used(unit.method)
    ]
    planned = {unit.key: unit for unit in units}
    by_folds: dict[str, list[UnitScores]] = defaultdict(list)
    for scored in judge.sources(units).chosen(units):
        if is_complete(planned[scored.key], scored) and scored.values(measure):
            by_folds[scored.rows[0].folds_sha256].append(scored)
    for members in by_folds.values():
        first = members[0].rows
        protocols = dict.fromkeys(one.protocol for one in members)
        yield SameFolds(
            ", ".join(protocols),
            measure,
            {one.method: np.array(one.values(measure)) for one in members},
            {one.method: float(np.median([row.fit_s for row in one.rows])) for one in members},
            "train_mean",
            float(np.mean([row.n_train for row in first])),
            float(np.mean([row.n_test for row in first])),
            judge.project.protocol(members[0].protocol).scheme == "leave_one_group_out",
        )


def _may_be_used(method: Method) -> bool:
    """Tell whether a method can be recommended: the print chose none of its settings."""
    is_reading = "=" in method.id
    return not (method.sees_test_labels or method.by_print or is_reading)


def _advice(data_set: DataSet, found: SameFolds) -> Advice:
    ps = {name: found.p(name) for name in found.means if name != found.first}
    lines = [
        {
            "method": name,
            found.measure: f"{mean:#.4g}",
            "gain over mean": f"{found.gain(name):.0%}",
            "p against best": shown_p(ps[name]) if name in ps else "",
            "tied": ps[name] > ALPHA if name in ps else None,
        }
        for name, mean in found.means.items()
    ]

    def with_mean(name: str) -> str:
        return f"{spoken(name)} with {found.means[name]:#.4g}"

    which = " The column tied marks them." * bool(found.tied)
    if 0 < len(found.tied) <= FEW:
        which = f" Tied: {', '.join(map(spoken, found.tied))}."
    opening = use(found.first, found.tied_seconds, with_mean)
    if found.p(found.mean) > ALPHA:
        opening = "No method is surely better here than the mean of the training labels."
    said = (
        f"{opening}\n\n"
        f"On {data_set.title} the {titled(found.measure)} of {spoken(found.first)} is "
        f"{found.means[found.first]:#.4g}, "
        f"{found.gain(found.first):.0%} better than the mean of the training labels "
        f"(p = {found.p(found.mean):.2g}).{found.doubts}{which}\n\n"
        f"It is the best of {len(lines)} lines on these rows: expect a little less. "
        "No p is corrected for the number of comparisons. "
        f"Folds: {found.sources}{', persons whole' if found.apart else ''}."
    )
    seconds = found.tied_seconds
    return Advice(said, lines, min(seconds, key=lambda name: seconds[name]))

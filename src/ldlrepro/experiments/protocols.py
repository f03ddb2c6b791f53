"""Folds and settings that the printed digits of a method fit, told by means and deviations.

A method that draws nothing gives the same numbers on the same folds. So its printed means, and even
more its printed deviations, say how the folds were made, and which of a few open counts was used:
neighbours, sweeps, iterations. Every way to make folds is run with every setting, where folds are
drawn with several seeds, and compared with the print (``ldlrepro.experiments.printed_digits``).

This looks at test rows: a diagnosis of the print. A setting that follows from it is marked as
chosen by the print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro import experiments
from ldlrepro.catalogue import Paper
from ldlrepro.core.errors import UserError
from ldlrepro.core.groups import grouped
from ldlrepro.core.kept_lines import KeptLines
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.experiments.printed_digits import (
    CANNOT,
    NONE_FITS,
    Conclusion,
    Digits,
    Evidence,
    Printed,
    Way,
    as_printed,
    hardest,
    in_words,
    together,
)
from ldlrepro.experiments.protocol_runs import (
    FOLDS,
    IN_ORDER,
    MEASURES,
    SHUFFLED,
    Folds,
    Runs,
    folds_for,
    stated_by,
)
from ldlrepro.plan.printed import Row, printed_deviation

FEWEST_PRINTED = 4
"""Numbers that a row must print to tell anything."""
PROBES = 3
"""Seeds of ten shuffled folds that every setting gets."""
NEAREST = 2
"""Settings, nearest under ten shuffled folds, that all other folds get."""
FIRST_SEEDS = 5
"""Seeds of other folds; the ones that are hardest to exclude get all seeds."""

Scores = Callable[[str, Folds, int], np.ndarray]
"""Returns means and deviations of a setting under folds, for the seed of a number."""


def _of_population(scores: Scores) -> Scores:
    """Return the same scores with deviations whose divisor is the number of values."""

    def changed(setting: str, folds: Folds, number: int) -> np.ndarray:
        means, deviations = np.split(scores(setting, folds, number), 2)
        return np.concatenate([means, deviations * np.sqrt((folds.count - 1) / folds.count)])

    return changed


@dataclass(frozen=True)
class Found:
    """The conclusion about one printed row."""

    method: str
    dataset: str
    printed: Printed
    conclusion: Conclusion
    stated: Sequence[Folds]
    """The folds that the paper states, with either deviation where it repeats them."""
    count: int
    """Values that a deviation of the best folds is over."""


def measure(
    inputs: Inputs,
    seed: int,
    methods: Mapping[str, Mapping[str, Any]],
    population: bool = False,
) -> Outcome:
    """Compare every method's printed rows with all folds on every data set that is here.

    ``methods`` says for each printed method which settings to try and with how many seeds. With
    ``population`` the printed deviations are taken for those of a population, whose divisor is the
    number of values.
    """
    paper = inputs.project.paper(inputs.protocol.paper)
    protocols = {
        (cell.row["method"], cell.row["dataset"]): cell.unit.protocol
        for cell in inputs.plan.cells(paper)
        if cell.unit
    }
    rows = [{**row, "std": printed_deviation(paper, row)} for row in inputs.plan.published(paper)]
    kept = KeptLines(inputs.workspace.results / "experiments" / paper.id / "protocols.jsonl")
    as_printed_here = {paper.use_dataset.get(name, name): name for name in paper.datasets}
    datasets = [as_printed_here.get(name, name) for name in inputs.datasets]
    here = {as_printed_here.get(name, name) for name in inputs.available()}
    found: list[Found] = []
    left_out: list[list[Any]] = []
    for method, asked in methods.items():
        for dataset in asked.get("datasets", datasets):
            if dataset in asked.get("without", []):
                continue
            asked_here = {**asked, **asked.get("at", {}).get(dataset, {})}
            printed = printed_row(rows, method, dataset, asked_here.get("only", ""))
            if printed is None:
                continue
            if why := _tells_nothing(printed, dataset in here):
                left_out.append([method, dataset, f"{CANNOT}: {why}"])
                continue
            data = inputs.load(paper.use_dataset.get(dataset, dataset))
            runs = Runs(inputs.project, data, seed, kept)
            scores = _of_population(runs.scores) if population else runs.scores
            stated = stated_by(protocols[method, dataset], data)
            ways = Ways(scores, folds_for(data, stated), asked_here, printed, stated)
            conclusion = ways.conclude()
            count = ways.named[conclusion.best.folds].count
            found.append(Found(method, dataset, printed, conclusion, stated, count))
            inputs.say(f"{method} on {dataset}: {_summary(found[-1].conclusion)}")
    by_method = grouped(found, lambda one: one.method)
    outcome = Outcome(facts=_facts(found))
    outcome.add_table("Printed rows", COLUMNS, (_line(one) for one in found))
    joint = (_joint_line(method, mine) for method, mine in by_method.items())
    outcome.add_table("Data sets together", JOINT_COLUMNS, joint)
    if left_out:
        columns = ["method", "data set", "verdict"]
        outcome.add_table("Rows that tell nothing", columns, left_out)
    return outcome


def _tells_nothing(printed: Printed, here: bool) -> str:
    """Say why a printed row cannot be compared, if so."""
    if printed.count < FEWEST_PRINTED:
        return f"fewer than {FEWEST_PRINTED} numbers printed"
    return "" if here else "data not here"


def _facts(found: Sequence[Found]) -> dict[str, float]:
    counts = Counter(f"{one.method}: {_summary(one.conclusion)}" for one in found)
    return {what: float(count) for what, count in counts.items()}


def _summary(conclusion: Conclusion) -> str:
    verdict = conclusion.verdict
    if verdict in (NONE_FITS, CANNOT):
        return verdict
    return f"{conclusion.best.kind} ({verdict})"


# ---------------------------------------------------------------------- running


class Ways:
    """All folds with all settings for one printed row, run as often as the conclusion needs."""

    def __init__(
        self,
        scores: Scores,
        folds: Sequence[Folds],
        asked: Mapping[str, Any],
        printed: Printed,
        stated: Sequence[Folds] = (),
    ) -> None:
        self.scores, self.printed, self.stated = scores, printed, stated
        deviations = bool(np.isfinite(printed.values[len(MEASURES) :]).any())
        self.folds = [
            one
            for one in folds
            if (deviations or not one.over_repeats)
            and (one in stated or one.repeats == 1 or asked.get("repeats"))
        ]
        self.settings: Sequence[str] = asked["settings"]
        self.seeds = int(asked["seeds"])
        self.draws = bool(asked.get("draws"))
        self._ways: dict[tuple[str, str], Way] = {}

    def conclude(self) -> Conclusion:
        """Try settings first, then all folds with the nearest of them, then the hardest cases."""
        self._try_settings()
        most_run = max(self.settings, key=lambda one: len(self._ways[SHUFFLED, one].numbers))
        digits = Digits(self.printed, self._units([most_run]))
        while True:
            conclusion = digits.conclude(list(self._ways.values()))
            wanting = [
                way
                for way in self._deciding(conclusion)
                if way.drawn and len(way.numbers) < self.seeds
            ]
            if not wanting:
                return conclusion
            for way in wanting:
                self._run(self.named[way.folds], way.setting, self.seeds)

    def _deciding(self, conclusion: Conclusion) -> Iterator[Way]:
        """Yield the ways whose seeds decide how sure a conclusion is."""
        yield conclusion.best
        yield conclusion.runner_up.way
        for other in (conclusion.next_setting, conclusion.next_folds):
            if other:
                yield other.way
        for stated in self.stated:
            if stated.kind in conclusion.against:
                yield conclusion.against[stated.kind].way

    @property
    def named(self) -> Mapping[str, Folds]:
        return FOLDS | {folds.name: folds for folds in self.folds}

    def _try_settings(self) -> None:
        for setting in self.settings:
            self._run(FOLDS[IN_ORDER], setting, min(FIRST_SEEDS, self.seeds) if self.draws else 1)
            self._run(FOLDS[SHUFFLED], setting, min(PROBES, self.seeds))
        probed = Digits(self.printed, self._units(self.settings))
        near = self._nearest(probed, SHUFFLED)[:NEAREST]
        self._run(FOLDS[SHUFFLED], near[0], self.seeds)
        for setting in dict.fromkeys(near + self._nearest(probed, IN_ORDER)[:1]):
            for folds in self.folds:
                first = min(FIRST_SEEDS, self.seeds) if self._is_drawn(folds) else 1
                self._run(folds, setting, first)

    def _units(self, settings: Sequence[str]) -> np.ndarray:
        """Return what another seed of ten shuffled folds changes."""
        spreads = [self._ways[SHUFFLED, one].numbers.std(axis=0, ddof=1) for one in settings]
        return np.asarray(np.median(spreads, axis=0))

    def _nearest(self, digits: Digits, folds: str) -> list[str]:
        """Return the settings, the one nearest to the print under these folds first."""
        ways = (self._ways[folds, setting] for setting in self.settings)
        return [way.setting for way in sorted(ways, key=digits.surprise_of_print)]

    def _is_drawn(self, folds: Folds) -> bool:
        return self.draws or folds.drawn

    def _run(self, folds: Folds, setting: str, seeds: int) -> None:
        known = self._ways.get((folds.name, setting))
        if known is None or len(known.numbers) < seeds:
            numbers = np.array([self.scores(setting, folds, number) for number in range(seeds)])
            drawn = self._is_drawn(folds)
            self._ways[folds.name, setting] = Way(folds.kind, folds.name, setting, numbers, drawn)


# ---------------------------------------------------------------------- tables

COLUMNS = [
    "method",
    "data set",
    "folds",
    "setting",
    "digits that agree",
    "explained",
    "deviations with n-1, n",
    "runner-up",
    "its seeds as strong",
    "stated folds",
    "next setting",
    "setting is",
    "next of this kind",
    "verdict",
]
LEFT_TO_JSON = (
    "explained",
    "deviations with n-1, n",
    "next setting",
    "next of this kind",
)
"""Columns that a table for people has no room for."""
JOINT_COLUMNS = [
    "method",
    "folds",
    "of these",
    "next of these",
    "nearest on",
    "none fits on",
    "runner-up",
    "its seeds as strong",
    "stated folds",
    "settings",
    "verdict",
]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in counts.most_common())


def _line(found: Found) -> list[Any]:
    conclusion, printed = found.conclusion, found.printed
    best, runner_up, after = conclusion.best, conclusion.runner_up, conclusion.next_setting
    return [
        found.method,
        found.dataset,
        best.folds,
        best.setting,
        f"{conclusion.agreeing} of {printed.count}",
        f"{conclusion.inside} of {printed.count}",
        _denominators(printed, best, found.count),
        f"{runner_up.way.folds}, {runner_up.way.setting}",
        runner_up.words,
        _stated_words(conclusion.against, found.stated, best.kind),
        f"{after.way.setting}: {after.words}" if after else "",
        conclusion.setting_verdict,
        f"{cut.way.folds}: {cut.words}" if (cut := conclusion.next_folds) else "",
        conclusion.verdict,
    ]


def _stated_words(against: Mapping[str, Evidence], stated: Sequence[Folds], best: str) -> str:
    """Say how many seeds of the folds that the paper states speak as strongly for the best."""
    names = {folds.kind: folds.name for folds in stated if folds.kind in against}
    if best in names:
        return f"{names[best]}: nearest"
    if not names:
        return ""
    hard = hardest([against[kind] for kind in names])
    return f"{names[hard.way.kind]}: {hard.words}"


def _denominators(printed: Printed, way: Way, n: int) -> str:
    """Say how many printed deviations agree if n - 1 is in the denominator, and if n is."""
    deviations = replace(printed, values=printed.values.copy())
    deviations.values[: len(MEASURES)] = np.nan
    if not deviations.count or way.drawn:
        return ""
    with_n = way.numbers * np.sqrt((n - 1) / n)
    return f"{deviations.agreeing(way.numbers)}, {deviations.agreeing(with_n)}"


def _joint_line(method: str, found: Sequence[Found]) -> list[Any]:
    """Return what the data sets say together; those that no folds fit say nothing.

    Where no digit agrees on any of them, they tell nothing.
    """
    fitting = [one.conclusion for one in found if one.conclusion.fits]
    without = ", ".join(one.dataset for one in found if not one.conclusion.fits)
    if not fitting:
        return [method, "", "", "", "", without, "", "", "", "", NONE_FITS]
    evidence = together([one.against for one in fitting])
    best = min(evidence.values(), key=lambda one: one.strength)
    others = [one for one in evidence.values() if one is not best]
    runner_up = hardest(others)
    nearest = sum(one.best.kind == best.way.kind for one in fitting)
    settings = Counter(one.best.setting for one in fitting)
    mine = [one.cuts for one in fitting if one.best.kind == best.way.kind and one.cuts]
    cuts = sorted(together(mine).items(), key=lambda item: item[1].strength)
    of_these = Counter(one.best.folds for one in fitting if one.best.kind == best.way.kind)
    return [
        method,
        best.way.kind,
        _counted(of_these),
        f"{cuts[1][0]}: {cuts[1][1].words}" if len(cuts) > 1 else "",
        f"{nearest} of {len(fitting)}",
        without,
        runner_up.way.kind,
        runner_up.words,
        _stated_words(evidence, found[0].stated, best.way.kind),
        _counted(settings),
        in_words(runner_up.chance) if any(one.agreeing for one in fitting) else CANNOT,
    ]


# ---------------------------------------------------------------------- print


def printed_row(
    printed: Sequence[Row], method: str, dataset: str, only: str = ""
) -> Printed | None:
    """Return the printed row of a method on a data set that has most numbers, if any.

    Tables that hold one measure each are one table here. ``only`` keeps its ``means`` or its
    ``deviations``.
    """
    measures: dict[str, set[str]] = {}
    for row in printed:
        measures.setdefault(row["table"], set()).add(row["metric"])
    tables: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    for row in printed:
        if (row["method"], row["dataset"]) == (method, dataset) and row["mean"]:
            table = row["table"] if len(measures[row["table"]]) > 1 else "one measure each"
            numbers = tables.setdefault((table, row["setting"]), {})
            numbers[row["metric"]] = (row["mean"], row["std"])
    rows = [_as_printed(numbers, only) for numbers in tables.values()]
    return max(rows, key=lambda row: row.count, default=None)


def _as_printed(numbers: Mapping[str, tuple[str, str]], only: str) -> Printed:
    means = [numbers.get(name, ("", ""))[0] for name in MEASURES]
    deviations = [numbers.get(name, ("", ""))[1] for name in MEASURES]
    nothing = [""] * len(MEASURES)
    return as_printed(
        nothing if only == "deviations" else means, nothing if only == "means" else deviations
    )


def findings(paper: Paper, results: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what the last measurement found, here or by the maintainers, by titles of tables."""
    paper.experiment("protocols")
    found = experiments.read(paper, "protocols", results)
    if found is None:
        raise UserError(
            f"{paper.id}: nothing measured yet. "
            f"Type `ldlrepro experiment {paper.id} protocols --inputs`."
        )
    return {
        table.title: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for table in found.tables
        if table.rows
    }

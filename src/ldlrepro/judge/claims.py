"""Tests of a paper's sentences, on its printed numbers and on ours.

A test counts comparisons. A claim fails when no more than half of them come out as the paper says.
It holds when their share is at least that among the printed numbers (all, where nothing is
printed), else it holds partly. Wins, ties and losses have a rule of their own (``_by_record``). The
same comparisons are counted on both sides: those measured,
without misprints. Only tests of ranks take all data sets that a side has: their power depends on
it.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ldlrepro.catalogue import Check, Claim, ClaimTest, Paper
from ldlrepro.judge import claims_records, claims_significance
from ldlrepro.judge.comparisons import (
    Comparison,
    Count,
    Evidence,
    Group,
    Value,
    before,
    both,
    count_of,
    datasets_of,
    groups,
    loss,
    measured,
    name_of,
    printed,
    speaks_of,
    why_none,
)
from ldlrepro.judge.significance import independent
from ldlrepro.judge.verdicts import VerdictRow

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds partly", "fails", "not tested"


@dataclass(frozen=True)
class Share:
    """The comparisons of one measure or data set that come out as claimed, on both sides."""

    name: str
    printed: str
    """'5 of 6', or nothing where nothing is printed."""
    measured: str


def shares_in_words(shares: Iterable[Share]) -> str:
    """Return 'clark 2 of 5 (5 in print), kl 5 of 5'; what is printed stands where it differs."""
    parts = []
    for share in shares:
        differs = share.printed and share.printed != share.measured
        on_paper = f" ({share.printed.partition(' ')[0]} in print)" if differs else ""
        parts.append(f"{share.name} {share.measured}{on_paper}")
    return ", ".join(parts)


@dataclass(frozen=True)
class ClaimRow:
    """A claim, how it was tested, and what came out."""

    paper: str
    id: str
    text: str
    verdict: str
    printed: str
    """Outcome on the printed numbers: '83 of 90', or nothing."""
    measured: str
    """Outcome on our numbers."""
    evidence: str
    """Exceptions or values, for people; the reason where it was not tested."""
    datasets: int = 0
    """Number of data sets behind the verdict; 0 where an experiment measured other things."""
    of_datasets: int = 0
    """Number of data sets that the paper prints for what the claim compares; at least ours."""
    families: int = 0
    """Number of independent ones among them: a family of data sets counts once."""
    stand_in: str = ""
    """Data on which it was tested in place of the paper's own."""
    where: str = ""
    """Place of the sentence in the paper."""
    by_metric: list[Share] = field(default_factory=list)
    """The comparisons of each measure, where there are several."""
    by_dataset: list[Share] = field(default_factory=list)
    """The comparisons on each data set, where there are several."""

    @property
    def support(self) -> str:
        """Say on how many data sets it was tested: 'holds on 1 of 13 data sets measured'."""
        if not self.datasets:
            return self.verdict
        apart = f", {self.families} independent" if self.families < self.datasets else ""
        sets = "data set" if self.of_datasets == 1 else "data sets"
        return f"{self.verdict} on {self.datasets} of {self.of_datasets} {sets} measured{apart}"


def claim_rows(
    paper: Paper, evidence: Evidence, judged: Sequence[VerdictRow] = ()
) -> list[ClaimRow]:
    """Test all claims of a paper, and say where the readings that judge its numbers differ."""
    found = [claim_row(paper.id, claim, evidence) for claim in paper.claims]
    if not judged:
        return found
    other = replace(evidence, rows=judged)
    return [
        _beside(row, claim_row(paper.id, claim, other))
        for row, claim in zip(found, paper.claims, strict=True)
    ]


def _beside(row: ClaimRow, other: ClaimRow) -> ClaimRow:
    """Tell of a claim what comes out by other readings, where that is not the same."""
    if UNTESTED in (row.verdict, other.verdict) or row.measured == other.measured:
        return row
    told = f"By the readings that judge the numbers it {other.verdict}, {other.measured}"
    return replace(row, evidence=f"{row.evidence}. {told}" if row.evidence else told)


def claim_row(paper: str, claim: Claim, evidence: Evidence) -> ClaimRow:
    """Test a claim."""
    row = ClaimRow(
        paper,
        claim.id,
        claim.text,
        UNTESTED,
        printed="",
        measured="",
        evidence=claim.untested,
        stand_in=claim.stand_in,
        where=claim.where,
    )
    if claim.test is None:
        return row
    on_paper, here = _TESTS[claim.test.kind](claim.test, evidence)
    if not here.of:
        told = here.refusal or why_none(claim.test, evidence, _names(claim.test))
        return replace(row, printed=str(on_paper), evidence=told)
    return replace(
        row,
        verdict=_verdict(on_paper, here),
        printed=str(on_paper),
        measured=str(here),
        evidence=_in_words(here),
        datasets=len(here.datasets),
        of_datasets=len(here.datasets | _printed_on(claim.test, evidence)),
        families=independent(here.datasets, evidence.families),
        by_metric=_shares(on_paper, here, lambda one: one.metric),
        by_dataset=_shares(on_paper, here, lambda one: one.dataset),
    )


def _shares(on_paper: Count, here: Count, key: Callable[[Comparison], str]) -> list[Share]:
    """Count comparisons by ``key``; return nothing where all have the same."""
    sides = [_tally(count.comparisons, key) for count in (on_paper, here)]
    names = [name for name in sides[1] if name]
    if len(names) < 2:
        return []
    return [Share(name, *(side.get(name, "") for side in sides)) for name in names]


def _tally(comparisons: Iterable[Comparison], key: Callable[[Comparison], str]) -> dict[str, str]:
    """Return '5 of 6' by key, in the order in which the keys come."""
    held: dict[str, list[bool]] = {}
    for one in comparisons:
        held.setdefault(key(one), []).append(one.held)
    return {name: f"{sum(found)} of {len(found)}" for name, found in held.items()}


def _printed_on(test: ClaimTest, evidence: Evidence) -> set[str]:
    """Return the data sets on which the paper prints what a test compares, measured or not."""
    if test.kind == "checks":
        return set()
    named = set(_names(test))
    printed_on: dict[str, set[str]] = {}
    for row in evidence.rows:
        name = name_of(test, row)
        if row.printed and speaks_of(test, row, evidence) and (name in named or not named):
            dataset = row.unit_dataset if test.kind == "ranks" else ""  # as comparisons know it
            printed_on.setdefault(dataset or row.dataset, set()).add(name)
    return {dataset for dataset, names in printed_on.items() if len(names & named) > 1 or not named}


def _names(test: ClaimTest) -> list[str]:
    """Return the names of all that a test compares."""
    return [*test.methods, *(name for pair in test.pairs for name in pair)]


def _verdict(on_paper: Count, here: Count) -> str:
    if on_paper.record and here.record:
        return _by_record(on_paper.record, here.record)
    asked = on_paper.share if on_paper.of else 1.0
    if here.share <= 0.5:
        return FAILS
    return HOLDS if here.share >= asked else PARTLY


def _by_record(on_paper: tuple[int, int, int], here: tuple[int, int, int]) -> str:
    """Judge the shares of wins and losses.

    A claim holds where we win at least as often and lose at most as often as it says. It holds
    partly where one of the two is so, and fails where neither is.
    """
    (wins, _, losses), (our_wins, _, our_losses) = on_paper, here
    said, ours = sum(on_paper), sum(here)
    as_often = (our_wins * said >= wins * ours, our_losses * said <= losses * ours)
    return HOLDS if all(as_often) else PARTLY if any(as_often) else FAILS


def _in_words(here: Count) -> str:
    more = len(here.exceptions) - 8
    shown = "; ".join([*here.exceptions[:8], *([f"and {more} more"] if more > 0 else [])])
    return ". ".join(part for part in (here.note, shown and f"against it: {shown}") if part)


# ---------------------------------------------------------------------- tests


def _order(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Test whether ``methods`` stand from best to worst on every data set and measure."""

    def holds(group: Group, value: Value) -> bool:
        losses = [loss(group[name], value, test.statistic) for name in test.methods]
        return all(a < b for a, b in itertools.pairwise(losses))

    return both(test, holds, groups(test, evidence, test.methods))


def _best(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Test whether ``method`` is before all ``rivals``, or before each if they count singly."""
    if test.kind == "best":
        return before(test, evidence, [(test.method, test.rivals, "")])
    each = [(test.method, (rival,), f"before {rival}") for rival in test.rivals]
    return before(test, evidence, each)


def _advantage(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Test whether the advantage over the rivals is larger (or smaller) for some values.

    The values are data sets or measures; each of ``values`` is compared with each of the others. An
    advantage is the share by which the loss is lower than the rivals' (one minus the value where
    higher is better), averaged.
    """
    over = "metric" if {*test.values} <= {*evidence.scores} else "dataset"
    found = groups(test, evidence, [test.method, *test.rivals])
    sign = 1 if test.kind == "larger_advantage" else -1
    counts = []
    for value in (printed("mean"), measured("mean")):
        gains: dict[str, list[float]] = {}
        for group in found:
            losses = {name: _distance(row, value) for name, row in group.items()}
            mine, row = losses[test.method], group[test.method]
            gains.setdefault(getattr(row, over), []).extend(
                1 - mine / losses[name] for name in test.rivals
            )
        means = {key: statistics.fmean(values) for key, values in gains.items()}
        chosen = [key for key in test.values if key in means]
        others = [key for key in means if key not in test.values]
        failing = tuple(
            f"{a} ({100 * means[a]:.1f}%) and {b} ({100 * means[b]:.1f}%)"
            for a in chosen
            for b in others
            if not sign * means[a] > sign * means[b]
        )
        of = len(chosen) * len(others)
        counts.append(Count(of - len(failing), of, failing, datasets_of(found)))
    return counts[0], counts[1]


def _distance(row: VerdictRow, value: Value) -> float:
    found = value(row)
    assert found is not None
    return 1 - found if row.better == "higher" else found


def _at_most(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Test whether every number of a table is at most ``limit`` in size."""
    assert test.limit is not None  # so does a largest size
    rows = [r for r in evidence.rows if r.table in test.tables and r.measured is not None]
    counts = []
    for value in (printed("mean"), measured("mean")):
        sizes = [(row, abs(value(row) or 0.0)) for row in rows]
        compared = [Comparison(row.dataset, row.metric, size <= test.limit) for row, size in sizes]
        failing = [
            f"{row.dataset} {row.metric} ({size:.2g})" for row, size in sizes if size > test.limit
        ]
        counts.append(count_of(compared, failing))
    return counts[0], counts[1]


def _checks(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Compare numbers of figures and experiments with limits; all of them have to be there."""
    exceptions, missing = [], []
    checks = list(single_checks(test.checks))
    for check in checks:
        value, text = _values(check, evidence)
        low = -math.inf if check.at_least is None else check.at_least
        high = math.inf if check.at_most is None else check.at_most
        if value is None:
            missing.append(text)
        elif not low <= value <= high:
            limits = [f"at least {low:g}"] if math.isfinite(low) else []
            limits += [f"at most {high:g}"] if math.isfinite(high) else []
            exceptions.append(f"{text} is {value:.3g}, expected {' and '.join(limits)}")
    of = len(checks)
    if missing:
        return Count(0, 0), Count(0, 0, refusal=_so_far(of, exceptions, missing))
    figures = dict.fromkeys(check.figure for check in checks if check.figure)
    few = [evidence.few_folds.get(figure, "") for figure in figures]
    datasets = {check.dataset for check in checks if check.dataset}
    datasets |= {evidence.figure_datasets[f] for f in figures if f in evidence.figure_datasets}
    note = ", ".join(f"Figure {f} has {n}" for f, n in zip(figures, few, strict=True) if n)
    count = Count(of - len(exceptions), of, tuple(exceptions), frozenset(datasets), note=note)
    return Count(0, 0), count


def single_checks(checks: Iterable[Check]) -> Iterator[Check]:
    """Yield single comparisons where one line of the file stands for several."""
    for check in checks:
        yield from check.each()


def _so_far(of: int, exceptions: Sequence[str], missing: Sequence[str]) -> str:
    if len(missing) == of:
        return f"not measured: {missing[0]}" + (f", and {of - 1} more" if of > 1 else "")
    there = of - len(missing)
    failing = f" (against it: {'; '.join(exceptions)})" if exceptions else ""
    held = there - len(exceptions)
    return f"so far {held} of {there} hold{failing}; not measured: {'; '.join(missing)}"


def _values(check: Check, evidence: Evidence) -> tuple[float | None, str]:
    """Return the value of a check, or None where it was not measured, and what it is in words.

    It is a fact of an experiment, the mean of a unit, or a change between two units or points.
    """
    if check.fact:
        measured = evidence.experiments.get(check.experiment)
        return measured.facts.get(check.fact) if measured else None, check.fact
    if check.dataset:
        return _of_units(check, evidence)
    curve = evidence.curves.get(check.figure, {})
    start, end = check.start, check.to
    # Where a figure has one line, the line has no name.
    first, second = (", ".join(str(part) for part in p if part is not None) for p in (start, end))
    text = f"change in % from {first} to {second} in Figure {check.figure}"
    there = start in curve and end in curve
    return 100 * (curve[end] / curve[start] - 1) if there else None, text


def _of_units(check: Check, evidence: Evidence) -> tuple[float | None, str]:
    """Return a method's mean, or its change in percent from another method or protocol."""
    metric, (protocol, method), (before, other) = check.metric, check.judged, check.base
    mean = _mean_of_unit(protocol, method, check, evidence)
    if (other, before) == (method, protocol):
        return mean, f"{metric} of {method} on {check.dataset}"
    base = _mean_of_unit(before, other, check, evidence)
    start, end = (other, method) if before == protocol else (before, protocol)
    text = f"change in % of {metric} from {start} to {end}"
    text += f", {method}" if before != protocol else ""
    return None if mean is None or base is None else 100 * (mean / base - 1), text


def _mean_of_unit(protocol: str, method: str, check: Check, evidence: Evidence) -> float | None:
    """Return the mean of a unit; None where folds are missing."""
    scored = evidence.units.get(f"{protocol}/{check.dataset}/{method}")
    if not scored or len(scored.values(check.metric)) < len(scored.rows):
        return None
    return scored.mean(check.metric)


_TESTS: dict[str, Callable[[ClaimTest, Evidence], tuple[Count, Count]]] = {
    "order": _order,
    "best": _best,
    "best_of_each": _best,
    "larger_advantage": _advantage,
    "smaller_advantage": _advantage,
    "at_most": _at_most,
    "checks": _checks,
    "ranks": claims_significance.ranks,
    "pairs": claims_significance.pairs,
    "comparable": claims_records.comparable,
    "wins_ties_losses": claims_records.wins_ties_losses,
}

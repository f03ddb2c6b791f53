"""Sentences of a paper, tested on its printed numbers and on ours.

A test counts comparisons. A claim fails when no more than half of them come out as the paper says.
It holds when their share is at least that among the printed numbers (all, where nothing is
printed), else it holds partly. The same comparisons are counted on both sides: those measured.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldlrepro import metrics
from ldlrepro.compare.measured import Experiments
from ldlrepro.compare.verdicts import VerdictRow

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds partly", "fails", "not tested"
CLAIM_VERDICTS = (HOLDS, PARTLY, FAILS, UNTESTED)


@dataclass(frozen=True)
class ClaimRow:
    """A claim, how it was tested, and what came out."""

    paper: str
    id: str
    text: str
    verdict: str
    printed: str
    """What the printed numbers say: '83 of 90', or nothing."""
    measured: str
    """The same of ours."""
    evidence: str
    """Exceptions or values, for people; the reason where it was not tested."""


@dataclass(frozen=True)
class Count:
    """How many comparisons come out as claimed, and which do not."""

    held: int
    of: int
    exceptions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.held} of {self.of}" if self.of else ""

    @property
    def share(self) -> float:
        return self.held / self.of


@dataclass(frozen=True)
class Evidence:
    """What tests look at: verdict rows, points of figures, facts of experiments."""

    rows: Sequence[VerdictRow]
    curves: Mapping[str, Mapping[tuple[Any, Any], float]]
    """Figure number -> (line, x) -> mean of the measure."""
    experiments: Experiments


Value = Callable[[VerdictRow], float | None]


def claim_rows(
    paper: str, claims: Iterable[Mapping[str, Any]], evidence: Evidence
) -> list[ClaimRow]:
    return [_claim(paper, claim, evidence) for claim in claims]


def _claim(paper: str, claim: Mapping[str, Any], evidence: Evidence) -> ClaimRow:
    said = (paper, claim["id"], claim["text"])
    if "untested" in claim:
        return ClaimRow(*said, UNTESTED, "", "", claim["untested"])
    test = claim["test"]
    printed, measured = _TESTS[test["kind"]](test, evidence)
    if not measured.of:
        return ClaimRow(*said, UNTESTED, str(printed), "", "nothing that it speaks of was measured")
    return ClaimRow(
        *said, _verdict(printed, measured), str(printed), str(measured), _in_words(measured)
    )


def _verdict(printed: Count, measured: Count) -> str:
    asked = printed.share if printed.of else 1.0
    if measured.share <= 0.5:
        return FAILS
    return HOLDS if measured.share >= asked else PARTLY


def _in_words(measured: Count) -> str:
    if not measured.exceptions:
        return ""
    shown = "; ".join(measured.exceptions[:8])
    more = len(measured.exceptions) - 8
    return f"not: {shown}" + (f"; and {more} more" if more > 0 else "")


# ---------------------------------------------------------------------- values of cells


def _printed(statistic: str) -> Value:
    def value(row: VerdictRow) -> float | None:
        text = row.printed if statistic == "mean" else row.printed_std
        return float(text) if text else None

    return value


def _measured(statistic: str) -> Value:
    return lambda row: row.measured if statistic == "mean" else row.measured_std


def _pairs(
    test: Mapping[str, Any], evidence: Evidence, names: Sequence[str]
) -> list[dict[str, VerdictRow]]:
    """Per data set and measure the rows of the named methods, where all were measured."""
    wanted = test.get("metrics")
    groups: dict[tuple[str, ...], dict[str, VerdictRow]] = {}
    for row in evidence.rows:
        if row.method not in names or (wanted and row.metric not in wanted):
            continue
        if not wanted and row.metric not in metrics.BETTER:
            continue
        if row.table not in test.get("tables", [row.table]):
            continue
        groups.setdefault((row.table, row.dataset, row.setting, row.metric), {})[row.method] = row
    statistic = test.get("statistic", "mean")
    values = (_printed(statistic), _measured(statistic))
    return [
        group
        for group in groups.values()
        if len(group) == len(set(names))
        and all(value(row) is not None for row in group.values() for value in values)
    ]


def _loss(row: VerdictRow, value: Value, statistic: str) -> float:
    """Lower is better, whatever the measure; deviations are always better when lower."""
    found = value(row)
    assert found is not None
    return -found if row.better == "higher" and statistic == "mean" else found


def _both(
    test: Mapping[str, Any], holds: Callable[[dict[str, VerdictRow], Value], bool], pairs: Any
) -> tuple[Count, Count]:
    statistic = test.get("statistic", "mean")
    counts = []
    for value in (_printed(statistic), _measured(statistic)):
        failing = [group for group in pairs if not holds(group, value)]
        names = tuple(_pair_name(group) for group in failing)
        counts.append(Count(len(pairs) - len(failing), len(pairs), names))
    return counts[0], counts[1]


def _pair_name(group: Mapping[str, VerdictRow]) -> str:
    row = next(iter(group.values()))
    return f"{row.dataset} {row.metric}"


# ---------------------------------------------------------------------- tests


def _order(test: Mapping[str, Any], evidence: Evidence) -> tuple[Count, Count]:
    """``methods`` from best to worst on every data set and measure."""
    names, statistic = test["methods"], test.get("statistic", "mean")

    def holds(group: dict[str, VerdictRow], value: Value) -> bool:
        losses = [_loss(group[name], value, statistic) for name in names]
        return all(a < b for a, b in itertools.pairwise(losses))

    return _both(test, holds, _pairs(test, evidence, names))


def _best(test: Mapping[str, Any], evidence: Evidence) -> tuple[Count, Count]:
    """``method`` before every one of ``rivals``; 'pairs' of data set, measure and rival count."""
    statistic = test.get("statistic", "mean")
    printed, measured = [], []
    groups = [test["rivals"]] if test.get("jointly", True) else [[r] for r in test["rivals"]]
    for rivals in groups:

        def holds(
            group: dict[str, VerdictRow], value: Value, rivals: Sequence[str] = tuple(rivals)
        ) -> bool:
            mine = _loss(group[test["method"]], value, statistic)
            return all(mine < _loss(group[name], value, statistic) for name in rivals)

        pairs = _pairs(test, evidence, [test["method"], *rivals])
        on_paper, here = _both(test, holds, pairs)
        printed.append(on_paper)
        measured.append(here)
    return _sum(printed), _sum(measured)


def _sum(counts: Sequence[Count]) -> Count:
    exceptions = tuple(name for count in counts for name in count.exceptions)
    return Count(sum(c.held for c in counts), sum(c.of for c in counts), exceptions)


def _advantage(test: Mapping[str, Any], evidence: Evidence) -> tuple[Count, Count]:
    """The advantage over the rivals is larger (or smaller) for some data sets or measures.

    An advantage is the share by which the loss is lower than the rivals' (one minus the value where
    higher is better), averaged; each of ``values`` is compared with each of the others.
    """
    names = [test["method"], *test["rivals"]]
    pairs = _pairs(test, evidence, names)
    sign = 1 if test["is"] == "larger" else -1
    counts = []
    for value in (_printed("mean"), _measured("mean")):
        gains: dict[str, list[float]] = {}
        for group in pairs:
            losses = {name: _distance(row, value) for name, row in group.items()}
            mine, row = losses[test["method"]], group[test["method"]]
            gains.setdefault(getattr(row, test["over"]), []).extend(
                1 - mine / losses[name] for name in test["rivals"]
            )
        means = {key: statistics.fmean(values) for key, values in gains.items()}
        chosen = [key for key in test["values"] if key in means]
        others = [key for key in means if key not in test["values"]]
        failing = tuple(
            f"{a} ({100 * means[a]:.1f} %) and {b} ({100 * means[b]:.1f} %)"
            for a in chosen
            for b in others
            if not sign * means[a] > sign * means[b]
        )
        total = len(chosen) * len(others)
        counts.append(Count(total - len(failing), total, failing))
    return counts[0], counts[1]


def _distance(row: VerdictRow, value: Value) -> float:
    found = value(row)
    assert found is not None
    return 1 - found if row.better == "higher" else found


def _at_most(test: Mapping[str, Any], evidence: Evidence) -> tuple[Count, Count]:
    """Every number of a table is at most ``limit`` in size."""
    rows = [r for r in evidence.rows if r.table == test["table"] and r.measured is not None]
    counts = []
    for value in (_printed("mean"), _measured("mean")):
        sizes = [(row, abs(value(row) or 0.0)) for row in rows]
        failing = [
            f"{row.dataset} {row.metric} ({size:.2g})"
            for row, size in sizes
            if size > test["limit"]
        ]
        counts.append(Count(len(rows) - len(failing), len(rows), tuple(failing)))
    return counts[0], counts[1]


def _checks(test: Mapping[str, Any], evidence: Evidence) -> tuple[Count, Count]:
    """Numbers of figures and experiments compared with limits, one by one."""
    held, exceptions, found = 0, [], 0
    for check in test["checks"]:
        values = _values(check, evidence)
        if values is None:
            continue
        found += 1
        value, text = values
        low, high = check.get("at_least", -math.inf), check.get("at_most", math.inf)
        if low <= value <= high:
            held += 1
        else:
            limits = [f"at least {low:g}"] if math.isfinite(low) else []
            limits += [f"at most {high:g}"] if math.isfinite(high) else []
            exceptions.append(f"{text} is {value:.3g}, expected {' and '.join(limits)}")
    return Count(0, 0), Count(held, found, tuple(exceptions))


def _values(check: Mapping[str, Any], evidence: Evidence) -> tuple[float, str] | None:
    """A fact of an experiment, or the change between two points (line, x) of a figure."""
    if "fact" in check:
        facts = evidence.experiments.get(check["experiment"], {}).get("facts", {})
        return (facts[check["fact"]], check["fact"]) if check["fact"] in facts else None
    curve = evidence.curves.get(check["figure"], {})
    start, end = tuple(check["from"]), tuple(check["to"])
    if start not in curve or end not in curve:
        return None
    change = 100 * (curve[end] / curve[start] - 1)
    return change, f"change in % from {start} to {end} in Figure {check['figure']}"


_TESTS: dict[str, Callable[[Mapping[str, Any], Evidence], tuple[Count, Count]]] = {
    "order": _order,
    "best": _best,
    "advantage": _advantage,
    "at_most": _at_most,
    "checks": _checks,
}

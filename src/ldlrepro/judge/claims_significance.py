"""Claims about ranks over data sets and about pairs, tested for significance if asked to."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ldl.comparison.result import corrected_t
from ldlrepro.catalogue import ClaimTest
from ldlrepro.judge.comparisons import (
    Comparison,
    Count,
    Evidence,
    Losses,
    before,
    count_of,
    groups,
    measured_losses,
    name_of,
    printed_losses,
    speaks_of,
    total,
)
from ldlrepro.judge.significance import ALPHA, holm, ranking
from ldlrepro.judge.verdicts import VerdictRow


def ranks(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Test whether ``method`` has a better average rank in one measure than one of ``rivals``.

    Ranks are measured on all data sets that all of them were run on; the printed numbers count on
    those.
    """
    names = [test.method, *test.rivals]

    def name(row: VerdictRow) -> str:
        return name_of(test, row)

    rows = [row for row in evidence.rows if name(row) in names and speaks_of(test, row, evidence)]
    units = [
        unit
        for unit in evidence.units.values()
        if not test.datasets or unit.dataset in test.datasets
    ]
    on_paper, here = [], []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        losses = measured_losses(mine, name, units, test.protocol)
        complete = {dataset for dataset, found in losses.items() if set(names) <= set(found)}
        if complete:
            in_print = printed_losses((r for r in mine if r.unit_dataset in complete), name)
            on_paper.append(_ranked(test, names, metric, in_print, evidence.families))
            here.append(_ranked(test, names, metric, losses, evidence.families))
    under = [(test.protocol or row.protocol, name(row)) for row in rows if row.method_id]
    return total(on_paper), replace(total(here), note=_splits(under))


def _splits(under: Iterable[tuple[str, str]]) -> str:
    """Say on which splits methods were compared, from pairs of a protocol and a method."""
    methods: dict[str, dict[str, None]] = {}
    for protocol, name in under:
        methods.setdefault(protocol, {})[name] = None
    if len(methods) < 2:
        return "".join(f"on the splits of {protocol}" for protocol in methods)
    each = "; ".join(f"{', '.join(names)} on those of {one}" for one, names in methods.items())
    return f"not on the same splits: {each}"


def _ranked(
    test: ClaimTest,
    names: list[str],
    metric: str,
    losses: Losses,
    families: Mapping[str, str],
) -> Count:
    mine, *rivals = names
    control = mine if test.control else ""
    compared = ranking(names, losses, families, control=control, tested=test.significant)
    if not compared.ranks or (test.significant and compared.refusal):
        return Count(0, 0, refusal=compared.refusal)
    failing, held = [], []
    for rival in rivals:
        better = compared.ranks[mine] < compared.ranks[rival]
        held.append(better and (not test.significant or compared.differ(mine, rival)))
        if test.significant and not held[-1]:
            side = "" if better else "behind, "
            failing.append(f"{metric} {rival} ({side}p {compared.p.loc[mine, rival]:.2g})")
        elif not better:
            both_ranks = f"{compared.ranks[mine]:.3g} and {compared.ranks[rival]:.3g}"
            failing.append(f"{metric} {rival} (ranks {both_ranks})")
    count = count_of([Comparison("", metric, bool(one)) for one in held], failing)
    return replace(count, datasets=frozenset(compared.datasets))


def pairs(test: ClaimTest, evidence: Evidence) -> tuple[Count, Count]:
    """Test whether the first of a pair is better on one data set in one measure."""
    if test.significant:
        return Count(0, 0), _pairs_over_folds(test, evidence)
    each = [(better, (worse,), _what(test, better, worse)) for better, worse in test.pairs]
    return before(test, evidence, each)


def _what(test: ClaimTest, better: str, worse: str) -> str:
    """Return the names of a pair; '' where there is only one pair."""
    return f"{better} over {worse}" if len(test.pairs) > 1 or len(test.rivals) > 1 else ""


@dataclass(frozen=True)
class Tested:
    """Two methods on one data set in one measure, tested over their folds."""

    dataset: str
    metric: str
    what: str
    gain: float
    """Mean advantage of the first method."""
    p: float
    """Corrected for all comparisons of the measure."""

    @property
    def outcome(self) -> int:
        """Return 1 where the first is significantly better, -1 where it is worse, else 0."""
        return 0 if self.p > ALPHA else 1 if self.gain > 0 else -1


def over_folds(
    test: ClaimTest, evidence: Evidence, pairs: Iterable[Sequence[str]]
) -> tuple[list[Tested], str]:
    """Test pairs over folds, and say on which splits.

    Holm's correction runs over all comparisons of a measure.
    """
    families: dict[str, list[Tested]] = {}
    under: set[str] = set()
    for better, worse in pairs:
        for group in groups(test, evidence, [better, worse]):
            row = group[better]
            if tested := _over_folds(row, group[worse], evidence, test.protocol):
                under.add(test.protocol or row.protocol)
                what = f"{row.dataset} {row.metric} {_what(test, better, worse)}".rstrip()
                found = Tested(row.dataset, row.metric, what, *tested)
                families.setdefault(row.metric, []).append(found)
    corrected = [
        replace(one, p=p)
        for family in families.values()
        for one, p in zip(family, holm([one.p for one in family]), strict=True)
    ]
    return corrected, "on the splits of " + ", ".join(sorted(under))


def _pairs_over_folds(test: ClaimTest, evidence: Evidence) -> Count:
    """Count the pairs whose first method is significantly better over folds."""
    tested, splits = over_folds(test, evidence, test.pairs)
    compared = [Comparison(one.dataset, one.metric, one.outcome == 1) for one in tested]
    failing = [
        f"{one.what} ({'' if one.gain > 0 else 'behind, '}p {one.p:.2g})"
        for one in tested
        if one.outcome != 1
    ]
    return replace(count_of(compared, failing), note=splits)


def _over_folds(
    better: VerdictRow, worse: VerdictRow, evidence: Evidence, protocol: str
) -> tuple[float, float] | None:
    """Return the mean gain of one over the other and its p, where both ran on the same folds."""
    one, other = (
        evidence.units.get(row.key_under(protocol or row.protocol)) for row in (better, worse)
    )
    if one is None or other is None or one.protocol != other.protocol:
        return None
    mine, theirs = one.by_fold(better.metric), other.by_fold(better.metric)
    folds = mine.keys() & theirs.keys()
    shared = [row for row in one.rows if (row.repeat, row.fold) in folds]
    if len(shared) < 2:
        return None
    sign = 1 if better.better == "higher" else -1
    gains = [sign * (mine[r.repeat, r.fold] - theirs[r.repeat, r.fold]) for r in shared]
    n_train = statistics.fmean(row.n_train for row in shared)
    n_test = statistics.fmean(row.n_test for row in shared)
    return statistics.fmean(gains), corrected_t(gains, n_train, n_test)

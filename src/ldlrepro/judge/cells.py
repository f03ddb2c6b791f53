"""Puts the measured number beside each printed one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ldlrepro.catalogue import Paper
from ldlrepro.catalogue.papers import Misprint
from ldlrepro.judge import measures
from ldlrepro.judge.chosen import by_print
from ldlrepro.judge.experiment_cells import YARDSTICK, Experiments, MeasuredBy, Numbers
from ldlrepro.judge.misses import with_reasons
from ldlrepro.judge.reference import same_bits
from ldlrepro.judge.scores import (
    LOCAL,
    Sources,
    UnitScores,
    expected_folds,
    unavailable_reason,
)
from ldlrepro.judge.verdicts import (
    MISPRINT,
    NOT_RUN,
    QUOTED,
    VerdictRow,
    band,
    difference,
    judge,
    std_off,
    tells_apart,
)
from ldlrepro.plan import Cell, Plan, Unit, is_quoted
from ldlrepro.plan.printed import TIMES, Row, cell_key
from ldlrepro.train.records import FAILED, last_line

TRAIN_MEAN, FOREST = "train_mean", "rf_reg"
"""Methods whose verdict in a cell shows whether that verdict could have failed."""
RANDOM_WEIGHTS = (
    "a trial: its network began from random weights, so no number of the paper is judged"
)


def verdict_rows(
    plan: Plan, paper: Paper, sources: Sources, experiments: Experiments | None = None
) -> list[VerdictRow]:
    """Return a verdict for every printed number of a paper, in printed order."""
    cells = _Cells(plan, paper, sources, MeasuredBy(plan, paper, sources, experiments or {}))
    return with_reasons([cells.verdict(cell) for cell in plan.cells(paper)], paper)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a paper, and all that was measured for them."""

    plan: Plan
    paper: Paper
    sources: Sources
    others: MeasuredBy
    """Numbers that are no scores."""

    @cached_property
    def scores(self) -> Mapping[str, str]:
        """Return the measures that score distributions or ages."""
        return measures.directions(self.plan.project)

    @cached_property
    def misprints(self) -> Mapping[tuple[str, ...], Misprint]:
        return {cell_key(vars(entry)): entry for entry in self.paper.misprints}

    def verdict(self, cell: Cell) -> VerdictRow:
        """Judge a cell."""
        printed, row = cell.row, self._printed(cell)
        wrong = self.misprints.get(cell_key(printed))
        scored = self.sources.best(cell.unit) if cell.unit else None
        found = self._measured(cell, scored) if scored else self.others.of(cell)
        std = wrong.std_reads if wrong and wrong.std_reads else self._deviation(printed)
        if found:
            row = replace(
                row,
                measured=found.mean,
                measured_std=found.std,
                n_folds=found.n_folds,
                expected_folds=found.expected_folds,
                source=found.source,
                same_bits=found.same_bits,
                band=band(printed["mean"], std, found.std),
                difference=difference(found.mean, printed["mean"]),
            )
        if wrong and not wrong.std_reads:
            return replace(row, verdict=MISPRINT, reason=wrong.proof)
        if reason := self._quoted(cell):
            return replace(row, verdict=QUOTED, reason=reason)
        if reason := self._why_not_judged(cell, scored, found):
            return replace(row, verdict=NOT_RUN, reason=reason)
        assert found is not None
        assert row.band is not None
        verdict = judge(found.mean, printed["mean"], row.band, printed["better"])
        whole = found.n_folds == found.expected_folds
        return self._with_yardsticks(
            replace(
                row,
                verdict=verdict,
                std_off=std_off(found.std, std) if whole else None,
                by_print=by_print(cell, self.paper),
                other_settings=bool(scored and cell.unit and _of_other_settings(cell.unit, scored)),
            ),
            cell,
            std,
        )

    def _printed(self, cell: Cell) -> VerdictRow:
        """Return what a verdict says of the print, and of the unit that stands for it."""
        row, unit = cell.row, cell.unit
        notes = [cell.note, row["note"], self.others.note(cell)]
        if self._prints_variance(row):
            notes.append("what is printed as a standard deviation is a variance")
        return VerdictRow(
            paper=row["paper"],
            table=row["table"],
            dataset=row["dataset"],
            setting=row["setting"],
            method=row["method"],
            metric=row["metric"],
            printed=row["mean"],
            printed_std=row["std"],
            better=row["better"],
            verdict=NOT_RUN,
            protocol=unit.protocol.id if unit else "",
            method_id=unit.method.id if unit else "",
            unit_dataset=unit.data_set.id if unit else "",
            note="; ".join(filter(None, notes)),
        )

    def _prints_variance(self, row: Row) -> bool:
        return bool(row["std"]) and self.paper.spread == "variance"

    def _deviation(self, row: Row) -> str:
        """Return the printed standard deviation, or the root of a printed variance above zero."""
        if not self._prints_variance(row):
            return row["std"]
        return f"{math.sqrt(float(row['std'])):.3f}" if float(row["std"]) else ""

    def _quoted(self, cell: Cell) -> str:
        """Return where the paper takes a number from, stated or shown; '' for its own."""
        if is_quoted(cell.row):
            return f"the paper takes it from {quoted_source(self.paper, cell.row['quoted_from'])}"
        return cell.copied

    def _why_not_judged(self, cell: Cell, scored: UnitScores | None, found: Numbers | None) -> str:
        """Say why nothing was measured, or why what was is no verdict; '' where it is."""
        if not found:
            return self.others.why_not(cell) if cell.experiment else _why_not(cell, scored)
        if self.others.is_yardstick(cell):
            return YARDSTICK
        return RANDOM_WEIGHTS if scored and self._began_from_nothing(scored) else ""

    def _began_from_nothing(self, scored: UnitScores) -> bool:
        features = self.plan.project.data_set(scored.dataset).features
        trials = [row for row in scored.rows if row.params.get("random_weights")]
        return bool(trials) or (features is not None and features.random_weights is not None)

    def _with_yardsticks(self, row: VerdictRow, cell: Cell, std: str) -> VerdictRow:
        """Add the verdicts of methods that know nothing, or little, in the same cell."""
        if cell.unit is None or cell.base is not None or row.metric not in self.scores:
            return row
        is_forest = cell.unit.method.forest
        found = dict.fromkeys((TRAIN_MEAN, FOREST) if is_forest else (TRAIN_MEAN,), "")
        for name in found:
            unit = replace(cell.unit, method=self.plan.project.method(name))
            scored = self.sources.best(unit)
            values = scored.values(row.metric) if scored else []
            if scored and values:
                mean, own = _mean_and_std(scored, values)
                found[name] = judge(mean, row.printed, band(row.printed, std, own), row.better)
        return replace(
            row,
            train_mean=found[TRAIN_MEAN],
            forest=found.get(FOREST, ""),
            discriminates=tells_apart(row.verdict, found.values()),
        )

    def _measured(self, cell: Cell, scored: UnitScores) -> Numbers | None:
        metric = cell.row["metric"]
        if metric in TIMES:
            values = self.others.seconds(cell, scored)
        elif cell.base is None:
            values = scored.values(metric)
        else:
            values = _differences(metric, scored, self.sources.best(cell.base))
        if not values or cell.unit is None:
            return None
        theirs = self.sources.reference.get(scored.key)
        mean, std = _mean_and_std(scored, values)
        return Numbers(
            mean,
            std,
            n_folds=len(values),
            expected_folds=expected_folds(cell.unit, scored),
            source=scored.source,
            same_bits=same_bits(scored, theirs) if scored.source == LOCAL else "",
        )


def quoted_source(paper: Paper, quoted_from: str) -> str:
    """Return '[18] Han et al., 2015 (read from CS curve)' for '[18] *read from CS curve'."""
    number, _, remark = quoted_from.partition(" *")
    named = paper.references.get(number.strip("[]"), "")
    return f"{number} {named}".rstrip() + (f" ({remark})" if remark else "")


def _of_other_settings(unit: Unit, scored: UnitScores) -> bool:
    """Tell whether the method's settings have changed since the record was made."""
    return scored.rows[0].spec_sha256 not in ("", unit.spec_sha256)


def _mean_and_std(scored: UnitScores, values: Sequence[float]) -> tuple[float, float | None]:
    if scored.over_rows and len(values) == len(scored.rows):
        # The standard deviation over folds of very different sizes says nothing about this mean.
        return statistics.fmean(values, [row.n_test for row in scored.rows]), None
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


def _differences(metric: str, scored: UnitScores, other: UnitScores | None) -> list[float]:
    """Return differences to the other method on the same folds, fold by fold."""
    metric = metric.removeprefix("delta_")
    mine, theirs = scored.values(metric), other.values(metric) if other else []
    return [a - b for a, b in zip(mine, theirs, strict=True)] if len(mine) == len(theirs) else []


def _why_not(cell: Cell, scored: UnitScores | None) -> str:
    if cell.skip or cell.unit is None:
        return cell.skip
    if scored is not None:
        if reason := unavailable_reason(scored):
            return reason
        failed = [row for row in scored.rows if row.status == FAILED]
        if failed:
            return f"failed: {last_line(failed[0].error)}"
        if cell.row["metric"] in TIMES:
            return (
                "no time to compare it with: `compared_to` of the table, run on the same kind of "
                "processor by the same code"
            )
        return f"no measure of this kind yet: {cell.row['metric']}"
    data_set = cell.unit.data_set
    if not data_set.is_drawn and not any(file.urls for file in data_set.files):
        return f"data not available: {(data_set.how_to_get or 'no public source').strip()}"
    return f"not run yet: snakemake --cores all {cell.unit.protocol.paper}"

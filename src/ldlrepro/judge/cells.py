"""Puts the measured number beside each printed one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ldlrepro import config, plan
from ldlrepro.judge import measures
from ldlrepro.judge.chosen import by_print
from ldlrepro.judge.experiment_cells import YARDSTICK, Experiments, MeasuredBy
from ldlrepro.judge.misses import with_reasons
from ldlrepro.judge.reference import same_bits
from ldlrepro.judge.scores import (
    LOCAL,
    Units,
    UnitScores,
    best_source,
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
from ldlrepro.plan.printed import TIMES, cell_key
from ldlrepro.train.records import FAILED, last_line

TRAIN_MEAN, FOREST = "train_mean", "rf_reg"
"""Methods whose verdict in a cell shows whether that verdict could have failed."""
RANDOM_WEIGHTS = (
    "a trial: its network began from random weights, so no number of the paper is judged"
)


def verdict_rows(
    paper: str, local: Units, reference: Units, experiments: Experiments | None = None
) -> list[VerdictRow]:
    """Return a verdict for every printed number of a paper, in printed order."""
    misprints = _misprints(paper)
    measured = MeasuredBy(paper, experiments or {})
    rows = [_verdict(cell, local, reference, measured, misprints) for cell in plan.cells(paper)]
    return with_reasons(rows, paper)


def _verdict(
    cell: plan.Cell,
    local: Units,
    reference: Units,
    experiments: MeasuredBy,
    misprints: Mapping[tuple[str, ...], dict[str, Any]],
) -> VerdictRow:
    row = cell.row
    wrong = misprints.get(cell_key(row), {})
    base = _printed(cell, experiments)
    scored = best_source(cell.unit, local, reference) if cell.unit else None
    measured = (
        _measured(cell, scored, local, reference, experiments) if scored else experiments.of(cell)
    )
    std = wrong.get("std_reads") or _as_deviation(row)
    if measured:
        width = band(row["mean"], std, measured["measured_std"])
        measured |= {
            "band": width,
            "difference": difference(measured["measured"], row["mean"]),
        }
    if wrong and "std_reads" not in wrong:
        return VerdictRow(**base, **measured, verdict=MISPRINT, reason=wrong["proof"])
    if reason := _quoted(cell):
        return VerdictRow(**base, **measured, verdict=QUOTED, reason=reason)
    if measured and experiments.is_yardstick(cell):
        return VerdictRow(**base, **measured, verdict=NOT_RUN, reason=YARDSTICK)
    if not measured:
        reason = experiments.why_not(cell) if cell.experiment else _why_not(cell, scored)
        return VerdictRow(**base, verdict=NOT_RUN, reason=reason)
    if scored and _began_from_nothing(scored):
        return VerdictRow(**base, **measured, verdict=NOT_RUN, reason=RANDOM_WEIGHTS)
    verdict = judge(measured["measured"], row["mean"], width, row["better"])
    complete = measured["n_folds"] == measured["expected_folds"]
    return VerdictRow(
        **base,
        **measured,
        **_yardsticks(cell, std, verdict, local, reference),
        verdict=verdict,
        std_off=std_off(measured["measured_std"], std) if complete else None,
        by_print=by_print(cell),
        other_settings=bool(scored and cell.unit and _of_other_settings(cell.unit, scored)),
    )


def _printed(cell: plan.Cell, experiments: MeasuredBy) -> dict[str, Any]:
    """Return what a verdict says of the print, and of the unit that stands for it."""
    row = cell.row
    notes = [cell.note, row["note"], experiments.note(cell), _spread_note(row)]
    base: dict[str, Any] = {
        "paper": row["paper"],
        "table": row["table"],
        "dataset": row["dataset"],
        "setting": row["setting"],
        "method": row["method"],
        "metric": row["metric"],
        "printed": row["mean"],
        "printed_std": row["std"],
        "better": row["better"],
        "note": "; ".join(filter(None, notes)),
    }
    if cell.unit is not None:
        base |= {
            "protocol": cell.unit.protocol.id,
            "method_id": cell.unit.method.id,
            "unit_dataset": cell.unit.data_set.id,
        }
    return base


def _prints_variances(row: Mapping[str, str]) -> bool:
    return bool(row["std"]) and _spread(row["paper"]) == "variance"


@cache
def _spread(paper: str) -> str:
    return str(config.load_paper(paper)["spread"])


def _spread_note(row: Mapping[str, str]) -> str:
    return "what is printed as a standard deviation is a variance" if _prints_variances(row) else ""


def _as_deviation(row: Mapping[str, str]) -> str:
    """Return the printed standard deviation, or the root of a printed variance above zero."""
    if not _prints_variances(row):
        return row["std"]
    return f"{math.sqrt(float(row['std'])):.3f}" if float(row["std"]) else ""


def _of_other_settings(unit: plan.Unit, scored: UnitScores) -> bool:
    """Tell whether the method's settings have changed since the record was made."""
    return scored.rows[0].spec_sha256 not in ("", unit.spec_sha256)


def _quoted(cell: plan.Cell) -> str:
    """Return where the paper takes a number from, stated or shown; '' for its own."""
    if plan.is_quoted(cell.row):
        return f"the paper takes it from {_source(cell.row['paper'], cell.row['quoted_from'])}"
    return cell.copied


def _source(paper: str, quoted_from: str) -> str:
    """Return '[18] Han et al., 2015 (read from CS curve)' for '[18] *read from CS curve'."""
    number, _, remark = quoted_from.partition(" *")
    named = config.load_paper(paper)["references"].get(number.strip("[]"), "")
    return f"{number} {named}".rstrip() + (f" ({remark})" if remark else "")


def _yardsticks(
    cell: plan.Cell, std: str, verdict: str, local: Units, reference: Units
) -> dict[str, Any]:
    """Return the verdicts of methods that know nothing, or little, in the same cell."""
    row = cell.row
    is_score = row["metric"] in measures.directions()
    if cell.unit is None or cell.base is not None or not is_score:
        return {}
    is_forest = cell.unit.method.forest
    found = dict.fromkeys((TRAIN_MEAN, FOREST) if is_forest else (TRAIN_MEAN,), "")
    for name in found:
        scored = best_source(
            replace(cell.unit, method=config.current().method(name)), local, reference
        )
        values = scored.values(row["metric"]) if scored else []
        if scored and values:
            mean, own = _mean_and_std(scored, values)
            found[name] = judge(mean, row["mean"], band(row["mean"], std, own), row["better"])
    return {
        "train_mean": found[TRAIN_MEAN],
        "forest": found.get(FOREST, ""),
        "discriminates": tells_apart(verdict, found.values()),
    }


def _measured(
    cell: plan.Cell,
    scored: UnitScores,
    local: Units,
    reference: Units,
    experiments: MeasuredBy,
) -> dict[str, Any]:
    if cell.row["metric"] in TIMES:
        values = experiments.seconds(cell, scored, local, reference)
    elif cell.base is None:
        values = scored.values(cell.row["metric"])
    else:
        values = _differences(cell, scored, best_source(cell.base, local, reference))
    if not values or cell.unit is None:
        return {}
    bits = same_bits(scored, reference.get(scored.key)) if scored.source == LOCAL else ""
    mean, std = _mean_and_std(scored, values)
    return {
        "measured": mean,
        "measured_std": std,
        "n_folds": len(values),
        "expected_folds": expected_folds(cell.unit, scored),
        "source": scored.source,
        "same_bits": bits,
    }


def _mean_and_std(scored: UnitScores, values: Sequence[float]) -> tuple[float, float | None]:
    if scored.over_rows and len(values) == len(scored.rows):
        # The standard deviation over folds of very different sizes says nothing about this mean.
        return statistics.fmean(values, [row.n_test for row in scored.rows]), None
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


def _began_from_nothing(scored: UnitScores) -> bool:
    features = config.current().data_set(scored.dataset).features
    trials = [row for row in scored.rows if row.params.get("random_weights")]
    return bool(trials) or (features is not None and features.random_weights is not None)


def _differences(cell: plan.Cell, scored: UnitScores, other: UnitScores | None) -> list[float]:
    """Return differences to the other method on the same folds, fold by fold."""
    metric = cell.row["metric"].removeprefix("delta_")
    mine, theirs = scored.values(metric), other.values(metric) if other else []
    return [a - b for a, b in zip(mine, theirs, strict=True)] if len(mine) == len(theirs) else []


def _why_not(cell: plan.Cell, scored: UnitScores | None) -> str:
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


def _misprints(paper: str) -> dict[tuple[str, ...], dict[str, Any]]:
    entries = config.load_paper(paper).get("misprints", [])
    return {cell_key({"setting": "", **entry}): entry for entry in entries}

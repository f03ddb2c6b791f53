"""Puts the measured number beside each printed one."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ldlrepro.catalogue import DataSet, Method, Paper
from ldlrepro.catalogue.papers import Misprint
from ldlrepro.judge import measures
from ldlrepro.judge.bands import SeedNoise
from ldlrepro.judge.deviations import over_repeats, printed_over
from ldlrepro.judge.evidence import Choice, Readings, looks, readings_of
from ldlrepro.judge.experiment_cells import YARDSTICK, Experiments, MeasuredBy, Numbers
from ldlrepro.judge.misses import with_reasons
from ldlrepro.judge.reference import same_bits
from ldlrepro.judge.scores import (
    LOCAL,
    Sources,
    UnitScores,
    expected_folds,
)
from ldlrepro.judge.verdicts import (
    BLIND,
    FITTED,
    JUDGED,
    MEAN,
    MET,
    MISPRINT,
    NOT_RUN,
    PREDICTED,
    QUOTED,
    SAME,
    VerdictRow,
    band,
    difference,
    half_unit,
    judge,
)
from ldlrepro.plan import Cell, Plan, Unit, is_quoted
from ldlrepro.plan.printed import TIMES, cell_key, printed_deviation

TRAIN_MEAN = "train_mean"
YARDSTICKS = {MEAN: TRAIN_MEAN, "the uniform distribution": "uniform"}
"""Methods whose verdict in a cell shows whether that verdict could have failed."""
FOREST = {"an ordinary forest": "rf_reg"}
"""The same for forests. For other methods its verdict is shown only."""
NOT_AS_STATED = "a reading, for the paper as stated was not measured here"
RANDOM_WEIGHTS = (
    "a trial: its network began from random weights, so no number of the paper is judged"
)


def verdict_rows(
    plan: Plan,
    paper: Paper,
    sources: Sources,
    noise: SeedNoise,
    experiments: Experiments | None = None,
) -> list[VerdictRow]:
    """Return a verdict for every printed number of a paper, in printed order."""
    measured = MeasuredBy(plan, paper, sources, experiments or {})
    cells = _Cells(plan, paper, sources, noise, measured)
    return with_reasons([cells.verdict(cell) for cell in plan.cells(paper)], paper)


def rows_for_claims(
    plan: Plan, paper: Paper, sources: Sources, noise: SeedNoise, rows: Sequence[VerdictRow]
) -> list[VerdictRow]:
    """Return the cells that sentences are tested on: the paper as stated.

    Where one of its methods was not run so, folds of two kinds would be compared. Then all methods
    are taken under the paper's main protocol.
    """
    both = list(zip(plan.cells(paper), rows, strict=True))
    if all(cell.unit is None or row.as_stated.unit_key == cell.unit.key for cell, row in both):
        return [row.as_stated for row in rows]
    cells = _Cells(plan, paper, sources, noise, MeasuredBy(plan, paper, sources, {}))
    found = []
    for cell, row in both:
        main = [u for u in readings_of(cell) if u.protocol.id == paper.main_protocol.id]
        found.append(cells._under(replace(cell, unit=main[0])) if cell.others and main else row)
    return found


def rows_on_judging_folds(
    plan: Plan, paper: Paper, sources: Sources, noise: SeedNoise, rows: Sequence[VerdictRow]
) -> list[VerdictRow]:
    """Return the cells by the readings that judge them, all of a data set on the same folds.

    These are the folds by which most of its numbers are judged. Another cell is taken under its
    first reading on these folds, and left out where it was not run so.
    """
    cells = _Cells(plan, paper, sources, noise, MeasuredBy(plan, paper, sources, {}))
    kinds: dict[str, Counter[str]] = {}
    for row in rows:
        if row.verdict in JUDGED:
            kinds.setdefault(row.dataset, Counter())[row.protocol] += 1
    found = []
    for cell, row in zip(plan.cells(paper), rows, strict=True):
        (folds, _), *others = kinds.get(row.dataset, Counter({row.protocol: 1})).most_common()
        if row.protocol == folds or not others or row.measured is None:
            found.append(row)
            continue
        same = [u for u in readings_of(cell) if u.protocol.id == folds] if cell.others else []
        under = (cells._under(replace(cell, unit=unit)) for unit in same)
        ran = next((one for one in under if one.measured is not None), None)
        found.append(ran or replace(row, measured=None, verdict=NOT_RUN))
    return found


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a paper, and all that was measured for them."""

    plan: Plan
    paper: Paper
    sources: Sources
    noise: SeedNoise
    others: MeasuredBy
    """Numbers that are no scores."""

    @cached_property
    def scores(self) -> Mapping[str, str]:
        """Return the measures that score distributions or ages."""
        return measures.directions(self.plan.project)

    @cached_property
    def misprints(self) -> Mapping[tuple[str, ...], Misprint]:
        return {cell_key(vars(entry)): entry for entry in self.paper.misprints}

    @cached_property
    def labels_alone(self) -> Mapping[str, DataSet]:
        """Return data sets of labels, by the id of the data set that has the features."""
        return {one.labels_of: one for one in self.plan.project.data_sets if one.labels_of}

    @cached_property
    def readings(self) -> Readings:
        return Readings(self.plan, self.paper, self.sources, self.noise)

    # ------------------------------------------------------------------ verdicts

    def verdict(self, cell: Cell) -> VerdictRow:
        """Judge a cell by the reading that other data sets choose, else as the paper states it."""
        stated = self._with_evidence(self._under(cell), cell)
        stated = replace(stated, holds_by_text=stated.holds and stated.evidence == BLIND)
        if cell.others and stated.measured is None:
            return self._by_any_reading(stated, cell)
        choice = self.readings.choose(cell) if cell.others and stated.verdict in JUDGED else None
        chosen = self._under(replace(cell, unit=choice.unit)) if choice else stated
        if choice is None or chosen.verdict not in JUDGED:
            return stated
        verdict = self._under(replace(cell, unit=choice.runner_up)).verdict
        row = replace(
            chosen,
            stated=None if choice.unit == cell.unit else stated,
            holds_by_text=stated.holds_by_text,
            choice=choice.words(verdict),
            hinges=not choice.certain and verdict not in MET,
        )
        return self._with_evidence(row, cell, choice)

    def _by_any_reading(self, stated: VerdictRow, cell: Cell) -> VerdictRow:
        """Judge a cell by the first reading that was measured, where it is not the stated one."""
        for unit in cell.others:
            row = self._under(replace(cell, unit=unit))
            if row.verdict in JUDGED:
                fitted = row.verdict in MET
                found = self._looks(replace(cell, unit=unit, others=()))
                return replace(
                    row,
                    evidence=FITTED if fitted else "",
                    rests_on="; ".join([NOT_AS_STATED, *_own(found)]) if fitted else "",
                )
        return stated

    def _with_evidence(
        self, row: VerdictRow, cell: Cell, choice: Choice | None = None
    ) -> VerdictRow:
        """Say what the print had a say in, where the number is met."""
        if row.verdict not in MET:
            return row
        judged = replace(cell, others=())
        if choice:
            judged = replace(cell, unit=choice.unit, others=readings_of(cell))
        found = self._looks(judged)
        if own := _own(found):
            return replace(row, evidence=FITTED, rests_on="; ".join(own))
        return replace(row, evidence=PREDICTED if choice or found else BLIND)

    def _looks(self, cell: Cell) -> dict[str, bool]:
        return looks(self.paper, cell, self.plan.project.families)

    def _under(self, cell: Cell) -> VerdictRow:
        """Judge a cell by its unit."""
        printed, row = cell.row, self._printed(cell)
        wrong = self.misprints.get(cell_key(printed))
        scored = self.sources.best(cell.unit) if cell.unit else None
        found = self._measured(cell, scored) if scored else self.others.of(cell)
        std = (
            wrong.std_reads if wrong and wrong.std_reads else printed_deviation(self.paper, printed)
        )
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
                noise=self._noise(cell, found),
                difference=difference(found.mean, printed["mean"]),
            )
        if wrong and not wrong.std_reads:
            return replace(row, verdict=MISPRINT, reason=wrong.proof)
        if reason := self._quoted(cell):
            return replace(row, verdict=QUOTED, reason=reason)
        if reason := self._why_not_judged(cell, scored, found):
            off = None if reason == YARDSTICK else row.difference  # it is scaled to the print
            return replace(row, verdict=NOT_RUN, reason=reason, difference=off)
        row = self._over_seeds(row, cell)
        changed = bool(scored and cell.unit and _of_other_settings(cell.unit, scored))
        row = replace(row, verdict=_judged(row, row.measured), other_settings=changed)
        row = self._with_spread(row, cell, scored, std)
        return self._with_yardsticks(row, cell, std)

    def _with_spread(
        self, row: VerdictRow, cell: Cell, scored: UnitScores | None, printed: str
    ) -> VerdictRow:
        """Say what a printed deviation is over; nothing is known of seconds and differences."""
        if not (scored and cell.unit and cell.base is None and row.metric in self.scores):
            return row
        repeats = over_repeats(cell.unit, scored, row.metric, row.measured_std, self.noise)
        return replace(
            row,
            repeats_std=repeats.value if repeats else None,
            std_over=printed_over(printed, row.measured_std, row.n_folds, repeats),
        )

    def _noise(self, cell: Cell, found: Numbers) -> float:
        """Return what another seed changes in a measured mean; nothing is known of seconds."""
        metric = cell.row["metric"].removeprefix("delta_")
        if cell.unit is None or metric not in self.scores:
            return 0.0
        return self.noise.std(cell.unit, metric, found.std)

    def _over_seeds(self, row: VerdictRow, cell: Cell) -> VerdictRow:
        """Take the mean over seeds where the method draws and was repeated with other seeds."""
        unit = cell.unit
        if unit is None or cell.base is not None or row.metric not in self.scores:
            return row
        band = self.noise.band(unit, row.metric)
        if band is None or not unit.method.draws:
            return row
        mean = statistics.fmean(band.means)
        off = difference(mean, row.printed)
        row = replace(row, measured=mean, measured_std=band.fold_std, difference=off)
        met = sum(_judged(row, one) in MET for one in band.means)
        return replace(row, seeds=len(band.means), seeds_met=met / len(band.means))

    def _printed(self, cell: Cell) -> VerdictRow:
        """Return what a verdict says of the print, and of the unit that stands for it."""
        row, unit = cell.row, cell.unit
        notes = [cell.note, row["note"], self.others.note(cell), self._floor(cell)]
        if row["std"] and self.paper.spread == "variance":
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

    def _floor(self, cell: Cell) -> str:
        """Say what the training mean scores, where only the labels of a data set can be had."""
        printed, unit = cell.row["mean"], cell.unit
        labels = self.labels_alone.get(unit.data_set.id) if unit else None
        if unit is None or labels is None or not printed:
            return ""
        mean_of_labels = self.plan.project.method(TRAIN_MEAN)
        scored = self.sources.best(replace(unit, data_set=labels, method=mean_of_labels))
        floor = scored.mean(cell.row["metric"]) if scored else None
        if floor is None:
            return ""
        gap = (float(printed) - floor) * (-1 if cell.row["better"] == "higher" else 1)
        known_to = max(half_unit(printed), SAME * abs(floor))
        worse = ", and the printed number is worse" if gap > known_to else ""
        return f"floor by labels: the training mean has {floor:.4f}{worse}"

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
        unit = cell.unit
        if unit is None or cell.base is not None or row.metric not in self.scores:
            return row
        inside = self._wrapped_by(unit.method)
        asked = {**YARDSTICKS, **({inside.title: inside.id} if inside else {})}
        beside = dict(FOREST)
        if any("forest" in method.roles for method in (unit.method, inside) if method):
            asked, beside = asked | beside, {}
        found = {
            name: self._verdict_of(row, replace(unit, method=self.plan.project.method(id)), std)
            for name, id in {**asked, **beside}.items()
        }
        return replace(
            row,
            yardsticks={name: found[name][0] for name in asked},
            not_asked={name: found[name][0] for name in beside if found[name][0]},
            ahead=[name for name in asked if found[name][1]],
        )

    def _wrapped_by(self, method: Method) -> Method | None:
        """Return the method of this paper that a method trains inside; None where it has none."""
        parameters = method.parameters
        settings = parameters.get("settings", {})
        known = [
            self.plan.project.method(p.method) for p in self.paper.methods.values() if p.method
        ]
        return max(
            (other for other in known if other.class_path == parameters.get("estimator")),
            key=lambda other: sum(other.parameters.get(k) == settings[k] for k in settings),
            default=None,
        )

    def _verdict_of(self, row: VerdictRow, unit: Unit, std: str) -> tuple[str, bool]:
        """Return the verdict of a simpler answer in a cell, and whether it beats the method.

        It has no less room than the method. '' without a record.
        """
        scored = self.sources.best(unit)
        values = scored.values(row.metric) if scored else []
        if not (scored and values):
            return "", False
        mean, own = scored.mean_and_std(values)
        noise = max(row.noise, self.noise.std(unit, row.metric, own))
        verdict = judge(mean, row.printed, noise, band(row.printed, std, own), row.better)
        sign = {"lower": 1, "higher": -1}.get(row.better, 0)
        return verdict, row.measured is not None and sign * mean < sign * row.measured

    def _measured(self, cell: Cell, scored: UnitScores) -> Numbers | None:
        metric = cell.row["metric"]
        if metric in TIMES:
            values = self.others.seconds(cell, scored)
        elif cell.base is None:
            values = scored.values(metric)
        else:
            values = scored.differences(self.sources.best(cell.base), metric)
        if not values or cell.unit is None:
            return None
        theirs = self.sources.reference.get(scored.key)
        mean, std = scored.mean_and_std(values)
        return Numbers(
            mean,
            std,
            n_folds=len(values),
            expected_folds=expected_folds(cell.unit, scored),
            source=scored.source,
            same_bits=same_bits(scored, theirs) if scored.source == LOCAL else "",
        )


def _own(found: Mapping[str, bool]) -> list[str]:
    """Return the looks at a cell's own data set."""
    return [look for look, own in found.items() if own]


def _judged(row: VerdictRow, measured: float | None) -> str:
    """Return the verdict of a number in place of a row's."""
    assert measured is not None
    assert row.band is not None
    return judge(measured, row.printed, row.noise, row.band, row.better)


def quoted_source(paper: Paper, quoted_from: str) -> str:
    """Return '[18] Han et al., 2015 (read from CS curve)' for '[18] *read from CS curve'."""
    number, _, remark = quoted_from.partition(" *")
    named = paper.references.get(number.strip("[]"), "")
    return f"{number} {named}".rstrip() + (f" ({remark})" if remark else "")


def _of_other_settings(unit: Unit, scored: UnitScores) -> bool:
    """Tell whether the method's settings have changed since the record was made."""
    return scored.rows[0].spec_sha256 not in ("", unit.spec_sha256)


def _why_not(cell: Cell, scored: UnitScores | None) -> str:
    if cell.skip or cell.unit is None:
        return cell.skip
    if scored is not None:
        if reason := scored.trouble:
            return reason
        if cell.row["metric"] in TIMES:
            return (
                "no time to compare it with: `compared_to` of the table, run on the same kind of "
                "processor by the same code"
            )
        return f"no measure of this kind yet: {cell.row['metric']}"
    data_set = cell.unit.data_set
    local = data_set.is_drawn or data_set.is_own  # an own file has its data beside it
    told = data_set.how_to_get.strip()
    if not local and (told or not any(file.urls for file in data_set.files)):
        return f"data not available: {told or 'no public source'}"
    return f"not run yet: snakemake --cores all {cell.unit.protocol.paper}"

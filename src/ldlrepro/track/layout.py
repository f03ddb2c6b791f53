"""The content of an MLflow run, worked out from a record without asking MLflow.

Names are the same for every method, so that a column of the run table compares like with like.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue.claims import KINDS
from ldlrepro.core.errors import UserError
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.judge.verdicts import JUDGED, VerdictRow, percent
from ldlrepro.plan.planning import CONTROLS
from ldlrepro.train.long_training import FoldName, parse_rows
from ldlrepro.train.records import FAILED, OK, UNAVAILABLE, FoldRow

LAYOUT = 15
"""Part of every content hash: raise it when names or meanings below change, and all is resent."""

PROVENANCE = ("data", "folds", "spec", "code", "lock")
NOT_SHOWN = {"random_state", "n_jobs"}
"""Seeds of the folds, and threads, which change no bit: they say nothing of a method."""
LONGEST_PARAM, LONGEST_TAG = 6000, 8000
DIGITS, DECIMALS = 6, 12
"""Significant digits of a metric, and the decimals where rounding noise begins."""
MEAN_DIGITS, DEVIATION_DIGITS = 4, 3
"""Significant digits of what a run table shows."""
SMALL = 0.01
"""Mean below which four decimals say too little."""
CURVE_POINTS = 250
"""Points kept of one curve; a server holds the curves of hundreds of folds."""
VIEW_TAG = "mlflow.sharedViewState."
"""Where MLflow's run table keeps saved views, as the page itself writes them."""
FIRST_VIEW_TAG = "mlflow.ldlrepro.firstView"
"""The view of an experiment that a reader sees first. The list hides tags with this beginning."""
AGE_WIDTH, LEAST_WIDTH = 130, 85
WIDTHS = {"name": 130, "verdict": 100, "why": 172, "holds": 70, "done": 80}
"""Last word of a column -> its least width in a run table, in pixels; of all others LEAST_WIDTH."""
LETTER, MARGIN, MARGIN_OF_A_NAME = 7, 24, 50
"""Width of a letter, and of what is beside a head and beside the name of a run."""
# Without it MLflow offers its pages for language models until somebody chooses the others.
TRAINING = "workflowType=machine_learning"
PRINTED, OWN, CONTROL, OTHER = "printed", "own", "control", "other"
"""Roles of a run. A table shows what is printed and the user's own; its view *all runs* the others
too, but for controls."""
NOT_PRINTED, ELSEWHERE = "not printed", "other row"
"""Stand in for a verdict; the second, where another run of the method is judged by the number."""
FIRST = ("kl", "mae")
"""Measures that a table is sorted by, if it prints one of them; the smaller, the better."""
ABOUT = {
    OWN: "It is a method of your own.",
    CONTROL: "It is a control, which learns nothing. The tables leave it out.",
    OTHER: "The paper prints no number of it. The views called *all runs* show it.",
}
"""Role of a run that no printed number belongs to -> what its description says of it."""


@dataclass(frozen=True)
class TrackedRun:
    """All that one run holds, known before MLflow is asked for anything."""

    key: str
    content: str
    name: str
    files: list[Path]
    failed: bool = False
    start_ms: int | None = None
    """None where the record has no times: then it is when the run is written."""
    seconds: float = 0.0
    """How long fit and prediction of all folds took."""
    params: dict[str, str] = field(default_factory=dict)
    metrics: list[tuple[str, float, int, int]] = field(default_factory=list)
    """Name, value, time stamp in ms, step."""
    tags: dict[str, str] = field(default_factory=dict)


def content_sha256(unit: UnitScores, cells: Sequence[VerdictRow] = ()) -> str:
    """Return a hash of all that a record says, times and machine included, and its verdicts."""
    content = {
        "cells": [[cell.cell, cell.printed, cell.verdict, cell.holds] for cell in cells],
        "layout": LAYOUT,
        "source": unit.source,
        "rows": [vars(row) for row in unit.rows],
        "scores": unit.scores,
        "files": sorted(path.name for path in unit.files),
    }
    return sha256(json.dumps(content, sort_keys=True, default=str).encode())


def unit_run(
    unit: UnitScores, rows: Iterable[VerdictRow] = (), own: Collection[str] = ()
) -> TrackedRun:
    """Return the run that holds a unit's record, and what ``rows`` print of it beside it.

    ``own`` are the ids of the user's methods. Times are those of folds that ran one after another.
    """
    rows = list(rows)
    cells = [row for row in rows if row.unit_key == unit.key and row.measured is not None]
    role = _role(unit, cells, own)
    start = min((_ms(row.started_at) for row in unit.rows if row.started_at), default=None)
    passed = list(accumulate(row.fit_s + row.predict_s for row in unit.rows))
    ends = [(start or 0) + int(1000 * seconds) for seconds in passed]
    identity = dict(zip(("protocol", "dataset", "method"), unit.ids, strict=True))
    return TrackedRun(
        key=unit.key,
        content=content_sha256(unit, cells),
        name=_name(unit, cells, rows),
        # Reference records stand in git already.
        files=list(unit.files) if unit.source == LOCAL else [],
        failed=any(row.status == FAILED for row in unit.rows),
        start_ms=start,
        seconds=passed[-1],
        params=identity | _params(unit.rows),
        metrics=_metrics(unit, _printed_metrics(cells), ends) + _curve_metrics(unit, ends[-1]),
        tags=_first_tags(unit, cells, rows)
        | {"done": _folds_done(unit), "role": role}
        | {f"{title_of(cell.metric)} verdict": cell.verdict for cell in reversed(cells)}
        | {"source": unit.source}
        | {"mlflow.note.content": _description(unit, cells, role)}
        | _tags(unit.rows),
    )


def cells_by_unit(rows: Iterable[VerdictRow]) -> dict[str, list[VerdictRow]]:
    """Return the printed numbers that units are judged by, by the keys of the units."""
    cells: dict[str, list[VerdictRow]] = {}
    for row in rows:
        if row.measured is not None:
            cells.setdefault(row.unit_key, []).append(row)
    return cells


def _role(unit: UnitScores, cells: Sequence[VerdictRow], own: Collection[str]) -> str:
    if cells:
        return PRINTED
    if unit.method in CONTROLS:
        return CONTROL
    return OWN if unit.method.partition("@")[0] in own else OTHER


def _name(unit: UnitScores, cells: Sequence[VerdictRow], rows: Sequence[VerdictRow]) -> str:
    """Return the name that the paper prints, if it prints one: what tells runs of one view apart.

    A variant is named where another run of the view has the same name.
    """
    method, setting = unit.method, ""
    if cells:
        cell = min(cells, key=lambda cell: bool(cell.setting))
        place = (cell.method, cell.setting, unit.protocol, unit.dataset)
        same = (r for r in rows if (r.method, r.setting, r.protocol, r.unit_dataset) == place)
        variant = unit.method.partition("@")[2] if len({row.unit_key for row in same}) > 1 else ""
        method, setting = cell.method + f" ({variant})" * bool(variant), cell.setting
    return ", ".join(filter(None, [setting, method]))


def _printed_metrics(cells: Sequence[VerdictRow]) -> dict[str, float]:
    """Return printed numbers and differences in percent; of several tables, those of the first.

    Where other seeds ran, our numbers are over all of them, as in the verdict.
    """
    found = {}
    for cell in reversed(cells):
        found[f"{cell.metric}_printed"] = float(cell.printed)
        if cell.difference is not None:
            found[f"{cell.metric}_off_percent"] = round(100 * cell.difference, 1)
        if cell.seeds and cell.measured is not None and cell.measured_std is not None:
            found[cell.metric] = rounded(cell.measured, MEAN_DIGITS)
            found[f"{cell.metric}_std"] = rounded(cell.measured_std, DEVIATION_DIGITS)
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _printed_measures(
    rows: Iterable[VerdictRow], protocol: str, dataset: str, known: Collection[str]
) -> dict[str, str]:
    """Return the measures that a table prints and which is better; what is ``known`` by folds."""
    return {
        row.metric: row.better
        for row in rows
        if (row.protocol, row.unit_dataset) == (protocol, dataset)
        if row.measured is not None and row.metric in known
    }


def _first_measure(measures: Iterable[str]) -> str:
    """Return the measure that a table begins with and is sorted by; '' without any."""
    names = list(measures)
    return next((name for name in (*FIRST, *names) if name in names), "")


def title_of(measure: str) -> str:
    """Return a measure as the head of a column."""
    return measure.upper() if len(measure) < 4 else measure.replace("_", " ").capitalize()


def _first_tags(
    unit: UnitScores, cells: Sequence[VerdictRow], rows: Sequence[VerdictRow]
) -> dict[str, str]:
    """Return what a reader looks for first: run pages begin with it."""
    printed = _printed_measures(rows, unit.protocol, unit.dataset, unit.scores)
    measure = _first_measure(printed or unit.scores)
    cell = next((cell for cell in cells if cell.metric == measure), None)
    if cell:
        verdict = cell.verdict
        why = KINDS[cell.reason_kind] if cell.reason_kind else ", ".join(cell.marks) or "–"
    else:
        verdict, why = ELSEWHERE if cells else NOT_PRINTED, "–"
    holds = _holding(cells) or "–"
    return {f"{title_of(measure)} verdict": verdict, "why": why, "holds": holds} if rows else {}


def _holding(cells: Sequence[VerdictRow]) -> str:
    """Return how many of the judged numbers of a run hold; '' where none is judged."""
    judged = sum(cell.verdict in JUDGED for cell in cells)
    return f"{sum(cell.holds for cell in cells)} of {judged}" if judged else ""


def mean_and_deviation(values: Sequence[float]) -> str:
    """Return mean and standard deviation as text; '' where a fold is missing."""
    if not (len(values) and np.isfinite(values).all()):
        return ""
    return _told(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)


def _told(mean: float, deviation: float | None) -> str:
    """Return both with four decimals; of a mean that is too small for them the leading digits."""
    first, second = (".4f", ".4f") if abs(mean) >= SMALL or not mean else (".3g", ".2g")
    return f"{mean:{first}}" + ("" if deviation is None else f" ± {deviation:{second}}")


def _ours(unit: UnitScores, measure: str, cells: Sequence[VerdictRow]) -> str:
    """Return a measure as it is judged: where other seeds ran, over all of them."""
    for cell in cells:
        if cell.metric == measure and cell.seeds and cell.measured is not None:
            return _told(cell.measured, cell.measured_std)
    return mean_and_deviation(unit.scores.get(measure, ()))


def _folds_done(unit: UnitScores) -> str:
    return f"{sum(row.status == OK for row in unit.rows)} of {len(unit.rows)}"


def _description(unit: UnitScores, cells: Sequence[VerdictRow], role: str) -> str:
    """Return how a run compares, with the command that tells more, and what ran."""
    protocol, dataset, method = unit.ids
    ran = f"It ran as `{method}` on `{dataset}` under `{protocol}`, {_folds_done(unit)} folds."
    if unit.source != LOCAL:
        ran += (
            "\n\nThis is a reference record, whose files are not in MLflow. To get record and "
            f"predictions, type `ldlrepro run {protocol} {dataset} {method} --inputs`, "
            "and sync again."
        )
    if not cells:
        beside = f"Beside the other methods: `ldlrepro leaderboard --protocol {protocol}`"
        return f"{ABOUT[role]} {ran}\n\n{beside}"
    first = min(cells, key=lambda cell: cell.metric not in FIRST)
    over, folds = "", "folds"
    if first.seeds:
        over, folds = f" over {first.seeds} seeds", "the folds of one seed"
    why = f"Why? {first.reason}.\n\nMore:" if first.reason_kind else "Why?"
    lines = [
        f"- Table {cell.table}, {title_of(cell.metric)}: {_ours(unit, cell.metric, cells)}, "
        f"in print {cell.printed} ({percent(cell.difference) or 'zero'}): {cell.verdict}"
        + f", {cell.evidence}" * bool(cell.evidence)
        + ", **holds**" * cell.holds
        for cell in cells
    ]
    paragraphs = [
        f"{title_of(first.metric)} is {first.measured:.4g} here{over and f', the mean{over}'}. "
        f"In print it is {first.printed} ({percent(first.difference) or 'zero'}): {first.verdict}."
        + f" **{_holding(cells)} judged numbers hold.**"
        * bool(_holding(cells)),
        f'{why} `ldlrepro explain "{first.cell}"`',
        f"Means{over}, ± the deviation over {folds}:",
        "\n".join(lines),
        ran,
    ]
    return "\n\n".join(paragraphs)


def artifacts_run(paper: str, artifacts: Sequence[Path], plans: Sequence[TrackedRun]) -> TrackedRun:
    """Return one more run, which carries the tables and figures of the whole paper."""
    hashes = sorted(f"{path.name} {sha256(existing(path).read_bytes())}" for path in artifacts)
    return TrackedRun(
        key=f"{paper}: tables and figures",
        content=sha256("\n".join([str(LAYOUT), *hashes]).encode()),
        name=f"{paper}: tables and figures",
        files=list(artifacts),
        start_ms=max((plan.start_ms for plan in plans if plan.start_ms), default=None),
    )


def saved_views(units: Sequence[UnitScores], rows: Sequence[VerdictRow] = ()) -> dict[str, str]:
    """Return experiment tags that offer a run table for every table of the paper.

    Tables with printed numbers come first, as the paper has them, and then these with all runs.
    """
    keys = {unit.key for unit in units}
    tables: dict[tuple[str, str], list[UnitScores]] = {
        (row.protocol, row.unit_dataset): [] for row in rows if row.unit_key in keys
    }
    for unit in units:
        tables.setdefault((unit.protocol, unit.dataset), []).append(unit)
    cells = cells_by_unit(rows)
    printed, whole, others = {}, {}, {}
    for (protocol, dataset), shown in tables.items():
        key, title = f"{protocol}-{dataset}", f"{dataset} ({protocol})"
        known = list(dict.fromkeys(name for unit in shown for name in unit.scores))
        better = _printed_measures(rows, protocol, dataset, known)
        measures = better or dict.fromkeys(known, "lower")
        state = partial(_view_state, protocol, dataset, measures, bool(better))
        names = {unit.key: len(_name(unit, cells.get(unit.key, []), rows)) for unit in shown}
        longest = max(names.values(), default=0)
        if better:
            of_printed = max((names[unit] for unit in names if unit in cells), default=0)
            printed[key, title] = state([CONTROL, OTHER], of_printed)
            whole[f"{key}-all", f"{title}, all runs"] = state([CONTROL], longest)
        else:
            others[key, title] = state([CONTROL], longest)
    return named_views(printed | whole | others)


def named_views(states: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, str]:
    """Return experiment tags that offer run tables, each by its key and its title, in this order.

    A click on the experiment leads to the first (`ldlrepro.track.page`).
    """
    views = {
        f"{VIEW_TAG}{key}": json.dumps(
            # The page lists the newest first; so the order of the tables is kept.
            {"name": title, "createdAt": len(states) - place, "state": json.dumps(state)}
        )
        for place, ((key, title), state) in enumerate(states.items())
    }
    first = [{FIRST_VIEW_TAG: key} for key, _ in states][:1]
    return views | (first[0] if first else {})


def _view_state(
    protocol: str,
    dataset: str,
    better: Mapping[str, str],
    prints: bool,
    without: Iterable[str],
    longest_name: int,
) -> dict[str, Any]:
    """Return the state of a run table, without the runs of some roles.

    Its numbers are metrics, for MLflow sorts no tags.
    """
    first = _first_measure(better)
    shown = [metric_column(first), metric_column(f"{first}_std")] if first else []
    if prints:
        shown += [metric_column(f"{first}_printed"), metric_column(f"{first}_off_percent")]
        shown += [tag_column(name) for name in (f"{title_of(first)} verdict", "why", "holds")]
    shown += [tag_column("done"), *(metric_column(name) for name in better if name != first)]
    where = f"params.protocol = '{protocol}' AND params.dataset = '{dataset}'"
    where += "".join(f" AND tags.role != '{role}'" for role in without)
    ascending = better.get(first) != "higher"
    return table_state(where, first, [*shown, tag_column("source")], longest_name, ascending)


def metric_column(name: str) -> str:
    return f"metrics.`{name}`"


def tag_column(name: str) -> str:
    return f"tags.`{name}`"


def table_state(
    where: str,
    measure: str,
    columns: Sequence[str],
    longest_name: int,
    ascending: bool = True,
) -> dict[str, Any]:
    """Return the state of a run table with these columns, sorted by a measure."""
    names = {"attributes.`Run Name`": max(WIDTHS["name"], MARGIN_OF_A_NAME + LETTER * longest_name)}
    widths = names | {"runDateAndNestInfo": AGE_WIDTH}
    for column in columns:
        head = column.split("`")[1]
        least = WIDTHS.get(head.split()[-1], LEAST_WIDTH)
        widths[column] = max(least, MARGIN + LETTER * len(head))
    return {
        "searchFilter": where,
        "orderByKey": metric_column(measure) if measure else "attributes.start_time",
        "orderByAsc": ascending,
        "selectedColumns": list(columns),
        "columnOrder": list(widths),
        "columnWidths": widths,
    }


def address_of(experiment: str, view: str) -> str:
    """Return where a view of an experiment is on MLflow's page."""
    return f"#/experiments/{experiment}/runs?{TRAINING}&viewStateShareKey={view}"


def is_unavailable(unit: UnitScores) -> bool:
    return all(row.status == UNAVAILABLE for row in unit.rows)


def _params(rows: Sequence[FoldRow]) -> dict[str, str]:
    """Return the most frequent value of every parameter; where folds differ, also all counts."""
    params = {
        "folds": str(1 + max(row.fold for row in rows)),
        "repeats": str(1 + max(row.repeat for row in rows)),
    }
    for name in sorted({name for row in rows for name in row.params} - NOT_SHOWN):
        params |= chosen(name, [_text(row.params[name]) for row in rows if name in row.params])
    return params


def chosen(name: str, values: Sequence[str]) -> dict[str, str]:
    """Return the most frequent value of a parameter over folds; where they differ, all counts."""
    ranked = Counter(values).most_common()
    params = {f"param.{name}": _cut(ranked[0][0], LONGEST_PARAM)}
    if len(ranked) > 1:
        shown = ", ".join(f"{value} ({times}x)" for value, times in ranked)
        params[f"chosen.{name}"] = _cut(shown, LONGEST_PARAM)
    return params


def _metrics(
    unit: UnitScores, printed: Mapping[str, float], ends_ms: Sequence[int]
) -> list[tuple[str, float, int, int]]:
    """Return means, standard deviations, what is printed, costs, and fold values.

    The step of a fold is ``repeat * folds + fold``. A run page lists them in this order.

    A measure that lacks a fold gets no mean: in the column of means of ten folds, a mean of nine
    would be compared with them.
    """
    rows = unit.rows
    folds = 1 + max(row.fold for row in rows)
    steps = [row.repeat * folds + row.fold for row in rows]
    summary: dict[str, float] = {}
    by_fold = []
    for name in sorted(unit.scores, key=lambda name: name not in FIRST):
        values = unit.scores[name]
        by_fold += [
            (f"fold/{name}", rounded(value), at, step)
            for value, at, step in zip(values, ends_ms, steps, strict=True)
            if math.isfinite(value)
        ]
        if np.isfinite(values).all():
            summary[name] = rounded(float(np.mean(values)), MEAN_DIGITS)
            if len(values) > 1:
                summary[f"{name}_std"] = rounded(float(np.std(values, ddof=1)), DEVIATION_DIGITS)
        kinds = (f"{name}_printed", f"{name}_off_percent")
        summary |= {kind: printed[kind] for kind in kinds if kind in printed}
    summary |= printed
    timed = [row for row in rows if row.status == OK]
    if timed:
        summary["fit_seconds"] = float(np.mean([row.fit_s for row in timed]))
        summary["predict_seconds"] = float(np.mean([row.predict_s for row in timed]))
    summary["peak_mb"] = max(row.peak_mb for row in rows)
    summary["folds_ok"] = len(timed)
    summary["folds_failed"] = sum(row.status == FAILED for row in rows)
    return [(name, rounded(value), ends_ms[-1], 0) for name, value in summary.items()] + by_fold


def rounded(value: float, digits: int = DIGITS) -> float:
    """Return a number to read; the records have all of its digits.

    The run table cuts 2.26e-16 off to "2.26": rounding noise must be zero there.
    """
    return float(f"{round(float(value), DECIMALS):.{digits}g}")


def curve_metrics(text: str, at_ms: int, suffix: str = "") -> list[tuple[str, float, int, int]]:
    """Return what a training reported by its steps; of several fits, the last one."""
    header, rows = parse_rows(text)
    last = [row for row in rows if row[0] == rows[-1][0]]
    return [
        (f"{name}{suffix}", float(value), at_ms, int(row[1]))
        for row in last
        for name, value in zip(header[2:], row[2:], strict=True)
        if value and math.isfinite(float(value))
    ]


def _curve_metrics(unit: UnitScores, end_ms: int) -> list[tuple[str, float, int, int]]:
    found = []
    for row in unit.rows:
        name = FoldName(unit.key, row.repeat, row.fold).file
        points = curve_metrics(row.curve, end_ms, f"/{name}") if row.status == OK else []
        by_name: dict[str, list[Any]] = {}
        for point in points:
            by_name.setdefault(point[0], []).append(point)
        for mine in by_name.values():
            step = max(1, len(mine) // CURVE_POINTS)
            found += [*mine[:-1][::step], mine[-1]]
    return found


def _tags(rows: Sequence[FoldRow]) -> dict[str, str]:
    tags = {"git_commit": _joined(row.git_commit for row in rows)}
    for part in PROVENANCE:
        tags[f"{part}_sha256"] = _joined(getattr(row, f"{part}_sha256") for row in rows)
    tags["mlflow.source.git.commit"] = tags["git_commit"]
    tags["versions"] = _joined(_text(row.versions) for row in rows if row.versions)
    tags["threads"] = _joined(str(row.threads) for row in rows)
    for name in sorted({name for row in rows for name in row.machine}):
        tags[name] = _joined(_text(row.machine.get(name, "")) for row in rows)
    tags |= _error_tags(rows)
    return {name: _cut(value, LONGEST_TAG) for name, value in tags.items() if value}


def _error_tags(rows: Sequence[FoldRow]) -> dict[str, str]:
    broken = [row for row in rows if row.status == FAILED]
    if not broken:
        return {}
    first = broken[0]
    lines = first.error.strip().splitlines() or ["no error text"]
    where = f"repeat {first.repeat}, fold {first.fold}"
    return {
        "error": f"{len(broken)} of {len(rows)} folds failed; {where}: {lines[-1]}",
        # The end of a traceback says most, so the start is what gives way.
        "traceback": first.error[-LONGEST_TAG:],
    }


def _ms(started_at: str) -> int:
    started = datetime.fromisoformat(started_at)
    if started.tzinfo is None:
        started = started.replace(tzinfo=UTC)
    return int(started.timestamp() * 1000)


def _joined(values: Iterable[str]) -> str:
    """Join each different value once, in order: folds may come from several machines or commits."""
    return "; ".join(dict.fromkeys(value for value in values if value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 4] + " ..."


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def existing(path: Path) -> Path:
    """Return a path that exists; refuse any other."""
    if not path.is_file():
        raise UserError(f"{path} is gone, so it cannot be tracked. Build it again, then sync.")
    return path

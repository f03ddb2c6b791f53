"""Records as the report shows them: a unit's scores, parameters, times and origins."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldl import metrics
from ldlrepro.report.content import ReportContent
from ldlrepro.report.documents import file_link, route
from ldlrepro.report.tables import mean_and_std

if TYPE_CHECKING:
    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.train.records import FoldRow

LONGEST_VALUE = 400
"""Characters shown of one parameter or diagnostic; the rest stays in the record file."""
LONGEST_ERROR = 6000
MOST_CANDIDATES = 60
FOLD_FIELDS = (
    *("repeat", "fold", "status", "seed", "n_train", "n_test"),
    *("fit_s", "predict_s", "fit_cpu_s", "predict_cpu_s", "overhead_s", "peak_mb", "threads"),
    *("started_at", "predictions_sha256", "data_sha256", "folds_sha256", "spec_sha256"),
    *("code_sha256", "lock_sha256", "git_commit"),
)


DIGITS_OF_HASHES = 16
"""Shown of what is different in every fold and packs badly; the record file has all."""


def record_data(
    unit: UnitScores, content: ReportContent, log_of: Callable[[str], str], folder: Path
) -> dict[str, Any]:
    """Return what the record view of a unit shows; the script draws it when somebody asks."""
    measures = [name for name in unit.scores if any(map(math.isfinite, unit.scores[name]))]
    summaries = [mean_and_std(unit.scores[name]) or (None, None) for name in measures]
    return {
        "key": unit.key,
        "route": route("record", unit.key),
        "source": unit.source,
        "log": log_of(unit.key),
        "files": [file_link(path, folder) for path in unit.files],
        "command": f"ldlrepro run {shlex.join(unit.key.split('/'))} --inputs --fresh",
        "measures": [[name, content.measure(name)] for name in measures],
        "mean": [_short(mean) for mean, _ in summaries],
        "std": [_short(std) for _, std in summaries],
        "scores": [[_short(value) for value in unit.scores[name]] for name in measures],
        "folds": _split([_fold_fields(row) for row in unit.rows], lambda value: value),
        "machine": _split([row.machine for row in unit.rows]),
        "versions": _split([row.versions for row in unit.rows]),
        "params": _split([_own_parameters(row.params) for row in unit.rows]),
        "diagnostics": _split([row.diagnostics for row in unit.rows]),
        "selection": _selection([row.selection for row in unit.rows], content.measure),
        "errors": [
            [row.repeat, row.fold, row.error[-LONGEST_ERROR:]] for row in unit.rows if row.error
        ],
    }


def shared(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the records with what many have in common kept once: a number points to it."""
    kept: dict[str, int] = {}
    parts: list[Any] = []
    for record in records:
        for name in ("measures", "machine", "versions"):
            text = json.dumps(record[name])
            if text not in kept:
                kept[text] = len(parts)
                parts.append(record[name])
            record[name] = kept[text]
    return {"records": records, "shared": parts}


def _fold_fields(row: FoldRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in FOLD_FIELDS}
    # Four digits say enough of times and memory.
    return {k: _short(v, 4) if isinstance(v, float) else v for k, v in values.items()} | {
        name: _cut(str(values[name])) for name in ("seed", "predictions_sha256")
    }


def _cut(digits: str) -> str:
    """Return the first digits, marked as such, so that nobody copies a part for the whole."""
    return digits if len(digits) <= DIGITS_OF_HASHES else f"{digits[:DIGITS_OF_HASHES]}…"


def _own_parameters(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters without seed and threads, which stand with the folds."""
    return {name: value for name, value in params.items() if name not in ("random_state", "n_jobs")}


def _plain(value: Any) -> Any:
    """Round a number for reading, and turn anything nested into text, nothing endless."""
    if isinstance(value, float):
        return _short(value)
    if value is None or isinstance(value, bool | int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > LONGEST_VALUE:
        text = f"{text[:LONGEST_VALUE]} ... ({len(text)} characters; whole in the record file)"
    return text


def _short(value: float | None, digits: int = 6) -> float | str | None:
    """Round to some significant digits; the record file keeps all of them."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)


def _split(
    per_fold: list[dict[str, Any]], readable: Callable[[Any], Any] = _plain
) -> dict[str, dict[str, Any]]:
    """Split values into those that read the same in all folds, kept once, and lists over folds."""
    same: dict[str, Any] = {}
    each: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for values in per_fold for name in values):
        column = [values.get(name) for values in per_fold]
        # Most are the same in all folds, and made readable once.
        shown = [readable(value) for value in (column[:1] if _all_same(column) else column)]
        if _all_same(shown):
            same[name] = shown[0]
        else:
            each[name] = shown
    return {"same": same, "each": each}


def _all_same(column: Sequence[Any]) -> bool:
    return all(value == column[0] for value in column)


def _selection(
    per_fold: list[dict[str, Any]], title: Callable[[str], str]
) -> dict[str, Any] | None:
    """Return validation scores: a line per candidate, a column per fold; the best ones only."""
    searched = [selection for selection in per_fold if selection.get("tried")]
    if not searched:
        return None
    by = searched[0]["by"]
    names = [name for name in searched[0]["tried"][0] if name != by]
    scores: dict[str, list[float | None]] = {}
    for index, selection in enumerate(per_fold):
        for tried in selection.get("tried", []):
            candidate = json.dumps([_plain(tried.get(name)) for name in names])
            scores.setdefault(candidate, [None] * len(per_fold))[index] = tried[by]
    lines = []
    for candidate, values in scores.items():
        summary = mean_and_std(value for value in values if value is not None)
        mean = _short(summary[0]) if summary else None
        lines.append([json.loads(candidate), mean, [_short(value) for value in values]])
    direction = -1.0 if metrics.BETTER.get(by) == "higher" else 1.0
    lines.sort(key=lambda line: (line[1] is None, direction * (line[1] or 0.0)))
    return {
        "by": title(by),
        "names": names,
        "candidates": lines[:MOST_CANDIDATES],
        "total": len(lines),
    }

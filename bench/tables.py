"""From measured samples to rows, and from rows to the CSV and the Markdown table."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from .entries import Comparison
from .measure import FEWEST, ratios

PREAMBLE = Path(__file__).with_name("preamble.md")
NOTHING = "–"


@dataclass
class Row:
    """A line of benchmarks.csv; seconds and ratios are medians."""

    comparison: str
    dataset: str
    group: str
    title: str
    ours: str
    peer: str
    ours_cpu_s: float | None = None
    peer_cpu_s: float | None = None
    ratio_cpu: float | None = None
    ratio_cpu_low: float | None = None
    ratio_cpu_high: float | None = None
    ours_wall_s: float | None = None
    peer_wall_s: float | None = None
    ratio_wall: float | None = None
    measurements: int = 0
    ours_kl: float | None = None
    peer_kl: float | None = None
    ours_peak_mb: float | None = None
    peer_peak_mb: float | None = None
    ours_rows_s: float | None = None
    """Rows predicted in a CPU second."""
    peer_rows_s: float | None = None
    bar: str = ""
    verdict: str = ""
    note: str = ""

    @property
    def peer_library(self) -> str:
        return self.peer.partition(" ")[0]


def row_of(comparison: Comparison, result: Mapping[str, Any] | None) -> Row:
    row = Row(
        comparison.id,
        comparison.dataset,
        comparison.group,
        comparison.title,
        _name(comparison.ours),
        _name(comparison.peer) if comparison.peer else "",
        bar=bar_text(comparison),
        note=comparison.note,
    )
    if result is None:
        row.verdict = "not measured yet"
        return row
    ours, peer = result["ours"], result.get("peer")
    if comparison.measure != "memory":  # whose one run includes loading and compiling
        row.ours_cpu_s, row.ours_wall_s = _median(ours["cpu"]), _median(ours["wall"])
    row.ours_kl, row.ours_peak_mb = _median(ours["kl"]), ours["peak_mb"] or None
    row.measurements = len(ours["cpu"])
    row.ours_rows_s = _rows_a_second(ours)
    errors = [f"ours: {ours['error']}"] if ours["error"] else []
    if peer:
        row.peer_cpu_s, row.peer_wall_s = _median(peer["cpu"]), _median(peer["wall"])
        row.peer_kl, row.peer_peak_mb = _median(peer["kl"]), peer["peak_mb"] or None
        row.peer_rows_s = _rows_a_second(peer)
        errors += [f"peer: {peer['error']}"] if peer["error"] else []
        by_pair = ratios(peer["cpu"], ours["cpu"])
        if len(by_pair):
            row.ratio_cpu = float(np.median(by_pair))
            row.ratio_cpu_low, row.ratio_cpu_high = float(by_pair.min()), float(by_pair.max())
            row.ratio_wall = float(np.median(ratios(peer["wall"], ours["wall"])))
    few = 0 < row.measurements < FEWEST and comparison.measure != "memory"
    remarks = [f"measurements: {row.measurements}, each of minutes"] if few else []
    row.note = "; ".join(
        filter(None, [*errors, *remarks, result.get("source", ""), comparison.note])
    )
    row.verdict = "not measured" if errors else verdict(comparison, row)
    return row


def verdict(comparison: Comparison, row: Row) -> str:
    """Whether the bars hold; empty without any."""
    bars = comparison.bars
    held: dict[str, bool] = {}
    if bars.faster is not None and row.ratio_cpu is not None:
        held["speed"] = row.ratio_cpu > bars.faster or (
            row.ratio_cpu == bars.faster and not bars.strictly
        )
    if bars.worse_kl is not None and row.ours_kl is not None and row.peer_kl is not None:
        held["KL"] = row.ours_kl <= (1 + bars.worse_kl) * row.peer_kl
    if bars.seconds is not None and row.ours_wall_s is not None:
        held["time"] = row.ours_wall_s < bars.seconds
    if bars.mb is not None and row.ours_peak_mb is not None:
        held["memory"] = row.ours_peak_mb < bars.mb
    if not held:
        return ""
    missed = [name for name, holds in held.items() if not holds]
    return f"missed: {', '.join(missed)}" if missed else "met"


def bar_text(comparison: Comparison) -> str:
    bars = comparison.bars
    parts = []
    if bars.faster is not None:
        plain = "faster" if bars.strictly else "no slower"
        parts.append(plain if bars.faster == 1 else f"{bars.faster:g} times")
    if bars.worse_kl is not None:
        parts.append("KL no worse")
    if bars.seconds is not None:
        parts.append(f"under {bars.seconds:g} s")
    if bars.mb is not None:
        parts.append(f"under {bars.mb:g} MB")
    return ", ".join(parts)


def _name(side: Mapping[str, Any]) -> str:
    return f"{side['library']} {side.get('method') or side['class']}"


def _rows_a_second(side: Mapping[str, Any]) -> float | None:
    rows, seconds = side.get("predicted"), _median(side["cpu"])
    return rows / seconds if rows and seconds else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


# ---------------------------------------------------------------------- files


def to_csv(rows: Iterable[Row]) -> str:
    out = io.StringIO()
    names = [f.name for f in fields(Row)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def to_markdown(rows: Sequence[Row], about: Mapping[str, str]) -> str:
    parts = [PREAMBLE.read_text(encoding="utf-8").rstrip()]
    parts.append("\n".join(f"- {name}: {text}" for name, text in about.items()))
    parts.append("## All rows together\n\n" + _summary(rows))
    for group, members in itertools.groupby(rows, key=lambda row: row.group):
        parts.append(f"## {group}\n\n" + _group_table(list(members)))
    return "\n\n".join(parts) + "\n"


def geometric_mean(rows: Iterable[Row]) -> float | None:
    """Return the geometric mean of the CPU ratios that were measured; None without any."""
    ratios_cpu = [row.ratio_cpu for row in rows if row.ratio_cpu is not None]
    return float(np.exp(np.mean(np.log(ratios_cpu)))) if ratios_cpu else None


def _summary(rows: Sequence[Row]) -> str:
    """Count the rows against each library, with the geometric mean and the least of the ratios."""
    by_peer: dict[str, list[Row]] = {}
    for row in rows:
        if row.ratio_cpu is not None and row.peer_library != "ldlrepro":
            by_peer.setdefault(row.peer_library, []).append(row)
    lines = ["| peer | what | rows | geometric mean | least | below 1 | bars missed |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for peer, everything in by_peer.items():
        fits = [row for row in everything if row.ours_rows_s is None]
        predictions = [row for row in everything if row.ours_rows_s is not None]
        parts = {"fits": fits, "predictions": predictions}
        if fits and predictions:
            parts["both"] = everything
        for what, some in parts.items():
            if some:
                lines.append(f"| {peer} | {what} | {_counted(some)} |")
    return "\n".join(lines)


def _counted(rows: Sequence[Row]) -> str:
    known = [row.ratio_cpu for row in rows if row.ratio_cpu is not None]
    below = sum(ratio < 1 for ratio in known)
    missed = sum(row.verdict.startswith("missed") for row in rows)
    return f"{len(rows)} | **{geometric_mean(rows):.3g}** | {min(known):.3g} | {below} | {missed}"


Column = tuple[str, Callable[[Row], str]]

_WHAT: list[Column] = [("what", lambda row: row.title), ("data", lambda row: row.dataset)]
_VERDICT: list[Column] = [("bar", lambda row: row.bar), ("verdict", lambda row: row.verdict)]
_PREDICTIONS: list[Column] = [
    ("method", lambda row: row.title),
    ("data", lambda row: row.dataset),
    ("ours, rows/s", lambda row: _number(row.ours_rows_s, ",.0f")),
    ("peer", lambda row: row.peer),
    ("peer, rows/s", lambda row: _number(row.peer_rows_s, ",.0f")),
    ("ratio", lambda row: _ratio(row)),
    ("verdict", lambda row: row.verdict),
]
_ALONE: list[Column] = [
    *_WHAT,
    ("CPU s", lambda row: _seconds(row.ours_cpu_s)),
    ("wall s", lambda row: _seconds(row.ours_wall_s)),
    ("peak MB", lambda row: _number(row.ours_peak_mb, ".0f")),
    *_VERDICT,
]
_BESIDE_A_PEER: list[Column] = [
    *_WHAT,
    ("ours, s", lambda row: _seconds(row.ours_cpu_s)),
    ("peer, s", lambda row: _seconds(row.peer_cpu_s)),
    ("ratio", lambda row: _ratio(row)),
    ("wall ratio", lambda row: _number(row.ratio_wall, ".3g")),
    ("KL ours", lambda row: _number(row.ours_kl, ".4f")),
    ("KL peer", lambda row: _number(row.peer_kl, ".4f")),
    *_VERDICT,
]


def _group_table(rows: Sequence[Row]) -> str:
    if all(row.ours_rows_s for row in rows):
        columns = _PREDICTIONS
    else:
        columns = _ALONE if all(row.peer == "" for row in rows) else _BESIDE_A_PEER
    lines = [[name for name, _ in columns], ["---"] * len(columns)]
    lines += [[cell(row) for _, cell in columns] for row in rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n\n".join([table, *_notes(rows)])


def _notes(rows: Sequence[Row]) -> list[str]:
    """Each note once, with the rows it is about."""
    about: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if row.note:
            about.setdefault(row.note, {}).setdefault(row.title, []).append(row.dataset)
    lines = []
    for note, titles in about.items():
        who = "; ".join(f"{title} ({', '.join(sets)})" for title, sets in titles.items())
        lines.append(f"- {who}: {note}")
    return ["\n".join(lines)] if lines else []


def _seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def _ratio(row: Row) -> str:
    if row.ratio_cpu is None:
        return NOTHING
    return f"**{row.ratio_cpu:.3g}** ({row.ratio_cpu_low:.3g} to {row.ratio_cpu_high:.3g})"


def _number(value: float | None, form: str) -> str:
    return NOTHING if value is None else f"{value:{form}}"

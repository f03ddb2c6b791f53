"""From measured samples to rows, and from rows to the CSV and the Markdown table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ldlrepro.core.files import csv_text

from .entries import Comparison
from .measure import FEWEST, ratios

ALLOWED_KL = 0.02
"""Share by which our KL may exceed a peer's before the page says so."""


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

    @property
    def has_own_defaults(self) -> bool:
        """Tell whether each side runs as it comes, so that they do not do the same work."""
        return "own defaults" in self.title

    @property
    def excess(self) -> float:
        """Return the share by which our KL is above the peer's; 0 where one is unknown."""
        return self.ours_kl / self.peer_kl - 1 if self.ours_kl and self.peer_kl else 0.0


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
    names = [f.name for f in fields(Row)]
    lines = ([_cell(getattr(row, name)) for name in names] for row in rows)
    return csv_text([names, *lines])


def _cell(value: Any) -> Any:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def from_csv(text: str) -> list[Row]:
    """Return the rows of a table that :func:`to_csv` wrote."""
    texts = {f.name for f in fields(Row) if f.type == "str"}
    rows = []
    for line in csv.DictReader(io.StringIO(text)):
        values: dict[str, Any] = {
            name: value if name in texts else float(value) if value else None
            for name, value in line.items()
        }
        rows.append(Row(**{**values, "measurements": int(line["measurements"])}))
    return rows


def ratio_lists(rows: Sequence[Row]) -> str:
    """Return a line for each library, with the geometric mean and the range of its ratios."""
    by_peer: dict[str, list[Row]] = {}
    for row in rows:
        if row.ratio_cpu is not None and row.peer_library != "ldlrepro":
            by_peer.setdefault(row.peer_library, []).append(row)
    limited = [row for row in rows if row.verdict.startswith(("met", "missed"))]
    missed = sum(row.verdict.startswith("missed") for row in limited)
    lines = [f"- **{peer}**: {_means(everything)}." for peer, everything in by_peer.items()]
    lines.append(f"- **Limits**: {missed} of {len(limited)} comparisons miss the one set for them.")
    return "\n".join(lines) + "\n"


def _means(rows: Sequence[Row]) -> str:
    fits = [row for row in rows if row.ours_rows_s is None]
    as_they_come = [row for row in fits if row.has_own_defaults]
    kinds = {
        "fits" + " at equal settings" * bool(as_they_come): [
            row for row in fits if not row.has_own_defaults
        ],
        "fits with own defaults": as_they_come,
        "predictions": [row for row in rows if row.ours_rows_s is not None],
    }
    told = "; ".join(_mean_in_words(what, some) for what, some in kinds.items() if some)
    behind = sum(row.excess > ALLOWED_KL for row in fits)
    return told + f"; in {behind} of {len(fits)} fits our KL is over {ALLOWED_KL:.0%} higher" * (
        behind > 0
    )


def _mean_in_words(what: str, rows: Sequence[Row]) -> str:
    known = [row.ratio_cpu for row in rows if row.ratio_cpu is not None]
    mean = float(np.exp(np.mean(np.log(known))))
    return f"{len(known)} {what}, mean {mean:.3g}, from {min(known):.3g} to {max(known):.3g}"


def ratio_table(rows: Sequence[Row]) -> str:
    """Return a line for each comparison with a peer, and its ratio on each data set."""
    beside = [row for row in rows if row.ratio_cpu is not None]
    datasets = list(dict.fromkeys(row.dataset for row in beside))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in beside:
        what = f"{row.title}, predictions" if row.group == "Predictions" else row.title
        lines.setdefault((what, row.peer), {})[row.dataset] = _ratio(row)
    table = [["what is timed", "beside", *datasets], ["---"] * (2 + len(datasets))]
    table += [[*names, *(cells.get(d, "") for d in datasets)] for names, cells in lines.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in table)


def _ratio(row: Row) -> str:
    """Return the ratio of times, and how much worse our KL is where that is above the allowance."""
    text = f"{row.ratio_cpu:.3g}"
    if row.ours_rows_s is None and row.excess > ALLOWED_KL:
        text += f" (KL +{row.excess:.0%})"
    return text

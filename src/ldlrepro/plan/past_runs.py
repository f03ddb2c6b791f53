"""Measurements of earlier runs of a unit: the seconds of its folds, and its peak memory.

The maintainers' reference comes first, for it is the same in every checkout; without it, the
records of this one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ldlrepro import config
from ldlrepro.core.errors import damage_told

Key = tuple[str, str, str]
"""Protocol, data set, method."""
Fold = tuple[int, int, float, float]
"""Repeat, fold, seconds, peak memory in MB."""


@dataclass(frozen=True)
class Measured:
    """Measurements of one unit."""

    seconds: tuple[float, ...]
    """Seconds of fit and prediction of each fold, in the order of the folds."""
    peak_mb: float
    spec_sha256: str
    """Digest of the settings that it was measured with."""

    def of_folds(self, first: int, count: int) -> float:
        """Return the seconds that so many folds take; the mean counts for those not measured."""
        mine = self.seconds[first : first + count]
        missing = count - len(mine)
        return sum(mine) + missing * sum(self.seconds) / len(self.seconds)


def reference(unit: Key) -> Measured | None:
    """Return what the maintainers' run measured."""
    protocol, dataset, method = unit
    table = config.project_root() / "reference" / protocol / f"{method.partition('@')[0]}.csv"
    return of_table(table).get((method, dataset))


@cache
def of_table(table: Path) -> dict[tuple[str, str], Measured]:
    """Read one file of the reference, by (method, data set); refuse one that is damaged."""
    if not table.is_file():
        return {}
    shown = f"`git checkout {config.shown(table)} {config.shown(table.with_suffix('.json'))}`"
    with damage_told(table, f"It and the file beside it go together: {shown} brings them back."):
        return _read(table)


def _read(table: Path) -> dict[tuple[str, str], Measured]:
    rows: dict[tuple[str, str], list[Fold]] = {}
    with open(table, encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            if row.get("error"):
                continue  # it has no times
            seconds = float(row["fit_s"]) + float(row["predict_s"])
            fold = (int(row["repeat"]), int(row["fold"]), seconds, float(row["peak_mb"]))
            rows.setdefault((row["method"], row["dataset"]), []).append(fold)
    provenance = json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))
    return {
        (method, dataset): _summary(folds, provenance[method][dataset]["spec_sha256"])
        for (method, dataset), folds in rows.items()
    }


def local(unit: Key, spec_sha256: str, results: Path = Path("results")) -> Measured | None:
    """Return what records here with these settings measured, however the folds were cut."""
    paths = sorted(results.joinpath("units", *unit).glob("folds_*.parquet"))
    if not paths:
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = ["repeat", "fold", "fit_s", "predict_s", "peak_mb", "status", "spec_sha256"]
    folds: list[Fold] = []
    for path in paths:
        try:
            rows = pq.ParquetFile(path).read(columns).to_pylist()
        except (OSError, KeyError, pa.ArrowException):
            continue  # whoever needs the record itself says what is wrong with it
        folds += [
            (row["repeat"], row["fold"], row["fit_s"] + row["predict_s"], row["peak_mb"])
            for row in rows
            if row["status"] == "ok" and row["spec_sha256"] == spec_sha256
        ]
    return _summary(folds, spec_sha256) if folds else None


def _summary(folds: Iterable[Fold], spec_sha256: str) -> Measured:
    ordered = sorted({fold[:2]: fold for fold in folds}.values())
    return Measured(tuple(f[2] for f in ordered), max(f[3] for f in ordered), spec_sha256)

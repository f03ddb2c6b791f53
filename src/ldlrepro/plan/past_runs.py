"""Measurements of earlier runs of a unit: the seconds of its folds, and its peak memory.

The maintainers' reference comes first, because it is the same in every checkout. Without it, the
records of this checkout count.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ldlrepro.catalogue import Project
from ldlrepro.core.errors import damage_told
from ldlrepro.plan.units import Unit

Fold = tuple[int, int, float, float]
"""Repeat, fold, seconds, peak memory in MB."""


@dataclass(frozen=True)
class Measured:
    """Measurements of one unit."""

    seconds: tuple[float, ...]
    """Seconds of fit and prediction of each fold, in the order of the folds."""
    peak_mb: float
    spec_sha256: str
    """Digest of the settings behind the measurement."""

    def of_folds(self, first: int, count: int) -> float:
        """Return the seconds of so many folds. The mean stands for folds that were not measured."""
        mine = self.seconds[first : first + count]
        missing = count - len(mine)
        return sum(mine) + missing * sum(self.seconds) / len(self.seconds)


class PastRuns:
    """Measurements of earlier runs; each file is read once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._tables: dict[Path, dict[tuple[str, str], Measured]] = {}
        self._of_units: dict[str, Measured | None] = {}

    def of(self, unit: Unit) -> Measured | None:
        """Return the measurements of the maintainers' run, else those of local records."""
        if unit.key not in self._of_units:
            self._of_units[unit.key] = self.reference(unit) or local(unit)
        return self._of_units[unit.key]

    def reference(self, unit: Unit) -> Measured | None:
        """Return the measurements of the maintainers' run."""
        folder = self.project.root / "reference" / unit.protocol.id
        table = self.of_table(folder / f"{unit.method.base}.csv")
        return table.get((unit.method.id, unit.data_set.id))

    def of_table(self, table: Path) -> dict[tuple[str, str], Measured]:
        """Read one file of the reference, by (method, data set), and refuse a damaged one."""
        if table not in self._tables:
            files = (self.project.shown(path) for path in (table, table.with_suffix(".json")))
            cure = f"`git checkout {' '.join(files)}` brings them back."
            with damage_told(table, f"It and the file beside it go together: {cure}"):
                self._tables[table] = _read(table) if table.is_file() else {}
        return self._tables[table]


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


def local(unit: Unit, results: Path = Path("results")) -> Measured | None:
    """Return what local records with the same settings measured, however folds were cut."""
    paths = sorted(results.joinpath("units", unit.key).glob("folds_*.parquet"))
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
            if row["status"] == "ok" and row["spec_sha256"] == unit.spec_sha256
        ]
    return _summary(folds, unit.spec_sha256) if folds else None


def _summary(folds: Iterable[Fold], spec_sha256: str) -> Measured:
    ordered = sorted({fold[:2]: fold for fold in folds}.values())
    return Measured(tuple(f[2] for f in ordered), max(f[3] for f in ordered), spec_sha256)

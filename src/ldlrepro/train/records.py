"""Records of a unit: one Parquet table with a row per fold, and one ``.npz`` with predictions.

Both are written under a temporary name and renamed, so nobody sees half a file. Scores are not
stored here. They are computed from the predictions, so that a new measure retrains nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.core.files import atomically, write_npz
from ldlrepro.folds.splits import name_of, numbers_of

OK, FAILED, UNAVAILABLE = "ok", "failed", "unavailable"


@dataclass
class FoldRow:
    """One run: one method on one data set under one protocol in one fold."""

    protocol: str
    dataset: str
    method: str
    repeat: int
    fold: int
    status: str
    error: str = ""
    """Traceback of a failed fold, or the reason why the data are not available."""
    params: dict[str, Any] = field(default_factory=dict)
    """The parameters of the fitted model, after selection."""
    selection: dict[str, Any] = field(default_factory=dict)
    """The validation score of every candidate, where a grid was searched."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    """What the fitted model reports: iterations, final loss, warnings, ..."""
    seed: str = ""
    n_train: int = 0
    n_test: int = 0
    fit_s: float = 0.0
    """Wall seconds of selection and the final fit."""
    predict_s: float = 0.0
    fit_cpu_s: float = 0.0
    predict_cpu_s: float = 0.0
    peak_mb: float = 0.0
    """Peak resident memory up to the end of this fold, including a peer's process."""
    predictions_sha256: str = ""
    data_sha256: str = ""
    folds_sha256: str = ""
    spec_sha256: str = ""
    """Digest of the method's class, parameters, grid and scaling."""
    code_sha256: str = ""
    """Digest of the method's code and of everything that it uses."""
    lock_sha256: str = ""
    git_commit: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    started_at: str = ""
    """UTC, ISO 8601."""
    overhead_s: float = 0.0
    """This fold's share of the job's wall time outside fit and predict."""
    curve: str = ""
    """The loss curve of the last fit as a small CSV; empty where a method reports none."""

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return (self.protocol, self.dataset, self.method, self.repeat, self.fold)

    @property
    def seconds(self) -> tuple[float, float]:
        """Return CPU seconds of fit and prediction when single-threaded, else wall seconds.

        Load does not inflate CPU seconds. A fit on a GPU waits for it, so only wall seconds cover
        it.
        """
        wall, cpu = (self.fit_s, self.predict_s), (self.fit_cpu_s, self.predict_cpu_s)
        if not any(cpu) or self.threads != 1 or self.machine.get("gpu"):
            return wall
        return min(wall[0], cpu[0]), min(wall[1], cpu[1])


_JSON = ("params", "selection", "diagnostics", "versions", "machine")
COLUMNS = [f.name for f in fields(FoldRow)]


def write_record(
    path: Path, rows: Iterable[FoldRow], predictions: Mapping[tuple[int, int], np.ndarray]
) -> None:
    """Write ``path`` (.parquet) and the .npz beside it; ``predictions`` by (repeat, fold)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name_of(*key): array for key, array in sorted(predictions.items())}
    write_npz(predictions_path(path), arrays, compressed=True)
    plain = []
    for row in rows:
        flat = asdict(row)
        for name in _JSON:
            flat[name] = json.dumps(flat[name], sort_keys=True, default=str)
        plain.append(flat)
    columns = [_column([flat[name] for flat in plain]) for name in COLUMNS]
    table = pa.Table.from_arrays(columns, names=COLUMNS)
    atomically(path, lambda temporary: pq.write_table(table, temporary))


def _column(values: list[Any]) -> Any:
    """Return texts, whole numbers or seconds as a column.

    Arrow would import pandas to test for its list types, and every job would wait for that.
    """
    import pyarrow as pa

    if isinstance(values[0], str):
        texts = pa.lib.StringBuilder()
        texts.append_values(values)
        return texts.finish()
    numbers = np.array(values)
    kind = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def read_rows(path: Path) -> list[FoldRow]:
    import pyarrow.parquet as pq

    # ParquetFile reads this one file; read_table would guess partitions from folder names.
    rows = pq.ParquetFile(path).read().to_pylist()
    for row in rows:
        for name in _JSON:
            row[name] = json.loads(row[name])
    return [FoldRow(**row) for row in rows]


def read_predictions(path: Path) -> dict[tuple[int, int], np.ndarray]:
    """Read the predictions of a record by (repeat, fold)."""
    with np.load(predictions_path(path), allow_pickle=False) as stored:
        return {numbers_of(name): stored[name] for name in stored.files}


def predictions_path(record: Path) -> Path:
    return record.with_suffix(".npz")


def last_line(error: str) -> str:
    """Return the last line of a traceback."""
    return error.strip().rpartition("\n")[2]

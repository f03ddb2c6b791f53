"""Records of units: what comes back, what is never read, and equal bytes for equal content."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from ldlrepro.core.checksums import array_sha256
from ldlrepro.core.files import atomically
from ldlrepro.train.records import (
    FAILED,
    FoldRow,
    predictions_path,
    read_predictions,
    read_rows,
    write_record,
)


def make_row(fold: int = 0, **changes) -> FoldRow:
    given = {
        "status": "ok",
        "params": {"k": 4, "init": None, "shares": [0.1, 0.2]},
        "selection": {"by": "kl", "tried": [{"k": 4, "kl": 0.1 + 0.2}]},
        "diagnostics": {"loss": math.inf, "note": "Sørensen ≤ 1"},
        "versions": {"numpy": "2.0"},
        "machine": {"cpu": "any"},
        "fit_s": 1 / 3,
        "seed": "f" * 32,
    }
    return FoldRow("mslp", "sjaffe", "aa_knn@grid", 0, fold, **{**given, **changes})


def make_predictions(folds: int = 2) -> dict[tuple[int, int], np.ndarray]:
    rng = np.random.default_rng(0)
    return {(0, fold): rng.dirichlet(np.ones(3), size=5) for fold in range(folds)}


def test_a_record_reads_back_as_it_was_written(tmp_path):
    path = tmp_path / "deep" / "folds_0-1.parquet"
    rows = [make_row(0), make_row(1, status=FAILED, error="Traceback\nValueError: no")]
    predictions = make_predictions()
    write_record(path, rows, predictions)
    assert read_rows(path) == rows
    stored = read_predictions(path)
    assert stored.keys() == predictions.keys()
    for key, array in predictions.items():
        np.testing.assert_array_equal(stored[key], array)


def test_equal_predictions_give_equal_files_whatever_their_order_and_hour(tmp_path, monkeypatch):
    predictions = make_predictions()
    write_record(tmp_path / "a.parquet", [make_row()], predictions)
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 0, 0, 0, 0, 0, 0))
    backwards = dict(reversed(predictions.items()))
    write_record(tmp_path / "b.parquet", [make_row()], backwards)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_digest_sees_values_shape_and_type():
    P = np.arange(6.0).reshape(2, 3)
    assert array_sha256(P) == array_sha256(P.copy(order="F")) == array_sha256(P[:, ::1])
    others = [P.reshape(3, 2), P.astype(np.float32), P + np.eye(2, 3) * 1e-15, P.ravel()]
    assert len({array_sha256(other) for other in [P, *others]}) == 5


# ---------------------------------------------------------------------- half files


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "facts.json"
    path.write_text("old")

    def half(temporary: Path) -> None:
        temporary.write_text("ne")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        atomically(path, half)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["facts.json"]


def _dies_half_way(table, where):
    Path(where).write_bytes(b"PAR1")
    raise MemoryError


def test_predictions_are_complete_before_the_record_appears(tmp_path, monkeypatch):
    """Where a record is, its predictions are; a kill in between leaves no record."""
    path = tmp_path / "folds_0-1.parquet"
    monkeypatch.setattr("pyarrow.parquet.write_table", _dies_half_way)
    with pytest.raises(MemoryError):
        write_record(path, [make_row()], make_predictions())
    assert predictions_path(path).is_file()
    assert not path.exists()

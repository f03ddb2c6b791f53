"""Memory that is left, by what the machine has and by what a job is allowed."""

from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy import sparse

from ldl import LDSVR, PTSVM, StructRF, _memory
from ldl.checks import sample
from ldl.forests._columns import bytes_of_columns, make_columns
from tests.oracle.settings import as_stated


def groups(tmp_path: Path, monkeypatch, **limits: str) -> None:
    """A tree of groups ``job/step`` above this process, with limits where given."""
    own = tmp_path / "job" / "step"
    own.mkdir(parents=True)
    for name, limit in limits.items():
        folder = {"job": tmp_path / "job", "step": own}[name]
        (folder / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(_memory, "CGROUPS", tmp_path)
    text = Path.read_text

    def read(path: Path, *args, **how) -> str:
        own_group = str(path) == "/proc/self/cgroup"
        return "0::/job/step\n" if own_group else text(path, *args, **how)

    monkeypatch.setattr(Path, "read_text", read)


def test_the_tightest_limit_above_the_process_counts(tmp_path, monkeypatch):
    used = psutil.Process().memory_info().rss
    groups(tmp_path, monkeypatch, job=str(used + 10_000_000), step=str(used + 90_000_000))
    assert 0 < _memory.free_bytes() <= 10_000_000


def test_a_fit_that_cannot_succeed_is_refused_before_it_begins(monkeypatch):
    X, D = sample(n=2000, q=50)
    monkeypatch.setattr(_memory, "free_bytes", lambda: 5e5)
    with pytest.raises(
        MemoryError,
        match=r"StructRF needs at least 0.000\d+ GB of memory .*, and 0.0005 GB are free. Draw",
    ):
        StructRF(n_estimators=1).fit(X, D)
    with pytest.raises(MemoryError, match=r"LDSVR needs at least 0.064 GB"):
        as_stated(LDSVR).fit(X, D)
    with pytest.raises(MemoryError, match=r"PTSVM needs at least 0.00072 GB .* Lower max_rows"):
        PTSVM(max_rows=300).fit(X, D)
    assert StructRF(n_estimators=1).fit(X[:100], D[:100])


def test_the_foreseen_memory_is_no_more_than_a_fit_takes():
    """So nothing is refused that could succeed: what the columns and a tree hold, counted."""
    X, _ = sample(n=3000, q=20)
    X[:, :5] = X[:, :5] > 1  # which need no words
    columns = make_columns(X)
    drawn = len(np.unique(np.random.default_rng(0).integers(3000, size=2400)))
    held = columns.words.nbytes * (1 + 2 * drawn / 3000)
    assert bytes_of_columns(X, 2400, 1) == pytest.approx(held, rel=0.02)
    assert bytes_of_columns(sparse.csr_array(X), 2400, 1) == bytes_of_columns(X, 2400, 1)

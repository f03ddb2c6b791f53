"""Memory that is left, by what the machine has and by what a job is allowed."""

from pathlib import Path

import psutil
import pytest

pytest.importorskip("torch")

from ldl.deep import _memory


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
    assert 0 < _memory.free_bytes_of_process() <= 10_000_000


def test_without_a_limit_the_machine_decides(tmp_path, monkeypatch):
    groups(tmp_path, monkeypatch, job="max")
    assert _memory._left_of_limits() == []
    assert _memory.free_bytes_of_process() > 10_000_000


def test_another_system_has_no_groups(monkeypatch):
    def missing(path: Path) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", missing)
    assert _memory._left_of_limits() == []

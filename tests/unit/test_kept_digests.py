"""Kept digests are those that would be computed, and last no longer than the sources."""

from __future__ import annotations

import json
import os

import pytest

from ldlrepro.core import code_digest, kept_digests
from tests.unit.sources import copied, forget

STARTS = ("ldl.linear.maxent:SABFGS",)
WITHOUT = ("ldl.errors",)


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of our sources in which nothing is kept; to forget stands for a new process."""
    yield copied(tmp_path, monkeypatch).root
    monkeypatch.undo()
    forget()


def forbid(*arguments, **keywords):
    raise AssertionError("computed where it was kept")


def test_a_kept_digest_is_the_computed_one_and_is_not_computed_again(sources, monkeypatch):
    first = kept_digests.kept_digest(STARTS, WITHOUT)
    assert first == code_digest.code_digest(*STARTS, without=WITHOUT)
    forget()
    monkeypatch.setattr(code_digest, "code_digest", forbid)
    assert kept_digests.kept_digest(STARTS, WITHOUT) == first
    with pytest.raises(AssertionError, match="computed where"):
        kept_digests.kept_digest(STARTS, ())


@pytest.mark.parametrize("changed", ["ldl/linear/maxent.py", "ldl/linear/_bfgs.py"])
def test_a_changed_source_is_read_again(sources, changed):
    """The file has its old date and its old size; what it does is another thing."""
    first = kept_digests.kept_digest(STARTS, WITHOUT)
    file = sources / changed
    text = file.read_text()
    assert "1e-10" in text or "1e-15" in text
    dates = file.stat()
    file.write_text(text.replace("1e-10", "1e-11").replace("1e-15", "1e-16"))
    assert file.stat().st_size == dates.st_size
    os.utime(file, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    forget()
    second = kept_digests.kept_digest(STARTS, WITHOUT)
    assert second != first
    assert second == code_digest.code_digest(*STARTS, without=WITHOUT)


def test_what_another_process_kept_meanwhile_stays(sources, monkeypatch):
    one = kept_digests.kept_digest(STARTS, WITHOUT)
    kept_digests._kept.cache_clear()
    before = kept_digests._kept()
    before.clear()  # as if it had been read before the other process wrote
    other = kept_digests.kept_digest(STARTS, ())
    forget()
    monkeypatch.setattr(code_digest, "code_digest", forbid)
    assert kept_digests.kept_digest(STARTS, WITHOUT) == one
    assert kept_digests.kept_digest(STARTS, ()) == other


@pytest.mark.parametrize("content", ["", "{", "[]", '{"sources": 1}', '{"digests": {}}'])
def test_a_spoilt_file_is_written_anew(sources, content):
    first = kept_digests.kept_digest(STARTS, WITHOUT)
    kept_digests._file().write_text(content)
    forget()
    assert kept_digests.kept_digest(STARTS, WITHOUT) == first
    assert first in json.loads(kept_digests._file().read_text())["digests"].values()


def test_a_folder_that_may_not_be_written_to_keeps_nothing(sources):
    (sources / "ldlrepro" / "__pycache__").write_text("a file where the folder should be")
    assert len(kept_digests.kept_digest(STARTS, WITHOUT)) == 64

"""Fetching from mirrors and from what the user put there; what a second fetch keeps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.data.fetch import fetch
from tests.fetch_server import (
    CONTENT,
    OTHER,
    Server,
    assert_arrived,
    entry,
    get,
)
from tests.here import known


def mirror_with(tmp_path: Path, content: bytes, place: str = "data.bin") -> Path:
    path = tmp_path / "mirror" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return tmp_path / "mirror"


@pytest.mark.parametrize("place", ["data.bin", "demo/data.bin"])
def test_a_mirror_is_copied_from_before_any_address(
    tmp_path: Path, server: Server, place: str
) -> None:
    mirror = mirror_with(tmp_path, CONTENT, place)
    status = get(tmp_path, entry(server.url), mirrors=[mirror])
    assert_arrived(status, tmp_path)
    assert status.files[0]["source"] == f"local: {mirror / place}"
    assert server.ranges == []
    copied = tmp_path / "raw" / "demo" / "data.bin"
    assert not copied.is_symlink()
    assert copied.stat().st_nlink == 1


def test_what_the_user_put_into_manual_comes_first(tmp_path: Path) -> None:
    manual = tmp_path / "manual" / "demo" / "data.bin"
    manual.parent.mkdir(parents=True)
    manual.write_bytes(CONTENT)
    status = get(tmp_path, entry("https://127.0.0.1/"), mirrors=[mirror_with(tmp_path, CONTENT)])
    assert status.files[0]["source"] == f"local: {manual}"


def test_a_wrong_mirror_is_named_and_the_next_source_is_used(
    tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    mirror = mirror_with(tmp_path, OTHER)
    assert_arrived(get(tmp_path, entry(server.url), mirrors=[mirror]), tmp_path)
    assert f"{mirror / 'data.bin'}: expected SHA-256" in caplog.text


def test_a_corrupt_file_is_reported_and_fetched_again(
    tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    get(tmp_path, entry(server.url))
    target = tmp_path / "raw" / "demo" / "data.bin"
    target.write_bytes(OTHER)
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)
    assert f"{target}: expected SHA-256" in caplog.text


def test_eight_fetches_at_once_give_one_whole_file(tmp_path: Path, server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: get(tmp_path, entry(server.url)), range(8)))
    for status in statuses:
        assert_arrived(status, tmp_path)
    assert len(server.ranges) == 1


@pytest.mark.parametrize("name", ["raw", ".locks"])
def test_a_data_folder_that_cannot_be_written_is_a_user_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a file, not a folder")
    with pytest.raises(UserError, match="Choose another data folder"):
        get(tmp_path, entry("", urls=[]))


def test_drawing_that_is_cut_short_leaves_no_status_of_an_earlier_one(tmp_path, monkeypatch):
    from ldlrepro.data.fetch import read_status

    fetch(known("toy"), tmp_path, [], offline=True, progress=False)
    assert read_status(tmp_path / "raw" / "toy").available

    def killed(folder: Path, *arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ldlrepro.data.drawn.draw", killed)
    with pytest.raises(KeyboardInterrupt):
        fetch(known("toy"), tmp_path, [], offline=True, progress=False)
    with pytest.raises(UserError, match="not fetched yet"):
        read_status(tmp_path / "raw" / "toy")


@pytest.mark.parametrize("dataset", ["toy", "drawn_cacd"], ids=["table", "photographs"])
def test_preparing_waits_for_a_fetch_under_way(tmp_path, dataset):
    from concurrent.futures import TimeoutError as Waiting

    from ldlrepro.data.fetch import locked
    from ldlrepro.data.registry import prepare

    fetch(known(dataset), tmp_path, [], offline=True, progress=False)
    with ThreadPoolExecutor(1) as pool:
        with locked(dataset, tmp_path):
            preparing = pool.submit(prepare, known(dataset), tmp_path)
            with pytest.raises(Waiting):
                preparing.result(timeout=1)
        assert preparing.result(timeout=60).is_file()

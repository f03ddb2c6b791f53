"""Fetching against a server on this machine that misbehaves in every way we could think of."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ldlrepro.data.fetch import fetch
from tests.described import data_set
from tests.fetch_server import (
    CONTENT,
    OTHER,
    Naps,
    Server,
    assert_absent,
    assert_arrived,
    entry,
    get,
    offset_of,
    send_all,
    send_from,
    spec_of,
    start_answer,
)

# ---------------------------------------------------------------------- downloads


def test_a_plain_download_arrives_and_is_recorded(tmp_path: Path, server: Server) -> None:
    status = get(tmp_path, entry(server.url))
    assert_arrived(status, tmp_path)
    recorded = json.loads((tmp_path / "raw" / "demo" / "fetch.json").read_text())
    assert recorded["files"] == [
        {
            "name": "data.bin",
            "sha256": hashlib.sha256(CONTENT).hexdigest(),
            "bytes": len(CONTENT),
            "source": server.url,
        }
    ]


def test_a_git_blob_id_alone_is_enough_to_check(tmp_path: Path, server: Server) -> None:
    blob = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
    wanted = {"name": "data.bin", "git_blob": blob, "urls": [server.url]}
    assert_arrived(get(tmp_path, wanted), tmp_path)
    wrong = {**wanted, "git_blob": "0" * 40}
    status = get(tmp_path / "second", wrong)
    assert_absent(status, tmp_path / "second", "expected git blob id 000000", blob)


def test_a_broken_download_continues_where_it_stopped(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: send_from(h, CONTENT, stop=len(CONTENT) // 3 + offset_of(h))
    naps = Naps()
    assert_arrived(get(tmp_path, entry(server.url), sleep=naps), tmp_path)
    assert server.ranges == [None, "bytes=100000-", "bytes=200000-"]
    assert naps == [1.0, 2.0]


def test_a_server_that_ignores_range_makes_us_start_over(tmp_path: Path, server: Server) -> None:
    stops = iter([50_000, None])

    def answer(handler: Any) -> None:
        start_answer(handler, 200, Content_Length=len(CONTENT))
        handler.wfile.write(CONTENT[: next(stops)])

    server.answer = answer
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)
    assert server.ranges == [None, "bytes=50000-"]


def test_content_that_changed_between_two_attempts_is_fetched_anew(
    tmp_path: Path, server: Server
) -> None:
    def answer(handler: Any) -> None:
        first = len(server.ranges) == 1
        send_from(handler, b"x" * len(CONTENT) if first else CONTENT, 70_000 if first else None)

    server.answer = answer
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)
    assert server.ranges == [None, "bytes=70000-", None]


def test_wrong_bytes_are_named_and_leave_nothing(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: send_from(h, OTHER)
    status = get(tmp_path, entry(server.url))
    expected, got = (hashlib.sha256(c).hexdigest() for c in (CONTENT, OTHER))
    assert_absent(status, tmp_path, server.url, f"expected SHA-256 {expected}", f"got {got}")
    assert len(server.ranges) == 1  # asking again would not help


def test_a_silent_server_is_given_up(tmp_path: Path, server: Server) -> None:
    release = threading.Event()

    def answer(handler: Any) -> None:
        start_answer(handler, 200, Content_Length=len(CONTENT))
        handler.wfile.flush()
        release.wait(20)

    server.answer = answer
    status = get(tmp_path, entry(server.url), attempts=2, timeouts=(1.0, 0.1))
    release.set()
    assert not status.available
    assert "no data for 0.1 s" in status.reason


def test_an_endless_stream_stops_at_the_known_size(tmp_path: Path, server: Server) -> None:
    sent = 0

    def answer(handler: Any) -> None:
        nonlocal sent
        start_answer(handler, 200)
        while sent < 100 * len(CONTENT):
            handler.wfile.write(b"x" * 65536)
            sent += 65536

    server.answer = pour(answer)
    status = get(tmp_path, entry(server.url))
    assert_absent(status, tmp_path, f"more than {len(CONTENT)} bytes")
    assert sent < 100 * len(CONTENT)


def pour(answer: Callable[[Any], None]) -> Callable[[Any], None]:
    """The client hangs up on purpose; the server's complaint is of no interest."""

    def quiet(handler: Any) -> None:
        try:
            answer(handler)
        except OSError:
            handler.wfile = io.BytesIO()

    return quiet


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/x", "http://[::2]/"])
def test_redirects_to_anything_but_https_are_refused(
    tmp_path: Path, server: Server, target: str
) -> None:
    server.answer = lambda h: start_answer(h, 302, Location=target, Content_Length=0)
    status = get(tmp_path, entry(server.url))
    assert_absent(status, tmp_path, target, "only https addresses are allowed")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "file:///etc/hostname"])
def test_addresses_without_https_are_never_opened(tmp_path: Path, url: str) -> None:
    status = get(tmp_path, entry(url), loopback_http=False)
    assert_absent(status, tmp_path, "only https addresses are allowed")


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("99999", 120.0), ("soon", 1.0)])
def test_a_busy_server_is_given_the_time_it_asks_for(
    tmp_path: Path, server: Server, asked: str, waited: float
) -> None:
    def answer(handler: Any) -> None:
        if len(server.ranges) == 1:
            start_answer(handler, 429, Content_Length=0, Retry_After=asked)
        else:
            send_all(handler)

    server.answer, naps = answer, Naps()
    assert_arrived(get(tmp_path, entry(server.url), sleep=naps), tmp_path)
    assert naps == [waited]


def test_an_unreachable_server_is_a_reason_and_no_error(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/data.bin"
        naps = Naps()
        status = get(tmp_path, entry(url), sleep=naps)
    assert_absent(status, tmp_path, url, "cannot connect")
    assert naps == [1.0, 2.0, 4.0]


def test_offline_opens_no_address(tmp_path: Path, server: Server) -> None:
    status = fetch(data_set(spec_of(entry(server.url))), tmp_path, [], offline=True)
    assert_absent(status, tmp_path, "offline")
    assert server.ranges == []

"""A server on this machine for tests of fetching, and what they ask of it and of the answer."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.data.download import Web
from ldlrepro.data.fetch import FetchStatus, fetch
from tests.described import data_set

CONTENT = np.random.default_rng(0).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
OTHER = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])


class Server:
    """Serves every path with ``answer(handler)``; remembers the Range headers that came."""

    def __init__(self) -> None:
        self.answer: Callable[[Any], None] = send_all
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.ranges.append(self.headers.get("Range"))
                self.close_connection = True
                outer.answer(self)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/data.bin"

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def start_answer(handler: Any, status: int, **headers: object) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()


def offset_of(handler: Any) -> int:
    wanted = handler.headers.get("Range")
    return int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0


def send_from(handler: Any, content: bytes, stop: int | None = None) -> None:
    """A well-behaved answer to a Range request that breaks off before ``stop``."""
    offset = offset_of(handler)
    if offset:
        whole = f"bytes {offset}-{len(content) - 1}/{len(content)}"
        start_answer(handler, 206, Content_Length=len(content) - offset, Content_Range=whole)
    else:
        start_answer(handler, 200, Content_Length=len(content))
    handler.wfile.write(content[offset:stop])


def send_all(handler: Any) -> None:
    send_from(handler, CONTENT)


class Naps(list[float]):
    """Stands in for time.sleep."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def web(**changes: Any) -> Web:
    settings = {"sleep": Naps(), "timeouts": (5.0, 5.0), "loopback_http": True, "progress": False}
    return Web(**{**settings, **changes})


def entry(url: str, content: bytes = CONTENT, **changes: Any) -> dict[str, Any]:
    return {
        "name": "data.bin",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "urls": [url],
        **changes,
    }


def spec_of(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"reader": "mat", "files": list(entries)}


def get(tmp_path: Path, *entries: dict[str, Any], **changes: Any) -> FetchStatus:
    mirrors = changes.pop("mirrors", [])
    return fetch(data_set(spec_of(*entries)), tmp_path, mirrors, web=web(**changes))


def raw_files(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in (tmp_path / "raw" / "demo").iterdir())


def assert_arrived(status: FetchStatus, tmp_path: Path) -> None:
    assert status.available, status.reason
    assert (tmp_path / "raw" / "demo" / "data.bin").read_bytes() == CONTENT
    assert raw_files(tmp_path) == ["data.bin", "fetch.json"]


def assert_absent(status: FetchStatus, tmp_path: Path, *words: str) -> None:
    assert not status.available
    assert raw_files(tmp_path) == ["fetch.json"]
    for word in (*words, "ldlrepro fetch demo", "data/manual/demo/"):
        assert word in status.reason

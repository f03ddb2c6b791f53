"""Fetching against a server on this machine that misbehaves in every way we could think of."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldlrepro.data import fetch as fetching
from ldlrepro.data.archives import ArchiveError, unpack
from ldlrepro.data.download import Web
from ldlrepro.data.fetch import FetchStatus, default_mirrors, fetch, fetch_spec, local_sources
from ldlrepro.errors import UserError

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


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


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
    return fetch_spec("demo", spec_of(*entries), tmp_path, mirrors, web(**changes))


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


def test_a_later_call_continues_what_an_earlier_one_left(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: send_from(h, CONTENT, stop=100_000)
    assert not get(tmp_path, entry(server.url), attempts=1).available
    server.answer = send_all
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)
    assert server.ranges == [None, "bytes=100000-"]


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


@pytest.mark.parametrize("answer_range", ["bytes 5-299999/300000", "nonsense"])
def test_an_answer_with_another_range_is_not_appended(
    tmp_path: Path, server: Server, answer_range: str
) -> None:
    def answer(handler: Any) -> None:
        if handler.headers.get("Range"):
            start_answer(handler, 206, Content_Length=5, Content_Range=answer_range)
            handler.wfile.write(b"wrong")
        else:
            send_from(handler, CONTENT, stop=50_000 if len(server.ranges) == 1 else None)

    server.answer = answer
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)


def test_an_announced_length_that_is_too_big_does_not_matter(
    tmp_path: Path, server: Server
) -> None:
    def answer(handler: Any) -> None:
        start_answer(handler, 200, Content_Length=len(CONTENT) + 1000)
        handler.wfile.write(CONTENT)

    server.answer = answer
    assert_arrived(get(tmp_path, entry(server.url), attempts=1), tmp_path)
    assert_arrived(get(tmp_path / "again", entry(server.url)), tmp_path / "again")
    assert server.ranges == [None, None]


def test_a_short_answer_without_announced_length_is_continued(
    tmp_path: Path, server: Server
) -> None:
    def answer(handler: Any) -> None:
        if offset_of(handler):
            send_all(handler)
        else:
            start_answer(handler, 200)
            handler.wfile.write(CONTENT[:100_000])

    server.answer = answer
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)
    assert server.ranges == [None, "bytes=100000-"]


def test_an_announced_length_that_is_too_small_is_seen(tmp_path: Path, server: Server) -> None:
    def answer(handler: Any) -> None:
        start_answer(handler, 200, Content_Length=1000)
        handler.wfile.write(CONTENT)

    server.answer = answer
    status = get(tmp_path, entry(server.url))
    assert not status.available
    assert "expected 300000 bytes, got 1000" in status.reason
    assert not (tmp_path / "raw" / "demo" / "data.bin").exists()


def test_wrong_bytes_are_named_and_leave_nothing(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: send_from(h, OTHER)
    status = get(tmp_path, entry(server.url))
    expected, got = (hashlib.sha256(c).hexdigest() for c in (CONTENT, OTHER))
    assert_absent(status, tmp_path, server.url, f"expected SHA-256 {expected}", f"got {got}")
    assert len(server.ranges) == 1  # asking again would not help


def test_after_wrong_bytes_the_next_address_is_tried(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: send_from(h, OTHER if "first" in h.path else CONTENT)
    urls = [server.url + "?first", server.url + "?second"]
    status = get(tmp_path, entry("", urls=urls))
    assert_arrived(status, tmp_path)
    assert status.files[0]["source"] == urls[1]


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


def test_without_a_known_size_the_general_limit_holds(tmp_path: Path, server: Server) -> None:
    wanted = entry(server.url)
    del wanted["bytes"]
    status = get(tmp_path, wanted, max_bytes=100_000)
    assert_absent(status, tmp_path, "more than 100000 bytes")


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


def test_a_redirect_to_nonsense_is_a_reason_and_no_error(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: start_answer(h, 302, Location="http://[::2", Content_Length=0)
    assert_absent(get(tmp_path, entry(server.url)), tmp_path, server.url, "Invalid")


def test_a_redirect_to_an_allowed_address_is_followed(tmp_path: Path, server: Server) -> None:
    def answer(handler: Any) -> None:
        if handler.path.endswith("moved"):
            send_all(handler)
        else:
            start_answer(handler, 302, Location="/moved", Content_Length=0)

    server.answer = answer
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)


def test_redirects_in_a_circle_end(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: start_answer(h, 302, Location=h.path, Content_Length=0)
    assert_absent(get(tmp_path, entry(server.url)), tmp_path, "too many redirects")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "file:///etc/hostname"])
def test_addresses_without_https_are_never_opened(tmp_path: Path, url: str) -> None:
    status = get(tmp_path, entry(url), loopback_http=False)
    assert_absent(status, tmp_path, "only https addresses are allowed")


def test_a_busy_server_is_asked_again(tmp_path: Path, server: Server) -> None:
    def answer(handler: Any) -> None:
        if len(server.ranges) < 3:
            start_answer(handler, 503, Content_Length=0)
        else:
            send_all(handler)

    server.answer = answer
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)


def test_a_missing_page_is_not_asked_for_again(tmp_path: Path, server: Server) -> None:
    server.answer = lambda h: start_answer(h, 404, Content_Length=0)
    assert_absent(get(tmp_path, entry(server.url)), tmp_path, "HTTP status 404")
    assert len(server.ranges) == 1


def test_an_unreachable_server_is_a_reason_and_no_error(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/data.bin"
        naps = Naps()
        status = get(tmp_path, entry(url), sleep=naps)
    assert_absent(status, tmp_path, url, "cannot connect")
    assert naps == [1.0, 2.0, 4.0]


def test_offline_opens_no_address(tmp_path: Path, server: Server) -> None:
    status = fetch_spec("demo", spec_of(entry(server.url)), tmp_path, [], None)
    assert_absent(status, tmp_path, "offline")
    assert server.ranges == []


# ---------------------------------------------------------------------- local sources


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


def test_a_wrong_mirror_alone_is_a_reason(tmp_path: Path) -> None:
    mirror = mirror_with(tmp_path, OTHER)
    status = get(tmp_path, entry("", urls=[]), mirrors=[mirror])
    assert_absent(status, tmp_path, str(mirror / "data.bin"), "expected SHA-256")


def test_a_second_fetch_keeps_the_file_and_writes_the_same_status(
    tmp_path: Path, server: Server
) -> None:
    get(tmp_path, entry(server.url))
    get(tmp_path, entry(server.url))
    before = (tmp_path / "raw" / "demo" / "fetch.json").read_bytes()
    get(tmp_path, entry(server.url))
    assert (tmp_path / "raw" / "demo" / "fetch.json").read_bytes() == before
    assert len(server.ranges) == 1


def test_a_corrupt_file_is_reported_and_fetched_again(
    tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    get(tmp_path, entry(server.url))
    target = tmp_path / "raw" / "demo" / "data.bin"
    target.write_bytes(OTHER)
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)
    assert f"{target}: expected SHA-256" in caplog.text


def test_one_missing_file_of_two_makes_the_data_set_unavailable(
    tmp_path: Path, server: Server
) -> None:
    missing = entry("", urls=[], name="other.bin")
    status = get(tmp_path, entry(server.url), missing)
    assert not status.available
    assert "other.bin is in no local folder" in status.reason


def test_eight_fetches_at_once_give_one_whole_file(tmp_path: Path, server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: get(tmp_path, entry(server.url)), range(8)))
    for status in statuses:
        assert_arrived(status, tmp_path)
    assert len(server.ranges) == 1


def test_where_files_cannot_be_locked_fetching_still_works(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr("fcntl.flock", refuse)
    server.answer = lambda h: send_from(h, CONTENT, stop=100_000)
    assert_absent(get(tmp_path, entry(server.url), attempts=1), tmp_path, "connection broke")
    server.answer = send_all
    assert_arrived(get(tmp_path, entry(server.url)), tmp_path)


def test_a_data_folder_that_cannot_be_written_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("a file, not a folder")
    with pytest.raises(UserError, match="Choose another data folder"):
        get(tmp_path, entry("", urls=[]))


def test_mirrors_come_from_config_then_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LDLREPRO_DATA_MIRROR", f"{tmp_path / 'b'}:{tmp_path / 'c'}")
    found = default_mirrors([tmp_path / "a", tmp_path / "b"])
    assert found[:3] == [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    assert found.count(tmp_path / "b") == 1


def test_local_sources_lists_what_exists_and_nothing_else(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    assert local_sources("sjaffe", tmp_path, [mirror]) == []
    (mirror / "SJAFFE.mat").touch()
    assert local_sources("sjaffe", tmp_path, [mirror]) == [mirror / "SJAFFE.mat"]
    assert local_sources("fgnet", tmp_path, [mirror]) == []
    assert local_sources("toy", tmp_path, [mirror]) == []


def test_an_unknown_data_set_names_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Did you mean 'sjaffe'"):
        fetch("sjafe", tmp_path, [])


# ---------------------------------------------------------------------- images and archives


def zip_of(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tar_of(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info in members:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return path


def tar_member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    info.size = 3 if kind == tarfile.REGTYPE else 0
    return info


def test_absent_images_say_how_to_get_them(tmp_path: Path) -> None:
    status = fetch("fgnet", tmp_path, [])
    assert not status.available
    for word in ("licensed images", "FG-NET", "data/manual/fgnet/", "ldlrepro fetch fgnet"):
        assert word in status.reason


def test_images_arrive_from_archives_folders_and_files(tmp_path: Path) -> None:
    manual = tmp_path / "manual" / "fgnet"
    zip_of(manual / "a.zip", {"sub/001.jpg": b"one"})
    tar_of(manual / "b.tar.gz", tar_member("./002.jpg"))
    (manual / "loose").mkdir()
    (manual / "loose" / "003.jpg").write_bytes(b"three")
    status = fetch("fgnet", tmp_path, [])
    images = tmp_path / "raw" / "fgnet" / "images"
    found = sorted(p.relative_to(images).as_posix() for p in images.rglob("*") if p.is_file())
    assert found == ["002.jpg", "loose/003.jpg", "sub/001.jpg"]
    assert [f["name"] for f in status.files] == ["a.zip", "b.tar.gz", "loose/003.jpg"]
    assert local_sources("fgnet", tmp_path, []) == sorted(manual.iterdir())


def test_a_refused_archive_leaves_no_images(tmp_path: Path) -> None:
    manual = tmp_path / "manual" / "fgnet"
    zip_of(manual / "a.zip", {"fine.jpg": b"x", "../../evil.jpg": b"x"})
    status = fetch("fgnet", tmp_path, [])
    assert not status.available
    assert "a.zip: refused, it holds a file named '../../evil.jpg'" in status.reason
    assert [p.name for p in (tmp_path / "raw" / "fgnet").iterdir()] == ["fetch.json"]
    assert not list(tmp_path.rglob("evil.jpg"))


@pytest.mark.parametrize("name", ["/etc/x", "a/../../x", "..", "C:\\x", "\\x", "a\\..\\..\\x"])
def test_archive_members_outside_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArchiveError, match="refused"):
        unpack(zip_of(tmp_path / "a.zip", {name: b"x"}), tmp_path / "out")
    with pytest.raises(ArchiveError, match="refused"):
        unpack(tar_of(tmp_path / "a.tar.gz", tar_member(name)), tmp_path / "out")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE]
)
def test_links_and_devices_in_tar_archives_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tar_of(tmp_path / "a.tar.gz", tar_member("fine"), tar_member("bad", kind, "fine"))
    with pytest.raises(ArchiveError, match="bad"):
        unpack(path, tmp_path / "out")
    assert not (tmp_path / "out" / "bad").exists()


def test_links_in_zip_archives_are_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="link is a link"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"x": b"1"})
    content = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="x is encrypted"):
        unpack(path, tmp_path / "out")


def test_archives_that_unpack_to_too_much_are_stopped(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"zeros": bytes(1_000_000)})
    with pytest.raises(ArchiveError, match="more than 1000 bytes"):
        unpack(path, tmp_path / "out", max_bytes=1000)
    many = zip_of(tmp_path / "b.zip", {str(i): b"" for i in range(5)})
    with pytest.raises(ArchiveError, match="more than 4 files"):
        unpack(many, tmp_path / "many", max_members=4)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_never_overwrites_another_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", b"1")
        archive.writestr("x", b"2")
    with pytest.raises(ArchiveError, match="File exists"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize("ending", ["zip", "tar.gz"])
def test_truncated_archives_are_damaged(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    if ending == "zip":
        zip_of(path, {"x": CONTENT})
    else:
        with tarfile.open(path, "w:gz") as archive:
            info = tarfile.TarInfo("x")
            info.size = len(CONTENT)
            archive.addfile(info, io.BytesIO(CONTENT))
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(ArchiveError, match="damaged"):
        unpack(path, tmp_path / "out")


def test_status_files_that_are_not_ours_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ldlrepro fetch demo"):
        fetching.read_status(tmp_path / "demo")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "fetch.json").write_text("[]")
    with pytest.raises(UserError, match="not a status"):
        fetching.read_status(tmp_path / "demo")


def test_drawing_that_is_cut_short_leaves_no_status_of_an_earlier_one(tmp_path, monkeypatch):
    from ldlrepro.data import synthetic
    from ldlrepro.data.fetch import read_status

    fetch("toy", tmp_path, [], offline=True, progress=False)
    assert read_status(tmp_path / "raw" / "toy").available

    def killed(folder: Path, **arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(synthetic, "draw", killed)
    with pytest.raises(KeyboardInterrupt):
        fetch("toy", tmp_path, [], offline=True, progress=False)
    with pytest.raises(UserError, match="not fetched yet"):
        read_status(tmp_path / "raw" / "toy")


def test_preparing_waits_for_a_fetch_under_way(tmp_path):
    from concurrent.futures import ThreadPoolExecutor
    from concurrent.futures import TimeoutError as Waiting

    from ldlrepro.data.fetch import locked
    from ldlrepro.data.registry import prepare

    fetch("toy", tmp_path, [], offline=True, progress=False)
    with ThreadPoolExecutor(1) as pool:
        with locked("toy", tmp_path):
            preparing = pool.submit(prepare, "toy", tmp_path)
            with pytest.raises(Waiting):
                preparing.result(timeout=1)
        assert preparing.result(timeout=60).is_file()

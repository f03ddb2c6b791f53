"""Images and archives: what arrives from them, and what is refused."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from ldlrepro.data.archives import ArchiveError, unpack
from ldlrepro.data.fetch import fetch, local_sources
from tests.fetch_server import CONTENT
from tests.here import known


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


def test_images_arrive_from_archives_folders_and_files(tmp_path: Path) -> None:
    manual = tmp_path / "manual" / "fgnet"
    zip_of(manual / "a.zip", {"sub/001.jpg": b"one"})
    tar_of(manual / "b.tar.gz", tar_member("./002.jpg"))
    (manual / "loose").mkdir()
    (manual / "loose" / "003.jpg").write_bytes(b"three")
    status = fetch(known("fgnet"), tmp_path, [])
    images = tmp_path / "raw" / "fgnet" / "images"
    found = sorted(p.relative_to(images).as_posix() for p in images.rglob("*") if p.is_file())
    assert found == ["002.jpg", "loose/003.jpg", "sub/001.jpg"]
    assert [f["name"] for f in status.files] == ["a.zip", "b.tar.gz", "loose/003.jpg"]
    assert local_sources(known("fgnet"), tmp_path, []) == sorted(manual.iterdir())


def test_a_refused_archive_leaves_no_images(tmp_path: Path) -> None:
    manual = tmp_path / "manual" / "fgnet"
    zip_of(manual / "a.zip", {"fine.jpg": b"x", "../../evil.jpg": b"x"})
    status = fetch(known("fgnet"), tmp_path, [])
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

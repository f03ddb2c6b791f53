"""Brings the raw files of data sets and weights into ``data/raw/<id>/``, complete and checked.

Sources are tried in this order: existing files, ``data/manual/<id>/``, the mirrors, the addresses
in the data set's YAML. A file gets its final name only after its checksum was right. Unavailable
data are no error: the status says so, and how to get them. All of this applies to weights too.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TypedDict

from ldlrepro.catalogue import DataSet, Project, RawFile, Weights
from ldlrepro.core.checksums import mismatch, sha256_of
from ldlrepro.core.errors import NO_ROOM, UserError
from ldlrepro.core.files import atomically, write_json
from ldlrepro.data.archives import ArchiveError, is_archive, unpack
from ldlrepro.data.download import DownloadError, Web, download

log = logging.getLogger(__name__)

HERE = "was in data/raw"
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


class FetchedFile(TypedDict):
    """A raw file, and where it came from."""

    name: str
    sha256: str
    bytes: int
    source: str


@dataclass
class FetchStatus:
    """The outcome of ``fetch``, kept as ``data/raw/<id>/fetch.json``."""

    dataset: str
    available: bool
    reason: str = ""
    """Why the data are not available, and how to get them."""
    files: list[FetchedFile] = field(default_factory=list)


MIRRORS = "LDLREPRO_DATA_MIRROR"
"""Environment variable: local folders to copy from, separated by colons."""
OFFLINE = "LDLREPRO_OFFLINE"
"""Environment variable: never download, unless it is empty."""


def default_mirrors(project: Project, named: Iterable[str] | None = None) -> list[Path]:
    """Local folders to copy from: those of own data sets and weights, those of the configuration or
    ``named`` in its place, LDLREPRO_DATA_MIRROR's, the one beside the checkout."""
    own = [*project.own.found["dataset"].values(), *project.own.found["weight"].values()]
    found = sorted({file.path.parent for file in own})
    named = project.run.mirrors if named is None else named
    found += [Path(p).expanduser() for p in named]
    found += [Path(p) for p in os.environ.get(MIRRORS, "").split(os.pathsep) if p]
    beside = project.root.parent / "shared" / "datasets"
    return list(dict.fromkeys(found + ([beside] if beside.is_dir() else [])))


def missing_mirrors(project: Project) -> list[Path]:
    """Return the mirrors that do not exist."""
    return [path for path in default_mirrors(project) if not path.is_dir()]


def local_sources(source: DataSet | Weights, data_dir: Path, mirrors: Sequence[Path]) -> list[Path]:
    """Return the local files that ``fetch`` would use. Only their existence is checked."""
    if isinstance(source, DataSet) and source.images_of:
        return local_sources(source.owner_of_images, data_dir, mirrors)
    places = _places(source.id, data_dir, mirrors)
    if isinstance(source, DataSet) and source.reader == "images":
        place = _image_place(source.id, places)
        return [item for item in _items(place) if item.exists()] if place else []
    found = (_candidates(file.name, places) for file in source.files)
    return [paths[0] for paths in found if paths]


def fetch(
    source: DataSet | Weights,
    data_dir: Path,
    mirrors: Sequence[Path],
    offline: bool = False,
    progress: bool = True,
    images_from: Path | None = None,
    web: Web | None = None,
) -> FetchStatus:
    """Get the raw files. Unavailable data raise no error.

    Photographs come from the folder ``images_from``, whatever its name, or else from the first
    known place with the name of the data set.
    """
    folder, places = data_dir / "raw" / source.id, _places(source.id, data_dir, mirrors)
    web = None if offline else web or Web(progress=progress)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(source.id, data_dir) as alone:
            if isinstance(source, DataSet) and source.images_of:
                status = _borrow(source, data_dir, mirrors)
            elif isinstance(source, DataSet) and source.is_drawn:
                status = _draw(source, folder)
            elif isinstance(source, DataSet) and source.reader == "images":
                known = images_from or _image_place(source.id, places)
                status = _collect_images(source, folder, known)
            else:
                status = _fetch_files(source, _Getter(folder, places, web, alone))
            write_json(folder / "fetch.json", asdict(status))
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        raise UserError(
            f"{error.filename or folder}: {error.strerror}. Choose another data folder."
        ) from None
    return status


def read_status(folder: Path) -> FetchStatus:
    """Read the status that ``fetch`` left in ``data/raw/<id>/``."""
    path = folder / "fetch.json"
    try:
        return FetchStatus(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        problem = "the data set was not fetched yet"
    except (ValueError, TypeError):
        problem = "not a status written by fetch"
    raise UserError(f"{path}: {problem}. Type `ldlrepro fetch {folder.name}`.")


# ---------------------------------------------------------------------- single files


def _fetch_files(source: DataSet | Weights, getter: _Getter) -> FetchStatus:
    files, problems = [], []
    for entry in source.files:
        record = getter.get(entry)
        if record:
            files.append(record)
        else:
            problems += getter.problems or [f"{entry.name} is in no local folder"]
    if not problems:
        return FetchStatus(source.id, True, files=files)
    reason = f"{'; '.join(problems)}. {_how_to_get(source)}"
    return FetchStatus(source.id, False, reason, files)


@dataclass
class _Getter:
    """Tries the sources of one file after the other."""

    folder: Path
    places: Sequence[Path]
    web: Web | None
    alone: bool
    """No other process works in this folder, so a partial download can be continued later."""
    problems: list[str] = field(default_factory=list)

    def get(self, entry: RawFile) -> FetchedFile | None:
        self.problems = []
        target = self.folder / entry.name
        source = self._present(entry, target) or self._copy(entry, target)
        source = source or self._download(entry, target)
        if not source:
            return None
        for problem in self.problems:  # otherwise they become the reason in the status
            log.warning("%s", problem)
        return _record(target, entry.name, source)

    def _present(self, entry: RawFile, target: Path) -> str:
        if not target.is_file():
            return ""
        wrong = mismatch(target, entry)
        if not wrong:
            return HERE
        self.problems.append(f"{target}: {wrong}; removed")
        target.unlink()
        return ""

    def _copy(self, entry: RawFile, target: Path) -> str:
        for path in _candidates(entry.name, self.places):
            try:
                atomically(target, partial(_verified_copy, path, entry))
            except _WrongContentError as error:
                self.problems.append(str(error))
            except OSError as error:
                if error.errno in NO_ROOM:
                    raise
                self.problems.append(f"{path}: {error.strerror}")
            else:
                return f"local: {path}"
        return ""

    def _download(self, entry: RawFile, target: Path) -> str:
        unique = "" if self.alone else f".{uuid.uuid4().hex}"
        part = target.with_name(f".{target.name}{unique}.part")
        for url in entry.urls:
            if self.web is None:
                self.problems.append(f"{url}: not tried, working offline")
                continue
            try:
                download(url, part, entry, self.web)
            except DownloadError as error:
                self.problems.append(str(error))
            else:
                os.replace(part, target)
                return str(url)
        if not self.alone:
            part.unlink(missing_ok=True)
        return ""


class _WrongContentError(Exception):
    pass


def _verified_copy(path: Path, entry: RawFile, part: Path) -> None:
    shutil.copyfile(path, part)
    if wrong := mismatch(part, entry):
        raise _WrongContentError(f"{path}: {wrong}")


def _candidates(name: str, places: Sequence[Path]) -> list[Path]:
    return [place / name for place in places if (place / name).is_file()]


def _places(dataset_id: str, data_dir: Path, mirrors: Sequence[Path]) -> list[Path]:
    places = [data_dir / "manual" / dataset_id]
    for mirror in mirrors:
        places += [mirror / dataset_id, mirror]
    return places


def _how_to_get(source: DataSet | Weights) -> str:
    names = ", ".join(entry.name for entry in source.files)
    return (
        source.how_to_get
        or f"Put {names} into data/manual/{source.id}/ and type `ldlrepro fetch {source.id}`."
    )


# ---------------------------------------------------------------------- images and drawings


def _collect_images(source: DataSet, folder: Path, place: Path | None) -> FetchStatus:
    """Unpack or copy the user's images into ``folder/images``, all or none."""
    images = folder / "images"
    if place is None:
        if _items(images):
            return FetchStatus(source.id, True, files=_records(images, HERE))
        return FetchStatus(source.id, False, f"licensed images. {_how_to_get(source)}")
    fresh = folder / ".images.part"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    try:
        for item in _items(place):
            if is_archive(item) and item.is_file():
                unpack(item, fresh)
            else:
                _copy_tree(item, fresh / item.name)
    except ArchiveError as error:
        return FetchStatus(source.id, False, f"{error}. {_how_to_get(source)}")
    else:
        shutil.rmtree(images, ignore_errors=True)
        os.replace(fresh, images)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return FetchStatus(source.id, True, files=_records(place, f"local: {place}"))


def _copy_tree(source: Path, target: Path) -> None:
    """Copy files and folders.

    A link that leads nowhere, or to a folder above it, stays unchanged, and the table of images
    reports it.
    """
    if source.is_symlink() and not _leads_on(source):
        os.symlink(os.readlink(source), target)
    elif source.is_dir():
        target.mkdir(exist_ok=True)
        for item in sorted(source.iterdir()):
            _copy_tree(item, target / item.name)
    elif source.is_file():
        shutil.copyfile(source, target)


def _leads_on(link: Path) -> bool:
    return link.exists() and not link.parent.resolve().is_relative_to(link.resolve())


def _borrow(data_set: DataSet, data_dir: Path, mirrors: Sequence[Path]) -> FetchStatus:
    """Use the images of another data set, without copying them."""
    owner = data_set.owner_of_images
    folder = data_dir / "raw" / owner.id
    status = read_status(folder) if (folder / "fetch.json").is_file() else None
    if status is None or not status.available:
        status = fetch(owner, data_dir, mirrors, offline=True)
    reason = status.reason and f"{status.reason} Then type `ldlrepro fetch {data_set.id}`."
    return FetchStatus(data_set.id, status.available, reason, status.files)


def _image_place(dataset_id: str, places: Sequence[Path]) -> Path | None:
    """Return the first folder of this name that is not empty."""
    own = (place for place in places if place.name == dataset_id)
    return next((place for place in own if _items(place)), None)


def _draw(data_set: DataSet, folder: Path) -> FetchStatus:
    from ldlrepro.data.drawn import draw

    # Drawing begins with an empty folder: no earlier status may speak for it if that is cut short.
    (folder / "fetch.json").unlink(missing_ok=True)
    way = f"drawn: {draw(folder, data_set)}"
    return FetchStatus(data_set.id, True, files=_records(folder, way))


def _items(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    return sorted(item for item in place.iterdir() if not item.name.startswith("."))


def _records(place: Path, source: str) -> list[FetchedFile]:
    paths = sorted(p for p in place.rglob("*") if p.is_file() and p.name != "fetch.json")
    return [_record(p, p.relative_to(place).as_posix(), source) for p in paths]


def _record(path: Path, name: str, source: str) -> FetchedFile:
    return {
        "name": name,
        "sha256": sha256_of(path),
        "bytes": path.stat().st_size,
        "source": source,
    }


# ---------------------------------------------------------------------- plumbing


@contextlib.contextmanager
def locked(dataset_id: str, data_dir: Path) -> Iterator[bool]:
    """Wait until nobody else fetches or reads the raw files; False where locks do not exist."""
    from filelock import FileLock

    lock = FileLock(data_dir / ".locks" / f"{dataset_id}.lock", fallback_to_soft=False)
    try:
        held = lock.acquire()
    except OSError as error:
        if error.errno in NOT_WRITABLE:
            raise
        held = None  # some network file systems
    with held or contextlib.nullcontext():
        yield held is not None

"""Turns raw files into ``data/ready/<id>.npz``, and that into a Dataset."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import DataSet, from_environment
from ldlrepro.core.checksums import array_sha256, sha256_of
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_npz, write_text
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.dataset import (
    Dataset,
    DataUnavailable,
    data_sha256,
    labels_among_features,
)
from ldlrepro.data.fetch import FetchStatus, default_mirrors, fetch, locked, read_status
from ldlrepro.data.images.reading import images_folder, read_faces
from ldlrepro.data.photographs import dataset_of_faces
from ldlrepro.data.readers import read


def load(dataset_id: str, data_dir: str | Path | None = None) -> Dataset:
    """Return the data set, after fetching and preparing it where necessary.

    It raises DataUnavailable, with what to do, for data that are not available here.
    """
    project = from_environment()
    data = Path(data_dir) if data_dir else project.root / "data"
    try:
        return load_ready(Workspace(data=data).ready(dataset_id))
    except (FileNotFoundError, DataUnavailable):
        data_set = project.data_set(dataset_id)
        fetch(data_set, data, default_mirrors(project))
        return load_ready(prepare(data_set, data))


def prepare(data_set: DataSet, data_dir: Path) -> Path:
    """Read and check the raw files; write data/ready/<id>.npz and a readable <id>.json beside it.

    For unavailable data the file says only that, so that whoever needs them can record it.
    """
    # A fetch that outlived its workflow may still be at work on the raw files.
    with locked(data_set.id, data_dir):
        return _prepare(data_set, data_dir)


def _prepare(data_set: DataSet, data_dir: Path) -> Path:
    dataset_id = data_set.id
    folder = data_dir / "raw" / dataset_id
    status = read_status(folder)
    place = Workspace(data=data_dir)
    path = place.ready(dataset_id)
    reason = status.reason
    about: dict[str, Any] = {}
    if status.available:
        _check_unchanged(data_set, folder, status)
        try:
            if data_set.layout:
                faces = read_faces(data_set, images_folder(data_set, data_dir))
                faces.write(place.faces(dataset_id))
                about["images"] = faces.summary()
                dataset = dataset_of_faces(data_set, faces, data_dir)
            else:
                dataset = read(data_set, folder)
            _check_persons(data_set, dataset)
        except DataUnavailable as error:
            reason = str(error)
        else:
            _write_ready(path, dataset, status, about)
            return path
    _write(path, {}, {"dataset": dataset_id, "available": False, "reason": reason, **about})
    return path


def _check_persons(data_set: DataSet, dataset: Dataset) -> None:
    """Refuse a wrong number of persons.

    Jobs are planned by the stated number. If it were too low, persons would be left out unnoticed.
    """
    stated = data_set.persons
    if stated is None or dataset.groups is None:
        return
    stated = stated if isinstance(stated, int) else len(stated)
    found = len(np.unique(dataset.groups))
    if found != stated:
        raise UserError(
            f"{dataset.id}: {found} persons found, {stated} stated. If {found} is right, "
            f"write persons: {found} into config/datasets/{dataset.id}.yaml."
        )


def load_ready(path: Path) -> Dataset:
    """Return the Dataset in a file that ``prepare`` wrote.

    Every read refuses rows that were changed, and labels among the features.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        meta = json.loads(str(arrays.pop("meta")))
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        raise UserError(
            f"{path}: not a prepared data set. Remove it and type `ldlrepro fetch {path.stem}`."
        ) from None
    if not meta["available"]:
        raise DataUnavailable(f"{meta['dataset']} is not available: {meta['reason']}")
    X = _unpacked(arrays)
    _refuse_altered(path, X, arrays, meta)
    return Dataset(
        id=meta["dataset"],
        X=X,
        D=arrays["D"],
        groups=arrays.get("groups"),
        target=arrays.get("target"),
        labels=meta["labels"],
        fingerprint=meta["fingerprint"],
        meta=meta["meta"],
    )


def not_prepared(path: Path) -> UserError:
    """Return the error for a file that ``prepare`` has not written yet."""
    name = path.stem
    todo = f"Type `ldlrepro fetch {name}` and `ldlrepro prepare {name}` first."
    return UserError(f"{path}: no such file. {todo}")


def _refuse_altered(
    path: Path, X: Any, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> None:
    """Refuse rows that do not match their digests, and features that hold labels.

    For rows without features, the digest is that of their images, which lie elsewhere.
    """
    D = arrays["D"]
    again = f"rm {path}; ldlrepro prepare {meta['dataset']}"
    beside = _beside_sha256(arrays)
    changed = beside != meta.get("beside_sha256", beside)  # older files do not state it
    changed |= X.shape[1] > 0 and data_sha256(X, D) != meta["fingerprint"]["data_sha256"]
    if changed:
        raise UserError(
            f"{path}: its rows were changed since they were prepared; they have another digest "
            f"than the file states. Make them again:\n  {again}"
        )
    if found := labels_among_features(X, D):
        feature, label = found
        raise UserError(
            f"{meta['dataset']}: feature column {feature} is label column {label}, so methods read "
            f"the answers. Take it out of the features in the raw file, then type\n  {again}"
        )


def _beside_sha256(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the digest of everything beside the features: labels, persons, targets."""
    beside = [[name, array_sha256(arrays[name])] for name in sorted(arrays) if name[0] != "X"]
    return hashlib.sha256(json.dumps(beside).encode()).hexdigest()


def warning_of(path: Path) -> str:
    """Return a warning for users of the features in this file, such as untrained weights."""
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return str(record.get("meta", {}).get("features", {}).get("warning", ""))


def defects_found(dataset: Dataset) -> list[str]:
    """Describe and count the oddities of this data set."""
    counts = dataset.fingerprint
    words = {
        "duplicate_feature_rows": "feature rows that repeat another one",
        "duplicate_rows": "rows that repeat another one, features and labels",
        "duplicate_label_rows": "label rows that repeat another one",
        "zeros_in_D": "label degrees of exactly zero",
        "renormalised_rows": "label rows that missed one and were divided by their sums",
        "zero_columns": "feature columns of zeros only",
        "duplicate_columns": "feature columns that repeat another one",
    }
    return [f"{text}: {counts[key]}" for key, text in words.items() if counts[key]]


def _check_unchanged(data_set: DataSet, folder: Path, status: FetchStatus) -> None:
    known = {record["name"]: record["sha256"] for record in status.files}
    for entry in data_set.files:
        path = folder / entry.name
        if not path.is_file() or sha256_of(path) != known.get(entry.name):
            raise UserError(
                f"{path}: gone, or changed since it was fetched. "
                f"Type `ldlrepro fetch {status.dataset}`."
            )


def _write_ready(
    path: Path, dataset: Dataset, status: FetchStatus, about: Mapping[str, Any]
) -> None:
    arrays = {**_packed(dataset.X), "D": dataset.D}
    if dataset.groups is not None:
        arrays["groups"] = dataset.groups
    if dataset.target is not None:
        arrays["target"] = dataset.target
    # Where a file came from differs between machines, and these bytes must not.
    files = [{"name": f["name"], "sha256": f["sha256"], "bytes": f["bytes"]} for f in status.files]
    n, q = dataset.X.shape
    meta = {
        "dataset": dataset.id,
        "available": True,
        "shape": {"n": n, "q": q, "c": dataset.D.shape[1]},
        "labels": dataset.labels,
        "fingerprint": dataset.fingerprint,
        "beside_sha256": _beside_sha256(arrays),
        "defects_found": defects_found(dataset),
        "meta": {**dataset.meta, "files": files},
        **about,
    }
    _write(path, arrays, meta)


def _write(path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    text = json.dumps(meta, indent=1, sort_keys=True)
    write_text(path.with_suffix(".json"), text + "\n")
    write_npz(path, {**arrays, "meta": np.array(text)})


def _packed(X: Any) -> dict[str, np.ndarray]:
    if not hasattr(X, "tocsr"):
        return {"X": X}
    return {
        "X_data": X.data,
        "X_indices": X.indices.astype(np.int32),
        "X_indptr": X.indptr.astype(np.int64),
        "X_shape": np.array(X.shape),
    }


def _unpacked(arrays: Mapping[str, np.ndarray]) -> Any:
    if "X" in arrays:
        return arrays["X"]
    from scipy.sparse import csr_matrix

    parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
    return csr_matrix(parts, shape=tuple(arrays["X_shape"]))

"""Turns raw files into features and label distributions, and refuses invalid content.

Nothing is ever unpickled. Every complaint names the file and what to type.
"""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldl.metrics import MAX_LABEL_SUM_ERROR
from ldlrepro.catalogue import DataSet
from ldlrepro.catalogue.data_sets import Shape
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.data.csv_tables import read_csv
from ldlrepro.data.dataset import Dataset, fingerprint

ROUNDING = 1e-12
"""Row sums this close to one stay as they are."""


def read(data_set: DataSet, folder: Path) -> Dataset:
    """Read the data set whose raw files are in ``folder``; raise UserError for wrong content."""
    reader = {
        "mat": _read_table,
        "npz": _read_table,
        "csv": _read_csv,
        "drawn_table": _read_table,
    }[data_set.reader]
    with _told(data_set.id):
        return reader(data_set, folder)


def dataset_of(
    data_set: DataSet, path: Path, parts: Mapping[str, Any], labels: Sequence[str]
) -> Dataset:
    """Return a checked Dataset of arrays computed from the files in ``path``."""
    with _told(data_set.id):
        return checked(data_set, path, parts, labels)


@contextlib.contextmanager
def _told(dataset_id: str) -> Iterator[None]:
    try:
        yield
    except _BadFileError as error:
        path, problem = error.args
        raise UserError(
            f"{path}: {problem}. Remove the file and type `ldlrepro fetch {dataset_id}`."
        ) from None


class _BadFileError(Exception):
    """(path, what is wrong with it)"""


# ---------------------------------------------------------------------- tables


def _read_table(data_set: DataSet, folder: Path) -> Dataset:
    files = data_set.files
    path = folder / (files[0].name if files else "table.npz")
    keys = data_set.keys.plain() or {part: part for part in ("X", "D")[bool(data_set.labels_of) :]}
    stored = _load_mat(path) if data_set.reader == "mat" else _load_npz(path)
    for name in keys.values():
        if name not in stored:
            held = ", ".join(sorted(stored)) or "nothing"
            raise _BadFileError(
                path, f"there is no variable '{name}'.{nearest(name, stored)} It holds: {held}"
            )
    parts = {part: stored[name] for part, name in keys.items()}
    if data_set.labels_of:
        parts["X"] = np.arange(len(parts["D"]))[:, None]
    return checked(data_set, path, parts, data_set.labels)


def _read_csv(data_set: DataSet, folder: Path) -> Dataset:
    path = folder / data_set.files[0].name
    try:
        parts = read_csv(path, data_set)
    except FileNotFoundError:
        raise _BadFileError(path, "no such file") from None
    except ValueError as error:
        raise _BadFileError(path, str(error)) from None
    return checked(data_set, path, parts, data_set.labels)


def _load_mat(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    _refuse_pickle(path)
    try:
        stored = loadmat(path)
    except NotImplementedError:
        raise _BadFileError(path, "MATLAB 7.3 files are not read; save it as version 7") from None
    except MemoryError:
        raise
    except Exception as error:  # scipy raises whatever the broken bytes lead to
        raise _BadFileError(path, f"not a readable .mat file ({_first_line(error)})") from None
    return {name: value for name, value in stored.items() if not name.startswith("__")}


def _load_npz(path: Path) -> dict[str, Any]:
    _refuse_pickle(path)
    try:
        stored = np.load(path, allow_pickle=False)
        if isinstance(stored, np.ndarray):  # .npy holds a single array
            return {"D": stored}
        with stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise _BadFileError(path, "no such file") from None
    except (ValueError, EOFError, OSError, TypeError, zipfile.BadZipFile) as error:
        raise _BadFileError(path, f"not a readable .npz file ({_first_line(error)})") from None


def _refuse_pickle(path: Path) -> None:
    """Refuse pickles, because loading them runs code.

    They start with 0x80 and a protocol number.
    """
    try:
        with open(path, "rb") as handle:
            start = handle.read(2)
    except FileNotFoundError:
        raise _BadFileError(path, "no such file") from None
    if len(start) == 2 and start[0] == 0x80 and start[1] <= 5:
        raise _BadFileError(path, "this is a Python pickle, which is never loaded")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# ---------------------------------------------------------------------- checks


def checked(
    data_set: DataSet, path: Path, parts: Mapping[str, Any], names: Sequence[str]
) -> Dataset:
    """Return a Dataset of raw arrays ``X``, ``D``, ``target``, ``groups`` read from ``path``."""
    X = _features(path, parts["X"], data_set.sparse)
    D = _numbers(path, "label", parts["D"])
    if X.shape[0] != D.shape[0]:
        raise _BadFileError(path, f"{X.shape[0]} feature rows but {D.shape[0]} label rows")
    _check_shape(path, data_set.shape, X, D)
    D, renormalised = _distributions(path, D, data_set.renormalise)
    labels = [*names]
    if labels and len(labels) != D.shape[1]:
        raise _BadFileError(path, f"{D.shape[1]} labels but {len(labels)} names in the config")
    target = _per_row(path, "target", parts.get("target"), len(D))
    return Dataset(
        id=data_set.id,
        X=X,
        D=D,
        groups=_persons(path, data_set.persons, parts.get("groups"), len(D)),
        target=None if target is None else _numbers(path, "target", target[:, None])[:, 0],
        labels=labels,
        fingerprint={**fingerprint(X, D), "renormalised_rows": renormalised},
    )


def _persons(
    path: Path, sizes: int | Sequence[int] | None, named: Any, n: int
) -> np.ndarray | None:
    """Return the person of each row, from the file or counted off in the order of the rows."""
    if sizes is None or named is not None:
        return _per_row(path, "groups", named, n)
    if isinstance(sizes, int):  # as many for each
        sizes = [n // sizes] * sizes
    if sum(sizes) != n:
        raise _BadFileError(path, f"its {n} rows are not those of persons, {sum(sizes)} in all")
    return np.repeat(np.arange(len(sizes)), sizes)


def _features(path: Path, X: Any, sparse: bool) -> Any:
    from scipy.sparse import csr_matrix, issparse

    if not (sparse and issparse(X)):
        X = _numbers(path, "feature", X)
    if not sparse:
        return X
    X = csr_matrix(X)
    X.sum_duplicates()
    X.data = _numbers(path, "feature", X.data[None, :])[0]
    X.eliminate_zeros()
    X.sort_indices()
    return X


def _numbers(path: Path, what: str, values: Any) -> np.ndarray:
    if hasattr(values, "toarray"):
        values = values.toarray()
    values = np.asarray(values)
    if values.ndim != 2 or values.size == 0:
        raise _BadFileError(path, f"the {what} table has shape {values.shape}, not (rows, columns)")
    if not (np.issubdtype(values.dtype, np.floating) or np.issubdtype(values.dtype, np.integer)):
        raise _BadFileError(path, f"the {what} table holds {values.dtype}, not real numbers")
    values = np.ascontiguousarray(values, dtype=np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        raise _BadFileError(path, f"the {what} table holds NaN or infinity, first in row {row + 1}")
    return values


def _check_shape(path: Path, stated: Shape | None, X: Any, D: np.ndarray) -> None:
    found = {"n": X.shape[0], "q": X.shape[1], "c": D.shape[1]}
    words = {"n": "rows", "q": "features", "c": "labels"}
    wrong = [
        f"{found[key]} {words[key]} instead of {count}"
        for key, count in (vars(stated) if stated else {}).items()
        if count is not None and found[key] != count
    ]
    if wrong:
        raise _BadFileError(path, "it has " + ", ".join(wrong))


def _distributions(path: Path, D: np.ndarray, renormalise: bool) -> tuple[np.ndarray, int]:
    """Divide rows by sums that miss one; return the rows and how many were divided."""
    if (D < 0).any():
        row = int(np.argmax((D < 0).any(axis=1)))
        raise _BadFileError(path, f"negative label degrees, first in row {row + 1}")
    sums = D.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if not renormalise and abs(sums[worst] - 1) > MAX_LABEL_SUM_ERROR:
        raise _BadFileError(path, f"label row {worst + 1} sums to {sums[worst]:.6g}, not to 1")
    if (sums <= 0).any():
        raise _BadFileError(path, f"label row {int(np.argmin(sums)) + 1} holds only zeros")
    off = np.abs(sums - 1) > ROUNDING
    D = D.copy()
    D[off] /= sums[off, None]
    return D, int(off.sum())


def _per_row(path: Path, what: str, values: Any, rows: int) -> np.ndarray | None:
    if values is None:
        return None
    values = np.asarray(values).ravel()
    if len(values) != rows:
        raise _BadFileError(path, f"{len(values)} entries of '{what}' for {rows} rows")
    # MATLAB's lists of words arrive as objects, and objects could only be stored as pickles.
    return np.array([str(np.squeeze(v)) for v in values]) if values.dtype == object else values

"""Reading raw files: what is accepted, what is mended and counted, what is refused and how."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csr_matrix, issparse

from ldlrepro.core.errors import UserError
from ldlrepro.data import load_ready
from ldlrepro.data.dataset import fingerprint
from ldlrepro.data.fetch import fetch
from ldlrepro.data.readers import read
from ldlrepro.data.registry import prepare
from tests.described import data_set
from tests.traps import Trap

N, Q, C = 12, 5, 3


def good_arrays(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"features": rng.normal(size=(N, Q)), "labels": rng.dirichlet(np.ones(C), size=N)}


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "reader": "mat",
        "files": [{"name": "data.mat"}],
        "keys": {"X": "features", "D": "labels"},
        "shape": [N, Q, C],
        **changes,
    }


def read_mat(folder: Path, arrays: dict[str, Any], **changes: Any) -> Any:
    savemat(folder / "data.mat", arrays)
    return read(data_set(spec(**changes)), folder)


def assert_refused(folder: Path, arrays: dict[str, Any], problem: str, **changes: Any) -> None:
    with pytest.raises(UserError) as caught:
        read_mat(folder, arrays, **changes)
    assert_one_line(str(caught.value), folder / "data.mat", problem)


def assert_one_line(message: str, path: Path, problem: str) -> None:
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert message.endswith("type `ldlrepro fetch demo`.")


# ---------------------------------------------------------------------- what is read


def test_a_mat_file_becomes_float64_tables(tmp_path: Path) -> None:
    arrays = good_arrays()
    dataset = read_mat(tmp_path, {**arrays, "features": arrays["features"].astype(np.float32)})
    np.testing.assert_array_equal(dataset.X, arrays["features"].astype(np.float32))
    np.testing.assert_array_equal(dataset.D, arrays["labels"])
    assert dataset.X.dtype == dataset.D.dtype == np.float64
    assert dataset.X.flags.c_contiguous


@pytest.mark.parametrize("stored_sparse", [False, True])
def test_sparse_data_sets_stay_sparse(tmp_path: Path, stored_sparse: bool) -> None:
    arrays: dict[str, Any] = good_arrays()
    dense = np.where(arrays["features"] > 0.5, arrays["features"], 0.0)
    arrays["features"] = csr_matrix(dense) if stored_sparse else dense
    dataset = read_mat(tmp_path, arrays, sparse=True)
    assert issparse(dataset.X)
    assert dataset.X.nnz == np.count_nonzero(dense)
    np.testing.assert_array_equal(dataset.X.toarray(), dense)


def test_cut_densities_are_divided_where_the_config_says_so(tmp_path: Path) -> None:
    arrays = good_arrays()
    arrays["labels"][[1, 5]] *= [[0.8], [0.566]]
    assert_refused(tmp_path, arrays, "label row 6 sums to 0.566, not to 1")
    dataset = read_mat(tmp_path, arrays, renormalise=True)
    np.testing.assert_allclose(dataset.D, good_arrays()["labels"], atol=1e-15)
    assert dataset.fingerprint["renormalised_rows"] == 2


# ---------------------------------------------------------------------- what is refused


def spoilt(name: str, index: Any, value: float) -> dict[str, np.ndarray]:
    arrays = good_arrays()
    arrays[name][index] = value
    return arrays


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        (spoilt("features", (3, 1), np.nan), "the feature table holds NaN or infinity"),
        (spoilt("labels", (2, 1), -0.1), "negative label degrees, first in row 3"),
        (spoilt("labels", 6, 0.5), "label row 7 sums to 1.5, not to 1"),
        ({k: v[:5] for k, v in good_arrays().items()}, "it has 5 rows instead of 12"),
        ({**good_arrays(), "features": good_arrays()["features"] * 1j}, "not real numbers"),
    ],
)
def test_tables_that_are_wrong_are_refused_in_one_line(
    tmp_path: Path, arrays: dict[str, Any], problem: str
) -> None:
    assert_refused(tmp_path, arrays, problem)


def test_a_wrong_variable_name_gets_the_nearest_one(tmp_path: Path) -> None:
    arrays = good_arrays()
    arrays["label"] = arrays.pop("labels")
    problem = "there is no variable 'labels'. Did you mean 'label'? It holds: features, label"
    assert_refused(tmp_path, arrays, problem)


@pytest.mark.parametrize("share", [0.3, 0.999])
def test_a_truncated_mat_file_is_refused_in_one_line(tmp_path: Path, share: float) -> None:
    path = tmp_path / "data.mat"
    savemat(path, good_arrays(), do_compression=True)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UserError) as caught:
        read(data_set(spec()), tmp_path)
    assert_one_line(str(caught.value), path, "")


@pytest.mark.parametrize(("reader", "name"), [("mat", "data.mat"), ("npz", "data.npz")])
def test_a_pickle_is_refused_and_not_run(tmp_path: Path, reader: str, name: str) -> None:
    trap = tmp_path / "sprung"
    (tmp_path / name).write_bytes(pickle.dumps(Trap(trap)))
    with pytest.raises(UserError) as caught:
        read(data_set(spec(reader=reader, files=[{"name": name}])), tmp_path)
    assert_one_line(str(caught.value), tmp_path / name, "Python pickle, which is never loaded")
    assert not trap.exists()


# ---------------------------------------------------------------------- fingerprints


def test_the_fingerprint_tells_another_order_from_other_rows() -> None:
    X, D = good_arrays().values()
    order = np.random.default_rng(1).permutation(N)
    first, shuffled = fingerprint(X, D), fingerprint(X[order], D[order])
    mixed = fingerprint(X[order], D)
    assert first["data_sha256"] != shuffled["data_sha256"]
    assert first["unordered_sha256"] == shuffled["unordered_sha256"]
    assert first["unordered_sha256"] != mixed["unordered_sha256"]


# ---------------------------------------------------------------------- prepared files


def prepared(tmp_path: Path, arrays: dict[str, Any], **changes: Any) -> Path:
    """Fetch from a mirror and prepare, as the workflow does."""
    mirror = tmp_path / "mirror"
    mirror.mkdir(exist_ok=True)
    savemat(mirror / "data.mat", arrays)
    sha = hashlib.sha256((mirror / "data.mat").read_bytes()).hexdigest()
    wanted = data_set(spec(files=[{"name": "data.mat", "sha256": sha}], **changes))
    fetch(wanted, tmp_path, [mirror], offline=True)
    return prepare(wanted, tmp_path)


def test_a_prepared_data_set_comes_back_as_it_was_read(tmp_path: Path) -> None:
    arrays = {**good_arrays(), "age": np.arange(N), "who": np.arange(N) // 3}
    keys = {"X": "features", "D": "labels", "target": "age", "groups": "who"}
    path = prepared(tmp_path, arrays, keys=keys, labels=["a", "b", "c"])
    dataset = load_ready(path)
    np.testing.assert_array_equal(dataset.X, arrays["features"])
    np.testing.assert_array_equal(dataset.D, arrays["labels"])
    np.testing.assert_array_equal(dataset.target, arrays["age"])
    np.testing.assert_array_equal(dataset.groups, arrays["who"])
    assert (dataset.id, dataset.labels) == ("demo", ["a", "b", "c"])
    assert dataset.fingerprint == {**fingerprint(dataset.X, dataset.D), "renormalised_rows": 0}


def test_preparing_twice_gives_the_same_bytes_wherever_the_files_came_from(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    first = prepared(here, good_arrays()).read_bytes()
    wanted = data_set(spec(files=[{"name": "data.mat", "sha256": mat_sha(here)}]))
    # A .mat file holds the time it was written, so the raw file itself is carried over.
    shutil.copytree(here / "mirror", there / "manual" / "demo")
    fetch(wanted, there, [], offline=True)
    path = prepare(wanted, there)
    assert path.read_bytes() == first
    assert path.with_suffix(".json").read_bytes() == (here / "ready" / "demo.json").read_bytes()


def mat_sha(folder: Path) -> str:
    return hashlib.sha256((folder / "mirror" / "data.mat").read_bytes()).hexdigest()


def test_a_raw_file_changed_after_fetching_is_refused(tmp_path: Path) -> None:
    prepared(tmp_path, good_arrays())
    raw = tmp_path / "raw" / "demo" / "data.mat"
    wanted = data_set(spec(files=[{"name": "data.mat", "sha256": mat_sha(tmp_path)}]))
    savemat(raw, good_arrays(seed=1))
    with pytest.raises(UserError, match="changed since it was fetched"):
        prepare(wanted, tmp_path)
    raw.unlink()
    with pytest.raises(UserError, match=r"data\.mat: gone, or changed"):
        prepare(wanted, tmp_path)

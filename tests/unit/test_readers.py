"""Reading raw files: what is accepted, what is mended and counted, what is refused and how."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csr_matrix, issparse

from ldlrepro.core.errors import UserError
from ldlrepro.data import DataUnavailable, load_ready
from ldlrepro.data.dataset import fingerprint
from ldlrepro.data.fetch import fetch
from ldlrepro.data.readers import read
from ldlrepro.data.registry import defects_found, prepare
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


def test_an_array_of_labels_alone_is_read(tmp_path: Path) -> None:
    D = good_arrays()["labels"]
    np.save(tmp_path / "label.npy", D)
    described = data_set(
        {
            "reader": "npz",
            "labels_of": "sjaffe",
            "files": [{"name": "label.npy"}],
            "shape": [N, 1, C],
        }
    )
    dataset = read(described, tmp_path)
    np.testing.assert_array_equal(dataset.D, D)
    np.testing.assert_array_equal(dataset.X, np.arange(N)[:, None])


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
    assert_refused(tmp_path, arrays, "label row 5 sums to 0.566, not to 1")
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
        (spoilt("labels", (7, 0), np.inf), "the label table holds NaN or infinity, first in row 7"),
        (spoilt("labels", (2, 1), -0.1), "negative label degrees, first in row 2"),
        (spoilt("labels", 6, 0.0), "label row 6 sums to 0, not to 1"),
        (spoilt("labels", 6, 0.5), "label row 6 sums to 1.5, not to 1"),
        ({**good_arrays(), "labels": np.eye(C)}, "12 feature rows but 3 label rows"),
        ({**good_arrays(), "labels": np.full((N, 4), 0.25)}, "it has 4 labels instead of 3"),
        ({**good_arrays(), "features": np.ones((N, 2))}, "it has 2 features instead of 5"),
        ({k: v[:5] for k, v in good_arrays().items()}, "it has 5 rows instead of 12"),
        ({**good_arrays(), "features": np.ones((2, 2, 2))}, "has shape (2, 2, 2)"),
        ({**good_arrays(), "features": np.array([["a"]], dtype=object)}, "not real numbers"),
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


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95, 0.999])
def test_a_truncated_mat_file_is_refused_in_one_line(tmp_path: Path, share: float) -> None:
    path = tmp_path / "data.mat"
    savemat(path, good_arrays(), do_compression=True)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UserError) as caught:
        read(data_set(spec()), tmp_path)
    assert_one_line(str(caught.value), path, "")


@pytest.mark.parametrize(("reader", "name"), [("mat", "data.mat"), ("npz", "data.npz")])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickle_is_refused_and_not_run(
    tmp_path: Path, reader: str, name: str, protocol: int
) -> None:
    trap = tmp_path / "sprung"
    (tmp_path / name).write_bytes(pickle.dumps(Trap(trap), protocol))
    with pytest.raises(UserError) as caught:
        read(data_set(spec(reader=reader, files=[{"name": name}])), tmp_path)
    assert_one_line(str(caught.value), tmp_path / name, "Python pickle, which is never loaded")
    assert not trap.exists()


# ---------------------------------------------------------------------- images with ratings


IMAGES = {"reader": "images", "features": {"extractor": "lbp"}, "how_to_get": "Ask for them."}


def with_ratings(tmp_path: Path, text: str) -> Path:
    from PIL import Image

    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(2):
        pixels = np.random.default_rng(number).integers(0, 256, (12, 10)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    (folder / "ratings.csv").write_text(text)
    return tmp_path


def test_ratings_become_distributions(tmp_path: Path) -> None:
    text = "file,person,joy,fear\n0.png,A,4,1\n1.png,B,1.5,1.5\n"
    dataset = read(data_set(IMAGES), with_ratings(tmp_path, text))
    np.testing.assert_allclose(dataset.D, [[0.8, 0.2], [0.5, 0.5]])
    assert dataset.groups is not None
    assert dataset.groups.tolist() == ["A", "B"]
    assert dataset.labels == ["joy", "fear"]
    assert dataset.X.shape == (2, 243)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the columns must be file, person"),
        ("file,who,a,b\n0.png,A,1,2\n", "the columns must be file, person"),
        ("file,person,a,b\n", "no rows"),
        ("file,person,a,b\n0.png,A,1\n", "rows of different lengths"),
        ("file,person,a,b\n0.png,A,1,much\n", "a rating is not a number"),
        ("file,person,a,b\n0.png,A,1,nan\n", "NaN"),
        ("file,person,a,b\n0.png,A,1,-1\n", "ratings must be positive"),
        ("file,person,a,b\n9.png,A,1,1\n", "1 listed images are missing, first 9.png"),
    ],
)
def test_a_wrong_table_of_ratings_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    folder = with_ratings(tmp_path, text)
    with pytest.raises(UserError) as caught:
        read(data_set(IMAGES), folder)
    assert_one_line(str(caught.value), folder / "images" / "ratings.csv", problem)


def test_images_without_ratings_or_features_are_unavailable_as_a_table(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"ratings.csv is missing. Ask for them"):
        read(data_set(IMAGES), tmp_path)
    with pytest.raises(DataUnavailable, match="no table of features"):
        read(data_set({"reader": "images"}), tmp_path)


# ---------------------------------------------------------------------- fingerprints


def test_the_fingerprint_tells_another_order_from_other_rows() -> None:
    X, D = good_arrays().values()
    order = np.random.default_rng(1).permutation(N)
    first, shuffled = fingerprint(X, D), fingerprint(X[order], D[order])
    mixed = fingerprint(X[order], D)
    assert first["data_sha256"] != shuffled["data_sha256"]
    assert first["unordered_sha256"] == shuffled["unordered_sha256"]
    assert first["unordered_sha256"] != mixed["unordered_sha256"]


def test_sparse_and_dense_features_have_the_same_fingerprint() -> None:
    X, D = good_arrays().values()
    X = np.where(X > 0, X, -0.0)
    assert fingerprint(csr_matrix(X), D) == fingerprint(X, D)


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


def test_the_readable_summary_names_shape_fingerprint_and_defects(tmp_path: Path) -> None:
    arrays = good_arrays()
    arrays["features"][3] = arrays["features"][2]
    path = prepared(tmp_path, arrays)
    summary = json.loads(path.with_suffix(".json").read_text())
    assert summary["shape"] == {"n": N, "q": Q, "c": C}
    assert summary["fingerprint"] == load_ready(path).fingerprint
    assert summary["defects_found"] == ["feature rows that repeat another one: 1"]
    assert summary["defects_found"] == defects_found(load_ready(path))


def test_unavailable_data_are_prepared_as_such(tmp_path: Path) -> None:
    files = [{"name": "data.mat", "sha256": "0" * 64}]
    wanted = data_set(spec(files=files, how_to_get="Ask the authors."))
    fetch(wanted, tmp_path, [], offline=True)
    path = prepare(wanted, tmp_path)
    with pytest.raises(DataUnavailable, match=r"demo is not available: .*Ask the authors\."):
        load_ready(path)
    summary = json.loads(path.with_suffix(".json").read_text())
    assert summary["available"] is False


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


@pytest.mark.parametrize(("sizes", "last"), [(4, 3), ([4, 8], 1)])
def test_rows_stand_person_by_person(tmp_path, sizes, last) -> None:
    found = read_mat(tmp_path, good_arrays(), persons=sizes)
    assert len(found.groups) == len(found.D) == N
    assert (found.groups[0], found.groups[-1]) == (0, last)

"""Public data sets: what is fetched is checked and kept; drawn data have a model that is found."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csr_matrix

from ldl import datasets
from ldl.errors import UserError

X = np.round(np.random.default_rng(0).random((6, 3)), 2)
D = np.tile([0.25, 0.75000001], (6, 1))


@pytest.fixture
def toy(tmp_path, monkeypatch) -> dict:
    """A public set of six rows; its address is a file of this machine."""
    far = tmp_path / "far.mat"
    savemat(far, {"features": csr_matrix(X), "labels": D, "age": np.arange(6)[:, None]})
    content = far.read_bytes()
    source = {
        "file": "Toy.mat",
        "url": far.as_uri(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "keys": {"X": "features", "D": "labels", "target": "age"},
        "shape": [6, 3, 2],
        "labels": ["calm", "glad"],
        "persons": 3,
        "sparse": True,
        "description": "Six rows.",
        "citation": "Nobody, 2026",
    }
    monkeypatch.setattr(datasets, "sources", lambda: {"toy": source})
    for name in (datasets.FOLDER, datasets.MIRROR):
        monkeypatch.delenv(name, raising=False)
    return source


def test_what_was_fetched_once_needs_no_network(toy, tmp_path):
    home = tmp_path / "home"
    first = datasets.load("toy", data_home=home)
    toy["url"] = "file:///nowhere"
    again = datasets.load("toy", data_home=home)
    np.testing.assert_array_equal(again.data.toarray(), X)
    np.testing.assert_allclose(again.target, [[0.25, 0.75]] * 6, atol=1e-8)
    np.testing.assert_allclose(again.target.sum(axis=1), 1, atol=1e-15)
    assert (first.groups == [0, 0, 1, 1, 2, 2]).all()
    assert (first.target_number == np.arange(6)).all()
    assert first.label_names == ["calm", "glad"]
    assert "Six rows." in first.DESCR
    assert "Nobody, 2026" in first.DESCR
    assert sorted(os.listdir(home)) == ["Toy.mat"]


def test_a_mirror_goes_before_the_network_and_a_named_one_before_that_of_the_shell(
    toy, tmp_path, monkeypatch
):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    Path(mirror, "Toy.mat").write_bytes(Path(tmp_path, "far.mat").read_bytes())
    toy["url"] = "file:///nowhere"
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path / "one"))
    monkeypatch.setenv(datasets.MIRROR, str(mirror))
    assert datasets.load("toy").filename == str(tmp_path / "one" / "Toy.mat")
    with pytest.raises(UserError, match=r"cannot be downloaded .* Put Toy.mat into a folder"):
        datasets.load("toy", data_home=tmp_path / "two", mirror=tmp_path)


def test_another_file_is_refused_and_not_kept(toy, tmp_path):
    (tmp_path / "Toy.mat").write_bytes(b"something else")
    home = tmp_path / "home"
    with pytest.raises(UserError, match=r"Toy\.mat: not the published file, by its SHA-256"):
        datasets.load("toy", data_home=home, mirror=tmp_path)
    assert not home.exists()
    datasets.load("toy", data_home=home)
    (home / "Toy.mat").write_bytes(b"cut short")
    assert datasets.load("toy", data_home=home).data.shape == (6, 3), "fetched again"


def test_frames_and_pairs(toy, tmp_path):
    features, degrees = datasets.load("toy", return_X_y=True, as_frame=True, data_home=tmp_path)
    assert list(degrees.columns) == ["calm", "glad"]
    np.testing.assert_array_equal(features.to_numpy(), X)
    frame = datasets.load("toy", as_frame=True, data_home=tmp_path).frame
    assert list(frame.columns) == ["feature_0", "feature_1", "feature_2", "calm", "glad"]


def test_drawn_rows_scatter_around_the_model_as_a_dirichlet_distribution_does():
    given = {"n_features": 6, "n_labels": 3, "n_informative": 2, "random_state": 1}
    _, D, W, mean = datasets.make_distributions(
        40_000, **given, concentration=20.0, return_model=True
    )
    assert not W[2:].any()
    np.testing.assert_allclose(D.sum(axis=1), 1, atol=1e-12)
    off = (D - mean) / np.sqrt(mean * (1 - mean) / 21)
    np.testing.assert_allclose(off.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose((off**2).mean(axis=0), 1, atol=0.05)

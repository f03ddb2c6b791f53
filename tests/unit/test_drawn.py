"""Drawn data: the printed formula, the same bytes each time, and something to learn."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from ldlrepro.data.dataset import Dataset
from ldlrepro.data.drawn import draw
from ldlrepro.data.drawn.sketches import write_faces
from ldlrepro.data.drawn.toy import toy
from ldlrepro.data.fetch import fetch
from ldlrepro.data.registry import load_ready, prepare
from tests.described import data_set
from tests.here import known


def made(dataset: str, data_dir: Path) -> Dataset:
    assert fetch(known(dataset), data_dir, []).available
    return load_ready(prepare(known(dataset), data_dir))


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return made("drawn_faces", tmp_path_factory.mktemp("faces"))


def tree_digest(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


# ---------------------------------------------------------------------- toy data


def test_toy_labels_follow_the_printed_formula_by_hand() -> None:
    X, D = toy(n=50, noise_variance=0.0, seed=3)
    for x, d in zip(X, D, strict=True):
        assert x[2] == pytest.approx(math.exp(-(x[0] ** 2) - x[1] ** 2), abs=1e-15)
        t = [v + v * v / 2 + v**3 / 5 + 1 for v in x]
        p1 = (4 * t[0] + 2 * t[1] + t[2]) ** 2
        p2 = (t[0] + 2 * t[1] + 4 * t[2] + p1 / 100) ** 2
        p3 = (t[0] + 4 * t[1] + 2 * t[2] + p2 / 100) ** 2
        np.testing.assert_allclose(d, np.array([p1, p2, p3]) / (p1 + p2 + p3), atol=1e-14)


def test_noise_of_the_stated_variance_falls_on_all_features_and_on_no_label() -> None:
    clean, labels = toy(n=3000, noise_variance=0.0, seed=1)
    noisy, noisy_labels = toy(n=3000, noise_variance=0.1, seed=1)
    np.testing.assert_array_equal(labels, noisy_labels)
    noise = noisy - clean
    # The standard error of a variance from 3000 draws is 0.1 * sqrt(2 / 3000) = 0.0026.
    np.testing.assert_allclose(noise.var(axis=0), 0.1, atol=0.01)
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.03)


# ---------------------------------------------------------------------- drawn faces


def test_a_seed_gives_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_faces(tmp_path / name, persons=2, images_per_person=2, seed=seed)
    first, again, other = (tree_digest(tmp_path / name) for name in "abc")
    assert first == again
    assert set(first.values()).isdisjoint(other.values())


def test_fewer_persons_leave_no_old_images_behind(tmp_path: Path) -> None:
    told = {"reader": "drawn_images", "layout": "rated", "images_per_person": 1}
    draw(tmp_path, data_set({**told, "persons": 3}))
    before = tree_digest(tmp_path)
    draw(tmp_path, data_set({**told, "persons": 2}))
    after = tree_digest(tmp_path)
    assert sorted(after) == ["images/p00_0.png", "images/p01_0.png", "images/ratings.csv"]
    assert after["images/p00_0.png"] == before["images/p00_0.png"]

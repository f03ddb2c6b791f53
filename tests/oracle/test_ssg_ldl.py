"""SSG-LDL: the worked example's rules, distances by definition, draws, and memory."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chisquare

from ldl import SSGLDL
from ldl.wrappers import ssg_ldl
from tests.oracle.examples import softmax_problem as sample
from tests.oracle.settings import as_stated


def distances(X, D, fx: float = 0.5, fy: float = 0.5) -> np.ndarray:
    return fx * cdist(X, X) + fy * cdist(D, D)


def new_rows(model: SSGLDL, X, D) -> tuple[np.ndarray, np.ndarray]:
    more, labels = model.oversample(X, D)
    np.testing.assert_array_equal(more[: len(X)], X)
    np.testing.assert_allclose(labels[: len(X)], D, rtol=1e-15)
    return more[len(X) :], labels[len(X) :]


class Draws:
    """Stands for a generator: row 0, its third neighbour, and shares of 0.6 and 0.75."""

    def choice(self, n, size, p):
        self.p = p
        return np.zeros(size, dtype=int)

    def integers(self, count, size):
        assert count == 5
        return np.full(size, 2)

    def random(self, out):
        out[:] = [0.6, 0.75]


def test_worked_example_of_the_paper(monkeypatch):
    """Each feature moves by its own share; labels are the mean of five neighbours without the row.

    The paper's figure has these shares and ends with degrees of 0.40 and 0.04 at the last two
    labels, once its slip is mended; the rows are ours.
    """
    X = np.array(
        [[1.0, 2.0], [1.5, 2.5], [2.0, 2.0], [3.0, 4.0], [0.0, 0.0], [4.0, 1.0], [90.0, 9]]
    )
    near = [
        [0.3, 0.2, 0.40, 0.10],
        [0.4, 0.2, 0.40, 0.00],
        [0.2, 0.4, 0.35, 0.05],
        [0.3, 0.2, 0.45, 0.05],
        [0.4, 0.2, 0.40, 0.00],
    ]
    D = np.array([[0.1, 0.2, 0.3, 0.4], *near, [0.0, 0.0, 0.0, 1.0]])
    draws = Draws()
    monkeypatch.setattr(np.random, "default_rng", lambda seed: draws)
    made, labels = new_rows(as_stated(SSGLDL, amount=0.15), X, D)
    third = np.argsort(distances(X, D)[0])[3]
    np.testing.assert_allclose(made, X[:1] + [0.6, 0.75] * (X[third] - X[0]))
    np.testing.assert_allclose(labels, [[0.32, 0.24, 0.40, 0.04]])
    np.testing.assert_allclose(
        draws.p, distances(X, D).mean(axis=1) / distances(X, D).mean(axis=1).sum()
    )


@pytest.mark.parametrize(("fx", "fy"), [(0.5, 0.5), (1.0, 0.0), (0.2, 3.0)])
def test_distances_are_weighted_sums_in_blocks_as_at_once(fx, fy, monkeypatch):
    X, D = sample(n=50)
    expected = distances(X, D, fx, fy)
    model = as_stated(SSGLDL, feature_weight=fx, label_weight=fy)
    for block in (32 * 2**20, 8 * 50 * 7):
        monkeypatch.setattr(ssg_ldl, "_BLOCK_BYTES", block)
        means, near = model._distances(X, D)
        np.testing.assert_allclose(means, expected.mean(axis=1), rtol=1e-10)
        others = expected + np.diag(np.full(50, np.inf))
        np.testing.assert_array_equal(near, np.argsort(others, axis=1)[:, :5])


def test_rows_are_drawn_in_proportion_to_their_mean_distance():
    """Labels tell which row a new one comes from: each has neighbours of its own."""
    X, D = sample(n=12)
    labels = new_rows(as_stated(SSGLDL, amount=2000.0, n_neighbors=2, random_state=1), X, D)[1]
    near = as_stated(SSGLDL, n_neighbors=2)._distances(X, D)[1]
    means = distances(X, D).mean(axis=1)
    averages = D[near].mean(axis=1)
    source = cdist(labels, averages).argmin(axis=1)
    counts = np.bincount(source, minlength=12)
    same = cdist(averages, averages) < 1e-12
    first = same.argmax(axis=1)  # rows with the same neighbours cannot be told apart
    expected = np.bincount(first, weights=means, minlength=12)
    kept = expected > 0
    assert chisquare(counts[kept], len(labels) * expected[kept] / expected.sum()).pvalue > 0.001


def test_new_rows_lie_in_the_box_of_a_row_and_one_of_its_neighbours():
    X, D = sample(n=30)
    near = as_stated(SSGLDL)._distances(X, D)[1]
    made, labels = new_rows(as_stated(SSGLDL, random_state=0), X, D)
    assert len(made) == 90
    for x, d in zip(made, labels, strict=True):
        fits = [
            i
            for i in range(30)
            for b in near[i]
            if (np.minimum(X[i], X[b]) <= x + 1e-12).all()
            and (np.maximum(X[i], X[b]) >= x - 1e-12).all()
            and np.allclose(D[near[i]].mean(axis=0), d)
        ]
        assert fits


def test_memory_grows_with_rows_and_not_with_their_square(monkeypatch):
    monkeypatch.setattr(ssg_ldl, "_BLOCK_BYTES", 2**18)
    X, D = sample(n=3000)
    tracemalloc.start()
    as_stated(SSGLDL, amount=1.0, random_state=0).oversample(X, D)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6  # all distances would take 72 MB

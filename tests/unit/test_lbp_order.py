"""The order of the bins: which pattern a bin counts, and what the published files say of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldlrepro.catalogue import from_environment
from ldlrepro.data.dataset import Dataset
from ldlrepro.data.features.lbp import (
    BINS,
    CODES,
    POINTS,
    RUNS,
    bins_in,
    lbp_histogram,
    patterns,
)
from ldlrepro.data.features.published import compare
from ldlrepro.data.fetch import default_mirrors, fetch, local_sources
from ldlrepro.data.registry import load_ready, prepare
from tests.here import known

LARGEST = {"sjaffe": 14659, "sbu_3dfe": 778256}
"""Inner pixels of the images behind the published features."""


def pattern_of(image: np.ndarray) -> int:
    """The pattern of the middle pixel of a 5 x 5 image whose inner pixels were one pixel."""
    histogram = lbp_histogram(image)
    (found,) = np.flatnonzero(histogram)
    return patterns()[found]


@pytest.mark.parametrize(("row", "column", "point"), [(2, 4, 0), (0, 2, 4), (2, 0, 8), (4, 2, 12)])
def test_points_are_counted_from_the_right_against_the_clock(
    row: int, column: int, point: int
) -> None:
    image = np.full((5, 5), 10, np.uint8)
    image[2, 2] = 100
    image[row, column] = 200
    assert pattern_of(image) == 1 << point


# ---------------------------------------------------------------------- the published files


def published(dataset: str, data_dir: Path) -> Dataset:
    described, mirrors = known(dataset), default_mirrors(from_environment())
    if not local_sources(described, data_dir, mirrors):
        pytest.skip(f"no local mirror holds {dataset}; set LDLREPRO_DATA_MIRROR to a folder of it")
    assert fetch(described, data_dir, mirrors, offline=True).available
    return load_ready(prepare(described, data_dir))


@pytest.mark.realdata
@pytest.mark.parametrize("dataset", LARGEST)
def test_published_features_are_whole_counts_without_smoothing(
    dataset: str, tmp_path: Path
) -> None:
    counts = np.asarray(published(dataset, tmp_path).X) * LARGEST[dataset]
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    # One more in each bin would leave so many pixels, and 778013 is no product of two sides.
    rest = LARGEST[dataset] - BINS
    sides = [side for side in range(50, 2000) if rest % side == 0]
    assert (dataset == "sbu_3dfe") == (not sides)


@pytest.mark.realdata
@pytest.mark.parametrize("dataset", LARGEST)
def test_published_bins_are_in_ascending_order_of_the_pattern(dataset: str, tmp_path: Path) -> None:
    """Faces look alike in a mirror, so a pattern is as frequent as the mirrored one."""
    mean = np.asarray(published(dataset, tmp_path).X).mean(axis=0)
    assert symmetry(mean, CODES) > 0.9
    assert symmetry(mean, RUNS) < 0.4


def symmetry(histogram: np.ndarray, order: str) -> float:
    """The highest correlation of log shares with those of patterns mirrored at some axis."""
    bins = np.argsort(bins_in(order))  # where this order keeps scikit-image's bins
    by_pattern = {code: histogram[bins[b]] for b, code in enumerate(patterns())}
    best = -1.0
    for turn in range(POINTS):
        mirrored = [by_pattern[reflected(code, turn)] for code in patterns()]
        best = max(best, correlation([by_pattern[code] for code in patterns()], mirrored))
    return best


def reflected(code: int, turn: int) -> int:
    return sum(1 << ((turn - k) % POINTS) for k in range(POINTS) if code >> k & 1)


def correlation(one: list[float], two: list[float]) -> float:
    """Between patterns of equal length, whose shares differ for any picture."""
    a, b = (np.log(np.array(v[1:241])).reshape(15, 16) for v in (one, two))
    a, b = (v - v.mean(axis=1, keepdims=True) for v in (a, b))
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


# ---------------------------------------------------------------------- comparison


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Drawn faces in JAFFE's files, through fetch and prepare, with ordered codes."""
    data = tmp_path_factory.mktemp("data")
    assert fetch(known("drawn_jaffe"), data, []).available
    return load_ready(prepare(known("drawn_jaffe"), data))


def in_runs(X: np.ndarray) -> np.ndarray:
    return X[:, np.argsort(bins_in(CODES))]


def test_the_same_images_in_another_order_are_recognised(drawn: Dataset) -> None:
    order = np.random.default_rng(0).permutation(len(drawn.D))
    found = compare(in_runs(drawn.X), drawn.D, drawn.X[order], drawn.D[order].round(4))
    assert (found.matched, found.rows) == (60, 60)
    assert found.any_order == pytest.approx(0, abs=1e-12)
    assert found.readings[0].order == "codes, point 0 at 0 degrees, against the clock"
    assert found.readings[0].distance == pytest.approx(0, abs=1e-12)
    assert found.readings[0].nearest == 1.0
    assert found.readings[1].distance > 0.01

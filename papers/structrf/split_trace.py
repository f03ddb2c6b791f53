# mypy: disable-error-code="no-untyped-def"
"""One split search as an experiment: every gain that is looked at, and the time that takes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numba import njit

from ldl.forests._columns import make_columns
from ldl.forests._split_search import Sample, make_node, prepare_clusters, search
from ldl.forests.structrf import StructRF

from . import split_search_numpy as twin


@dataclass(frozen=True)
class SplitSearch(twin.Split):
    """One search over all features of a node, and the time it takes."""

    sort_seconds: float
    """Sorting every column, which either search needs once per tree."""
    seconds: float
    """The compiled search itself, on sorted columns; median of ``repeats``."""


def one_split_search(
    X: np.ndarray, D: np.ndarray, step: str = "exhaustive", repeats: int = 9
) -> SplitSearch:
    """Search as StructRF does at a node of these rows, with the paper's alpha and beta."""
    X = np.asarray(X, dtype=np.float64)
    labels = twin.two_means(D)
    if labels is None:
        raise ValueError("D has only one cluster, so there is nothing to search for")
    model = StructRF(step=step)
    sort_seconds, seconds = _time(X, labels, model, repeats)
    adaptive = twin.AdaptiveStep(model.alpha, model.beta) if step == "adaptive" else None
    return SplitSearch(
        **vars(twin.best_split(X, labels, adaptive)), sort_seconds=sort_seconds, seconds=seconds
    )


def _time(X: np.ndarray, labels: np.ndarray, model: StructRF, repeats: int) -> tuple[float, float]:
    n, q = X.shape
    start = time.perf_counter()
    columns = make_columns(X)
    sort_seconds = time.perf_counter() - start
    words = np.hstack([columns.words, np.zeros((len(columns.words), 1), columns.words.dtype)])
    table = np.arange(n + 1, dtype=np.float64)
    table[1:] *= np.log(table[1:])
    sample = Sample(columns, np.empty((n, 0)), np.ones(n, np.int64), table)
    node = make_node(n, q, n, 0, two_valued=len(columns.feature_rows) > 0)
    common = (sample, labels, node, model._rules(q), words)
    _search_often(*common, 1)
    # Many searches per look at the clock: one takes less time than handing over its arguments.
    _search_often(*common, 1)
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        _search_often(*common, 20)
        taken.append((time.perf_counter() - start) / 20)
    return sort_seconds, float(np.median(taken))


@njit(nogil=True, error_model="numpy")
def _search_often(sample, labels, node, rules, words, times):
    n = len(sample.weight)
    rows, state = np.arange(n), np.zeros(1, np.uint64)
    for _ in range(times):
        prepare_clusters(node, rows, labels, sample.weight, sample.table)
        search(sample, None, node, rules, words, 0, n, rows, n, state)

# mypy: disable-error-code="no-untyped-def"
"""The compiled part of the search for the nearest rows.

Products in single precision bound all distances, and leave few rows that may be near enough. Where
bounds do not tell their order, sums of squared differences in double precision do, so that no order
depends on how products were rounded. All compiled code stands in this file, because numba looks at
the time stamp of a cached function's own file only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

compiled = njit(nogil=True, error_model="numpy")
cached = njit(cache=True, nogil=True, error_model="numpy")

_STRIPS = 64
"""The number of strips is a multiple of this, and at least twice the number of neighbours."""
_LONGEST_SUM = 128
"""Terms that NumPy adds up without halving them first."""


@cached
def candidates(products, squares, share, margins, k):
    """Return the places of all rows that may be among the k nearest, and where each point's begin.

    They stand in rough order; also returned is for which points this is surely the order of the
    first k. ``products[i, j] + squares[j]``, a squared distance without the part that all rows j
    have in common, is wrong by at most ``share * squares[j]`` and half of ``margins[i]``.
    """
    points, n = products.shape
    lower, upper = squares - share * squares, squares + share * squares
    widest = np.float32(2) * share * squares.max()
    minima = np.empty(min(n, _STRIPS * (1 + (2 * k - 1) // _STRIPS)), np.float32)
    heap = np.empty(k, np.float32)
    own = np.empty(n, np.int64)
    starts = np.zeros(points + 1, np.int64)
    places = np.empty(2 * k * points, np.int64)
    sure = np.empty(points, np.bool_)
    for i in range(points):
        _least_of_strips(products[i], upper, minima)
        limit = _kth_smallest(minima, heap) + margins[i]
        count = _up_to(limit, products[i], lower, minima, widest, own)
        sure[i] = _sort(own[:count], products[i], lower, upper, margins[i], k)
        starts[i + 1] = starts[i] + count
        while starts[i + 1] > len(places):
            places = np.concatenate((places, np.empty_like(places)))
        places[starts[i] : starts[i + 1]] = own[:count]
    return starts, places[: starts[points]], sure


@compiled
def _least_of_strips(row, added, minima):
    """Deal the sums ``row + added`` out to strips in turn, and write the least of each."""
    minima[:] = np.inf
    for start in range(0, len(row), len(minima)):
        # Parts that begin at 0 are compared eight at a time.
        some, more = row[start : start + len(minima)], added[start : start + len(minima)]
        for s in range(len(some)):
            value = some[s] + more[s]
            minima[s] = value if value < minima[s] else minima[s]


@compiled
def _kth_smallest(values, heap):
    """Return the k-th smallest value: the top of a heap of k, which holds the largest on top."""
    k = len(heap)
    heap[:] = values[:k]
    for at in range(k // 2 - 1, -1, -1):
        _sink(heap, at)
    for value in values[k:]:
        if value < heap[0]:
            heap[0] = value
            _sink(heap, 0)
    return heap[0]


@compiled
def _sink(heap, at):
    """Move a value below all larger ones under it."""
    value = heap[at]
    while 2 * at + 1 < len(heap):
        below = 2 * at + 1
        if below + 1 < len(heap) and heap[below + 1] > heap[below]:
            below += 1
        if not heap[below] > value:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = value


@compiled
def _up_to(limit, row, added, minima, widest, found):
    """Write the places with sums ``row + added`` up to the limit; return how many there are.

    The sums are at most ``widest`` below those whose minima are known. Comparisons are such that
    what is no number, after an overflow, is written as well.
    """
    count = 0
    for s in range(len(minima)):
        if minima[s] - widest > limit:
            continue
        for j in range(s, len(row), len(minima)):
            if not row[j] + added[j] > limit:
                found[count] = j
                count += 1
    return count


@compiled
def _sort(places, row, lower, upper, margin, k):
    """Sort places by their upper bounds; tell whether the order of the first k is beyond doubt."""
    if len(places) > 2 * k:
        return False
    for c in range(1, len(places)):
        place = places[c]
        bound = row[place] + upper[place]
        r = c
        while r > 0 and bound < row[places[r - 1]] + upper[places[r - 1]]:
            places[r] = places[r - 1]
            r -= 1
        places[r] = place
    for c in range(1, len(places)):
        before = places[min(c, k) - 1]
        if not row[places[c]] + lower[places[c]] > row[before] + upper[before] + margin:
            return False
    return True


@cached
def closest(points, candidates, X, k):
    """Return the places of the k candidates nearest to each point, nearest first, ties by place."""
    starts, places, sure = candidates
    found, lengths = np.empty((len(points), k), np.int64), np.empty(k)
    for i in range(len(points)):
        if sure[i]:
            found[i] = places[starts[i] : starts[i] + k]
            continue
        for c in range(starts[i], starts[i + 1]):
            length = _squared_distance(X[places[c]], points[i])
            _insert(length, places[c], c - starts[i], lengths, found[i])
    return found


@cached
def closest_compressed(points, candidates, X, k):
    """Do the same where X is compressed, without duplicate entries."""
    starts, places, sure = candidates
    indptr, indices, values = X
    found, lengths = np.empty((len(points), k), np.int64), np.empty(k)
    row = np.zeros(points.shape[1])
    for i in range(len(points)):
        if sure[i]:
            found[i] = places[starts[i] : starts[i] + k]
            continue
        for c in range(starts[i], starts[i + 1]):
            entries = slice(indptr[places[c]], indptr[places[c] + 1])
            row[indices[entries]] = values[entries]
            length = _squared_distance(row, points[i])
            row[indices[entries]] = 0.0
            _insert(length, places[c], c - starts[i], lengths, found[i])
    return found


@compiled
def _insert(length, place, before, lengths, places):
    """Put a row where it belongs among the nearest of the ``before`` rows that came before it."""
    r = min(before, len(lengths))
    while r > 0 and _nearer(length, place, lengths[r - 1], places[r - 1]):
        r -= 1
        if r + 1 < len(lengths):
            lengths[r + 1], places[r + 1] = lengths[r], places[r]
    if r < len(lengths):
        lengths[r], places[r] = length, place


@compiled
def _nearer(length, place, other_length, other_place):
    """Tell whether a row comes first; of rows as near the one with the lower place does."""
    return length < other_length or (length == other_length and place < other_place)


@compiled
def _squared_distance(x, y):
    """Add up squared differences in the order of NumPy's sum.

    The last bits decide between rows that are as near.
    """
    n = len(x)
    if n > _LONGEST_SUM:
        half = n // 2
        half -= half % 8
        return _squared_distance(x[:half], y[:half]) + _squared_distance(x[half:], y[half:])
    a = b = c = d = e = f = g = h = 0.0
    done = n - n % 8
    for i in range(0, done, 8):
        a += _square(x[i] - y[i])
        b += _square(x[i + 1] - y[i + 1])
        c += _square(x[i + 2] - y[i + 2])
        d += _square(x[i + 3] - y[i + 3])
        e += _square(x[i + 4] - y[i + 4])
        f += _square(x[i + 5] - y[i + 5])
        g += _square(x[i + 6] - y[i + 6])
        h += _square(x[i + 7] - y[i + 7])
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(done, n):
        total += _square(x[i] - y[i])
    return total


@compiled
def _square(value):
    return value * value

# mypy: disable-error-code="no-untyped-def,assignment"
"""Two-means of the label distributions of a node, compiled.

``rows`` are the node's rows, and ``weight[row]`` is how often the tree drew a row. Sums run in a
fixed order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl._compiled import compiled
from ldl.forests._compiled import START, random_below

LLOYD_STEPS = 50
POWER_STEPS = 100
RESTARTS = 10
"""Random starts, of which the best is kept; the other starts are single."""
PCA_SIGN, RANDOM, FARTHEST_PAIR = 0, 1, 2
"""Starts of the clusters: the sign of the first principal component, random pairs of rows, or two
rows far apart."""


class Clusters(NamedTuple):
    """Working memory of the two-means, and the clusters that they leave."""

    E: np.ndarray
    """Distributions minus their mean."""
    T: np.ndarray
    """The same, transposed."""
    C: np.ndarray
    """Matrix of covariances, or of the rows' products."""
    direction: np.ndarray
    other: np.ndarray
    upper: np.ndarray
    """Vectors with a place for each label."""
    scores: np.ndarray
    """By row: its place along the direction."""
    z: np.ndarray
    """Cluster of each row, 0 or 1."""
    kept: np.ndarray
    """The best clusters so far."""


def make_clusters(rows: int, labels: int) -> Clusters:
    """Allocate the memory for nodes of at most so many rows."""
    return Clusters(
        E=np.empty((rows, labels)),
        T=np.empty((labels, rows)),
        C=np.empty((labels, labels)),
        direction=np.empty(labels),
        other=np.empty(labels),
        upper=np.empty(labels),
        scores=np.empty(rows),
        z=np.empty(rows, np.uint8),
        kept=np.empty(rows, np.uint8),
    )


@compiled
def _add_multiples(total, begin, end, shares, count, lines):
    """Add ``shares[j] * lines[j]`` to a total from ``begin`` to ``end``, line after line.

    Four are added at a time, in their order, so that the total is read and written less often.
    """
    whole = count - count % 4
    for j in range(0, whole, 4):
        a, b, c, d = shares[j], shares[j + 1], shares[j + 2], shares[j + 3]
        for k in range(begin, end):
            total[k] = (
                ((total[k] + a * lines[j, k]) + b * lines[j + 1, k]) + c * lines[j + 2, k]
            ) + d * lines[j + 3, k]
    for j in range(whole, count):
        for k in range(begin, end):
            total[k] += shares[j] * lines[j, k]


@compiled
def _centre(D, rows, weight, room):
    """Write the rows of D minus their weighted mean into E, and its transpose into T.

    Returns false if all rows are equal.
    """
    E, T, mean = room.E, room.T, room.other
    m, c = len(rows), D.shape[1]
    mean[:] = 0.0
    total = 0
    differs = False
    first = rows[0]
    for i in range(m):
        row = rows[i]
        w = weight[row]
        total += w
        for j in range(c):
            mean[j] += w * D[row, j]
            differs |= D[row, j] != D[first, j]
    for j in range(c):
        mean[j] /= total
    if differs:
        for i in range(m):
            row = rows[i]
            for j in range(c):
                E[i, j] = D[row, j] - mean[j]
                T[j, i] = E[i, j]
    return differs


@compiled
def _greatest(values, size):
    """Return the greatest absolute value; four are compared at a time, which saves time alone."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = size - size % 4
    for k in range(0, whole, 4):
        a = max(a, abs(values[k]))
        b = max(b, abs(values[k + 1]))
        c = max(c, abs(values[k + 2]))
        d = max(d, abs(values[k + 3]))
    for k in range(whole, size):
        a = max(a, abs(values[k]))
    return max(max(a, b), max(c, d))


@compiled
def _dominant_direction(C, size, direction, following):
    """Find the first eigenvector of the leading block of C.

    Power steps start from the row with the greatest diagonal element. Only the upper triangle of C
    needs to be filled.
    """
    widest = 0
    for j in range(size):
        if C[j, j] > C[widest, widest]:
            widest = j
        for k in range(j):
            C[j, k] = C[k, j]
    for j in range(size):
        direction[j] = C[widest, j]
    for _ in range(POWER_STEPS):
        following[:size] = 0.0
        _add_multiples(following, START, size, direction, size, C)
        largest = _greatest(following, size)
        if largest == 0.0:
            break
        for j in range(size):
            value = following[j] / largest
            following[j] = value - direction[j]
            direction[j] = value
        if _greatest(following, size) < 1e-6:
            break


@compiled
def _principal_direction(rows, weight, room):
    """Find the first principal component of the centred rows E.

    It comes from the matrix of covariances or, where rows are fewer than labels, from the matrix of
    the rows' products.
    """
    E, T, C, spare = room.E, room.T, room.C, room.scores
    direction, following = room.direction, room.other
    m, c = len(rows), E.shape[1]
    C[:] = 0.0
    if m >= c:
        for j in range(c):
            for i in range(m):
                spare[i] = weight[rows[i]] * T[j, i]
            _add_multiples(C[j], START, c, spare, m, E)
        _dominant_direction(C, c, direction, following)
        return
    for i in range(m):
        _add_multiples(C[i], i, m, E[i], c, T)
        for k in range(i, m):
            C[i, k] *= np.sqrt(np.float64(weight[rows[i]] * weight[rows[k]]))
    _dominant_direction(C, m, following, direction)
    direction[:] = 0.0
    for i in range(m):
        share = following[i] * np.sqrt(np.float64(weight[rows[i]]))
        for j in range(c):
            direction[j] += share * E[i, j]


@compiled
def _lloyd(rows, weight, offset, room):
    """Take Lloyd's steps from the two sides of the plane E @ direction = offset.

    The clusters go into z. Returns the sum of squares between the two, or -1 if one is empty.
    """
    E, direction, z, upper, score = room.E, room.direction, room.z, room.upper, room.scores
    m, c = len(rows), E.shape[1]
    z[:m] = 0
    upper[:] = 0.0
    total = 0
    count = 0
    for i in range(m):
        total += weight[rows[i]]
    for _ in range(LLOYD_STEPS):
        moved = False
        score[:m] = 0.0
        _add_multiples(score, START, m, direction, c, room.T)
        for i in range(m):
            side = np.uint8(score[i] > offset)
            if side != z[i]:
                moved = True
                z[i] = side
                w = weight[rows[i]] if side else -weight[rows[i]]
                count += w
                for j in range(c):
                    upper[j] += w * E[i, j]
        if count == 0 or count == total:
            return -1.0
        if not moved:
            break
        # E is centred, so the other cluster's sum is the negative of this one's.
        offset = 0.0
        for j in range(c):
            a = upper[j] / count
            b = -upper[j] / (total - count)
            direction[j] = a - b
            offset += 0.5 * (a * a - b * b)
    between = 0.0
    for j in range(c):
        between += upper[j] * upper[j]
    return between * (1.0 / count + 1.0 / (total - count))


@compiled
def _between_rows(E, low, high, direction):
    """Write the direction of the plane half-way between two rows, and return its offset."""
    offset = 0.0
    for j in range(E.shape[1]):
        direction[j] = E[high, j] - E[low, j]
        offset += 0.5 * (E[high, j] ** 2 - E[low, j] ** 2)
    return offset


@compiled
def _farthest(E, m, point):
    """Return the first row at the greatest distance from a point."""
    best, greatest = 0, -1.0
    for i in range(m):
        distance = 0.0
        for j in range(E.shape[1]):
            distance += (E[i, j] - point[j]) ** 2
        if distance > greatest:
            best, greatest = i, distance
    return best


@compiled
def two_means(D, rows, weight, start, state, room):
    """Write two clusters of the distributions of ``rows`` into z; return false if there are no two.

    Of several random starts the first with the greatest sum of squares between its clusters is
    kept.
    """
    m, E, direction, z = len(rows), room.E, room.direction, room.z
    if not _centre(D, rows, weight, room):
        return False
    offset = 0.0
    if start == PCA_SIGN:
        _principal_direction(rows, weight, room)
    elif start == FARTHEST_PAIR:
        room.other[:] = 0.0
        low = _farthest(E, m, room.other)
        offset = _between_rows(E, low, _farthest(E, m, E[low]), direction)
    best = -1.0
    for _ in range(RESTARTS if start == RANDOM else 1):
        if start == RANDOM:
            low = random_below(state, m)
            high = random_below(state, m - 1)
            offset = _between_rows(E, low, high + (high >= low), direction)
        found = _lloyd(rows, weight, offset, room)
        if found > best:
            best = found
            for i in range(m):
                room.kept[i] = z[i]
    for i in range(m):
        z[i] = room.kept[i]
    return best >= 0.0

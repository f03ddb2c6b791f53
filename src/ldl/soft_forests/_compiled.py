# mypy: disable-error-code="no-untyped-def"
"""Compiled steps of soft forests on a linear map: routes through trees, products with sparse rows.

They do what a dozen calls of torch would do, without writing down what lies between these. Every
sum is added up in torch's order, so results have the bits they would have there. Exponentials,
logarithms and products of dense matrices are left to torch.

Arrays have rows along the last axis, as in ``_routing``. All compiled code stands in this file,
because numba looks at the time stamp of a cached function's own file only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import intrinsic

compiled = njit(nogil=True, error_model="numpy")
cached = njit(cache=True, nogil=True, error_model="numpy")

TERMS = 16
"""Terms that torch adds up one after the other before it adds their sum to that of all before."""
WIDTH = 512
"""Units whose outputs are turned at a time: few enough for the processor's cache."""
APART = 16
"""Unused entries between lines of turned outputs, lest all lines fall on the same places there."""


@intrinsic
def _fused(typing_context, a, b, c):
    """Return a * b + c, rounded once."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return a(a, b, c), generate


# ---------------------------------------------------------------------- routes


@cached
def descend(both, asked, trees, reached):
    """Add the logarithms on the ways to all leaves into ``reached``, (leaves and trees, rows).

    ``both`` has ln of the probabilities of both sides, (2, units, rows); ``asked`` the unit of each
    node, level by level. A node leaves its line to its left child.
    """
    rows = reached.shape[1]
    reached[:trees] = 0.0
    start, nodes = 0, trees
    while nodes < len(reached):
        for node in range(nodes):
            unit = asked[start + node]
            left, right = both[0, unit], both[1, unit]
            here, there = reached[node], reached[nodes + node]
            for row in range(rows):
                before = here[row]
                there[row] = right[row] + before
                here[row] = left[row] + before
        start += nodes
        nodes *= 2


@cached
def climb(sums, trees, used, first, found):
    """Compute the gradient by the outputs of f, (units, rows), into ``found``.

    ``sums`` has a line for each node of the levels from the root on, the last of which is that of
    the leaves and is given; then one that stands for no node. ``used`` names the lines of each
    unit's nodes and of their left children, (uses, 2, units), and ``first`` is the probability of
    the left side, (units, rows).
    """
    nodes = (len(sums) - 1 + trees) // 2
    while nodes > trees:
        half = nodes // 2
        start, upper = nodes - trees, half - trees
        for node in range(half):
            above, left, right = sums[upper + node], sums[start + node], sums[start + half + node]
            for row in range(len(above)):
                above[row] = left[row] + right[row]
        nodes = half
    uses, _, units = used.shape
    nowhere = len(sums) - 1
    whole = np.empty((2, sums.shape[1]), sums.dtype)
    part = np.empty((2, sums.shape[1]), sums.dtype)
    for unit in range(units):
        whole[:] = 0.0
        part[:] = 0.0
        for use in range(uses):
            if used[use, 0, unit] == nowhere:
                break
            for side in range(2):
                total, line = part[side], sums[used[use, side, unit]]
                for row in range(len(line)):
                    total[row] += line[row]
            if use % TERMS == TERMS - 1:
                whole += part
                part[:] = 0.0
        below, left, rate, slope = part[0], part[1], first[unit], found[unit]
        before, left_before = whole[0], whole[1]
        for row in range(len(slope)):
            slope[row] = rate[row] * (below[row] + before[row]) - (left[row] + left_before[row])


# ---------------------------------------------------------------------- the linear map


@cached
def move(parameter, velocity, gradient, momentum, rate):
    """Take a step of gradient descent with momentum; all arrays have one axis."""
    for k in range(len(parameter)):
        velocity[k] = velocity[k] * momentum + gradient[k]
        parameter[k] = _fused(velocity[k], -rate, parameter[k])


class Batch(NamedTuple):
    """Rows of a sparse matrix, and their entries feature by feature."""

    rows: np.ndarray
    features: np.ndarray
    """Features that any of the rows has."""
    starts: np.ndarray
    """Where the entries of each of these begin, and an end."""
    places: np.ndarray
    """Place of each entry's row in the batch, ascending within a feature."""
    values: np.ndarray


@cached
def by_features(indptr, indices, data, width, rows):
    """Return the features of a batch, and the entries of each: starts, places, values."""
    ends = np.zeros(width, np.int64)
    count = 0
    for row in rows:
        for entry in range(indptr[row], indptr[row + 1]):
            ends[indices[entry]] += 1
            count += 1
    present = 0
    for feature in range(width):
        present += ends[feature] > 0
    features, starts = np.empty(present, np.int64), np.empty(present + 1, np.int64)
    places, values = np.empty(count, np.int64), np.empty(count, data.dtype)
    present = count = 0
    for feature in range(width):
        if ends[feature]:
            features[present], starts[present] = feature, count
            present += 1
            ends[feature], count = count, count + ends[feature]
    starts[present] = count
    for place in range(len(rows)):
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            at = ends[indices[entry]]
            places[at], values[at] = place, data[entry]
            ends[indices[entry]] += 1
    return features, starts, places, values


@cached
def outputs(indptr, indices, data, rows, W, shift, b, turned, found):
    """Compute W'x - shift + b of sparse rows x into ``found``, (units, rows)."""
    units = W.shape[1]
    for start in range(0, units, WIDTH):
        width = min(WIDTH, units - start)
        for place in range(len(rows)):
            line = turned[place, :width]
            line[:] = 0.0
            for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
                value, weights = data[entry], W[indices[entry], start : start + width]
                for k in range(width):
                    line[k] += value * weights[k]
        for k in range(width):
            unit = start + k
            line = found[unit]
            for place in range(len(rows)):
                line[place] = turned[place, k] - shift[unit] + b[unit]


@compiled
def _turn(by_outputs, start, width, turned):
    """Copy ``width`` units of (units, rows) into (rows, units)."""
    for k in range(width):
        line = by_outputs[start + k]
        for place in range(len(line)):
            turned[place, k] = line[place]


@compiled
def _gradient(places, values, turned, found):
    """Compute the gradient by the weights of a feature from its entries in a batch."""
    found[:] = 0.0
    for entry in range(len(places)):
        value, line = values[entry], turned[places[entry]]
        for k in range(len(found)):
            found[k] += value * line[k]


@cached
def gradient(features, starts, places, values, by_outputs, turned, found):
    """Compute the gradient by W, (features, units), from the gradient by the outputs."""
    units = len(by_outputs)
    found[:] = 0.0
    for start in range(0, units, WIDTH):
        width = min(WIDTH, units - start)
        _turn(by_outputs, start, width, turned)
        for j in range(len(features)):
            entries = slice(starts[j], starts[j + 1])
            _gradient(
                places[entries],
                values[entries],
                turned,
                found[features[j], start : start + width],
            )


@cached
def catch_up(features, now, moved, W, velocity, momentum, rate):
    """Take the steps that are due for these features up to step ``now``, without gradients.

    ``moved`` is the step that each feature has come to.
    """
    units = W.shape[1]
    for feature in features:
        due = now - moved[feature]
        if not due:
            continue
        for start in range(0, units, WIDTH):
            weights = W[feature, start : start + WIDTH]
            speed = velocity[feature, start : start + WIDTH]
            for _ in range(due):
                for k in range(len(weights)):
                    speed[k] *= momentum
                    weights[k] = _fused(speed[k], -rate, weights[k])
        moved[feature] = now


@cached
def move_present(
    features, starts, places, values, by_outputs, turned, moved, W, velocity, momentum, rate
):
    """Take a step for the features of a batch, which have come to the step before."""
    units = len(by_outputs)
    slope = np.empty(WIDTH, W.dtype)
    for start in range(0, units, WIDTH):
        width = min(WIDTH, units - start)
        _turn(by_outputs, start, width, turned)
        for j in range(len(features)):
            entries, feature = slice(starts[j], starts[j + 1]), features[j]
            _gradient(places[entries], values[entries], turned, slope[:width])
            weights = W[feature, start : start + width]
            speed = velocity[feature, start : start + width]
            for k in range(width):
                speed[k] = speed[k] * momentum + slope[k]
                weights[k] = _fused(speed[k], -rate, weights[k])
    for feature in features:
        moved[feature] += 1

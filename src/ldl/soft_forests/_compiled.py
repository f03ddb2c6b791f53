# mypy: disable-error-code="no-untyped-def,call-arg,var-annotated"
"""Compiled steps of soft forests on a linear map: routes through trees, products with sparse rows.

They do what a dozen calls of torch would do, without writing down what lies between these. Every
sum is added up in torch's order, so results have the bits they would have there. Exponentials,
logarithms and products of dense matrices are left to torch.

Arrays have rows along the last axis, as in ``_routing``.
"""

from __future__ import annotations

from numba.extending import intrinsic

from ldl._compiled import cached, compiled

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
def descend(left, F, asked, leaves, trees, reached, start, leaf_step, tree_step):
    """Add up the logarithms on the ways to all leaves.

    ``left`` has ln of the probabilities of the left sides, (units, rows), for outputs ``F``;
    ``asked`` the unit of each node, level by level. ``reached`` has one axis; the line of a leaf
    begins ``leaf_step`` behind that of the leaf before, and that of a tree ``tree_step``. A node
    leaves its line to its left child.
    """
    rows = left.shape[1]
    for tree in range(trees):
        at = start + tree * tree_step
        reached[at : at + rows] = 0.0
    node, nodes = 0, 1
    while nodes < leaves:
        for place in range(nodes):
            for tree in range(trees):
                ln, output = left[asked[node]], F[asked[node]]
                at = start + place * leaf_step + tree * tree_step
                here = reached[at : at + rows]
                at += nodes * leaf_step
                there = reached[at : at + rows]
                for row in range(rows):
                    before = here[row]
                    there[row] = (ln[row] - output[row]) + before
                    here[row] = ln[row] + before
                node += 1
        nodes *= 2


@compiled
def _add(total, line):
    """Add a line to a total."""
    for row in range(len(line)):
        total[row] += line[row]


@cached
def climb(mass, times, sums, spare, used, first, found):
    """Compute the gradient by the outputs of f, (units, rows), into ``found``.

    The mass of a leaf is ``mass`` (leaves, trees, rows) times ``times`` (trees, leaves, rows).
    ``sums`` is room for a line for each node of the levels from the root on, leaves included, and
    one that stands for no node; ``spare`` is room for four more. ``used`` names the lines of each
    unit's nodes and of their left children, (uses, 2, units), and ``first`` is the probability of
    the left side, (units, rows).
    """
    leaves, trees, _ = mass.shape
    nodes = leaves * trees
    for leaf in range(leaves):
        for tree in range(trees):
            line = sums[nodes - trees + leaf * trees + tree]
            one, other = mass[leaf, tree], times[tree, leaf]
            for row in range(len(line)):
                line[row] = one[row] * other[row]
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
    whole, part = spare[:2], spare[2:]
    for unit in range(units):
        whole[:] = 0.0
        part[:] = 0.0
        for use in range(uses):
            if used[use, 0, unit] == nowhere:
                break
            for side in range(2):
                _add(part[side], sums[used[use, side, unit]])
            if use % TERMS == TERMS - 1:
                _add(whole[0], part[0])
                _add(whole[1], part[1])
                part[:] = 0.0
        below, left, rate, slope = part[0], part[1], first[unit], found[unit]
        before, left_before = whole[0], whole[1]
        for row in range(len(slope)):
            slope[row] = rate[row] * (below[row] + before[row]) - (left[row] + left_before[row])


# ---------------------------------------------------------------------- the linear map


@compiled
def _turn(lines, turned):
    """Copy a matrix into its transpose, some columns at a time lest lines leave the cache."""
    for start in range(0, lines.shape[1], APART):
        stop = min(start + APART, lines.shape[1])
        for line in range(len(lines)):
            for column in range(start, stop):
                turned[column, line] = lines[line, column]


@cached
def move(parameter, velocity, gradient, momentum, rate):
    """Take a step of gradient descent with momentum; all arrays have one axis."""
    for k in range(len(parameter)):
        velocity[k] = velocity[k] * momentum + gradient[k]
        parameter[k] = _fused(velocity[k], -rate, parameter[k])


@cached
def by_features(indptr, indices, data, rows, ends, features, starts, places, values):
    """Write down the entries of some rows feature by feature; return how many features there are.

    These are the ``features`` that any of the rows has, where the entries of each begin and the
    last ones end, the place among ``rows`` of each entry's row, ascending within a feature, and its
    value. ``ends`` has a zero for each feature of the data.
    """
    for row in rows:
        for entry in range(indptr[row], indptr[row + 1]):
            ends[indices[entry]] += 1
    present = count = 0
    for feature in range(len(ends)):
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
    return present


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
                line[k] = line[k] - shift[start + k] + b[start + k]
        _turn(turned[:, :width], found[start : start + width])


@compiled
def _gradient(places, values, turned, found):
    """Compute the gradient by the weights of a feature from its entries in a batch."""
    found[:] = 0.0
    for entry in range(len(places)):
        value, line = values[entry], turned[places[entry]]
        for k in range(len(found)):
            found[k] += value * line[k]


@cached
def move_weights(by_feature, by_outputs, turned, slope, offset, total, W, velocity, momentum, rate):
    """Take a step of gradient descent with momentum by W, (features, units).

    ``by_feature`` holds the batch as ``by_features`` writes it down; ``slope`` is room for WIDTH
    numbers.

    With an ``offset`` it is subtracted from all rows, and ``total`` is the gradient by the outputs
    summed over rows; so all features move. With one of length 0 only those of the batch do.
    """
    features, starts, places, values = by_feature
    units = len(by_outputs)
    moving, zero = len(offset) or len(features), momentum - momentum
    for start in range(0, units, WIDTH):
        width = min(WIDTH, units - start)
        _turn(by_outputs[start : start + width], turned)
        present = 0
        for j in range(moving):
            feature = j if len(offset) else features[j]
            weights = W[feature, start : start + width]
            speed = velocity[feature, start : start + width]
            shift = -offset[feature] if len(offset) else zero
            if present < len(features) and features[present] == feature:
                entries = slice(starts[present], starts[present + 1])
                _gradient(places[entries], values[entries], turned, slope[:width])
                present += 1
                for k in range(width):
                    by_weight = _fused(shift, total[start + k], slope[k])
                    speed[k] = speed[k] * momentum + by_weight
                    weights[k] = _fused(speed[k], -rate, weights[k])
            else:
                for k in range(width):
                    speed[k] = speed[k] * momentum + shift * total[start + k]
                    weights[k] = _fused(speed[k], -rate, weights[k])


@compiled
def _catch_up(feature, now, moved, W, velocity, momentum, rate):
    """Take the steps that are due for one feature, while its weights are in the cache."""
    due = now - moved[feature]
    moved[feature] = now
    for start in range(0, W.shape[1], WIDTH):
        weights = W[feature, start : start + WIDTH]
        speed = velocity[feature, start : start + WIDTH]
        for _ in range(due):
            for k in range(len(weights)):
                speed[k] *= momentum
                weights[k] = _fused(speed[k], -rate, weights[k])


@cached
def catch_up(indptr, indices, rows, now, moved, W, velocity, momentum, rate):
    """Take the steps that are due for the features of these rows up to step ``now``.

    They are steps without a gradient. ``moved`` is the step that each feature has come to.
    """
    for row in rows:
        for entry in range(indptr[row], indptr[row + 1]):
            if moved[indices[entry]] < now:
                _catch_up(indices[entry], now, moved, W, velocity, momentum, rate)


@cached
def catch_up_all(now, moved, W, velocity, momentum, rate):
    """Take the steps that are due for all features up to step ``now``."""
    for feature in range(len(moved)):
        _catch_up(feature, now, moved, W, velocity, momentum, rate)

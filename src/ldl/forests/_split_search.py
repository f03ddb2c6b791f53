# mypy: disable-error-code="no-untyped-def,assignment,call-arg"
"""The search for the split with the greatest information gain, compiled.

A row that the bootstrap drew w times is one row of weight w. Gains are in nats, times the node's
rows n. The entropy of the node's classes, times n, is n ln n minus the sum of m ln m over the
counts m of the classes, so a gain is a sum of entries of a table of m ln m.

With two clusters three entries are enough: for each number of rows on the left, the tables ONES,
ZEROS and BOTH hold the sum of m ln m over the two sides, for cluster one, cluster zero and all
rows. Counts are packed: all rows in the upper bits of a word, those of cluster one in the lower
bits.

A sorted column is searched in one of two ways: ``_scan`` finds the best of all thresholds between
two clusters, and ``_walk`` tries those that adaptive steps lead to, or all, for any classes.

``label`` is the class of each row, or None with clusters: what is not needed is not compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl._compiled import compiled
from ldl.forests._columns import NEW_VALUE, ROW, TWO_VALUED, Columns
from ldl.forests._compiled import START, random_below

NO_GAIN = 1e-9
"""Gains, or differences of gains, below this are rounding."""
ONE = np.uint64(1)
"""Places in a column are unsigned, for a signed index would be looked at for its sign."""
BLOCKS, SHORTEST, LONGEST = np.uint64(8), np.uint64(4), np.uint64(16)
"""Blocks of a column whose gains have a common bound, and the fewest and most rows of one."""
ROUNDING = 1e-14
"""A gain is exact but for this share of the node's m ln m."""
SMALL_NODE = 48
"""With fewer rows the adaptive search looks at every gain first."""
HIGH = np.uint64(32)
LOW = np.uint64(2**32 - 1)
"""Where the two counts of a packed word stand."""
ONES, ZEROS, BOTH = 0, 1, 2
"""Lines of ``Node.tables``."""
BAR, GREATEST, PARENT = 0, 1, 2
"""Places in ``Node.best``."""
EVERY_CUT, LOOK_FIRST, STEP_BY_STEP = range(3)
"""Ways through a node. Small nodes LOOK_FIRST at every gain, which costs less than steps, and
follow the steps only where a gain exceeds the greatest so far: no other feature can matter."""


class Rules(NamedTuple):
    """The settings by which a tree grows."""

    min_split: int
    """A node with fewer rows is a leaf."""
    max_depth: int
    """A node deeper than this is a leaf."""
    root_depth: int
    """Depth of the root."""
    per_node: int
    """Features drawn at each node; 0 for all."""
    classes: int
    """Classes of the fixed labels; 0 for two-means at each node."""
    start: int
    """Start of the two-means."""
    adaptive: bool
    """Go on by alpha N / (1 + exp(beta (g / g_max - 1/2))) rows after a gain of g in a node of N
    rows; false tries every threshold."""
    alpha: float
    beta: float
    per_feature: bool
    """g_max is the greatest gain of the feature; else of the node."""


class Sample(NamedTuple):
    """Rows and features that one tree grows on."""

    columns: Columns
    D: np.ndarray
    """Distributions of which leaves hold the means."""
    weight: np.ndarray
    """Times that each row was drawn."""
    table: np.ndarray
    """m ln m, by m."""


class Node(NamedTuple):
    """Memory that the search of one node reads and writes; allocated once per tree."""

    packed: np.ndarray
    """By row: weight in the upper bits, weight of cluster one in the lower ones."""
    tables: np.ndarray
    """Sums over both sides of m ln m, by the count on the left."""
    totals: np.ndarray
    """Rows of each fixed class; empty with clusters."""
    left: np.ndarray
    """Rows of each fixed class on the left of a cut."""
    above: np.ndarray
    """Rows at the upper value of a two-valued feature, packed; then by class."""
    tried: np.ndarray
    """Thresholds tried, by feature; those that a bound rules out count as well."""
    best: np.ndarray
    """Gain that a better split must exceed; g_max of the steps; the node's own sum of m ln m."""
    place: np.ndarray
    """Feature and end of the left side of the best split."""
    deck: np.ndarray
    """The features, in a random order."""
    chosen: np.ndarray
    """By feature: searched, or not drawn."""
    queue: np.ndarray
    """Features to search, in their order."""


def make_node(n: int, q: int, drawn: int, classes: int, two_valued: bool) -> Node:
    """Allocate the memory of a tree's searches; ``drawn`` is the number of rows with weights."""
    return Node(
        packed=np.zeros(n, np.uint64),
        tables=np.empty((3, drawn + 1)),
        totals=np.zeros(classes, np.int64),
        left=np.zeros(classes, np.int64),
        above=np.zeros((q if two_valued else 0, 1 + classes), np.uint64),
        tried=np.zeros(q, np.int64),
        best=np.zeros(3),
        place=np.zeros(2, np.int64),
        deck=np.arange(q),
        chosen=np.ones(q, np.bool_),
        queue=np.zeros(q, np.int64),
    )


# ---------------------------------------------------------------------- counts of a node


@compiled
def prepare_clusters(node, rows, z, weight, table):
    """Pack the weights and clusters z (0 or 1) of ``rows``, and fill the tables of gains."""
    total = 0
    one = 0
    for i in range(len(rows)):
        w = np.uint64(weight[rows[i]])
        total += w
        one += w * z[i]
        node.packed[rows[i]] = (w << HIGH) + w * z[i]
    zero = total - one
    tables = node.tables
    for m in range(one + 1):
        tables[ONES, m] = table[m] + table[one - m]
    for m in range(zero + 1):
        tables[ZEROS, m] = table[m] + table[zero - m]
    for m in range(total + 1):
        tables[BOTH, m] = table[m] + table[total - m]
    node.best[PARENT] = table[one] + table[zero] - table[total]


@compiled
def prepare_classes(node, rows, label, weight, table):
    """Count the fixed classes of ``rows``; return false if there is only one."""
    node.totals[:] = 0
    total = 0
    for i in range(len(rows)):
        w = weight[rows[i]]
        node.totals[label[rows[i]]] += w
        node.packed[rows[i]] = np.uint64(w) << HIGH
        total += w
    parent = -table[total]
    for k in range(len(node.totals)):
        parent += table[node.totals[k]]
        if node.totals[k] == total:
            return False
    node.best[PARENT] = parent
    return True


@compiled
def _gain_of_classes(node, n_left, rows, table):
    """Return the gain of the split with ``node.left`` rows of each class on the left."""
    score = -(table[n_left] + table[rows - n_left])
    for k in range(len(node.totals)):
        score += table[node.left[k]] + table[node.totals[k] - node.left[k]]
    return score - node.best[PARENT]


@compiled
def _gain_of_clusters(node, packed):
    """Return the gain of the split with these counts on one side."""
    n, one, tables = packed >> HIGH, packed & LOW, node.tables
    return tables[ONES, one] + tables[ZEROS, n - one] - tables[BOTH, n] - node.best[PARENT]


# ---------------------------------------------------------------------- every threshold


@compiled
def _thresholds(column):
    """Count the thresholds of a node's part of a sorted column."""
    count = np.uint32(0)
    for i in range(ONE, np.uint64(len(column))):
        count += np.uint32(column[i] >= NEW_VALUE)
    return np.int64(count)


@compiled
def _may_exceed(bar, before, after, ones, zeros, both, parent):
    """Tell whether a gain between two positions may exceed the bar.

    A gain is a convex function of the rows on the left of either cluster. So none between the two
    positions is greater than that at the corners, where the rows of one cluster come first.
    """
    one, zero = before & LOW, (before >> HIGH) - (before & LOW)
    more_one, more_zero = after & LOW, (after >> HIGH) - (after & LOW)
    greatest = max(
        max(
            ones[one] + zeros[zero] - both[one + zero],
            ones[more_one] + zeros[more_zero] - both[more_one + more_zero],
        ),
        max(
            ones[more_one] + zeros[zero] - both[more_one + zero],
            ones[one] + zeros[more_zero] - both[one + more_zero],
        ),
    )
    return greatest - parent + NO_GAIN + ROUNDING * both[0] > bar


@compiled
def _scan(node, lines, words, begin, end, start, stop, bar, until_better):
    """Try every threshold of the queue's sorted columns from ``start`` to the next two-valued one.

    Blocks of rows whose bound says that no cut in them is better are passed over.
    With ``until_better`` the scan stops after the first feature that exceeds the bar. Returns the
    best feature, the place of its cut (or 0), the next bar, and where in the queue it stopped.
    """
    queue, packed, parent = node.queue, node.packed, node.best[PARENT]
    ones, zeros, both = node.tables[ONES], node.tables[ZEROS], node.tables[BOTH]
    best, at, k = -1, 0, start
    while k < stop and lines[queue[k]] >= 0 and not (until_better and at > 0):
        f = queue[k]
        k += 1
        column = words[lines[f], begin:end]
        node.tried[f] += _thresholds(column)
        rows = np.uint64(len(column))
        block = min(max(rows // BLOCKS, SHORTEST), LONGEST)
        seen, first = np.uint64(0), ONE
        while first < rows:
            last = first + block
            if last <= rows:
                after = seen
                for i in range(first, last):
                    after += packed[column[i - ONE] & ROW]
                if not _may_exceed(bar, seen, after, ones, zeros, both, parent):
                    seen, first = after, last
                    continue
            last = min(last, rows)
            word = column[first - ONE]
            for i in range(first, last):
                seen += packed[word & ROW]
                word = column[i]
                n_left = seen >> HIGH
                one_left = seen & LOW
                # Looked up before it is known to be needed: a wrongly predicted branch costs more.
                gain = ones[one_left] + zeros[n_left - one_left] - both[n_left] - parent
                if (gain > bar) & (word >= NEW_VALUE):
                    bar = gain + NO_GAIN
                    best, at = f, begin + np.int64(i)
            first = last
    return best, at, bar, k


# ---------------------------------------------------------------------- the adaptive step


@compiled
def _step(gain, greatest, rows, rules):
    """Return how many rows to go on after a gain; the smallest step before there is one."""
    ratio = max(gain * (1.0 / greatest), 0.0) if greatest > NO_GAIN else 1.0
    length = rules.alpha / (1.0 + np.exp(rules.beta * (ratio - 0.5))) * rows
    return max(np.int64(length), 1)


@compiled
def _walk(sample, label, node, rules, column, drawn):
    """Try the thresholds of one sorted column that steps lead to, or all, by clusters or classes.

    Returns the place of the best cut in the column (or 0), and how many gains were evaluated.
    """
    packed, left, weight = node.packed, node.left, sample.weight
    bar, greatest = node.best[BAR], node.best[GREATEST]
    for k in range(len(left)):
        left[k] = 0
    tried, at, seen, wall = 0, 0, np.uint64(0), np.uint64(0)
    for i in range(ONE, np.uint64(len(column))):
        row = column[i - ONE] & ROW
        seen += packed[row]
        if label is not None:
            left[label[row]] += weight[row]
        if (seen >= wall) & (column[i] >= NEW_VALUE):
            n_left = np.int64(seen >> HIGH)
            if label is None:
                gain = _gain_of_clusters(node, seen)
            else:
                gain = _gain_of_classes(node, n_left, drawn, sample.table)
            tried += 1
            if gain > bar:
                bar = gain + NO_GAIN
                at = np.int64(i)
            if rules.adaptive:
                greatest = max(greatest, gain)
                wall = np.uint64(n_left + _step(gain, greatest, drawn, rules)) << HIGH
    node.best[BAR], node.best[GREATEST] = bar, greatest
    return at, tried


# ---------------------------------------------------------------------- two-valued features


@compiled
def _count_upper_values(sample, label, node, rows):
    """Count the rows of the node that have the upper value of each two-valued feature."""
    above, packed, columns = node.above, node.packed, sample.columns
    above[:] = 0
    for row in rows:
        for k in range(columns.row_start[row], columns.row_start[row + 1]):
            f = columns.row_features[k]
            above[f, 0] += packed[row]
            if label is not None:
                above[f, 1 + label[row]] += np.uint64(sample.weight[row])


@compiled
def _try_two_valued(sample, label, node, f, drawn):
    """Try the one threshold of a two-valued column."""
    upper = node.above[f, 0]
    if label is None:
        gain = _gain_of_clusters(node, upper)
    else:
        for k in range(len(node.totals)):
            node.left[k] = node.totals[k] - np.int64(node.above[f, 1 + k])
        gain = _gain_of_classes(node, drawn - np.int64(upper >> HIGH), drawn, sample.table)
    node.tried[f] += 1
    node.best[GREATEST] = max(node.best[GREATEST], gain)
    if gain > node.best[BAR]:
        node.best[BAR] = gain + NO_GAIN
        node.place[0], node.place[1] = f, 0


# ---------------------------------------------------------------------- the search


@compiled
def _list_features(node, lines, drawn):
    """Put the chosen features that vary within the node into ``node.queue``, and count them."""
    above, chosen, queue = node.above, node.chosen, node.queue
    count = 0
    for f in range(len(lines)):
        varies = lines[f] >= 0
        if lines[f] == TWO_VALUED:
            rows = np.int64(above[f, 0] >> HIGH)
            varies = (rows > 0) & (rows < drawn)
        queue[count] = f
        count += varies & chosen[f]
    return count


@compiled
def _draw_features(node, per_node, used, state):
    """Choose the next features of a random order; return how many were chosen so far."""
    deck, chosen = node.deck, node.chosen
    size = min(per_node, len(deck) - used)
    chosen[:] = False
    for i in range(used, used + size):
        other = i + random_below(state, len(deck) - i)
        drawn = deck[other]
        deck[i], deck[other] = drawn, deck[i]
        chosen[drawn] = True
    return used + size


@compiled
def _way_through(rules, drawn):
    """Choose how the sorted columns of a node are searched."""
    if rules.classes or (rules.adaptive and rules.per_feature):
        return STEP_BY_STEP
    # In a tiny node every step is one row long.
    if not rules.adaptive or _step(0.0, 1.0, drawn, rules) == 1:
        return EVERY_CUT
    return LOOK_FIRST if drawn < SMALL_NODE else STEP_BY_STEP


@compiled
def _search_queue(sample, label, node, rules, words, begin, end, count, drawn):
    """Find the best split among the first features of the queue, if it exceeds the bar."""
    lines, best, place, queue = sample.columns.line, node.best, node.place, node.queue
    way, k = _way_through(rules, drawn), START
    while k < count:
        f = queue[k]
        if rules.per_feature:
            best[GREATEST] = 0.0
        if lines[f] == TWO_VALUED:
            _try_two_valued(sample, label, node, f, drawn)
            k += 1
            continue
        follows, tried = way == STEP_BY_STEP, 0
        if follows:
            k += 1
        else:
            # With steps a gain counts if it is the greatest, without if it is better.
            first = way == LOOK_FIRST
            bar = best[GREATEST] if first else best[BAR]
            f, at, bar, k = _scan(node, lines, words, begin, end, k, count, bar, first)
            follows = first and at > 0
            if not first and at > 0:
                best[BAR] = bar
                place[0], place[1] = f, at
        if follows:
            at, tried = _walk(sample, label, node, rules, words[lines[f], begin:end], drawn)
            if at > 0:
                place[0], place[1] = f, begin + at
            if way == STEP_BY_STEP:
                node.tried[f] += tried


@compiled
def search(sample, label, node, rules, words, begin, end, rows, drawn, state):
    """Find the best split of a node; return false if none gains.

    The split goes into ``node.place``, and its gain and a little more into ``node.best``.
    ``words`` holds the sorted columns of the tree, of which the node has those from ``begin`` to
    ``end``. ``drawn`` is the number of its rows, counted with their weights. If a drawn subset of
    the features gives no gain, the next subset is tried.
    """
    if len(sample.columns.row_features):
        _count_upper_values(sample, label, node, rows)
    q, used, best = len(node.deck), START, node.best
    best[BAR], best[GREATEST], node.place[1] = NO_GAIN, 0.0, 0
    while used < q and best[BAR] <= NO_GAIN:
        used = _draw_features(node, rules.per_node, used, state) if rules.per_node else q
        count = _list_features(node, sample.columns.line, drawn)
        _search_queue(sample, label, node, rules, words, begin, end, count, drawn)
    return best[BAR] > NO_GAIN

# mypy: disable-error-code="no-untyped-def,assignment"
"""Trees one after the other in flat arrays, and the mean of what they predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ldl._compiled import cached, compiled
from ldl.base import dense

_BLOCK_ROWS = 512  # which stay in the cache while all trees look at them


class Grown(Protocol):
    """A tree by itself: its nodes are counted from its root, its leaves from its first leaf."""

    @property
    def feature(self) -> np.ndarray: ...

    @property
    def threshold(self) -> np.ndarray: ...

    @property
    def child(self) -> np.ndarray: ...

    @property
    def leaves(self) -> np.ndarray: ...


class Forest(NamedTuple):
    """Several trees, with their nodes and leaves counted through."""

    nodes: np.ndarray
    """Feature and left child of each node (the right child follows), or -1 and the leaf."""
    threshold: np.ndarray
    """Rows with a value up to this go to the left."""
    roots: np.ndarray
    """First node of each tree."""
    leaves: np.ndarray
    """Values of each leaf, one per column."""


def join(trees: Sequence[Grown], leaves: np.ndarray | None = None) -> Forest:
    """Join trees in their order; ``leaves`` are those of all trees, their own if not given."""
    first_node = np.cumsum([0] + [len(tree.feature) for tree in trees])
    first_leaf = np.cumsum([0] + [len(tree.leaves) for tree in trees])
    nodes = np.empty((first_node[-1], 2), np.int32)
    for tree, node, leaf in zip(trees, first_node[:-1], first_leaf[:-1], strict=True):
        part = nodes[node : node + len(tree.feature)]
        part[:, 0] = tree.feature
        part[:, 1] = tree.child + np.where(tree.feature < 0, leaf, node)
    return Forest(
        nodes=nodes,  # side by side, for a prediction looks at both
        threshold=np.concatenate([tree.threshold for tree in trees]),
        roots=first_node[:-1],
        leaves=np.concatenate([tree.leaves for tree in trees]) if leaves is None else leaves,
    )


def added_up(forest: Forest, of_leaves: np.ndarray) -> np.ndarray:
    """Return for each node the sum of what its leaves have, a line for each leaf."""
    feature, child = forest.nodes.T
    levels, level = [], forest.roots
    while len(level):
        levels.append(level[feature[level] >= 0])
        level = np.concatenate([child[levels[-1]], child[levels[-1]] + 1])
    sums = np.zeros((len(feature), of_leaves.shape[1]))
    ends = np.flatnonzero(feature < 0)
    sums[ends] = of_leaves[child[ends]]
    for inner in reversed(levels):
        sums[inner] = sums[child[inner]] + sums[child[inner] + 1]
    return sums


def shares_of_features(forest: Forest, gains: np.ndarray, features: int) -> np.ndarray:
    """Return each feature's share of what the nodes of all trees gain."""
    inner = forest.nodes[:, 0] >= 0
    found = np.bincount(forest.nodes[inner, 0], gains[inner], features)
    return np.asarray(found / (found.sum() or 1.0))


def mean_of_trees(forest: Forest, X: Any) -> np.ndarray:
    """Predict the mean of the trees, added up in their order, so that it depends on no thread."""
    total = np.zeros((X.shape[0], forest.leaves.shape[1]))
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        part = dense(X[rows])
        add_predictions(part, *forest, total[rows], False)
    return total / len(forest.roots)


@compiled
def _down(X, nodes, threshold, row, node, feature):
    """Return the child that a row goes to, and the feature that splits it."""
    child = nodes[node, 1] + (X[row, feature] > threshold[node])
    return child, nodes[child, 0]


@cached
def add_predictions(X, nodes, threshold, roots, leaves, total, single):
    """Add the leaf of each row in each tree to ``total``, tree by tree.

    The arrays are those of ``Forest``; ``single`` rounds every sum to single precision. Four rows
    go down together, so that the processor need not wait for one node before it asks for the next.
    """
    last = len(X) - 1
    for root in roots:
        for i in range(0, len(X), 4):
            # Past the end the last row goes down again, and is not added.
            i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            a = b = c = d = root
            fa = fb = fc = fd = nodes[root, 0]
            while fa >= 0 or fb >= 0 or fc >= 0 or fd >= 0:
                if fa >= 0:
                    a, fa = _down(X, nodes, threshold, i, a, fa)
                if fb >= 0:
                    b, fb = _down(X, nodes, threshold, i1, b, fb)
                if fc >= 0:
                    c, fc = _down(X, nodes, threshold, i2, c, fc)
                if fd >= 0:
                    d, fd = _down(X, nodes, threshold, i3, d, fd)
            ends = (a, b, c, d)
            for k in range(min(4, len(X) - i)):
                for j in range(leaves.shape[1]):
                    value = total[i + k, j] + leaves[nodes[ends[k], 1], j]
                    total[i + k, j] = np.float32(value) if single else value

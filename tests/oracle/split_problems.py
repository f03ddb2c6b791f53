"""Small problems for trees, and the settings that leave a tree nothing to chance."""

from functools import partial

import numpy as np

from ldl.forests.structrf import RFStar, StructRF
from tests.oracle.examples import exponential_problem

ALL_ROWS = {"n_estimators": 1, "bootstrap": False, "max_samples": 1.0}
STUMP = {**ALL_ROWS, "max_depth": 1, "min_samples_split": 2}
SMALLEST_LEAVES = {**ALL_ROWS, "max_depth": None, "min_samples_split": 2}


problem = partial(exponential_problem, n=150, noise=1.0)


def two_classes(labels: np.ndarray) -> np.ndarray:
    """Make distributions whose two clusters are the labels."""
    return np.eye(2)[labels]


def larger_node(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw up to 400 rows, with ties, and more features than are walked side by side."""
    generator = np.random.default_rng(seed)
    n, q = int(generator.integers(30, 400)), int(generator.integers(1, 12))
    X = generator.normal(size=(n, q))
    labels = (X @ generator.normal(size=q) + generator.normal(size=n) > 0).astype(int)
    labels[:2] = [0, 1]
    for f in range(q):
        X[:, f] = [X[:, f], np.round(2 * X[:, f]), X[:, f] > 0, np.round(30 * X[:, f])][f % 4]
    return X[:, generator.permutation(q)], labels


def root(model: StructRF | RFStar) -> tuple[int, float, float]:
    tree = model.trees_[0]
    return int(tree.feature[0]), float(tree.threshold[0]), float(tree.gain[0])

"""The adaptive step of StructRF: how far it jumps, what it evaluates, what it finds."""

import numpy as np
import pytest

from ldl.forests.structrf import RFStar, StructRF
from papers.structrf import split_search_numpy as twin
from papers.structrf.split_trace import one_split_search
from tests.oracle.settings import as_stated
from tests.oracle.split_problems import STUMP, larger_node, problem, root, two_classes


def test_step_of_length_one_grows_the_exhaustive_tree():
    X, D = problem(n=300)
    for kind in (StructRF, RFStar):
        every = as_stated(kind, n_estimators=3, step="exhaustive", random_state=0).fit(X, D)
        one = as_stated(kind, n_estimators=3, step="adaptive", alpha=0.0, random_state=0).fit(X, D)
        for mine, yours in zip(every.trees_, one.trees_, strict=True):
            for a, b in zip(mine, yours, strict=True):
                np.testing.assert_array_equal(a, b)


def test_adaptive_search_evaluates_less_and_finds_no_more():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(400, 8))
        labels = (X[:, 3] + generator.normal(size=400) > 0).astype(int)
        every, some = (
            as_stated(StructRF, **STUMP, step=step).fit(X, two_classes(labels))
            for step in ("exhaustive", "adaptive")
        )
        assert (every.trees_[0].tried == 399).all()
        assert (some.trees_[0].tried < 399).all()
        assert (some.trees_[0].tried >= 5).all()
        assert root(some)[2] <= root(every)[2]


def test_search_of_the_papers_size_evaluates_about_what_the_paper_counts():
    """The paper counts 447 of 360000 on 10000 rows of 36 features."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(10000, 36))
    labels = (0.3 * X[:, 3] + generator.normal(size=10000) > 0).astype(int)
    node, feature = (
        as_stated(StructRF, **STUMP, step="adaptive", gmax_scope=scope).fit(X, two_classes(labels))
        for scope in ("node", "feature")
    )
    assert 180 <= node.diagnostics_["gain_evaluations"] <= 1200
    assert feature.diagnostics_["gain_evaluations"] > node.diagnostics_["gain_evaluations"]


@pytest.mark.parametrize("step", ["exhaustive", "adaptive"])
def test_trace_of_one_search_tells_what_the_compiled_search_does(step):
    X, labels = larger_node(3)
    found = one_split_search(X, two_classes(labels), step, repeats=1)
    model = as_stated(StructRF, **STUMP, step=step).fit(X, two_classes(labels))
    assert (found.feature, found.threshold) == root(model)[:2]
    assert found.gain == pytest.approx(root(model)[2])
    np.testing.assert_array_equal(found.tried, model.trees_[0].tried)
    assert found.tried.sum() == model.diagnostics_["gain_evaluations"]
    trace = found.features[found.feature]
    best = np.argmax(trace.gains)
    assert trace.thresholds[best] == found.threshold
    left = X[:, found.feature] <= found.threshold
    assert trace.rows_left[best] == left.sum()


@pytest.mark.parametrize(
    ("ratio", "length"), [(1.0, 4), (0.5, 125), (0.0, 245)], ids=["best", "half", "nothing"]
)
def test_step_by_hand(ratio, length):
    """With 1000 rows: 250 / (1 + e^4), 250 / 2 and 250 / (1 + e^-4)."""
    assert twin.AdaptiveStep().length(ratio, 1000) == length

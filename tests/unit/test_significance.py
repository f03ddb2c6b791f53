"""Tests of significance: what they are asked, and where they refuse to answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ldl.comparison.result import corrected_t
from ldlrepro.judge.significance import (
    ALPHA,
    fewest_datasets,
    holm,
    ranking,
)


def losses(count: int, *names: str) -> dict[str, dict[str, float]]:
    """On every data set the names come in this order, at distances that differ."""
    return {
        f"d{i}": {name: n * (1 + 0.1 * i) for n, name in enumerate(names)} for i in range(count)
    }


@pytest.mark.parametrize(("comparisons", "needed"), [(1, 6), (9, 9), (21, 10), (45, 11)])
def test_fewest_data_sets_is_where_the_smallest_p_gets_significant(comparisons, needed):
    assert fewest_datasets(comparisons) == needed
    smallest = [stats.wilcoxon(range(1, n + 1)).pvalue * comparisons for n in (needed - 1, needed)]
    assert smallest[0] > ALPHA >= smallest[1]


def test_too_few_data_sets_are_refused_with_both_numbers():
    found = ranking(["a", "b", "c"], losses(6, "a", "b", "c"), {})
    assert found.refusal == (
        "Wilcoxon with Holm's correction over 3 comparisons needs at least 7 independent data "
        "sets; 6 are there"
    )
    assert found.p is None
    assert found.ranks == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert not found.differ("a", "c")


def test_one_more_data_set_is_enough():
    found = ranking(["a", "b", "c"], losses(7, "a", "b", "c"), {})
    assert found.refusal == ""
    assert found.friedman == pytest.approx(
        stats.friedmanchisquare(*([n * (1 + 0.1 * i) for i in range(7)] for n in range(3))).pvalue
    )
    assert found.p.loc["a", "b"] == pytest.approx(3 * 2**-6)
    assert found.differ("a", "b")
    assert found.differ("c", "b")


def test_a_family_of_data_sets_counts_once_in_tests_and_each_time_in_ranks():
    ten = {f"y{i}": {"a": 1 + 0.1 * i, "b": 2 + 0.1 * i, "c": 3 + 0.2 * i} for i in range(10)}
    family = dict.fromkeys(ten, "yeast")
    dependent = ranking(["a", "b", "c"], {**losses(5, "a", "b", "c"), **ten}, family)
    assert dependent.ranks == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert len(dependent.datasets) == 15
    assert dependent.refusal.endswith("needs at least 7 independent data sets; 6 are there")
    found = ranking(["a", "b", "c"], {**losses(6, "a", "b", "c"), **ten}, family)
    means = {name: np.mean([row[name] for row in ten.values()]) for name in "abc"}
    alone = ranking(["a", "b", "c"], {**losses(6, "a", "b", "c"), "yeast": means}, {})
    assert found.p.equals(alone.p)
    assert found.friedman == alone.friedman


def test_ranks_by_family_count_the_members_of_a_family_as_one():
    ten = {f"y{i}": {"a": 1.0, "b": 2.0, "c": 3.0} for i in range(10)}
    two = {f"d{i}": {"a": 3.0, "b": 1.0, "c": 2.0} for i in range(2)}
    found = ranking(["a", "b", "c"], {**ten, **two}, dict.fromkeys(ten, "yeast"))
    assert list(found.ranks) == ["a", "b", "c"]
    assert found.by_family == pytest.approx({"b": 4 / 3, "a": 7 / 3, "c": 7 / 3})


def test_holm_is_that_of_statsmodels_to_the_bit():
    from statsmodels.stats.multitest import multipletests

    generator = np.random.default_rng(3)
    for count in (1, 2, 7, 45):
        p = generator.choice(np.r_[generator.random(count) ** 3, 0.01, 1.0], count)
        assert holm(p) == list(multipletests(p, method="holm")[1])


def test_the_corrected_t_test_adds_the_share_of_test_rows_to_the_variance():
    """Differences 1, 2, 3: t = 2 / sqrt(1/3 + 20/80), and with two degrees of freedom the
    two-sided p is 1 - t / sqrt(2 + t^2)."""
    t = 2 / math.sqrt(1 / 3 + 20 / 80)
    p = corrected_t([1.0, 2.0, 3.0], train=80, test=20)
    assert p == pytest.approx(1 - t / math.sqrt(2 + t * t))
    assert p > stats.ttest_1samp([1.0, 2.0, 3.0], 0).pvalue
    assert corrected_t([-1.0, -2.0, -3.0], 80, 20) == pytest.approx(p)

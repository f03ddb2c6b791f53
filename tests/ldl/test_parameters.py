"""What parameters may be, how it is told, and docstrings that bases complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest

from ldl import LDLEstimator
from ldl._parameters import Count, Interval, Listed, Options, Part
from tests.ldl.docstrings import read


@pytest.mark.parametrize(
    ("constraint", "allowed", "refused"),
    [
        (Interval(1, whole=True), [1, np.int64(7)], [0, 1.5, 2.0, True, "1", None, np.nan]),
        (Interval(0, 1, open_low=True), [1, 0.5, np.float32(0.1)], [0, 1.1, np.nan, "1"]),
        (Interval(0, 1, open_low=True, open_high=True), [0.5], [0, 1]),
        (Interval(0), [0, np.inf], [-1e-300, -np.inf, np.nan]),
        (Interval(2, 5, open_high=True), [2, 4.9], [5, 1]),
        (Options("a", "b"), ["a"], ["c", 1, None]),
        (Listed(Interval(1, whole=True)), [[1, 2], (1,)], [3, [], [1, 0], "1", [1.5]]),
    ],
    ids=str,
)
def test_constraints_tell_what_they_allow(constraint, allowed, refused):
    assert all(constraint.allows(value) for value in allowed)
    assert not any(constraint.allows(value) for value in refused)


@dataclass(eq=False, repr=False)
class First(LDLEstimator):
    """A base.

    Parameters
    ----------
    count : int, default=3
        Number of things.
    share : float, default=0.5
        Part of them.

    Attributes
    ----------
    mean_ : float
        Their mean.
    """

    count: Count = 3
    share: Part = 0.5

    def _fit(self, X, D):
        self.mean_ = D.mean(axis=0)

    def _predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


@dataclass(eq=False, repr=False)
class Second(First):
    """A class with another default, a looser limit and a parameter more.

    Parameters
    ----------
    word : {'one', 'other'} or None, default=None
        A word.
    """

    count: Annotated[int, Interval(0, whole=True)] | None = 7
    share: float = 0.25
    word: Literal["one", "other"] | None = None


X, D = np.eye(3), np.eye(3)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (First(count=0), "count must be a whole number, at least 1, got 0"),
        (First(share=1), "share must be above 0 and below 1, got 1"),
        (Second(count=-1), "count must be a whole number, at least 0 or None, got -1"),
        (Second(share=0.0), "share must be above 0 and below 1, got 0.0"),
        (Second(word="both"), "word must be one of one, other or None, got 'both'"),
    ],
)
def test_fit_refuses_by_name_and_leaves_the_estimator_unfitted(model, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        model.fit(X, D)
    assert not hasattr(model, "n_features_in_")


def test_docstrings_get_what_the_bases_say_in_the_order_of_the_signature():
    parameters = read(Second).items("Parameters")
    assert list(parameters) == ["count", "share", "word"]
    assert parameters["count"].default == "7"
    assert parameters["share"].text == "Part of them."
    attributes = read(Second).items("Attributes")
    assert next(iter(attributes)) == "mean_"
    assert {"n_features_in_", "n_labels_", "renormalised_"} <= set(attributes)

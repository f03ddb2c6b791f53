"""A small problem and a small cascade, for the tests of LDLDF."""

from functools import partial

import numpy as np

from ldl.cascade._learners import Settings
from tests.oracle.examples import softmax_problem

SMALL = {
    "n_estimators": 4,
    "n_estimators_step": 2,
    "max_estimators": 6,
    "max_depth": 2,
    "max_depth_step": 1,
    "max_layers": 4,
    "random_state": 5,
}
NEVER_STOPS = {"output_layer": "last"}
"""Four layers are built before the rule can end a cascade."""


problem = partial(softmax_problem, q=5, c=3)


class Spy:
    """A learner that answers with a fixed row and writes down what it was given."""

    log: list["Spy"]

    def __init__(self, kind: str, given: Settings) -> None:
        self.kind, self.given = kind, given
        self.asked: list[np.ndarray] = []
        type(self).log.append(self)

    def fit(self, F, D, weight=None):
        self.F, self.labels, self.weight = F, D.shape[1], weight
        return self

    def predict(self, F):
        self.asked.append(F)
        return np.full((F.shape[0], self.labels), 1 / self.labels)

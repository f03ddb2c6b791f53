"""A setting that no fit could use is refused in one line that begins with its name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from ldl._parameters import Interval, Listed, constraints_of
from ldl.checks import sample
from tests.ldl.estimators import IMAGES, NAMES, cheap, images


def outside(constraint: Any) -> list[Any]:
    """Values on the wrong sides of a constraint's bounds, and some of another kind."""
    if isinstance(constraint, Interval):
        below = constraint.low if constraint.open_low else constraint.low - 1
        above = constraint.high if constraint.open_high else constraint.high + 1
        between = [constraint.low + 0.5] if constraint.whole else []
        return [below, above, float("nan"), "many", *between]
    if isinstance(constraint, Listed):
        return [[], *([value] for value in outside(constraint.each))]
    return ["no such word", 0.5]


UNBOUNDED = {
    "base_score",
    "batch_replacement",
    "bootstrap",
    "crop_side",
    "estimator",
    "fit_intercept",
    "flip",
    "goal",
    "hard_labels",
    "learners",
    "mixed_precision",
    "n_neighbors",
    "own_neighbour",
    "phi_seed",
    "random_state",
    "random_weights",
    "regressor",
    "settings",
    "sha256",
    "standardise",
    "verbose",
    "weights",
}
"""Parameters for which any value of their type will do, or which the fit looks at itself."""


def test_every_other_parameter_says_what_it_may_be():
    for kind in (type(cheap(name)) for name in NAMES):
        assert set(kind._get_param_names()) - set(constraints_of(kind)) <= UNBOUNDED, kind


@pytest.mark.parametrize("name", [name for name in NAMES if constraints_of(type(cheap(name)))])
def test_what_no_fit_could_use_is_refused_by_name(name):
    if name in IMAGES and not find_spec("torch"):
        pytest.skip("torch is not installed")
    data = images(6) if name in IMAGES else sample(n=24)
    for parameter, allowed in constraints_of(type(cheap(name))).items():
        limits = [one for one in allowed if one is not None]
        for value in (value for one in limits for value in outside(one)):
            if not any(one.allows(value) for one in limits):
                with pytest.raises(ValueError, match=rf"^{parameter} must be ") as caught:
                    cheap(name, **{parameter: value}).fit(*data)
                assert str(caught.value).endswith(f", got {value!r}")

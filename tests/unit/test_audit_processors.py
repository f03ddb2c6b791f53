"""Trainings that enlarge the last bits of another processor are neither right nor wrong."""

from __future__ import annotations

import pytest

from ldlrepro.audit.rerun import is_enlarged
from ldlrepro.judge.scores import UnitScores
from tests.report_pages import measured

NAMES = ("cv", "faces", "drf_linear")


def scored(kl: list[float], **params: object) -> UnitScores:
    return measured(NAMES, {"kl": kl}, params=params)


@pytest.mark.parametrize(
    ("params", "now", "enlarged"),
    [
        ({"dtype": "float32"}, 0.25, True),
        ({"mixed_precision": True}, 0.25, True),
        ({"dtype": "float32"}, 0.49, True),
        ({"dtype": "float32"}, 0.51, False),
        ({"dtype": "float32"}, float("nan"), False),
        ({"dtype": "float64"}, 0.25, False),
        ({"k": 4}, 0.25, False),
    ],
)
def test_only_single_precision_within_the_deviation_over_folds_is_excused(params, now, enlarged):
    record = scored([0.2, 0.3, 0.4], **params)
    assert is_enlarged(record, 0, scored([now], **params)) is enlarged


def test_a_single_fold_excuses_nothing():
    record = scored([0.2], dtype="float32")
    assert not is_enlarged(record, 0, scored([0.2001], dtype="float32"))

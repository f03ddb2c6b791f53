"""Pictures show the numbers that they are given, and are drawn on the axes that they are given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.model_selection import GroupKFold

from ldl import RFRegression, TrainMean, Uniform
from ldl.checks import sample
from ldl.metrics import kl
from ldl.plot import (
    CalibrationDisplay,
    DistributionDisplay,
    ImportanceDisplay,
    MeasuresDisplay,
)

X, D = sample(n=40)
NAMES = ["calm", "glad", "sad", "sour"]


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def test_bars_are_the_truth_and_points_the_prediction():
    model = RFRegression(n_estimators=2, random_state=0).fit(X, pd.DataFrame(D, columns=NAMES))
    display = DistributionDisplay.from_estimator(model, X[:3], D[:3])
    P = model.predict(X[:3])
    assert len(display.axes_) == 3
    for i, axes in enumerate(display.axes_):
        np.testing.assert_array_equal([bar.get_height() for bar in axes.patches], D[i])
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), P[i])
        assert [tick.get_text() for tick in axes.get_xticklabels()] == NAMES
    _, ax = pyplot.subplots()
    alone = DistributionDisplay.from_predictions(None, P[0], ax=ax)
    assert alone.axes_[0] is ax
    assert not ax.patches
    with pytest.raises(ValueError, match="ax must hold 3 axes, got 1"):
        display.plot(ax)
    with pytest.raises(ValueError, match="row 0 of D_pred sums to 2"):
        DistributionDisplay.from_predictions(None, [[1.0, 1.0]])


def test_methods_are_scored_on_the_same_folds_with_the_sign_of_the_measure():
    groups = np.repeat(np.arange(4), 10)
    display = MeasuresDisplay.from_estimators(
        {"mean": TrainMean(), "even": Uniform()},
        X,
        D,
        measures=("kl", "cosine"),
        cv=GroupKFold(4),
        groups=groups,
    )
    wanted = sorted(kl(D[groups == g], np.full((10, 4), 0.25)) for g in range(4))
    assert sorted(display.values["kl"]["even"]) == pytest.approx(wanted)
    assert (display.values["cosine"]["mean"] > 0).all()
    shown = display.axes_[0].lines[2].get_xdata()
    np.testing.assert_array_equal(shown, display.values["kl"]["even"])
    assert display.axes_[0].get_title() == "kl, lower is better"


def test_calibration_compares_means_of_equally_many_degrees():
    P = np.tile([0.1, 0.2, 0.3, 0.4], (40, 1))
    display = CalibrationDisplay.from_estimator(TrainMean().fit(X, P), X, D, bins=4)
    np.testing.assert_allclose(display.predicted, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(display.true, D.mean(axis=0))
    assert (display.count == 40).all()
    np.testing.assert_array_equal(display.axes_[0].lines[1].get_ydata(), display.true)


def test_importances_are_the_forests_or_what_shuffles_show():
    frame = pd.DataFrame(np.column_stack([X, np.ones(40)]), columns=[*"abcdef", "flat"])
    model = RFRegression(n_estimators=5, random_state=0).fit(frame, D)
    display = ImportanceDisplay.from_estimator(model, most=3)
    widths = [bar.get_width() for bar in display.axes_[0].patches]
    np.testing.assert_array_equal(widths, np.sort(model.feature_importances_)[:-4:-1])
    shuffled = ImportanceDisplay.from_estimator(model, frame, D, random_state=0)
    assert shuffled.importances[-1] == 0, "shuffling a constant changes nothing"
    assert shuffled.importances.max() > 0
    best = shuffled.feature_names[int(shuffled.importances.argmax())]
    assert shuffled.axes_[0].get_yticklabels()[0].get_text() == best

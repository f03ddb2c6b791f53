"""Pictures of distributions and of methods, in the manner of scikit-learn's displays.

A display holds what is drawn. It is made by ``from_estimator``, ``from_estimators`` or
``from_predictions``, which draw it at once, and ``plot`` draws it again on other axes. Matplotlib
is loaded when something is drawn: pip install 'ldl[show]'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ldl.metrics import better, demand_distributions, scorers

_TOLERANCE = 1e-3


class _Display:
    """Base of displays: a figure with axes, of which each may be given."""

    figure_: Any
    axes_: np.ndarray

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw, as many as the display has parts; None for a new figure.

        Returns
        -------
        self
            The display, whose ``figure_`` and ``axes_`` are what was drawn on.
        """
        parts = self._parts()
        if ax is None:
            from matplotlib import pyplot

            size = (3.4 * parts + 1, self._height())
            _, ax = pyplot.subplots(1, parts, squeeze=False, figsize=size, layout="constrained")
        self.axes_ = np.ravel(ax)
        if len(self.axes_) != parts:
            raise ValueError(f"ax must hold {parts} axes, got {len(self.axes_)}")
        self.figure_ = self.axes_[0].figure
        self._draw()
        for axes in self.axes_:
            axes.spines[["top", "right"]].set_visible(False)
        return self

    def _height(self) -> float:
        return 3.2

    def _parts(self) -> int:
        return 1

    def _draw(self) -> None:
        raise NotImplementedError


@dataclass(eq=False)
class DistributionDisplay(_Display):
    """Distributions of some rows, predicted and true.

    Parameters
    ----------
    D_pred : ndarray of shape (rows, labels)
        Predicted distributions, each drawn as points.
    D_true : ndarray of shape (rows, labels) or None, default=None
        True ones, drawn as bars.
    label_names : sequence of str or None, default=None
        Names of the labels; None for their numbers.
    row_names : sequence of str or None, default=None
        Titles of the parts; None for the numbers of the rows.

    Examples
    --------
    >>> from ldl import AAKNN
    >>> from ldl.datasets import make_distributions
    >>> from ldl.plot import DistributionDisplay
    >>> X, D = make_distributions(random_state=0)
    >>> model = AAKNN().fit(X, D)
    >>> display = DistributionDisplay.from_estimator(model, X[:2], D[:2])
    >>> len(display.axes_)
    2
    """

    D_pred: np.ndarray
    D_true: np.ndarray | None = None
    label_names: Sequence[str] | None = None
    row_names: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, D: Any = None, *, ax: Any = None, **names: Any
    ) -> Self:
        """Draw what a fitted estimator predicts for some rows.

        Parameters
        ----------
        estimator : LDLEstimator
            Fitted estimator; its ``label_names_`` are taken, where it has them.
        X : array-like or data frame of shape (rows, features)
            Features of a few rows.
        D : array-like of shape (rows, labels) or None, default=None
            True distributions.
        ax : array of Axes or None, default=None
            One for each row; None for a new figure.
        **names : dict
            ``label_names`` and ``row_names``.

        Returns
        -------
        DistributionDisplay
            What was drawn.
        """
        names = {"label_names": getattr(estimator, "label_names_", None)} | names
        return cls.from_predictions(D, estimator.predict(X), ax=ax, **names)

    @classmethod
    def from_predictions(cls, D_true: Any, D_pred: Any, *, ax: Any = None, **names: Any) -> Self:
        """Draw predicted distributions beside the true ones.

        Parameters
        ----------
        D_true : array-like of shape (rows, labels) or None
            True distributions.
        D_pred : array-like of shape (rows, labels)
            Predicted distributions.
        ax : array of Axes or None, default=None
            One for each row; None for a new figure.
        **names : dict
            ``label_names`` and ``row_names``.

        Returns
        -------
        DistributionDisplay
            What was drawn.
        """
        P = _distributions("D_pred", D_pred)
        D = None if D_true is None else _distributions("D_true", D_true)
        if D is not None and D.shape != P.shape:
            raise ValueError(f"D_true and D_pred have shapes {D.shape} and {P.shape}")
        return cls(P, D, **names).plot(ax)

    def _parts(self) -> int:
        return len(self.D_pred)

    def _draw(self) -> None:
        places = np.arange(self.D_pred.shape[1])
        names = self.label_names if self.label_names is not None else places + 1
        titles = self.row_names or [f"row {i + 1}" for i in range(len(self.D_pred))]
        shown = [self.D_pred] if self.D_true is None else [self.D_pred, self.D_true]
        top = 1.05 * max(float(D.max()) for D in shown)
        for i, axes in enumerate(self.axes_):
            if self.D_true is not None:
                axes.bar(places, self.D_true[i], color="0.8", label="true")
            axes.plot(places, self.D_pred[i], "o", color="C0", label="predicted")
            axes.set(title=titles[i], xticks=places, xticklabels=names, ylim=(0, top))
            if self.label_names is not None:
                for text in axes.get_xticklabels():
                    text.set(rotation=45, ha="right", rotation_mode="anchor")
        for axes in self.axes_[1:]:
            axes.tick_params("y", labelleft=False)
        self.axes_[0].set_ylabel("degree")
        # Beside the bars, which fill the axes.
        self.axes_[-1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


@dataclass(eq=False)
class MeasuresDisplay(_Display):
    """Methods beside each other by some measures, with a point for each fold.

    Parameters
    ----------
    values : dict of str to dict
        By measure and method: the values of all folds.

    Examples
    --------
    >>> from ldl import AAKNN, TrainMean
    >>> from ldl.datasets import make_distributions
    >>> from ldl.plot import MeasuresDisplay
    >>> X, D = make_distributions(random_state=0)
    >>> methods = {"5 neighbours": AAKNN(n_neighbors=5), "mean": TrainMean()}
    >>> display = MeasuresDisplay.from_estimators(methods, X, D, measures=("kl", "cosine"), cv=3)
    >>> sorted(display.values["kl"])
    ['5 neighbours', 'mean']
    """

    values: Mapping[str, Mapping[str, np.ndarray]]

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        D: Any,
        *,
        measures: Sequence[str] = ("kl", "chebyshev", "intersection"),
        cv: Any = 5,
        groups: Any = None,
        ax: Any = None,
    ) -> Self:
        """Cross-validate estimators on the same folds and draw what they score.

        Parameters
        ----------
        estimators : dict of str to LDLEstimator
            Estimators by the names that are shown.
        X : array-like or data frame of shape (rows, features)
            Features.
        D : array-like of shape (rows, labels)
            Label distributions.
        measures : sequence of str, default=('kl', 'chebyshev', 'intersection')
            Keys of ``ldl.metrics.FACTS``.
        cv : int or splitter of scikit-learn, default=5
            Folds.
        groups : array-like of shape (rows,) or None, default=None
            Persons of the rows, for splitters that keep them together.
        ax : array of Axes or None, default=None
            One for each measure; None for a new figure.

        Returns
        -------
        MeasuresDisplay
            What was drawn.
        """
        from sklearn.model_selection import check_cv, cross_validate

        folds = list(check_cv(cv).split(X, D, groups))
        found = {
            name: cross_validate(
                one, X, D, cv=folds, scoring=scorers(*measures), error_score="raise"
            )
            for name, one in estimators.items()
        }
        signs = {m: 1 if better(m) == "higher" else -1 for m in measures}
        values = {
            m: {name: signs[m] * scores[f"test_{m}"] for name, scores in found.items()}
            for m in measures
        }
        return cls(values).plot(ax)

    def _height(self) -> float:
        rows = max(map(len, self.values.values()))
        return 1.2 + 0.5 * rows

    def _parts(self) -> int:
        return len(self.values)

    def _draw(self) -> None:
        for axes, (measure, rows) in zip(self.axes_, self.values.items(), strict=True):
            for place, folds in enumerate(rows.values()):
                axes.plot(folds, np.full(len(folds), place), "o", color="0.7", label="a fold")
                axes.plot(np.mean(folds), place, "|", color="C0", ms=24, mew=2, label="their mean")
            title = f"{measure}, {better(measure)} is better"
            axes.set_title(title, fontsize="medium")
            axes.set(yticks=range(len(rows)), yticklabels=list(rows))
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.locator_params("x", nbins=4)
        for axes in self.axes_[1:]:
            axes.set_yticklabels([])
        # Beside the points; of each kind once.
        self.axes_[-1].legend(
            handles=self.axes_[-1].lines[:2],
            loc="upper left",
            bbox_to_anchor=(1, 1),
            markerscale=0.7,
            frameon=False,
        )


@dataclass(eq=False)
class CalibrationDisplay(_Display):
    """Mean true degree where a degree was predicted; on the diagonal if predictions are right.

    Parameters
    ----------
    predicted : ndarray of shape (bins,)
        Mean predicted degree of each bin.
    true : ndarray of shape (bins,)
        Mean true degree of the same rows and labels.
    count : ndarray of shape (bins,)
        Their number.

    Examples
    --------
    >>> from ldl.plot import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([[0.6, 0.4]], [[0.7, 0.3]], bins=2)
    >>> display.true - display.predicted
    array([ 0.1, -0.1])
    """

    predicted: np.ndarray
    true: np.ndarray
    count: np.ndarray

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, D: Any, **options: Any) -> Self:
        """Draw the calibration of a fitted estimator on rows that it has not seen.

        Parameters
        ----------
        estimator : LDLEstimator
            Fitted estimator.
        X : array-like or data frame of shape (rows, features)
            Features.
        D : array-like of shape (rows, labels)
            True distributions.
        **options : dict
            ``bins`` and ``ax``, as for ``from_predictions``.

        Returns
        -------
        CalibrationDisplay
            What was drawn.
        """
        return cls.from_predictions(D, estimator.predict(X), **options)

    @classmethod
    def from_predictions(cls, D_true: Any, D_pred: Any, *, bins: int = 10, ax: Any = None) -> Self:
        """Draw the calibration of predictions.

        Parameters
        ----------
        D_true : array-like of shape (rows, labels)
            True distributions.
        D_pred : array-like of shape (rows, labels)
            Predicted distributions.
        bins : int, default=10
            Number of bins, each with as many predicted degrees.
        ax : Axes or None, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        CalibrationDisplay
            What was drawn.
        """
        D, P = (_distributions("D", rows).ravel() for rows in (D_true, D_pred))
        order = np.argsort(P, kind="stable")
        parts = [part for part in np.array_split(order, bins) if len(part)]
        predicted, true = (np.array([v[part].mean() for part in parts]) for v in (P, D))
        return cls(predicted, true, np.array([len(part) for part in parts])).plot(ax)

    def _draw(self) -> None:
        (axes,) = self.axes_
        end = 1.05 * max(self.predicted.max(), self.true.max())
        axes.plot([0, end], [0, end], color="0.7")
        axes.plot(self.predicted, self.true, "o-", color="C0")
        axes.set(xlabel="predicted degree", ylabel="mean true degree")


@dataclass(eq=False)
class ImportanceDisplay(_Display):
    """Features that matter most.

    Parameters
    ----------
    importances : ndarray of shape (features,)
        Importance of each feature.
    feature_names : sequence of str
        Their names.
    measure : str
        Meaning of the importances.
    most : int, default=15
        Number of features that are drawn.

    Examples
    --------
    >>> from ldl import RFRegression
    >>> from ldl.datasets import make_distributions
    >>> from ldl.plot import ImportanceDisplay
    >>> X, D = make_distributions(n_informative=2, random_state=0)
    >>> model = RFRegression(n_estimators=5, random_state=0).fit(X, D)
    >>> bool(ImportanceDisplay.from_estimator(model).importances.argmax() < 2)
    True
    """

    importances: np.ndarray
    feature_names: Sequence[str]
    measure: str
    most: int = 15

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        D: Any = None,
        *,
        most: int = 15,
        random_state: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the importances that a forest has, or those that shuffled features show.

        Parameters
        ----------
        estimator : LDLEstimator
            Fitted estimator; without X and D one that has ``feature_importances_``.
        X : array-like or data frame of shape (rows, features), or None, default=None
            Features of rows that it has not seen: each in turn is shuffled five times, and its
            importance is by how much ``score`` gets worse.
        D : array-like of shape (rows, labels) or None, default=None
            Their distributions.
        most : int, default=15
            Number of features that are drawn.
        random_state : int or None, default=None
            Seed of the shuffles.
        ax : Axes or None, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        ImportanceDisplay
            What was drawn.
        """
        if X is None:
            found, measure = estimator.feature_importances_, "share of what splits gain"
        else:
            from sklearn.inspection import permutation_importance

            shuffled = permutation_importance(estimator, X, D, random_state=random_state)
            found, measure = shuffled.importances_mean, "loss of score where shuffled"
        plain = [f"feature {j + 1}" for j in range(len(found))]
        names = list(getattr(estimator, "feature_names_in_", plain))
        return cls(found, names, measure, most).plot(ax)

    def _draw(self) -> None:
        (axes,) = self.axes_
        highest = np.argsort(-self.importances, kind="stable")[: self.most]
        axes.barh([self.feature_names[j] for j in highest], self.importances[highest], color="C0")
        axes.invert_yaxis()
        axes.set_xlabel(self.measure)


def _distributions(name: str, rows: Any) -> np.ndarray:
    table = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    demand_distributions(name, table, _TOLERANCE)
    return table

"""The answer of a comparison: which method, by how much, how sure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl import metrics
from ldl.comparison.contenders import MEAN, Contender
from ldl.comparison.search import Searched, Splits

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

ALPHA = 0.05


@dataclass(frozen=True)
class Entry:
    """A method with its outcome of each fold."""

    contender: Contender
    folds: list[Searched]
    tuned: bool

    @property
    def name(self) -> str:
        return self.contender.name

    @property
    def kind(self) -> str:
        return "tuned" if self.tuned else "default"

    @property
    def failed(self) -> str:
        """Return the error of a fold that the defaults could not be fitted to."""
        return next((f"failed: {fold.error}" for fold in self.folds if not fold.found), "")

    @property
    def fit_s(self) -> float:
        """Return the median CPU seconds of a fit."""
        costs = [fold.found[self.kind].fit_s for fold in self.folds if fold.found]
        return float(np.median(costs)) if costs else math.nan


def titled(measure: str) -> str:
    """Return a measure's name as it stands in a sentence."""
    return "KL" if measure == "kl" else measure.replace("_", " ")


def corrected_t(gains: ArrayLike, train: float, test: float) -> float:
    """Return p of Nadeau and Bengio's t test, two-sided: folds share most of their rows.

    Parameters
    ----------
    gains : array-like
        Differences of two methods, fold by fold.
    train : float
        Training rows of a fold.
    test : float
        Tested rows of a fold.

    Returns
    -------
    float
        The probability of a difference as large by chance.
    """
    from scipy.special import stdtr  # scipy.stats takes a second to import

    values = np.asarray(gains, dtype=np.float64)
    variance = values.var(ddof=1) * (1 / len(values) + test / train)
    if variance == 0:
        return 1.0 if values.mean() == 0 else 0.0
    return float(2 * stdtr(len(values) - 1, -abs(values.mean()) / math.sqrt(variance)))


def shown_p(p: float) -> str:
    """Return a probability as tables show it."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


@dataclass(frozen=True)
class Comparison:
    """The outcome of ``compare``.

    Attributes
    ----------
    winner : str
        Method with the best mean over the tested rows of all folds.
    sentence : str
        The answer in words.
    table : DataFrame
        A line for each method, the best first.
    best : LDLEstimator
        The winner with its settings, fitted to all rows.
    imports, code : str
        Python lines that make ``best`` out of X and D.
    left_out : dict of str to str
        Methods that did not take part, and why.
    """

    X: np.ndarray = field(repr=False)
    D: np.ndarray = field(repr=False)
    outer: Splits = field(repr=False)
    measure: str
    entries: list[Entry] = field(repr=False)
    left_out: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    random_state: int = 0

    @cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """Return the measure on the tested rows of each fold, by method.

        Of a tuned method, the tuned setting counts. A method that cannot be fitted counts as the
        training mean.
        """
        found = {}
        for entry in self.entries:
            values = []
            for fold, (train, test) in zip(entry.folds, self.outer, strict=True):
                mean = np.tile(self.D[train].mean(axis=0), (len(test), 1))
                P = fold.found[entry.kind].P if fold.found else mean
                values.append(metrics.measure(self.measure, self.D[test], P))
            found[entry.name] = np.array(values)
        return found

    @cached_property
    def means(self) -> dict[str, float]:
        """Return the mean measure of each method, the best first."""
        found = {name: float(values.mean()) for name, values in self.scores.items()}
        sign = 1.0 if metrics.better(self.measure) == "lower" else -1.0
        return dict(sorted(found.items(), key=lambda item: sign * item[1]))

    @property
    def winner(self) -> str:
        return next(iter(self.means))

    @property
    def has_winner(self) -> bool:
        """Tell whether a method is better than the mean of the training labels."""
        return self.winner != MEAN

    def gain(self, name: str) -> float:
        """Return by which share of the training mean's measure a method is better."""
        share = self.means[name] / self.means[MEAN]
        return 1 - share if metrics.better(self.measure) == "lower" else share - 1

    def p(self, one: str, other: str) -> float:
        """Return p of the corrected t test between two methods."""
        train, test = self.outer[0]
        return corrected_t(self.scores[one] - self.scores[other], len(train), len(test))

    @cached_property
    def alike(self) -> list[str]:
        """Return the methods, the winner first, that folds cannot tell from the winner."""
        others = [name for name in self.means if name not in (MEAN, self.winner)]
        return [self.winner, *(name for name in others if self.p(self.winner, name) > ALPHA)]

    @cached_property
    def chosen_blindly(self) -> float:
        """Return the mean measure of a choice that is made anew in each fold, on held-out rows.

        The winner is the best of many on the tested rows, so its own number flatters it; this one
        does not.
        """
        picked = []
        for place in range(len(self.outer)):
            best = min(self.entries, key=lambda entry: entry.folds[place].loss)
            picked.append(self.scores[best.name][place])
        return float(np.mean(picked))

    @cached_property
    def table(self) -> pd.DataFrame:
        import pandas as pd

        by_name = {entry.name: entry for entry in self.entries}
        return pd.DataFrame(
            {
                "method": name,
                self.measure: mean,
                "std": self.scores[name].std(ddof=1),
                "gain": self.gain(name),
                "p": math.nan if name == self.winner else self.p(self.winner, name),
                "settings": by_name[name].kind,
                "fit_s": by_name[name].fit_s,
                "note": by_name[name].failed,
            }
            for name, mean in self.means.items()
        )

    @property
    def sentence(self) -> str:
        name, value, floor = self.winner, self.means[self.winner], self.means[MEAN]
        measure = titled(self.measure)
        if len(self.means) == 1:
            return "No method had the time to run. Give more time."
        few = ""
        if self.left_out:
            ran = len(self.means) - 1
            few = (
                f" Only {ran} of {ran + len(self.left_out)} methods took part; one of the others "
                "may be better."
            )
        if name == MEAN:
            return (
                f"No method is better than the mean of the training labels ({measure} "
                f"{value:.4f}): the features tell nothing that these methods find.{few}"
            )
        p = self.p(name, MEAN)
        said = f"Use {name}." if p <= ALPHA else f"{name} is first, maybe by chance alone."
        said += (
            f" Its {measure} is {value:.4f}, {self.gain(name):.0%} better than the "
            f"mean of the training labels ({floor:.4f}, p = {p:.2g})."
        )
        if others := [other for other in self.means if other not in (MEAN, name)]:
            said += (
                f" The runner-up, {others[0]}, has {self.means[others[0]]:.4f} "
                f"(p = {self.p(name, others[0]):.2g})."
            )
        if len(self.alike) > 1:
            costs = {entry.name: entry.fit_s for entry in self.entries}
            fastest = min(self.alike, key=lambda one: costs[one])
            count = len(self.alike) - 1
            said += (
                f" {len(self.outer)} folds cannot tell {count} other method{'s' * (count > 1)} "
                f"from it; of these {count + 1}, {fastest} fits fastest ({costs[fastest]:.2g} s)."
            )
        return said + (
            f" A choice made anew in each fold, without its tested rows, gives "
            f"{self.chosen_blindly:.4f}: expect that of new data.{few}"
        )

    # ------------------------------------------------------------------ the winner

    def estimator(self) -> Any:
        """Return the winner with its settings, unfitted."""
        contender = next(e.contender for e in self.entries if e.name == self.winner)
        return contender.build(self.settings, self.random_state)

    @cached_property
    def best(self) -> Any:
        return self.estimator().fit(self.X, self.D)

    @property
    def imports(self) -> str:
        """Return the import lines of ``code``."""
        return "\n".join(_imports(self.estimator())) + "\n"

    @property
    def code(self) -> str:
        return f"model = {self.estimator()!r}\nmodel.fit(X, D)\n"

    def _repr_html_(self) -> str:
        shown = self.table.to_html(index=False, float_format=lambda value: f"{value:.4g}")
        return f"<p>{self.sentence}</p>{shown}"


def _imports(model: Any) -> list[str]:
    """Return the imports that the text of an estimator needs."""
    kinds = {type(model)} | {
        type(value) for value in model.get_params().values() if hasattr(value, "get_params")
    }
    lines = set()
    for kind in kinds:
        public = [part for part in kind.__module__.split(".") if not part.startswith("_")]
        home = "ldl" if public[0] == "ldl" else ".".join(public)
        lines.add(f"from {home} import {kind.__name__}")
    return sorted(lines)

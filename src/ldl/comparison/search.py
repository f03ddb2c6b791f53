"""One method on one fold: its defaults, its best setting, and an ensemble of its settings.

Settings are judged on rows held out of the training rows, whole groups where these are known. The
tested rows have no say.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl import metrics
from ldl._holdouts import first_best, holdouts
from ldl._tempered import Tempered, mean_distribution, mixed
from ldl.base import copy_of

if TYPE_CHECKING:
    from ldl.comparison.contenders import Contender, Setting

Splits = Sequence[tuple[np.ndarray, np.ndarray]]
"""Rows to fit and rows to score, of each split."""
KINDS = ("default", "tuned", "ensemble")
HELD_OUT, ROWS_TO_SCORE, MOST_SPLITS = 1 / 5, 200, 3
"""Share of the training rows held out at a time, rows to score in all, and most times."""
MEAN_SHARES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""Shares of the training mean that are tried with each setting of a method that can mix it in."""
STEPS, MEMBERS = 20, 4
"""Steps in which an ensemble is weighted, and how many settings it has at most."""


@dataclass(frozen=True)
class Task:
    """A question: which rows train, which are tested, and what may be spent."""

    X: Any
    D: np.ndarray
    train: np.ndarray
    test: np.ndarray
    groups: np.ndarray | None = None
    measure: str = "kl"
    settings: int = 25
    """Settings that are tried at most, the defaults among them. 1 means that the defaults are
    fitted and nothing is held out."""
    seconds: float | None = None
    """CPU seconds after which no further setting is begun; None for no such bound."""
    random_state: int = 0

    def splits(self) -> Splits:
        """Return rows to fit and rows to score, both of the training rows."""
        if self.groups is None:
            parts = holdouts(len(self.train), HELD_OUT, ROWS_TO_SCORE, self.random_state)
            return [(self.train[a], self.train[b]) for a, b in parts[:MOST_SPLITS]]
        names, of = np.unique(self.groups[self.train], return_inverse=True)
        rows = ROWS_TO_SCORE * len(names) / len(self.train)
        parts = holdouts(len(names), HELD_OUT, max(1, round(rows)), self.random_state)
        return [
            (self.train[np.isin(of, a)], self.train[np.isin(of, b)]) for a, b in parts[:MOST_SPLITS]
        ]

    def loss(self, D: np.ndarray, P: np.ndarray) -> float:
        sign = 1.0 if metrics.better(self.measure) == "lower" else -1.0
        return sign * metrics.measure(self.measure, D, P)


@dataclass(frozen=True)
class Tried:
    """A setting, with what it predicts for the held-out rows."""

    setting: dict[str, Any]
    loss: float
    held: np.ndarray = field(repr=False)
    """Predictions of the held-out rows, split after split; empty where a fit failed."""


@dataclass(frozen=True)
class Found:
    """The predictions of tested rows that one kind of a method makes, and what they cost."""

    P: np.ndarray = field(repr=False)
    settings: list[tuple[float, dict[str, Any]]]
    """Weights and settings of the fits behind it: one, or the members of the ensemble."""
    fit_s: float
    """CPU seconds of these fits, without the search."""
    predict_s: float


@dataclass(frozen=True)
class Searched:
    """The outcome of a task."""

    tried: list[Tried] = field(repr=False)
    found: dict[str, Found]
    """By kind; empty where the defaults cannot be fitted."""
    search_s: float
    error: str = ""

    @property
    def loss(self) -> float:
        """Return the least loss on held-out rows."""
        return min((one.loss for one in self.tried), default=float("inf"))


def outer_folds(n: int, groups: np.ndarray | None, count: int, random_state: int) -> Splits:
    """Return training and tested rows of each fold: shuffled rows, or whole groups."""
    from sklearn.model_selection import GroupKFold, KFold

    kind = KFold if groups is None else GroupKFold
    folds = kind(count, shuffle=True, random_state=random_state)
    return list(folds.split(np.empty((n, 0)), groups=groups))


def search(contender: Contender, task: Task, begun: Sequence[Tried] = ()) -> Searched:
    """Try settings of a method, then fit the chosen ones to all training rows.

    ``begun`` are settings that an earlier search of the same task has tried.
    """
    started = time.process_time()
    splits = task.splits() if task.settings > 1 else []
    tried, error = list(begun), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for setting in contender.settings(task.settings, task.random_state)[len(tried) :]:
            spent = time.process_time() - started
            if tried and task.seconds is not None and spent > task.seconds:
                break
            try:
                tried.append(_tried(contender, task, splits, setting))
            except Exception as fault:  # a setting that cannot be fitted is not chosen
                error = _told(fault)
                tried.append(Tried(dict(setting), float("inf"), np.empty((0, task.D.shape[1]))))
        searched = time.process_time() - started
        try:
            found = dict(_fitted(contender, task, splits, tried))
        except Exception as fault:
            return Searched(tried, {}, searched, _told(fault))
    return Searched(tried, found, searched, error)


def _told(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}".splitlines()[0]


def _tried(contender: Contender, task: Task, splits: Splits, setting: Setting) -> Tried:
    """Fit a setting to each split, and choose the share of the mean that goes with it."""
    if not splits:
        return Tried(dict(setting), float("nan"), np.empty((0, task.D.shape[1])))
    model = contender.build(setting, task.random_state)
    shares: tuple[float, ...] = (0.0,)
    if setting and isinstance(model, Tempered):
        model.set_params(mean_share=None)
        shares = MEAN_SHARES
    rows = np.concatenate([held for _, held in splits])
    means, answers = [], []
    for inside, held in splits:
        answers.append(copy_of(model).fit(task.X[inside], task.D[inside]).predict(task.X[held]))
        means.append(np.broadcast_to(mean_distribution(task.D[inside]), answers[-1].shape))
    P, M = np.concatenate(answers), np.concatenate(means)
    losses = np.array([task.loss(task.D[rows], mixed(P, M, share)) for share in shares])
    best = first_best(losses, lower_is_better=True)
    chosen = {**setting, "mean_share": shares[best]} if len(shares) > 1 else dict(setting)
    return Tried(chosen, float(losses[best]), mixed(P, M, shares[best]))


def _fitted(
    contender: Contender, task: Task, splits: Splits, tried: Sequence[Tried]
) -> Iterator[tuple[str, Found]]:
    """Yield what defaults, best setting and ensemble predict for the tested rows."""
    fits: dict[int, Found] = {}

    def fit(place: int) -> Found:
        if place not in fits:
            setting = tried[place].setting
            model = contender.build(setting, task.random_state)
            start = time.process_time()
            model.fit(task.X[task.train], task.D[task.train])
            between = time.process_time()
            P = model.predict(task.X[task.test])
            end = time.process_time()
            fits[place] = Found(P, [(1.0, setting)], between - start, end - between)
        return fits[place]

    yield "default", fit(0)
    if not splits:
        return
    yield "tuned", fit(first_best(np.array([one.loss for one in tried]), lower_is_better=True))
    rows = np.concatenate([held for _, held in splits])
    weights = weighted(task, task.D[rows], tried)
    members = {place: fit(place) for place in weights}
    yield (
        "ensemble",
        Found(
            np.sum([weights[place] * found.P for place, found in members.items()], axis=0),
            [(weight, tried[place].setting) for place, weight in weights.items()],
            sum(found.fit_s for found in members.values()),
            sum(found.predict_s for found in members.values()),
        ),
    )


def weighted(task: Task, D: np.ndarray, tried: Sequence[Tried]) -> Mapping[int, float]:
    """Weight settings greedily: each step adds the one that helps the held-out rows most."""
    places = [place for place, one in enumerate(tried) if np.isfinite(one.loss)]
    total, counts = np.zeros_like(tried[places[0]].held), dict[int, int]()
    for step in range(STEPS):
        open_ = places if len(counts) < MEMBERS else list(counts)
        losses = [task.loss(D, (total + tried[place].held) / (step + 1)) for place in open_]
        place = open_[first_best(np.array(losses), lower_is_better=True)]
        counts[place] = counts.get(place, 0) + 1
        total = total + tried[place].held
    return {place: count / STEPS for place, count in counts.items()}

"""Comparisons on one's own data: tested rows decide nothing but the final order."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections import namedtuple
from dataclasses import dataclass, replace
from types import FunctionType

import numpy as np
import pytest

import ldl
from ldl import LDLEstimator, compare, metrics
from ldl.comparison import compare as comparing
from ldl.comparison import store
from ldl.comparison.contenders import MEAN, Contender, portfolio
from ldl.comparison.search import Found, Searched, Task, Tried, outer_folds, search, weighted
from ldl.datasets import make_distributions
from ldl.errors import UserError

KNOWN = portfolio()
X, D = make_distributions(120, 6, 4, random_state=3)
TRAIN, TEST = np.arange(90), np.arange(90, 120)
TASK = Task(X, D, TRAIN, TEST, settings=6)


@pytest.mark.parametrize("name", KNOWN)
def test_every_setting_is_one_that_the_method_takes(name):
    contender = KNOWN[name]
    settings = contender.settings(25, 0)
    assert settings[0] == {}
    assert len({repr(one) for one in settings}) == len(settings) <= 25
    assert settings == contender.settings(25, 0)
    for parameter, values in contender.space.items():
        for value in values:
            contender.build({parameter: value}, 0)._check_parameters()


def test_every_table_estimator_takes_part():
    left_out = {"LDLEstimator", "RegressorMethod", "Uniform", "ConformalBall", "compare"}
    wrapping = {"Regression", "SingleLabelClassifier"}
    tables = {name for name in ldl.__all__ if not getattr(getattr(ldl, name), "accepts_images", 0)}
    assert tables - left_out - wrapping <= set(KNOWN)


def test_tested_labels_have_no_say_in_settings():
    other = D.copy()
    other[TEST] = np.roll(D[TEST], 1, axis=1)
    one, two = (search(KNOWN["AAKNN"], replace(TASK, D=labels)) for labels in (D, other))
    assert one.found["tuned"].settings == two.found["tuned"].settings
    assert np.array_equal(one.found["ensemble"].P, two.found["ensemble"].P)


def test_groups_stay_whole_on_both_levels():
    groups = np.arange(120) // 4
    for train, test in outer_folds(120, groups, 5, 0):
        assert not set(groups[train]) & set(groups[test])
        for inside, held in Task(X, D, train, test, groups).splits():
            assert not set(groups[inside]) & set(groups[held])
            assert not (set(inside) | set(held)) - set(train)


def test_a_search_does_as_well_on_held_out_rows_as_the_defaults_at_least():
    found = search(KNOWN["KernelRidge"], replace(TASK, settings=15))
    assert found.loss <= found.tried[0].loss
    assert len(found.tried) == 15
    best = min(found.tried, key=lambda one: one.loss)
    assert found.found["tuned"].settings == [(1.0, best.setting)]


def test_no_setting_is_begun_when_the_time_is_over():
    found = search(KNOWN["AAKNN"], replace(TASK, seconds=0.0))
    assert [one.setting for one in found.tried] == [{}]
    assert np.array_equal(found.found["default"].P, found.found["ensemble"].P)


def test_a_longer_search_goes_on_from_the_defaults():
    begun = search(KNOWN["AAKNN"], replace(TASK, seconds=0.0))
    whole, longer = search(KNOWN["AAKNN"], TASK), search(KNOWN["AAKNN"], TASK, begun.tried)
    assert [one.setting for one in longer.tried] == [one.setting for one in whole.tried]
    for kind, found in whole.found.items():
        assert np.array_equal(found.P, longer.found[kind].P)


def test_the_ensemble_weighs_greedily():
    truth = np.array([[0.5, 0.5], [0.5, 0.5]])
    ahead = Tried({"a": 1}, 0.0, np.array([[0.7, 0.3], [0.7, 0.3]]))
    behind = Tried({"a": 2}, 0.0, np.array([[0.3, 0.7], [0.3, 0.7]]))
    failed = Tried({"a": 3}, float("inf"), np.empty((0, 2)))
    assert weighted(TASK, truth, [failed, ahead, behind]) == {1: 0.5, 2: 0.5}
    assert weighted(TASK, ahead.held, [failed, ahead, behind]) == {1: 1.0}


@dataclass(eq=False, repr=False)
class Fails(LDLEstimator):
    """Fits only where ``works``."""

    works: bool = False

    def _fit(self, X, D):
        if not self.works:
            raise FloatingPointError("no optimum")
        self.mean_ = D.mean(axis=0)

    def _predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


def test_a_setting_that_cannot_be_fitted_is_not_chosen():
    contender = Contender("fails", "own", lambda: Fails(works=True), {"works": (True, False)})
    found = search(contender, TASK)
    assert found.found["tuned"].settings[0][1] != {"works": False}
    assert found.error == "FloatingPointError: no optimum"


def test_a_method_that_cannot_be_fitted_is_left_out_and_named():
    found = compare(X, D, methods={"fails": Fails(), "AAKNN": None}, time=30, settings=2)
    assert found.left_out == {"fails": "FloatingPointError: no optimum"}
    assert "Only 1 of 2 methods took part" in found.sentence
    assert set(found.means) == {MEAN, "AAKNN"}


def test_the_answer_names_the_better_method_and_makes_it(monkeypatch):
    found = compare(X, D, methods=["SABFGS", "AAKNN", "Ridge"], time=20, settings=4)
    assert found.winner == "SABFGS"  # the rows are drawn from its model
    assert found.sentence.startswith("Use SABFGS. Its KL is ")
    assert list(found.table["method"]) == list(found.means)
    _train, test = found.outer[0]
    scored = [
        metrics.kl(D[test], entry.folds[0].found[entry.kind].P)
        for entry in found.entries
        if entry.name == "SABFGS"
    ]
    assert found.scores["SABFGS"][0] == pytest.approx(scored[0])
    names = {"X": X, "D": D}
    exec(found.imports + found.code, names)
    assert np.allclose(names["model"].predict(X), found.best.predict(X), atol=1e-12)
    monkeypatch.setattr(type(found), "p", lambda *_: 0.2)
    assert found.sentence.startswith("SABFGS is first, maybe by chance alone. Its KL is ")


def test_a_comparison_that_was_stopped_goes_on(tmp_path, monkeypatch):
    asked = {"methods": ["AAKNN", "Ridge"], "time": 100, "settings": 3, "store": tmp_path}
    first = compare(X, D, **asked)
    folds = sorted(path.name for path in tmp_path.glob("*/*.npz"))
    assert "AAKNN.0.default.npz" in folds
    assert "AAKNN.4.tuned.npz" in folds
    done = []
    searched = comparing.search

    def listening(contender, task, begun=()):
        done.append(task.settings)
        return searched(contender, task, begun)

    monkeypatch.setattr(comparing, "search", listening)
    second = compare(X, D, **{**asked, "time": 1e-6})  # what is finished needs no time
    assert done == []
    assert second.sentence == first.sentence
    for name, scores in first.scores.items():
        assert np.array_equal(scores, second.scores[name])


def test_a_promising_method_goes_before_cheaper_ones_and_a_slow_one_last(monkeypatch):
    good, poor = D, np.tile(D.mean(axis=0), (len(D), 1))
    seconds = {"SABFGS": 1.0, "AAKNN": 0.8, "Ridge": 0.8, "StructRF": 7.0}
    tasks = [Task(X, D, train, test) for train, test in outer_folds(len(X), None, 5, 0)]
    inside, _ = tasks[0].splits()[0]

    def outcome(name, contender, task, kept, limit):
        """A fit of few rows that is perfect for two methods, and takes what is said above."""
        assert not set(task.test) & set(task.train)
        assert task.X is not X or not {*task.test, *task.train} - {*tasks[0].train}
        P = (good if name in ("SABFGS", "StructRF") else poor)[task.test]
        return name, Searched([], {"default": Found(P, [], seconds[name], 0.0)}, 0.0), ""

    monkeypatch.setattr(comparing, "_one", outcome)
    grown = (len(tasks[0].train) / len(inside)) ** comparing.GROWTH
    one = 5 * (len(tasks[0].splits()) + 1) * grown  # CPU seconds of a method of one second a fit
    equal = (len(seconds) + 1) * one / comparing.FOR_DEFAULTS
    arena = comparing.Arena(methods=list(seconds), time=2 * equal)
    going, left_out = arena._in_order(tasks, None)
    names = [one.name for one in going]
    assert names[:2] == [MEAN, "SABFGS"]
    assert names[-1] == "StructRF", "it would take more than an equal share"
    assert left_out == {}


def test_a_fit_that_takes_longer_than_foreseen_does_not_stretch_the_time(monkeypatch):
    known = [KNOWN["AAKNN"], KNOWN["Ridge"], KNOWN[MEAN]]
    monkeypatch.setattr(comparing.Arena, "_in_order", lambda *_: (known, {}))
    found = compare(X, D, time=1e-6)
    assert found.left_out == {"AAKNN": "too little time", "Ridge": "too little time"}
    assert found.sentence.startswith("No method had the time to run.")


def test_time_that_tuning_leaves_goes_to_methods_that_had_none(monkeypatch):
    known = [KNOWN["AAKNN"], KNOWN["Ridge"], KNOWN[MEAN]]
    monkeypatch.setattr(comparing.Arena, "_in_order", lambda *_: (known, {}))
    monkeypatch.setattr(comparing, "FOR_TRIALS", 0.0)
    monkeypatch.setattr(comparing, "FOR_DEFAULTS", 0.0)
    found = compare(X, D, time=100)
    assert found.left_out == {}
    assert {entry.name: entry.kind for entry in found.entries} == {
        one.name: "default" for one in known
    }


@dataclass(eq=False, repr=False)
class Dawdles(LDLEstimator):
    """Takes a minute for more than so many rows."""

    rows: int = 0

    def _fit(self, X, D):
        begun = time.process_time()
        while len(X) > self.rows and time.process_time() < begun + 60:
            pass
        self.mean_ = D.mean(axis=0)

    def _predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


@pytest.mark.parametrize(("rows", "told"), [(0, "too slow for the time"), (80, "too little time")])
def test_a_fit_that_does_not_end_is_stopped(monkeypatch, rows, told):
    inside, _ = replace(TASK, train=outer_folds(len(X), None, 5, 0)[0][0]).splits()[0]
    assert len(inside) <= 80 < len(D) * 4 / 5, "it is slow at once, or only with all training rows"
    monkeypatch.setattr(comparing, "COMPILING", 0.5)
    monkeypatch.setattr(comparing, "FOR_ONE", 4.0)
    monkeypatch.setattr(comparing.clock, "monotonic", itertools.count(0, 1e-6).__next__)
    found = compare(X, D, methods={"Dawdles": Dawdles(rows), "AAKNN": None}, time=4, settings=2)
    assert found.left_out == {"Dawdles": told}
    assert "AAKNN" in found.means


def test_no_fit_ends_inside_an_import_a_compiler_or_a_named_tuple():
    def inside(module):
        return FunctionType((lambda: sys._getframe()).__code__, {"__name__": module, "sys": sys})()

    made = namedtuple("Pair", "one other").__new__.__globals__["__name__"]
    assert comparing._can_end(inside("ldl.forests.structrf"))
    for module in (made, "numba.core.dispatcher", "importlib._bootstrap"):
        assert not comparing._can_end(inside(module))


def test_a_cheap_search_leaves_its_time_to_dear_ones():
    assert comparing._shares({"dear": 90.0, "cheap": 1.0}, 20.0) == {"cheap": 2.0, "dear": 18.0}
    assert comparing._shares({"dear": 90.0, "as dear": 90.0}, 20.0) == {
        "dear": 10.0,
        "as dear": 10.0,
    }
    assert min(comparing._shares({"dear": 90.0, "cheap": 1.0}, 0.0).values()) > 0


def test_with_much_more_time_a_search_is_done_again(tmp_path):
    contender = KNOWN["AAKNN"]
    short, long = replace(TASK, seconds=1e-9), replace(TASK, seconds=60.0)
    _, first, _ = comparing._one("AAKNN.0", contender, short, tmp_path, math.inf)
    _, again, told = comparing._one("AAKNN.0", contender, short, tmp_path, math.inf)
    assert told == ", done before"
    assert len(again.tried) == len(first.tried) == 1
    _, longer, told = comparing._one("AAKNN.0", contender, long, tmp_path, math.inf)
    assert told == ""
    assert len(longer.tried) == TASK.settings


def test_what_is_kept_is_what_was_found(tmp_path):
    found = search(KNOWN["AABP"], replace(TASK, settings=2))
    store.save(tmp_path / "one.npz", found, {"code": "x"})
    again, told = store.load(tmp_path / "one.npz")
    assert told == {"code": "x"}
    assert [one.setting for one in again.tried] == [one.setting for one in found.tried]
    for kind, one in found.found.items():
        assert np.array_equal(again.found[kind].P, one.P)
        assert again.found[kind].settings == one.settings


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"methods": ["AAKN"]}, "no method is called 'AAKN' here. Did you mean 'AAKNN'?"),
        ({"groups": np.arange(3)}, r"groups must have shape \(120,\)"),
        ({"groups": np.zeros(120)}, "5 folds need 5 groups at least; number of groups: 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(asked, words):
    with pytest.raises(UserError, match=words):
        compare(X, D, time=5, **asked)


def test_too_few_rows_are_refused():
    with pytest.raises(UserError, match="10 rows are too few"):
        compare(X[:10], D[:10])
